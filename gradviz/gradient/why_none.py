"""Why a blob has no gradient: every way from it towards a y, and what cuts each."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Literal, Protocol

import msgspec

from ..operators import lookup
from ..program import GradientError
from ..program.control_flow import NETS
from ..program.errors import shorten
from .accumulation import Tracked
from .control_flow import passes_inside
from .ir import IR
from .nesting import Nesting

Reason = Literal[
    "stop", "no_gradient_operator", "no_gradient_for_input", "not_on_a_path", "unused_output", "skipped", "passed_by"
]
"""What cuts a way: StopGradient; an operator that is constant for gradients; a rule that gives this input none; a blob
that leads to no y; an output that nobody reads before it is gone; a leading operator that was skipped; an operator
that the pass went by for another reason."""


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
        return headline(self.blob) + "".join(f"\n  - {cut.text}" for cut in self.cuts)

    def _repr_html_(self) -> str:
        ways = "".join(f"<li>{escape(cut.text)}</li>" for cut in self.cuts)
        return f"<p><b>{escape(headline(self.blob))}</b></p><ul>{ways}</ul>"


def headline(blob: str) -> str:
    """What is proven of `blob`."""
    return f"{blob} has no gradient; not computed, which is not zero. Every way from it to a y is cut:"


class Passed(Protocol):
    """A net whose backward pass is over, as the proof looks at it. Blob versions are written ``x@0``.

    Attributes:
        skip: how many leading operators took no part.
    """

    skip: int

    def readers(self, blob: str) -> Sequence[int]:
        """The operators that read a version, in order, each once."""

    def operator(self, index: int) -> tuple[str, Sequence[str]]:
        """The type of an operator and the versions that it writes."""

    def has_gradient(self, blob: str) -> bool:
        """Whether a gradient arrived at a version."""

    def is_last(self, blob: str) -> bool:
        """Whether nobody writes the name again."""

    def leaves(self, blob: str) -> bool:
        """Whether the net around reads a version."""

    def inside(self, index: int, blob: str) -> Iterator[tuple[str, "Passed", str]]:
        """The nested nets of an operator that read a version: the way there, the net, and the version's name in it."""

    def reason(self, index: int) -> str:
        """Why the pass went by an operator, where that is not for want of a gradient; else empty."""


def why_none(ir: IR, blob: str) -> WhyNone:
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
    start = str(ir.blobs[blob][0])
    return WhyNone(start, list(cuts(_PassedIR(ir), start)))


def cuts(net: Passed, start: str) -> Iterator[Cut]:
    """The cut of each way from version `start`, nearest first; a blob that several ways pass is followed once."""
    queue = [(start, [start])]
    seen = {start}
    for blob, way in queue:
        readers = net.readers(blob)
        if not readers:
            yield _unread(net, blob, way)
        for index in readers:
            type, outputs = net.operator(index)
            if type in NETS and any(map(net.has_gradient, outputs)):
                yield from _cuts_inside(net, index, blob, way)
                continue
            cut = _cut_at(net, index, way)
            if cut is not None:
                yield cut
                continue
            for output in outputs:
                if output not in seen:
                    seen.add(output)
                    queue.append((output, [*way, output]))


def _cuts_inside(net: Passed, index: int, blob: str, way: list[str]) -> Iterator[Cut]:
    """The cuts in the nets of operator `index`, through which the way from `blob` goes on."""
    type, _ = net.operator(index)
    is_read = False
    for argument, inside, inner in net.inside(index, blob):
        is_read = True
        for cut in cuts(inside, inner):
            text = f"{_shown(way)}: in {index}.{argument} of {type}, {cut.text}"
            yield Cut(cut.reason, [*way, *(f"{index}.{argument}/{step}" for step in cut.way)], index, text)
    if not is_read:
        text = f"{_shown(way)}: {type} #{index} only decides by it, and a condition is constant for gradients."
        yield Cut("no_gradient_for_input", way, index, text)


def _unread(net: Passed, blob: str, way: list[str]) -> Cut:
    if not net.is_last(blob):
        why = f"nobody reads {blob} before it is overwritten."
    elif net.leaves(blob):
        why = f"no gradient arrives at {blob} from around this net."
    else:
        why = f"nobody reads {blob}, and it is no y."
    if len(way) == 1:
        return Cut("not_on_a_path", way, None, why)
    return Cut("unused_output", way, None, f"{_shown(way)}: {why}")


def _cut_at(net: Passed, index: int, way: list[str]) -> Cut | None:
    """The cut that operator `index` makes, None where the way goes on through its outputs."""
    type, outputs = net.operator(index)
    where = f"{_shown(way)}: {type} #{index}"
    if index < net.skip:
        return Cut("skipped", way, index, f"{where} was skipped: the pass leaves the first {net.skip} operators out.")
    if not outputs:
        return Cut("unused_output", way, index, f"{where} has no output that could lead to a y.")
    if type == "StopGradient":
        return Cut("stop", way, index, f"{where} stops gradients.")
    known = lookup(type)
    if known is not None and known.constant:
        return Cut("no_gradient_operator", way, index, f"{where} is constant as far as gradients go.")
    if any(map(net.has_gradient, outputs)):
        return Cut("no_gradient_for_input", way, index, f"{where} has a rule that gives this input no gradient.")
    if reason := net.reason(index):
        return Cut("passed_by", way, index, f"{where} was passed by: {reason}.")
    return None


def _shown(way: list[str]) -> str:
    return " → ".join(way if len(way) <= 8 else [*way[:4], "…", *way[-3:]])


class _PassedIR:
    """The net of an IR."""

    def __init__(self, ir: IR) -> None:
        self._ir = ir
        self.skip = ir.skip
        self._readers: dict[str, dict[int, None]] = {}
        for index, ssa in enumerate(ir.ssa):
            for blob in ssa.reads:
                self._readers.setdefault(str(blob), {})[index] = None

    def _tracked(self, blob: str) -> Tracked:
        name, _, version = blob.rpartition("@")
        return self._ir.blobs[name][int(version)]

    def readers(self, blob: str) -> Sequence[int]:
        return list(self._readers.get(blob, ()))

    def operator(self, index: int) -> tuple[str, Sequence[str]]:
        ssa = self._ir.ssa[index]
        return ssa.op.type, ssa.outputs

    def has_gradient(self, blob: str) -> bool:
        return self._tracked(blob).gradient is not None

    def is_last(self, blob: str) -> bool:
        name = blob.rpartition("@")[0]
        return self._ir.blobs[name][-1] is self._tracked(blob)

    def leaves(self, blob: str) -> bool:
        return bool(self._ir.around.path) and blob.rpartition("@")[0] in self._ir.around.leaving

    def inside(self, index: int, blob: str) -> Iterator[tuple[str, Passed, str]]:
        ssa = self._ir.ssa[index]
        g_output = [output.gradient for output in ssa.writes]
        for argument, ir, names in passes_inside(Nesting(self._ir, index), ssa.op, g_output):
            inner = names.get(blob.rpartition("@")[0], "")
            if inner in ir.blobs and ir.is_from_outside(inner):
                yield argument, _PassedIR(ir), str(ir.blobs[inner][0])

    def reason(self, index: int) -> str:
        return ""
