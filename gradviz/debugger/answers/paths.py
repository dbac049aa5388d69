"""The paths of gradients from where they start to one blob: how many there are, what flows along each, and in all.

A path goes from a y through an operator to each input that its rule gives a gradient, and so on. With c(b) the number
of paths from blob version b to x,

    c(x) = 1,    c(output of f) = sum over the inputs i of f that get a gradient: c(i)

Along one path flows the product of the Jacobians on it applied to what it starts from. The sum over all paths is the
gradient of x.

A gradient operator is linear in the gradients of the outputs. With the gradient of one output, or one part of it, and
zeros for the others it gives the part of each input's gradient that comes from there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ...operators.registry import Array
from ...program import GradvizError
from ...runtime.devices import CPU, device_of, moved
from ..document import Number, number
from ..journal import Pace, Statement, Writing
from ..statistics import Vector, as_vector, compare, furthest, norm, norm_of, vector
from ..steering import bad_argument, whole_number
from .flow import Parts, Sent, added, after_hooks, array_of, arriving, gives, gradient_of, meant, seeds
from .forms import Answer, Block, Grid, Paragraph, absent, digits, percent, way
from .net_view import NetView
from .rerun import backward_run

LONG = 13
"""Blobs and operators of a path that are shown before it is shortened."""

RUNS = 20_000
"""How often backward operators may run for one answer."""

ELEMENTS = 1 << 24
"""How many elements all parts that are followed may have together."""

LEAST = 16
"""How many parts are followed on from each blob however large they are."""

SLACK = 1e-3
"""The part of the norm by which all paths together may differ from the recorded gradient and be the same."""

ROUNDINGS = 10
"""Roundings of what flows along the greatest path, by which they may differ, too, where paths cancel."""

ROWS = 2_000
"""Runs that may be spent on proving that no path left aside is greater."""


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
        is_whole: whether these are all ys, and the pass has come to x; else more of its gradient may come.
        count: how many paths there are, exactly.
        paths: those that carry the most, the greatest first.
        is_complete: whether these are all.
        is_proven: whether no other path carries more than these; else they were found by following, at each blob, as
            many as time allows.
        norm: of what flows along all paths.
        difference: the largest difference of an element between that and the recorded gradient of x; None: they are
            not the same, because not all ys were asked for, or not computed.
        reason: why what flows has no values, in words; empty: it has.
        parts: what flows along each of `paths`, as arrays like x; None where there are no values.
        absence: where there is no path, who says why, in a sentence; else empty.
        is_over: whether nothing more comes of the pass.
    """

    answer = "paths"
    x: str
    starts: list[tuple[str, str]]
    is_whole: bool
    count: int
    paths: list[Path]
    is_complete: bool
    is_proven: bool
    norm: Number | None
    difference: Number | None
    reason: str
    parts: tuple[Array | None, ...]
    absence: str
    is_over: bool

    def to_dict(self) -> dict[str, Any]:
        """As of every answer, without the arrays."""
        data = super(PathsView, msgspec.structs.replace(self, parts=())).to_dict()
        del data["parts"]
        return data

    def blocks(self) -> Iterator[Block]:
        starts = ", ".join(f"{blob} ({gradient})" for blob, gradient in self.starts)
        if not self.count:
            origin = f" from {starts}" if starts else ""
            yield Paragraph(f"No gradient flows{origin} to {self.x}{'' if self.is_over else ' yet'}.", is_title=True)
            yield Paragraph(self.absence)
            return
        paths = "1 path" if self.count == 1 else f"{self.count:,} paths"
        rows = [
            (text, digits(path.norm), percent(path.share, absent(path.norm)), digits(path.cosine, absent(path.norm)))
            for text, path in zip(_texts([path.steps for path in self.paths]), self.paths, strict=True)
        ]
        if self.is_whole:
            title = f"The gradient of {self.x} comes along {paths} from {starts}"
        else:
            title = f"From {starts} a gradient flows to {self.x} along {paths}"
        yield Grid(
            title,
            ("path", "norm", "share", "cosine"),
            rows,
            self._foot(),
        )
        yield Paragraph(self._reach())

    def _foot(self) -> str:
        words = f"all paths together: norm {digits(self.norm)}"
        if self.difference is None:
            return words
        if self._is_changed:
            words += f"; the recorded gradient differs by up to {digits(self.difference)}"
            return f"{words}: live.feed, a hook, a rule of the engine's own, or the like, has changed what flows"
        return f"{words}; that is the recorded gradient, within {digits(self.difference)}"

    @property
    def _is_changed(self) -> bool:
        """Whether something else than operators has changed the gradient."""
        norm, difference = self.norm, self.difference
        if not isinstance(norm, int | float) or not isinstance(difference, int | float):
            return False
        parts = [part for part in self.parts if part is not None]
        rounding = max((float(np.finfo(part.dtype).eps) * norm_of(part) for part in parts), default=0.0)
        return difference > SLACK * norm + ROUNDINGS * rounding

    def _reach(self) -> str:
        if self.norm is None:
            return f"{self.reason}, so the shortest paths are shown. Not computed is not zero."
        if self.is_complete:
            return f"{self._all()}."
        shares = [path.share for path in self.paths if isinstance(path.share, int | float)]
        carried = sum(shares) if len(shares) == len(self.paths) else None
        left = self.count - len(self.paths)
        is_one = left == 1
        sentence = "The other path" if is_one else f"The other {left:,} paths"
        if carried is not None:
            part = percent(1 - carried)
            sentence += f" carries {part} of it" if is_one else f" carry {part} of it together"
        if self.is_proven and carried is None:
            return f"{sentence} {'is' if is_one else 'are'} not greater."
        if self.is_proven:
            return f"{sentence}; {'its norm is not greater' if is_one else 'none of them has a greater norm'}."
        if carried is None:
            sentence += " was not followed" if is_one else " were not all followed"
        return f"{sentence}. Not all were followed: it is not proven that these are the greatest."

    def _all(self) -> str:
        """That there are no other paths, and what comes of these."""
        sentence = "This is the only one" if self.count == 1 else "These are all"
        if self._is_changed:
            return sentence
        if not self.is_whole:
            return f"{sentence} from there; the gradient of {self.x} may have other parts"
        return f"{sentence}; {'what flows along it is' if self.count == 1 else 'their parts add up to'} the gradient"


def answer(here: NetView, y: str | None, x: str, k: int, pace: Pace) -> PathsView:
    """The `k` greatest paths from `y`, or all ys, to `x`; raises CursorError ``not_found``, ``bad_argument``."""
    k = whole_number("k", k, "a number of paths, 1 at least: paths(x, k=5)", 1)
    view, versions = here.find(x)
    view, blob = view.differentiated(meant(versions))
    starts = _starts(view, y)
    start_gradients = {start: None if parts is None else _array(view, start, parts) for start, parts in starts.items()}
    has_values = not view.recorded.is_saved and all(array is not None for array in start_gradients.values())
    flowing = Paths(view, list(starts), blob, pace)
    (greatest, is_proven), whole, reason = _followed(view, flowing, start_gradients if has_values else None, k)
    count = len(view.net.forward)
    pace.end(None, count, count)
    gradient = gradient_of(view, blob)
    is_whole = starts.keys() == seeds(view).keys() and view.is_final(blob)
    arrived = None
    if gradient is not None and is_whole:
        arrived = _array(view, blob, after_hooks(view, blob) or gradient.parts)
    difference = None
    if whole is not None and arrived is not None:
        difference = furthest(moved(arrived, CPU), moved(whole, CPU))
    total = None if whole is None else vector(moved(whole, CPU))
    return PathsView(
        x=view.named(blob),
        starts=[(str(start), ", ".join(map(str, parts)) if parts else "none") for start, parts in starts.items()],
        is_whole=is_whole,
        count=flowing.count,
        paths=[_path(view, part, total) for part in greatest],
        is_complete=len(greatest) == flowing.count,
        is_proven=is_proven,
        norm=None if total is None else number(norm(total)),
        difference=None if difference is None else number(difference),
        reason=reason,
        parts=tuple(part.array for part in greatest),
        absence="" if flowing.count else _absence(view, blob, gradient),
        is_over=not view.is_halted,
    )


def _absence(view: NetView, blob: Writing, gradient: Sent | None) -> str:
    """Why no path leads to a blob."""
    if blob.statement is not None and blob.statement.role != "forward":
        return f"{blob} belongs to the backward pass, which is not differentiated itself."
    question = f'session.why_none("{view.named(blob)}")'
    if gradient is None:
        return f"{question} says why it has none."
    return f"Its gradient, {', '.join(map(str, gradient.parts))}, comes from elsewhere: {question} says from where."


def _followed(
    view: NetView, flowing: Paths, start_gradients: Mapping[Writing, Array | None] | None, k: int
) -> tuple[tuple[list[Part], bool], Array | None, str]:
    """The greatest paths, what flows along all together, and why that has no values."""
    reason = "Values are not known here" if view.recorded.recording.obstacle is None else "Nothing was run"
    if start_gradients is not None:
        try:
            return flowing.greatest(k, start_gradients), flowing.whole(start_gradients), ""
        except GradvizError as error:
            reason = error.message.rstrip(".")
    return flowing.greatest(k, {}), None, reason


def _starts(view: NetView, y: str | None) -> Mapping[Writing, Parts | None]:
    """Where the paths start, each with its gradient: the seed of a y, else all of the gradient that arrives there."""
    seeded = seeds(view)
    if y is None:
        return {blob: sent.parts for blob, sent in seeded.items()}
    other, versions = view.find(y)
    other, last = other.differentiated(versions[-1])
    if other.where != view.where:
        raise bad_argument("y", y, "two blobs of one net; ask in the nested net for the paths there")
    blob = next((one for one in seeded if one in versions), last)
    if blob in seeded:
        return {blob: seeded[blob].parts}
    sent = gradient_of(view, blob)
    return {blob: sent.parts if sent else None}


def _array(view: NetView, blob: Writing, parts: Parts) -> Array | None:
    needed = parts if len(parts) == 1 else (blob, *parts)
    if any(view.array(part) is None for part in needed):
        return None
    return array_of(view, blob, parts)


def _path(view: NetView, part: Part, total: Vector | None) -> Path:
    hops = part.hops[::-1]
    forward = view.net.forward
    blobs = [*(str(forward[hop.operator].inputs[hop.slot]) for hop in hops), str(part.start)]
    length = share = cosine = None
    if part.array is not None and total is not None:
        columns = compare([moved(part.array, CPU)], total)[:3]
        length, share, cosine = (None if one is None else number(one) for (one,) in columns)
    steps = blobs[:1]
    for hop, after in zip(hops, blobs[1:], strict=True):
        inputs = forward[hop.operator].inputs
        several = f" (input {hop.slot})" if inputs.count(inputs[hop.slot]) > 1 else ""
        steps += [f"#{hop.operator}{several}", after]
    return Path(blobs, [hop.operator for hop in hops], [hop.slot for hop in hops], steps, length, share, cosine)


def _texts(paths: Sequence[Sequence[str]]) -> list[str]:
    """The paths as text; of long ones, between the ends, the places where these paths part."""
    after: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        for step, following in pairwise(path):
            after[step].add(following)
    is_whole = len(paths) == 1
    return [way(path if is_whole or len(path) <= LONG else list(_choices(path, after)), 2 * LONG) for path in paths]


def _choices(path: Sequence[str], after: Mapping[str, set[str]]) -> Iterator[str]:
    """The steps of a path at which others go another way, each with the one before and after it."""
    parts = {place for place in range(1, len(path)) if len(after[path[place - 1]]) > 1}
    shown = sorted({0, len(path) - 1, *(near for place in parts for near in (place - 1, place, place + 1))})
    for place, following in pairwise([*shown, shown[-1] + 1]):
        if place < len(path):
            yield path[place]
            if following > place + 1:
                yield "…"


class Hop(NamedTuple):
    """One step of a path: from an output of a forward operator to its input `slot`."""

    operator: int
    slot: int


class Passed(NamedTuple):
    """An operator that paths pass: the output slots, each with the gradient that arrives there, and the input slots."""

    statement: Statement
    outputs: dict[int, Parts]
    inputs: list[int]


class Part(NamedTuple):
    """What has flown along one path so far; `array` None: it has no values.

    `hops` go from the start on.
    """

    start: Writing
    hops: tuple[Hop, ...]
    array: Array | None
    norm: float

    @property
    def rank(self) -> tuple[float, int]:
        """Greatest first, the shorter path first among equals."""
        return -self.norm, len(self.hops)


class Paths:
    """The paths from blob versions `starts` to `x`.

    Attributes:
        count: how many there are.
    """

    def __init__(self, view: NetView, starts: Sequence[Writing], x: Writing, pace: Pace) -> None:
        self._view = view
        self._starts = starts
        self._pace = pace
        self._x = x
        self._backward_run = backward_run(view)
        self._passed: list[Passed] = []
        self._counts = counts = {x: 1}
        for index, statement in enumerate(view.net.forward):
            pace.reached(None, index, len(view.net.forward))
            read, wrote = statement.inputs, statement.outputs
            inputs = [slot for slot, gets in enumerate(gives(view, index) or ()) if gets and read[slot] in counts]
            came = ((slot, parts) for slot, parts in enumerate(arriving(view, index)) if parts is not None)
            outputs = {slot: parts for slot, parts in came if wrote[slot] is not x}
            if inputs and outputs:
                self._passed.append(Passed(statement, outputs, inputs))
                counts |= dict.fromkeys([wrote[slot] for slot in outputs], sum(counts[read[slot]] for slot in inputs))
        self._passed.reverse()
        self.count = sum(counts.get(blob, 0) for blob in starts)

    def whole(self, start_gradients: Mapping[Writing, Array | None]) -> Array | None:
        """What flows along all paths together, of what flows from the starts."""
        arriving: dict[Writing, Array] = {}
        for blob, array in start_gradients.items() if self.count else ():
            if array is not None:
                _add(arriving, blob, array)
        for place, (statement, outputs, inputs) in enumerate(self._passed):
            self._pace.reached(None, place, len(self._passed))
            given = {
                slot: arriving.pop(statement.outputs[slot]) for slot in outputs if statement.outputs[slot] in arriving
            }
            if given:
                reached = self._backward_run(statement.number, given)
                for slot in inputs:
                    if (array := reached[slot]) is not None:
                        _add(arriving, statement.inputs[slot], array)
        return arriving.get(self._x)

    def greatest(self, most: int, start_gradients: Mapping[Writing, Array | None]) -> tuple[list[Part], bool]:
        """The `most` paths along which the most flows, greatest first, and whether they are proven to be these.

        Where the gradient of a start has no values, what flows from there has none either: then the shortest come
        first.

        All paths are followed where they are not too many. Else at each blob those of least norm are left aside. A path
        that is left aside carries no more than its norm so far times the greatest singular values of the Jacobians
        still to come; where these are cheap to compute, the greatest paths can be proven to be so all the same.
        """
        limit = self._limit(most)
        waiting: dict[Writing, list[Part]] = defaultdict(list)
        for blob in self._starts:
            if blob in self._counts:
                array = start_gradients.get(blob)
                waiting[blob].append(Part(blob, (), array, _norm(array)))
        aside: list[tuple[Writing, float]] = []
        for place, (statement, outputs, inputs) in enumerate(self._passed):
            self._pace.reached(None, place, len(self._passed))
            for output in outputs:
                parts = sorted(waiting.pop(statement.outputs[output], ()), key=lambda part: part.rank)
                aside += [(statement.outputs[output], part.norm) for part in parts[limit : limit + 1]]
                for part in parts[:limit]:
                    for slot, onward in self._followed(part, statement.number, output, inputs):
                        waiting[statement.inputs[slot]].append(onward)
        paths = sorted(waiting[self._x], key=lambda part: part.rank)[:most]
        return paths, not aside or self._is_proven(paths, aside)

    def _limit(self, most: int) -> int:
        """How many parts may be followed on from each blob."""
        gradients = [parts[-1] for _, outputs, _ in self._passed for parts in outputs.values()]
        sizes = [value.size for blob in gradients if (value := self._view.value(blob)) is not None]
        return max(min(RUNS // max(1, len(self._passed)), ELEMENTS // max(1, sum(sizes))), 4 * most, LEAST)

    def _followed(self, part: Part, index: int, output: int, inputs: list[int]) -> Iterator[tuple[int, Part]]:
        """What becomes of a part on its way through an operator, for each input."""
        reached = [] if part.array is None else self._backward_run(index, {output: part.array})
        for slot in inputs:
            array = reached[slot] if reached else None
            yield slot, Part(part.start, (*part.hops, Hop(index, slot)), array, _norm(array))

    def _is_proven(self, paths: list[Part], aside: list[tuple[Writing, float]]) -> bool:
        """Whether no path that was left aside can carry more than the least of `paths`."""
        if any(part.array is None for part in paths):
            return True  # by length alone, which never falls
        gains = self._gains()
        return gains is not None and all(norm * gains[blob] <= paths[-1].norm for blob, norm in aside)

    def _gains(self) -> dict[Writing, float] | None:
        """For each blob the most by which a path from there to x can multiply a norm.

        None: too dear to compute, or complex, where a Jacobian need not be linear.
        """
        # What flows to an output is an array like its recorded gradient.
        likes = {
            statement.outputs[output]: array_of(self._view, statement.outputs[output], parts)
            for statement, outputs, _ in self._passed
            for output, parts in outputs.items()
        }
        if sum(one.size for one in likes.values()) > ROWS or any(one.dtype.kind == "c" for one in likes.values()):
            return None
        gains = {self._x: 1.0}
        for statement, outputs, inputs in reversed(self._passed):
            for output in outputs:
                blob = statement.outputs[output]
                norms = self._jacobian_norms(statement, output, likes[blob], inputs)
                gains[blob] = max(norms[slot] * gains[statement.inputs[slot]] for slot in inputs)
        return gains

    def _jacobian_norms(self, statement: Statement, output: int, like: Array, inputs: list[int]) -> dict[int, float]:
        """The greatest singular value of the transposed Jacobian of one output with respect to each input."""
        rows: dict[int, list[Array]] = {slot: [] for slot in inputs}
        for place in range(like.size):
            unit = np.zeros(like.size, dtype=like.dtype)
            unit[place] = 1
            given = {output: moved(unit.reshape(like.shape), device_of(like))}
            reached = self._backward_run(statement.number, given)
            for slot in inputs:
                array = reached[slot]
                rows[slot].append(np.zeros(0) if array is None else as_vector(moved(array, CPU)))
        return {slot: _greatest_singular_value(np.array(arrays)) for slot, arrays in rows.items()}


def _greatest_singular_value(matrix: Array) -> float:
    if not matrix.size:
        return 0.0
    return float(np.linalg.norm(matrix, 2)) if np.isfinite(matrix).all() else float("inf")


def _norm(array: Array | None) -> float:
    """The norm; of what holds a NaN it is infinite, so that it is seen first."""
    length = 0.0 if array is None else norm_of(array)
    return float("inf") if np.isnan(length) else length


def _add(arriving: dict[Writing, Array], blob: Writing, array: Array) -> None:
    arriving[blob] = added(arriving[blob], array) if blob in arriving else array
