"""Deduplication: merging the rows of equal index of a sparse gradient.

A row of a table that was read several times has as many rows in the gradient. Let a slice have indices i and values v,
and let u be the distinct indices in ascending order. The merged slice is

    sum     u,  wₖ = Σ vⱼ over iⱼ = uₖ             the same gradient, each row once
    mean    u,  wₖ = Σ vⱼ / nₖ over the nₖ iⱼ = uₖ   another gradient where an index repeats

Unique finds u and where each iⱼ went; UnsortedSegmentSum or UnsortedSegmentMean makes w.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..program import GradientSlice, NetError, Operator
from ..program.errors import repr_of
from ..program.events import Aggregator, Deduplicated
from .accumulation import GradientNames
from .ir import IR

SEGMENT_TYPES: dict[Aggregator, str] = {"sum": "UnsortedSegmentSum", "mean": "UnsortedSegmentMean"}


class Merge(NamedTuple):
    """The operators that merge rows, and the slice that they write."""

    operators: list[Operator]
    gradient: GradientSlice


def merge_rows(gradient: GradientSlice, aggregator: Aggregator, taken: Iterable[str]) -> Merge:
    """What merges the rows of equal index in `gradient`.

    Args:
        gradient: indices of shape (n,), values of shape (n, ...).
        aggregator: ``"sum"`` or ``"mean"``.
        taken: names that may not be written.

    Raises:
        NetError: ``bad_argument`` when `gradient` is no slice or the aggregator another.
    """
    if not isinstance(gradient, GradientSlice):
        raise NetError(
            f"{repr_of(gradient)} is no GradientSlice, so it has no rows to merge.",
            kind="bad_argument",
            ways_out=["Leave it as it is: a dense gradient has each row once."],
        )
    check_aggregator(aggregator)
    names = GradientNames(set(taken))
    indices = names.take(f"{gradient.indices}_unique")
    remapping = names.take(f"{gradient.indices}_remapping")
    values = names.take(f"{gradient.values}_unique")
    operators = [
        Operator("Unique", [gradient.indices], [indices, remapping]),
        Operator(SEGMENT_TYPES[aggregator], [gradient.values, remapping], [values]),
    ]
    return Merge(operators, GradientSlice(indices, values))


def check_aggregator(aggregator: Any) -> None:
    """Raise NetError ``bad_argument`` unless `aggregator` is ``"sum"`` or ``"mean"``."""
    if not (isinstance(aggregator, str) and aggregator in SEGMENT_TYPES):
        raise NetError(
            f"Rows of equal index cannot be merged by {repr_of(aggregator)}.",
            kind="bad_argument",
            ways_out=['Give "sum", which keeps the gradient\'s meaning, or "mean".'],
        )


def deduplication_events(ir: IR, aggregator: Aggregator) -> Iterator[Deduplicated]:
    """Merge the rows of each sparse gradient that a finished pass gives an input of the net.

    Args:
        aggregator: ``"sum"`` or ``"mean"``.
    """
    position = len(ir.gradient_ops)
    taken = {name for op in (*(ssa.op for ssa in ir.ssa), *ir.gradient_ops) for name in (*op.inputs, *op.outputs)}
    for blob, before in ir.gradient_map.items():
        is_of_input = ir.is_from_outside(blob) and ir.blobs[blob][0].gradient is not None
        if isinstance(before, GradientSlice) and is_of_input:
            merge = merge_rows(before, aggregator, taken)
            yield Deduplicated(blob, 0, before, merge.gradient, aggregator, merge.operators, position)
            position += len(merge.operators)
            taken.update(name for op in merge.operators for name in op.outputs)
