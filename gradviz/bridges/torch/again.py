"""Running parts of a recorded pass again: the loss, by a function of the user's, and the backward of single nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
import torch
from torch.autograd.graph import Node

from ...operators.registry import Array
from ...program import GradvizError
from ...program.errors import count_of, message_of
from ...program.net_halves import Key
from ...runtime.watched import Rest
from .graph import Graph, Output, Tensor, dtype_of, fits, fitted, gradients_of, is_function, is_hooked, is_nested
from .names import Names
from .sandbox import Constant, called, not_again
from .values import array_of
from .watch import RecordedTensor

NARROW = (torch.float16, torch.bfloat16)

NEAR = 1e-5
"""How far, as a part of itself, a loss in double precision may be from the recorded one; else chance drew others."""

Run = Callable[[Mapping[Tensor, Tensor], Sequence[Constant] | None], tuple[list[Tensor], list[Constant]]]
"""A function of the user's, with other tensors and with what cut gradients off."""


class Again:
    """Runs parts of a recorded pass again.

    Attributes:
        leaves: by their names.

    Args:
        names: of the outputs and leaves of the graph.
        roots: where the pass started, as they were.
        forward: computes the roots again, from the same tensors; None: there is no such function.
        changed: the nodes by which backward hooks of modules have sent on something else than was given to them.
    """

    def __init__(
        self,
        graph: Graph,
        names: Names,
        roots: Sequence[RecordedTensor],
        forward: Callable[[], Any] | None,
        changed: Set[Node],
    ) -> None:
        self._graph = graph
        self.leaves = {names[Output(node, 0)]: leaf for node, leaf in graph.leaves.items()}
        self._roots = roots
        self._forward = forward
        self._changed = changed

    def rest(self, blob: Key) -> Callable[[], Rest]:
        """As of `runtime.watched.Again`: the user's function with another value of a leaf."""
        leaf, forward = self.leaves.get(blob[0]), self._forward
        if forward is None:
            raise not_again(
                "PyTorch keeps what its backward needs, and not the program.",
                "Give a function that computes the loss again: debug(loss, forward=compute).",
            )
        if leaf is None:
            raise not_again(f"{blob[0]} is computed on the way.", "Ask for a leaf, such as a parameter.")
        if leaf.layout is not torch.strided:
            raise not_again(
                f"{blob[0]} is sparse: differences move elements, too, that it does not hold.",
                "Check a dense leaf that it is made of, such as its values.",
            )
        if not self._changed.isdisjoint(self._graph.on_the_way([self._graph.output_of(leaf)])):
            raise not_again(
                f"Backward hooks of a module have changed what flows to {blob[0]}, which differences cannot know.",
                "Remove them, and record the pass again.",
            )
        self._check()
        return partial(self._rest, leaf, forward)

    def _rest(self, leaf: Tensor, forward: Callable[[], Any]) -> Rest:
        run, constants, why_narrow = self._repeated(forward)

        def moved(array: Array) -> list[Array]:
            stands_in = torch.tensor(array, dtype=leaf.dtype if why_narrow else torch.float64, device=leaf.device)
            stands_in.requires_grad_(leaf.requires_grad)
            try:
                return [array_of(one) for one in run({leaf: stands_in}, constants)[0]]
            except Exception as error:
                raise _failed(error) from error

        dtypes = {str(dtype).removeprefix("torch.") for dtype in self._dtypes}
        return Rest(moved, _notes(constants, why_narrow), dtypes)

    @cached_property
    def _dtypes(self) -> list[torch.dtype | None]:
        """In which the operators computed."""
        return [dtype_of(Output(node, 0)) for node in self._graph.unordered_nodes]

    def _check(self) -> None:
        """Refuse where differences would say nothing, or others would wait."""
        narrow = [dtype for dtype in self._dtypes if dtype in NARROW]
        if narrow:
            raise not_again(
                f"{count_of(len(narrow), 'operator')} computed in {str(narrow[0]).removeprefix('torch.')}: "
                "differences of numbers with so few digits say nothing.",
                "Check it in float32, without torch.autocast.",
            )
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            raise not_again("Other ranks would wait for it.", "Check the model in one process, without them.")

    def _repeated(self, forward: Callable[[], Any]) -> tuple[Run, Sequence[Constant], str]:
        """How to run the function so that it gives what was recorded: in double precision, or why not."""
        alike = partial(called, forward, self.leaves.values(), is_double=False)
        try:
            results, constants = alike({}, None)
        except Exception as error:
            raise _failed(error) from error
        recorded = [root.tensor.detach() for root in self._roots]
        if len(results) != len(recorded) or not all(map(_same, results, recorded)):
            raise not_again(
                f"The function gives {_in_words(results)} now, and {_in_words(recorded)} was recorded.",
                "Let it begin with torch.manual_seed(0) where it draws random numbers, and compute the loss by it.",
                "Ask before weights move, and for a model that the forward pass itself does not change.",
            )
        in_double = partial(called, forward, self.leaves.values(), is_double=True)
        try:
            doubles, wide = in_double({}, None)
            pairs = zip(doubles, recorded, strict=True)
            if all(torch.allclose(one, root.double(), NEAR, 0, equal_nan=True) for one, root in pairs):
                return _repeatable(in_double, wide, doubles), wide, ""
            why_narrow = f"in double precision it gives {_in_words(doubles)} for {_in_words(recorded)}"
        except Exception as error:
            why_narrow = f"in double precision it raises {type(error).__name__}: {_first_line(error)}"
        return _repeatable(alike, constants, results), constants, why_narrow

    def backward(self, index: int, arriving: Mapping[int, Array]) -> list[Array | None]:
        """As of `runtime.watched.Again`: the node of an operator is called, which runs no hook."""
        node = self._graph.nodes[index]
        if is_function(node) or is_hooked(node):
            why = "is written in Python and" if is_function(node) else "has kept what a hook unpacks: it"
            raise not_again(f"{node.name()} of #{index} {why} may do more than compute, so it is not run again")
        if is_nested(node) or any(one is not None and is_nested(one.node) for one in self._graph.inputs(node)):
            raise not_again(f"{node.name()} of #{index} goes through a nested tensor, so it is not run again.")
        gradients = gradients_of(node, {slot: torch.tensor(array) for slot, array in arriving.items()})
        with torch.no_grad():
            try:
                sent = cast(Any, node)(*gradients)
            except RuntimeError as error:
                raise not_again(_refused(node, index, message_of(error)), "Ask before loss.backward().") from error
        sends = sent if isinstance(sent, tuple) else (sent,)
        pairs = zip(self._graph.inputs(node), sends, strict=True)
        # What needs no gradient is no input of the operator as it is recorded.
        return [None if send is None else _array(send, one) for one, send in pairs if one is not None]


def _array(sent: Tensor, one: Output) -> Array:
    """What a node sent to an output, as an array like it."""
    return array_of(sent if fits(sent, one) else fitted(sent, one))


def _refused(node: Node, index: int, error: str) -> str:
    if "second time" in error:
        return f"A backward pass has freed what {node.name()} of #{index} needs"
    return f"{node.name()} of #{index} cannot be run again: {error.partition('.')[0]}"


def _repeatable(run: Run, constants: Sequence[Constant], results: Sequence[Tensor]) -> Run:
    """A run that gives the same with constants for what is cut off; raises GradvizError where it does not."""
    if constants and not all(map(_same, run({}, constants)[0], results)):
        raise not_again("What detach(), no_grad() and the like cut off goes on in a way that cannot be held.")
    return run


def _same(one: Tensor, other: Tensor) -> bool:
    """Whether two results are the same numbers, a NaN the same as another one."""
    return np.array_equal(array_of(one), array_of(other), equal_nan=True)


def _failed(error: Exception) -> GradvizError:
    if isinstance(error, GradvizError):
        return error
    return not_again(f"The function raised {type(error).__name__}: {_first_line(error)}.")


def _first_line(error: Exception) -> str:
    return message_of(error).partition("\n")[0].rstrip(".")


def _in_words(values: Sequence[Tensor]) -> str:
    return ", ".join(f"{one.item():.9g}" if one.numel() == 1 else f"other {tuple(one.shape)}" for one in values)


def _notes(constants: Sequence[Constant], why_narrow: str) -> list[str]:
    precision = f"its own precision, on copies: {why_narrow}" if why_narrow else "double precision, on copies"
    notes = [f"The function was run in {precision}."]
    if count := sum(one.result is not None or bool(one.written) for one in constants):
        results = f"{count_of(count, 'result')} of detach(), no_grad() and the like"
        as_before = "it was" if count == 1 else "they were"
        notes.append(f"{results} stayed as {as_before}: no gradient flows there.")
    return notes
