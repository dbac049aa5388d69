"""Which hook of a tensor has raised, where one has ended a backward pass: the engine names the hook at best."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from traceback import walk_tb
from types import CodeType
from typing import Any

import torch

from ...program.errors import message_of
from .frames import is_inside
from .graph import Graph, Output, Tensor, hooks_of
from .watch import Hooked, Notes, Returned, Visit, Written

ENGINE = torch.autograd.graph._engine_run_backward.__code__
"""What calls the engine: what it calls that is not PyTorch's own is a hook."""

RETURNED = "expected Variable, but hook returned"
"""How a message begins that is about a hook, and does not say which."""


def raised_by(error: BaseException, graph: Graph, tensors: Iterable[Tensor], notes: Notes) -> Hooked | None:
    """The hook of a tensor that has raised; None: none has.

    Args:
        tensors: on the way, with hooks, beside the leaves.
    """
    ran = [frame.f_code for frame, _ in walk_tb(error.__traceback__)]
    called = next((after for before, after in pairwise(ran) if before is ENGINE), None)
    message = message_of(error)
    candidates: dict[Output, list[Callable[..., Any]]] = {}
    for tensor in (*tensors, *graph.leaves.values()):
        for hook in hooks_of(tensor):
            if (_code(hook) or hook) in ran or message.startswith((f"hook '{_name(hook)}' has changed", RETURNED)):
                candidates.setdefault(graph.output_of(tensor), []).append(hook)
    if not candidates and called is not None and not is_inside(called.co_filename):
        return Hooked(hook=called)  # of a tensor that is not known, or of an operator
    if not candidates:
        return Hooked() if message.startswith(("hook '", RETURNED)) else None
    gone = {one.node for one in notes.happened if isinstance(one, Visit)}
    over = {one.output for one in notes.happened if isinstance(one, Returned | Written)}
    waiting = {before for node in graph.unordered_nodes if node not in gone for before, _ in node.next_functions}
    here = [one for one in candidates if one.node not in gone and one.node not in waiting and one not in over]
    if len(here) != 1:
        return Hooked()
    hooks = candidates[here[0]]
    return Hooked(here[0], _code(hooks[0]) if len(hooks) == 1 else None)


def inner(hook: Any) -> Any:
    """The function that a hook is made of."""
    return inspect.unwrap(hook.func if isinstance(hook, partial) else hook)


def _code(hook: Any) -> CodeType | None:
    return getattr(inner(hook), "__code__", None)


def _name(hook: Any) -> str:
    return getattr(hook, "__name__", type(hook).__name__)
