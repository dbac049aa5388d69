"""Which paths a gradient takes from the ys to a blob, and how much flows along each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ...operators.registry import Array
from ...runtime.devices import CPU, moved
from ..document import Number, number
from ..journal import Writing
from ..statistics import Vector, compare, furthest, norm, vector
from ..steering import bad_argument
from .flow import Parts, array_of, gradient_of, meant, seeds
from .forms import Answer, Block, Grid, Paragraph, digits, percent, way
from .net_view import NetView
from .ways import Part, Ways

LONG = 13
"""Blobs and operators of a path that are shown before it is shortened."""


class Path(msgspec.Struct, frozen=True):
    """One path, written from x to where its gradient starts.

    Attributes:
        blobs: the blob versions on it, x first.
        operators: the forward operators between them.
        slots: which input of each operator it passes.
        steps: all of it as words; of an operator that reads a blob several times, which of its inputs is meant.
        norm, share, cosine: of what flows along it, share and cosine with the sum over all paths, as in `vectors`;
            None: not computed, or, of share and cosine, there is none, as of zeros.
    """

    blobs: list[str]
    operators: list[int]
    slots: list[int]
    steps: list[str]
    norm: Number | None
    share: Number | None
    cosine: Number | None


class PathsView(Answer, frozen=True):
    """The paths that carry the most of a gradient.

    Attributes:
        x: the blob version, in a nested net behind the path to it.
        starts: where the paths start, each with the gradient that starts there: ``["loss@0", "loss_autogen_grad@0"]``.
        count: how many paths there are, exactly.
        paths: those that carry the most, the greatest first.
        is_complete: whether these are all.
        is_proven: whether no other path carries more than these; else they were found by following, at each blob, as
            many as time allows.
        norm: of what flows along all paths.
        difference: the largest difference of an element between that and the recorded gradient of x; None: they are
            not the same, because not all ys were asked for, or not computed.
        parts: what flows along each of `paths`, as arrays like x. None where values are not known.
    """

    answer = "paths"
    x: str
    starts: list[tuple[str, str]]
    count: int
    paths: list[Path]
    is_complete: bool
    is_proven: bool
    norm: Number | None
    difference: Number | None
    parts: tuple[Array | None, ...]

    def to_dict(self) -> dict[str, Any]:
        """As of every answer, without the arrays."""
        data = super(PathsView, msgspec.structs.replace(self, parts=())).to_dict()
        del data["parts"]
        return data

    def blocks(self) -> Iterator[Block]:
        starts = ", ".join(f"{blob} ({gradient})" for blob, gradient in self.starts)
        if not self.count:
            yield Paragraph(f"No gradient flows from {starts} to {self.x}.", is_title=True)
            yield Paragraph(f'session.why_none("{self.x}") says what cuts each way.')
            return
        paths = "1 path" if self.count == 1 else f"{self.count:,} paths"
        rows = [
            (text, digits(path.norm), percent(path.share, _absent(path)), digits(path.cosine, _absent(path)))
            for text, path in zip(_told_apart([path.steps for path in self.paths]), self.paths, strict=True)
        ]
        yield Grid(
            f"The gradient of {self.x} comes along {paths} from {starts}",
            ("path", "norm", "share", "cosine"),
            rows,
            self._foot(),
        )
        yield Paragraph(self._reach())

    def _foot(self) -> str:
        said = f"all paths together: norm {digits(self.norm)}"
        if self.difference is None:
            return said
        return f"{said}; that is the recorded gradient, within {digits(self.difference)}"

    def _reach(self) -> str:
        if self.norm is None:
            return "Values are not known here, so the shortest paths are shown. Not computed is not zero."
        if self.is_complete:
            return "These are all; their parts add up to the gradient."
        shares = [path.share for path in self.paths if isinstance(path.share, int | float)]
        carried = sum(shares) if len(shares) == len(self.paths) else None
        said = f"The other {self.count - len(self.paths):,} paths"
        said += "" if carried is None else f" carry {percent(1 - carried)} of it together"
        if self.is_proven:
            return f"{said}; none of them has a greater norm." if carried is not None else f"{said} are not greater."
        said = said if carried is not None else f"{said} were not all followed"
        return f"{said}. Not all were followed: it is not proven that these are the greatest."


def answer(here: NetView, y: str | None, x: str, k: int) -> PathsView:
    """The `k` greatest paths from `y`, or all ys, to `x`; raises CursorError ``not_found``, ``bad_argument``."""
    if type(k) is not int or k < 1:
        raise bad_argument("k", k, "a number of paths, 1 at least: paths(x, k=5)")
    view, found = here.find(x)
    blob = meant(found)
    starts = _starts(view, y)
    known = {start: None if parts is None else _array(view, start, parts) for start, parts in starts.items()}
    has_values = not view.recorded.is_saved and all(array is not None for array in known.values())
    ways = Ways(view, known if has_values else dict.fromkeys(known), blob)
    greatest, is_proven = ways.greatest(k)
    whole = ways.whole() if has_values and ways.count else None
    gradient = gradient_of(view, blob) if starts.keys() == seeds(view).keys() else None
    arrived = None if gradient is None else _array(view, blob, gradient.parts)
    difference = None
    if whole is not None and arrived is not None:
        difference = furthest(moved(arrived, CPU), moved(whole, CPU))
    total = None if whole is None else vector(moved(whole, CPU))
    return PathsView(
        x=view.named(blob),
        starts=[(str(start), ", ".join(map(str, parts)) if parts else "none") for start, parts in starts.items()],
        count=ways.count,
        paths=[_path(view, part, total) for part in greatest],
        is_complete=len(greatest) == ways.count,
        is_proven=is_proven,
        norm=None if total is None else number(norm(total)),
        difference=None if difference is None else number(difference),
        parts=tuple(part.array for part in greatest),
    )


def _starts(view: NetView, y: str | None) -> Mapping[Writing, Parts | None]:
    """Where the paths start, each with its gradient: the seed of a y, else all of the gradient that arrives there."""
    seeded = seeds(view)
    if y is None:
        return {blob: sent.parts for blob, sent in seeded.items()}
    other, found = view.find(y)
    if other.where != view.where:
        raise bad_argument("y", y, "two blobs of one net; ask in the nested net for the paths there")
    blob = next((one for one in seeded if one in found), found[-1])
    if blob in seeded:
        return {blob: seeded[blob].parts}
    sent = gradient_of(view, blob)
    return {blob: sent.parts if sent else None}


def _array(view: NetView, blob: Writing, parts: Parts) -> Array | None:
    if any(view.array(part) is None for part in (blob, *parts)):
        return None
    return array_of(view, blob, parts)


def _path(view: NetView, part: Part, total: Vector | None) -> Path:
    hops = part.hops[::-1]
    forward = view.net.forward
    blobs = [*(str(forward[hop.operator].inputs[hop.slot]) for hop in hops), str(part.start)]
    length = share = cosine = None
    if part.array is not None and total is not None:
        length, share, cosine = (
            None if one is None else number(one) for one in compare(vector(moved(part.array, CPU)), total)
        )
    steps = blobs[:1]
    for hop, after in zip(hops, blobs[1:], strict=True):
        inputs = forward[hop.operator].inputs
        several = f" (input {hop.slot})" if inputs.count(inputs[hop.slot]) > 1 else ""
        steps += [f"#{hop.operator}{several}", after]
    return Path(blobs, [hop.operator for hop in hops], [hop.slot for hop in hops], steps, length, share, cosine)


def _told_apart(paths: Sequence[Sequence[str]]) -> list[str]:
    """The paths as text; of long ones, what others pass too is left out between the ends."""
    common = set(paths[0]).intersection(*paths[1:]) if len(paths) > 1 else set()
    return [way(path if len(path) <= LONG else list(_differing(path, common)), LONG + 1) for path in paths]


def _differing(path: Sequence[str], common: set[str]) -> Iterator[str]:
    is_left_out = False
    for place, step in enumerate(path):
        if step in common and 0 < place < len(path) - 1:
            if not is_left_out:
                yield "…"
            is_left_out = True
        else:
            is_left_out = False
            yield step


def _absent(path: Path) -> str:
    return "not computed" if path.norm is None else "none"
