"""Whether each gradient fits its blob, and who is to blame where one does not.

A gradient has the shape and dtype of its blob; a sparse one has rows of it. A rule that is wrong about that, or a
gradient that was given, is named here, before a later operator stumbles over what it made:

    dense     shape(g) = shape(x)
    sparse    indices are integers i with 0 <= i < rows(x), and shape(values) = shape(indices) + shape(x)[1:]
    dtype     that of x; where floating-point types meet at an operator, that of any of its blobs and their gradients;
              a given one may be of any floating-point type
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...gradient.rules import describe
from ...operators import ArraySpec, lookup
from ...operators.indexing import first_outside
from ...operators.inference import described
from ...operators.registry import Array
from ...program import GradientError, GradvizError, RunError
from ...program.events import Event, RuleApplied, Seeded, Visited
from ...program.net_halves import Key, NetHalves
from ...program.operator import BlobVersion, Ssa
from ...runtime.devices import current, device_of, moved
from ...runtime.executor import infer, spec_of
from ...runtime.store import entries_of
from .recording import ProgramText
from .statements import Writing
from .text import NetText
from .timeline import Timeline, codes_of

Blobs = Mapping[Key, Array | ArraySpec | None]
"""Blob versions, each as an array, or with its shape and dtype alone; None, or not there: neither is inferred yet."""


class ExpectedGradient(NamedTuple):
    """What `event` says is the gradient of `blob`: that of a rule, or of a gradient that was given.

    Attributes:
        parts: what it consists of: one writing, or indices and values.
    """

    blob: Writing
    parts: Sequence[Writing]
    event: RuleApplied | Seeded


class Fit:
    """The gradients of a pass, compared with their blobs as soon as these have values.

    Args:
        events: the events of the pass.
        nets: the operators as they read at the end.
        is_table: whether the rules are those of the operator table. What those of this package give is not checked:
            tests hold that it fits.
    """

    def __init__(self, events: Sequence[Event], nets: NetHalves, *, is_table: bool = True) -> None:
        self._events = events
        self._nets = nets
        self._program = nets.program
        self._forward = len(nets.forward)
        # The operator after which all of a gradient has values -> what is expected then; -1: before the first.
        self._due: dict[int, list[ExpectedGradient]] = {}
        types = {op.type for op in nets.forward}
        self._checked = {type for type in types if not is_table or not _is_ours(type)}
        seeds = [event for event in events if type(event) is Seeded]
        if self._checked or any(event.operator is None for event in seeds):
            for expected in self._expected():
                due = max([self._writer(writing) for writing in (expected.blob, *expected.parts)])
                self._due.setdefault(due, []).append(expected)

    @cached_property
    def _text(self) -> NetText:
        """The statements of the pass around all nested nets."""
        text = ProgramText()
        text.follow(self._nets, self._events, Timeline(codes_of(map(type, self._events))))
        return text.outermost

    def _expected(self) -> Iterator[ExpectedGradient]:
        for statement in self._text.forward:
            at = statement.visits[-1] if statement.visits and statement.op.type in self._checked else 0
            event = self._events[at - 1]
            if at and isinstance(event, RuleApplied):
                for blob, gradient in zip(statement.inputs, event.g_input, strict=False):
                    if gradient is not None:
                        yield ExpectedGradient(blob, self._text.parts(gradient, at), event)
        for (y, version), at in self._text.ys.items():
            event = self._events[at - 1]
            if isinstance(event, Seeded) and event.operator is None:
                parts = self._text.parts(event.gradient, at)
                # What an operator of the pass writes under the name of a given gradient is none that was given.
                if all(part.statement is None or part.statement.role == "forward" for part in parts):
                    yield ExpectedGradient(self._text.version(y, version), parts, event)

    def _writer(self, writing: Writing) -> int:
        """The operator that makes a writing; -1: it is there from outside."""
        statement = writing.statement
        if statement is None:
            return -1
        return statement.number if statement.role == "forward" else self._forward + statement.number

    def check(self, position: int, values: Mapping[Key, Array]) -> None:
        """Check the gradients that have all their values once operator `position` has run; -1: before the first.

        Raises:
            GradientError: ``rule_failed``: the gradient of a rule does not fit.
            RunError: ``shape_mismatch``: one that was given does not fit.
        """
        blobs: Blobs = entries_of(values)
        for expected in self._due.get(position, ()):
            self._check_shapes(expected, blobs)
            blob = blobs.get(expected.blob.key)
            if len(expected.parts) == 2 and blob is not None and expected.parts[0].key in values:
                outside = _first_outside(values[expected.parts[0].key], blob.shape[0])
                if outside:
                    raise self._misfit(expected, blobs, f"index {outside}")

    def foresee(self, stopped: int, fed: Mapping[str, Array]) -> None:
        """Check by shapes alone the gradients of operators before `stopped`, which cannot run.

        Args:
            fed: the blobs that the program starts from.

        Raises like `check`.
        """
        specs: dict[Key, ArraySpec | None] = {(name, 0): spec_of(array) for name, array in fed.items()}
        for position in range(-1, stopped):
            if position >= 0:
                _infer(self._program[position], position, specs)
            for expected in self._due.get(position, ()):
                self._check_shapes(expected, specs)

    def blamed(self, error: GradvizError) -> GradvizError:
        """`error`, met in running the program, with the rule that made its operator, where one did."""
        position = error.operator_index
        if position is None or not isinstance(error, RunError):
            return error
        place = position - self._forward
        event = self._events[self._text.operators[place].made - 1] if 0 <= place < len(self._text.operators) else None
        if not isinstance(event, RuleApplied):
            return error
        return error.retold(f"{error.message} This operator was made by {self._rule(event)}.")

    def _check_shapes(self, expected: ExpectedGradient, blobs: Blobs) -> None:
        blob, gradient = blobs.get(expected.blob.key), blobs.get(expected.parts[-1].key)
        if blob is None or gradient is None:
            return
        wanted, it = blob.shape, "it"
        if len(expected.parts) == 2:
            indices = blobs.get(expected.parts[0].key)
            if indices is None:
                return
            if not blob.shape or indices.dtype.kind not in "iu":
                raise self._misfit(expected, blobs, "its indices must be integers that number rows")
            wanted, it = (*indices.shape, *blob.shape[1:]), "its values"
        if gradient.shape != wanted:
            raise self._misfit(expected, blobs, f"{it} must have the shape {wanted}")
        if gradient.dtype != blob.dtype and not self._suits(gradient.dtype, expected, blobs):
            raise self._misfit(expected, blobs, f"{it} must be {blob.dtype}")

    def _suits(self, dtype: np.dtype[Any], expected: ExpectedGradient, blobs: Blobs) -> bool:
        """Whether a gradient may have `dtype` although its blob has another: floating-point types may meet."""
        if dtype.kind != "f":
            return False
        if isinstance(expected.event, Seeded):
            blob = blobs.get(expected.blob.key)
            return blob is not None and blob.dtype.kind == "f"
        index = expected.event.index
        ssa = self._program[index]
        met = [*(blob.key for blob in (*ssa.reads, *ssa.writes)), *self._arrived(index)]
        return any(other is not None and other.dtype == dtype for other in map(blobs.get, met))

    def _arrived(self, index: int) -> Iterator[Key]:
        """What the gradients consist of that the rule of a forward operator was given."""
        for at in self._text.forward[index].visits:
            event = self._events[at - 1]
            if isinstance(event, Visited):
                yield from (part.key for gradient in event.g_output for part in self._text.parts(gradient, at))

    def _misfit(self, expected: ExpectedGradient, blobs: Blobs, why: str) -> GradvizError:
        blob = _shown(expected.blob.key, blobs)
        gradient = " at rows ".join(_shown(part.key, blobs) for part in reversed(expected.parts))
        event = expected.event
        if isinstance(event, Seeded):
            y = expected.blob.name
            return RunError(
                f"The gradient {gradient} that was given for {blob} does not fit: {why}.",
                kind="shape_mismatch",
                blobs=[*(part.name for part in reversed(expected.parts)), y],
                ways_out=[
                    "Feed it again as it must be: one element for each of its blob, or one row for each index.",
                    f"Give None for {y} to start from ones.",
                ],
            )
        position = self._writer(expected.parts[-1])
        wrote = "" if position < 0 else f" Operator #{position} {self._program[position]} wrote it."
        return GradientError(
            f"The gradient {gradient} that {self._rule(event)} gives {blob} does not fit: {why}.{wrote}",
            kind="rule_failed",
            operator_index=event.index,
            blobs=[expected.parts[-1].name, expected.blob.name],
            ways_out=[
                "Let the rule give each input a gradient of its shape and dtype, or a GradientSlice of its rows.",
                "Where a kernel stretched an input, its gradient is summed over what was stretched.",
            ],
        )

    def _rule(self, event: RuleApplied) -> str:
        return f"the gradient rule ({event.rule}) of {describe(self._program[event.index].op, event.index)}"


def _is_ours(type: str) -> bool:
    operator_type = lookup(type)
    return operator_type is not None and operator_type.is_rule_ours


def are_rows(indices: Array, values: Array, blob: Array) -> bool:
    """Whether `values` are rows of an array like `blob`, numbered by `indices`."""
    if not blob.shape or indices.dtype.kind not in "iu" or values.shape != (*indices.shape, *blob.shape[1:]):
        return False
    return not _first_outside(indices, len(blob))


def _first_outside(indices: Array, rows: int) -> str:
    """The same wherever the indices lie."""
    with current(device_of(indices)):
        return first_outside(indices, rows)


def _infer(ssa: Ssa[BlobVersion], position: int, specs: dict[Key, ArraySpec | None]) -> None:
    """Add the shapes and dtypes of the outputs of an operator."""
    operator_type = lookup(ssa.op.type)
    assert operator_type is not None
    outputs = infer(ssa.op, position, operator_type, [specs.get(blob.key) for blob in ssa.reads])
    specs.update({blob.key: spec for blob, spec in zip(ssa.writes, outputs, strict=True)})


def _shown(key: Key, blobs: Blobs) -> str:
    """``x@0 (float64 (2, 3))``."""
    blob = blobs.get(key)
    return f"{key[0]}@{key[1]} ({described(blob) if blob is not None else 'not known'})"


def dense(indices: Array, values: Array, table: Array) -> Array | None:
    """`values` added up in the rows of `table` that `indices` number, where they lie; None: they are no rows of it."""
    device = device_of(values)
    with current(device):
        if not are_rows(moved(indices, device), values, table):
            return None
        whole = np.zeros_like(moved(table, device), dtype=values.dtype)
        np.add.at(whole, moved(indices, device), values)
    return whole
