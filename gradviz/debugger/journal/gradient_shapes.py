"""Whether each gradient fits its blob, and who is to blame where one does not.

A gradient has the shape and dtype of its blob; a sparse one has rows of it. A rule that is wrong about that, or a
gradient that was given, is named here, before a later operator stumbles over what it made:

    dense     shape(g) = shape(x)
    sparse    indices are integers i with 0 <= i < rows(x), and shape(values) = shape(indices) + shape(x)[1:]
    dtype     that of x; where floating-point types meet at an operator, that of any of its blobs and their gradients;
              a given one may be of any floating-point type
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...gradient.rules import describe
from ...operators import ArraySpec, lookup
from ...operators.indexing import first_outside
from ...operators.inference import described
from ...operators.registry import Array
from ...program import GradientError, GradvizError, RunError
from ...program.events import Event, Played, RuleApplied, Seeded
from ...program.net_halves import Key
from ...program.ssa import BlobVersion, Ssa
from ...runtime.devices import current, device_of, moved
from ...runtime.planning import infer, spec_of
from ...runtime.shelf import Shelf
from .expected_gradients import ExpectedGradient, expected_gradients

Known = Mapping[Key, Array | ArraySpec | None]
"""Blob versions as far as they are known: arrays, or their shapes and dtypes."""


class Fit:
    """The gradients of a pass, held against their blobs as these come to be known.

    Args:
        events: the events of the pass.
        program: the forward operators, then the gradient operators, as they read at the end.
    """

    def __init__(self, events: Sequence[Event], program: Sequence[Ssa[BlobVersion]]) -> None:
        self._program = program
        self._forward = sum(isinstance(event, Played) and not event.path for event in events)
        self._rules = [event for event in events if isinstance(event, RuleApplied) and not event.path]
        self._due: dict[int, list[ExpectedGradient]] = {}
        for expected in expected_gradients(events, program):
            self._due.setdefault(expected.due, []).append(expected)

    def check(self, position: int, values: Mapping[Key, Array]) -> None:
        """Check the gradients that are known once operator `position` has run; -1: before the first.

        Raises:
            GradientError: ``rule_failed``: a rule made a gradient that does not fit.
            RunError: ``shape_mismatch``: one that was given does not fit.
        """
        known: Known = values.entries if isinstance(values, Shelf) else values
        for expected in self._due.get(position, ()):
            self._check_shapes(expected, known)
            blob = known.get(expected.blob)
            if len(expected.parts) == 2 and blob is not None and expected.parts[0] in values:
                outside = first_outside(values[expected.parts[0]], blob.shape[0])
                if outside:
                    raise self._misfit(expected, known, f"index {outside}")

    def foresee(self, stopped: int, fed: Mapping[str, Array]) -> None:
        """Check what shapes alone tell of the gradients made before operator `stopped`, which cannot run.

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

    def told(self, error: GradvizError) -> GradvizError:
        """`error`, met in running the program, with the rule that made its operator, where one did."""
        position = error.operator_index
        if position is None or not isinstance(error, RunError):
            return error
        for event in self._rules:
            if 0 <= position - self._forward - event.position < len(event.operators):
                return RunError(
                    f"{error.message} This operator was made by {self._rule(event)}.",
                    kind=error.kind,
                    operator_index=position,
                    blobs=error.blobs,
                    ways_out=error.ways_out,
                )
        return error

    def _check_shapes(self, expected: ExpectedGradient, known: Known) -> None:
        blob, gradient = known.get(expected.blob), known.get(expected.parts[-1])
        if blob is None or gradient is None:
            return
        wanted, it = blob.shape, "it"
        if len(expected.parts) == 2:
            indices = known.get(expected.parts[0])
            if indices is None:
                return
            if not blob.shape or indices.dtype.kind not in "iu":
                raise self._misfit(expected, known, "its indices must be integers that number rows")
            wanted, it = (*indices.shape, *blob.shape[1:]), "its values"
        if gradient.shape != wanted:
            raise self._misfit(expected, known, f"{it} must have the shape {wanted}")
        if gradient.dtype != blob.dtype and not self._suits(gradient.dtype, expected, known):
            raise self._misfit(expected, known, f"{it} must be {blob.dtype}")

    def _suits(self, dtype: np.dtype[Any], expected: ExpectedGradient, known: Known) -> bool:
        """Whether a gradient may have `dtype` although its blob has another: floating-point types may meet."""
        if dtype.kind != "f":
            return False
        if isinstance(expected.event, Seeded):
            blob = known.get(expected.blob)
            return blob is not None and blob.dtype.kind == "f"
        ssa = self._program[expected.event.index]
        met = [*((blob.name, blob.version) for blob in (*ssa.reads, *ssa.writes)), *expected.arrived]
        return any(other is not None and other.dtype == dtype for other in map(known.get, met))

    def _misfit(self, expected: ExpectedGradient, known: Known, why: str) -> GradvizError:
        blob = _shown(expected.blob, known)
        gradient = " at rows ".join(_shown(part, known) for part in reversed(expected.parts))
        event = expected.event
        if not isinstance(event, RuleApplied):
            return RunError(
                f"The gradient {gradient} that was given for {blob} does not fit: {why}.",
                kind="shape_mismatch",
                blobs=[*(name for name, _ in reversed(expected.parts)), event.y],
                ways_out=[
                    "Feed it again as it must be: one element for each of its blob, or one row for each index.",
                    f"Give None for {event.y} to start from ones.",
                ],
            )
        position = self._writer(expected.parts[-1])
        made = "" if position is None else f" Operator #{position} {self._program[position]} wrote it."
        return GradientError(
            f"The gradient {gradient} that {self._rule(event)} gives {blob} does not fit: {why}.{made}",
            kind="rule_failed",
            operator_index=event.index,
            blobs=[expected.parts[-1][0], expected.blob[0]],
            ways_out=[
                "Let the rule give each input a gradient of its shape and dtype, or a GradientSlice of its rows.",
                "Where a kernel stretched an input, its gradient is summed over what was stretched.",
            ],
        )

    def _rule(self, event: RuleApplied) -> str:
        return f"the gradient rule ({event.rule}) of {describe(self._program[event.index].op, event.index)}"

    def _writer(self, key: Key) -> int | None:
        """The operator that writes a version, None where it was fed."""
        writers = (
            position
            for position, ssa in enumerate(self._program)
            if any((blob.name, blob.version) == key for blob in ssa.writes)
        )
        return next(writers, None)


def are_rows(indices: Array, values: Array, blob: Array) -> bool:
    """Whether `values` are rows of an array like `blob`, numbered by `indices`."""
    if not blob.shape or indices.dtype.kind not in "iu" or values.shape != (*indices.shape, *blob.shape[1:]):
        return False
    return not first_outside(indices, len(blob))


def _infer(ssa: Ssa[BlobVersion], position: int, specs: dict[Key, ArraySpec | None]) -> None:
    """Add what is known of the outputs of an operator."""
    known = lookup(ssa.op.type)
    assert known is not None
    outputs = infer(ssa.op, position, known, [specs.get((blob.name, blob.version)) for blob in ssa.reads])
    specs.update({(blob.name, blob.version): spec for blob, spec in zip(ssa.writes, outputs, strict=True)})


def _shown(key: Key, known: Known) -> str:
    """``x@0 (float64 (2, 3))``."""
    found = known.get(key)
    return f"{key[0]}@{key[1]} ({described(found) if found is not None else 'not known'})"


def dense(indices: Array, values: Array, table: Array) -> Array | None:
    """`values` added up in the rows of `table` that `indices` number, where they lie; None: they are no rows of it."""
    device = device_of(values)
    with current(device):
        if not are_rows(moved(indices, device), values, table):
            return None
        whole = np.zeros_like(moved(table, device), dtype=values.dtype)
        np.add.at(whole, moved(indices, device), values)
    return whole
