"""Why a blob has no gradient: every way from it towards a y, and what cuts each."""

from collections import defaultdict
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Literal

import msgspec

from ..operators import lookup
from ..program import GradientError
from ..program.control_flow import NETS
from ..program.errors import shorten
from .control_flow import passes_inside
from .nesting import Nesting
from .versions import Tracked

if TYPE_CHECKING:
    from .ir import IR

Reason = Literal["stop", "no_gradient_operator", "no_gradient_for_input", "not_on_a_path", "unused_output", "skipped"]
"""What cuts a way: StopGradient; an operator that is constant for gradients; a rule that gives this input none; a blob
that leads to no y; an output that nobody reads before it is gone; a leading operator that was skipped."""


class Cut(msgspec.Struct, frozen=True):
    """The end of one way.

    Attributes:
        reason: see `Reason`.
        way: the blob versions passed on the way, from the blob asked about.
        index: the operator that cuts; None where no operator reads the last blob.
        text: it all in a sentence.
    """

    reason: Reason
    way: list[str]
    index: int | None
    text: str


class WhyNone(msgspec.Struct, frozen=True):
    """The proof that `blob` has no gradient: all its ways are cut."""

    blob: str
    cuts: list[Cut]

    def __str__(self) -> str:
        ways = "".join(f"\n  - {cut.text}" for cut in self.cuts)
        return f"{self.blob} has no gradient; not computed, which is not zero. Every way from it to a y is cut:{ways}"

    def _repr_html_(self) -> str:
        ways = "".join(f"<li>{escape(cut.text)}</li>" for cut in self.cuts)
        return (
            f"<p><b>{escape(self.blob)}</b> has no gradient; not computed, which is not zero. "
            f"Every way from it to a y is cut:</p><ul>{ways}</ul>"
        )


def why_none(ir: "IR", blob: str) -> WhyNone:
    """Prove from `ir`, whose backward pass has been generated, that `blob` has no gradient.

    Args:
        blob: a name; its first version is meant.

    Raises:
        GradientError: ``bad_blob`` when the net has no such blob, or it has a gradient.
    """
    if blob not in ir.blobs:
        raise GradientError(
            f"The net has no blob {shorten(blob)}.",
            kind="bad_blob",
            blobs=[blob],
            ways_out=["str(net) lists every blob."],
        )
    if blob in ir.gradient_map:
        raise GradientError(
            f"{blob} has a gradient: {ir.gradient_map[blob]}.",
            kind="bad_blob",
            blobs=[blob],
            ways_out=["Ask for a blob that the map of gradients does not hold."],
        )
    start = ir.blobs[blob][0]
    return WhyNone(str(start), list(_cuts(ir, start)))


def _cuts(ir: "IR", start: Tracked) -> Iterator[Cut]:
    """The cut of each way from `start`, nearest first; a blob that several ways pass is followed once."""
    readers: dict[Tracked, dict[int, None]] = defaultdict(dict)
    for index, ssa in enumerate(ir.ssa):
        for blob in ssa.reads:
            readers[blob][index] = None
    queue = [(start, [str(start)])]
    seen = {start}
    for blob, way in queue:
        if not readers[blob]:
            yield _unread(ir, blob, way)
        for index in readers[blob]:
            if ir.ssa[index].op.type in NETS and any(output.gradient for output in ir.ssa[index].writes):
                yield from _cuts_inside(ir, index, blob, way)
                continue
            cut = _cut_at(ir, index, way)
            if cut is not None:
                yield cut
                continue
            ssa = ir.ssa[index]
            for output in ssa.writes:
                if output not in seen:
                    seen.add(output)
                    queue.append((output, [*way, str(output)]))


def _cuts_inside(ir: "IR", index: int, blob: Tracked, way: list[str]) -> Iterator[Cut]:
    """The cuts in the nets of operator `index`, through which the way from `blob` goes on."""
    ssa = ir.ssa[index]
    is_read = False
    g_output = [output.gradient for output in ssa.writes]
    for argument, inside, names in passes_inside(Nesting(ir, index), ssa.op, g_output):
        inner = names.get(blob.name, "")
        if inner not in inside.blobs or not inside.is_from_outside(inner):
            continue
        is_read = True
        for cut in _cuts(inside, inside.blobs[inner][0]):
            text = f"{_shown(way)}: in {index}.{argument} of {ssa.op.type}, {cut.text}"
            yield Cut(cut.reason, [*way, *(f"{index}.{argument}/{step}" for step in cut.way)], index, text)
    if not is_read:
        text = f"{_shown(way)}: {ssa.op.type} #{index} only decides by it, and a condition is constant for gradients."
        yield Cut("no_gradient_for_input", way, index, text)


def _unread(ir: "IR", blob: Tracked, way: list[str]) -> Cut:
    if blob is ir.blobs[blob.name][-1] and ir.around.path and blob.name in ir.around.leaving:
        text = f"{_shown(way)}: no gradient arrives at {blob} from around this net."
    elif blob is not ir.blobs[blob.name][-1]:
        text = f"{_shown(way)}: nobody reads {blob} before it is overwritten."
    else:
        text = f"{_shown(way)}: nobody reads {blob}, and it is no y."
    return Cut("unused_output" if len(way) > 1 else "not_on_a_path", way, None, text)


def _cut_at(ir: "IR", index: int, way: list[str]) -> Cut | None:
    """The cut that operator `index` makes, None where the way goes on through its outputs."""
    ssa = ir.ssa[index]
    op = ssa.op
    where = f"{_shown(way)}: {op.type} #{index}"
    if index < ir.skip:
        return Cut("skipped", way, index, f"{where} was skipped: the pass leaves the first {ir.skip} operators out.")
    if not op.outputs:
        return Cut("unused_output", way, index, f"{where} has no output that could lead to a y.")
    if op.type == "StopGradient":
        return Cut("stop", way, index, f"{where} stops gradients.")
    known = lookup(op.type)
    if known is not None and known.constant:
        return Cut("no_gradient_operator", way, index, f"{where} is constant as far as gradients go.")
    if any(blob.gradient for blob in ssa.writes):
        return Cut("no_gradient_for_input", way, index, f"{where} has a rule that gives this input no gradient.")
    return None


def _shown(way: list[str]) -> str:
    return " → ".join(way if len(way) <= 8 else [*way[:4], "…", *way[-3:]])
