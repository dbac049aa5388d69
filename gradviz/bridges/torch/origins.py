"""Where each operator comes from: its module, the line of the user's code, and what that calls its result."""

from __future__ import annotations

from collections.abc import Mapping
from types import CodeType
from typing import NamedTuple

from torch.autograd.graph import Node

from ...program.code_line import CodeLine, line_at, stored
from .capture import Module, Modules, capture, dotted, paths_of
from .frames import Call
from .graph import number_of


class Origin(NamedTuple):
    """Where an operator comes from.

    Attributes:
        module: the path of the innermost module that called it; empty: none did.
        call: in the user's code; None: not known.
        name: what its result is called there; empty: nothing.
    """

    module: str = ""
    call: Call | None = None
    name: str = ""

    @property
    def line(self) -> CodeLine | None:
        """The line of the call."""
        return None if self.call is None else line_at(*self.call)


def origins(captured: Mapping[Node, capture]) -> Mapping[Node, Origin]:
    """Of operators that were called inside of captures."""
    by_node: dict[Node, Origin] = {}
    by_capture = {one: paths_of(one.models) for one in set(captured.values())}
    for node, one in captured.items():
        number, paths = number_of(node), by_capture[one]
        module = next((paths[module] for module in reversed(one.modules_of(number)) if module in paths), "")
        by_node[node] = Origin(module, one.call_of(number), _result(one, paths, number))
    return by_node


def _result(one: capture, paths: Mapping[Module, str], number: int) -> str:
    """What the user calls the result of operator `number`: a variable, or the module that it is the result of."""
    modules, call, left = one.modules_of(number), one.call_of(number), one.left(number)
    if call is not None and one.ends(number) and (variable := stored(*call)):
        around = _of_code(modules, call.code)
        if left >= len(modules) - around:
            return dotted(paths.get(modules[around - 1], "") if around else "", variable)
    return next(filter(None, [paths.get(module) for module in modules[len(modules) - left :]]), "")


def _of_code(modules: Modules, code: CodeType) -> int:
    """How many of `modules` are around a piece of code: up to the innermost whose forward it is."""
    for depth in range(len(modules), 0, -1):
        if getattr(type(modules[depth - 1]).forward, "__code__", None) is code:
            return depth
    return 0
