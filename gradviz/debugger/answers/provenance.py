"""Where a NaN, an infinity, zeros or an explosion was born: the operator that computed it from what was fine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf, isnan
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from ...program.control_flow import take_apart
from ...program.errors import a_few, count_of, shorten
from ...runtime.devices import CPU, moved
from ..document import Number, Value, number
from ..journal import Statement, Writing
from ..statistics import WORKSPACES, absolute
from ..steering import CursorError, bad_argument
from .forms import Answer, Block, Grid, Paragraph, digits, first_of
from .net_view import NetView, placed

What = Literal["nan", "inf", "zero", "explosion"]
Side = Literal["forward", "backward", "fed"]


NAMES: dict[What, str] = {"nan": "NaN", "inf": "Inf", "zero": "zero", "explosion": "explosion"}

_NOTHING: dict[What | None, str] = {
    None: "There is nothing wrong with",
    "nan": "There is no NaN in",
    "inf": "There is no Inf in",
    "zero": "Not all elements are zero in",
    "explosion": "Nothing explodes on the way to",
}

FACTOR = 1e3
"""By how much a norm must have grown to count as an explosion."""

SHOWN = 20
"""Operators of a chain, and inputs of the last one, that a text or a table shows."""


class Link(msgspec.Struct, frozen=True):
    """A blob version on the way back to where the fault was born, and who computed it.

    Attributes:
        blob: in a nested net behind the path to it.
        by: the operator as text; where nobody computed it, how it came.
        side: whether a forward or a backward operator computed it, or it was fed.
        at: the position after that; None: before the start.
        norm, min, max, nan, inf, zero, size: its statistics.
        growth: its norm as a multiple of the greatest norm that went into it; None: not asked for, or there is none.
    """

    blob: str
    by: str
    side: Side
    at: int | None
    norm: Number | None
    min: Number | None
    max: Number | None
    nan: int
    inf: int
    zero: int
    size: int
    growth: Number | None = None


class ProvenanceView(Answer, frozen=True):
    """Where what is wrong with a blob version was born.

    Attributes:
        blob: the version, in a nested net behind the path to it.
        what: the fault; None: there is nothing wrong, or not what was asked for.
        asked: what was asked for; None: anything.
        count: how many elements have it; of an explosion the one of greatest absolute value.
        first: the index of the first of them; None: not known, since a saved trace keeps no arrays.
        chain: from the blob back to where it was born, the birth last.
        born: the birth; None where nothing is wrong.
        cause: what in the inputs there made it, as far as their statistics say.
        inputs: the inputs of the operator there.
        beside: other inputs with the same fault that were not followed.
    """

    answer = "provenance"
    blob: str
    what: What | None
    asked: What | None
    count: int = 0
    first: list[int] | None = None
    chain: tuple[Link, ...] = ()
    born: Link | None = None
    cause: str = ""
    inputs: tuple[Link, ...] = ()
    beside: tuple[str, ...] = ()

    def blocks(self) -> Iterator[Block]:
        if self.what is None or self.born is None:
            yield Paragraph(f"{_NOTHING[self.asked]} {self.blob}.", is_title=True)
            return
        yield Paragraph(f"{self._fault()} {self._birth()}", is_title=True)
        if self.cause:
            yield Paragraph(self.cause)
        growth = self.what == "explosion"
        head = ("blob", "by", "norm", "min", "max", "NaN", "Inf", "zero", *(["growth"] if growth else []))
        links = self.chain if len(self.chain) <= SHOWN else [*self.chain[: SHOWN // 2], *self.chain[-SHOWN // 2 :]]
        left_out = len(self.chain) - len(links)
        yield Grid(
            "The way back",
            head,
            [_row(link, growth) for link in links],
            f"{left_out} in the middle are left out" if left_out else "",
        )
        if self.inputs:
            yield Grid("What went in there", head, first_of(self.inputs, SHOWN, lambda link: _row(link, growth)))
        if self.beside:
            were = "was" if len(self.beside) == 1 else "were"
            yield Paragraph(f"{a_few(self.beside)} had it too, and {were} not followed.")

    def _fault(self) -> str:
        last = self.chain[0]
        if self.what == "explosion":
            times = digits(growth_of(self.chain))
            return f"The norm of {self.blob} is {digits(last.norm)}, {times} times that of what it came from."
        if self.what == "zero":
            return f"All {last.size} elements of {self.blob} are zero."
        assert self.what is not None
        if last.size == 1:
            return f"{self.blob} is {NAMES[self.what]}."
        first = "" if self.first is None else f"{', the first' if self.count > 1 else ','} at {self.first}"
        are = "is" if self.count == 1 else "are"
        return f"{self.count} of the {last.size} elements of {self.blob} {are} {NAMES[self.what]}{first}."

    def _birth(self) -> str:
        born = self.born
        assert born is not None
        is_inf = self.what == "nan" and not born.nan
        if born.side == "fed":
            return f"It comes from {born.blob}, which {born.by} {'with Inf' if is_inf else 'so'}."
        if self.what == "explosion":
            return f"It grew most, {digits(born.growth)} times, in the {born.side} pass, in {born.by}."
        return f"Born{' as Inf' if is_inf else ''} in the {born.side} pass, in {born.by}: what went in was fine."


def answer(here: NetView, word: str, what: str | None, factor: float) -> ProvenanceView:
    """Where what is wrong with the blob that `word` means was born.

    Raises CursorError ``not_found``, ``not_computed``, ``bad_argument``.
    """
    if what is not None and what not in list(NAMES):
        raise bad_argument("what", what, f"one of {', '.join(NAMES)}, or None for whatever is wrong")
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not factor > 1:
        raise bad_argument("factor", factor, "a number above 1: by how much a norm must have grown")
    view, writings = here.find(word)
    blob = next((one for one in reversed(writings) if view.value(one) is not None), writings[-1])
    value = view.value(blob)
    if value is None:
        raise view.no_value(blob)
    if value.dtype == WORKSPACES:
        raise no_numbers(blob)
    asked: What | None = what
    for fault in [asked] if asked else NAMES:
        if fault == "explosion":
            if steps := _growing(view, blob, factor):
                return _explained(view, blob, fault, asked, steps)
        elif HAS[fault](value):
            return _explained(view, blob, fault, asked, *_back(view, blob, fault))
    return ProvenanceView(view.named(blob), None, asked)


def no_numbers(blob: Writing) -> CursorError:
    """A blob holds workspaces."""
    return CursorError(
        f"{shorten(str(blob))} holds workspaces, no numbers.",
        kind="bad_argument",
        blobs=[str(blob)],
        ways_out=["Ask for a blob in one of them: a path and a colon say which."],
    )


def _explained(
    view: NetView, blob: Writing, fault: What, asked: What | None, steps: Sequence[Step], beside: Sequence[str] = ()
) -> ProvenanceView:
    """The answer that there is a fault, with the way back, and other inputs that had it and were not followed."""
    chain = tuple(producer.link(growth) for producer, growth in steps)
    at = len(chain) - 1
    if fault == "explosion":
        at = max(range(len(chain)), key=lambda place: finite(chain[place].growth))
    producer, _ = steps[at]
    inputs = producer.inputs
    count, first = _elements(view, blob, fault)
    followed = {link.blob for link in chain}
    return ProvenanceView(
        blob=view.named(blob),
        what=fault,
        asked=asked,
        count=count,
        first=first,
        chain=chain,
        born=chain[at],
        cause=_cause(producer.statement, inputs, "inf" if fault == "nan" and not chain[at].nan else fault),
        inputs=tuple(Producer(producer.view, one, one.statement).link(None) for one, _ in inputs),
        beside=tuple(dict.fromkeys(other for other in beside if other not in followed)),
    )


def _elements(view: NetView, blob: Writing, fault: What) -> tuple[int, list[int] | None]:
    """How many elements have the fault, and the index of the first one, where the array is there."""
    value, array = view.value(blob), view.array(blob)
    assert value is not None
    count = {"nan": value.nan, "inf": value.inf, "zero": value.zero, "explosion": 1}[fault]
    if array is None:
        return count, None
    here = absolute(moved(array, CPU))
    if fault == "explosion":
        sizes = np.abs(here.astype(np.float64))
        return count, [int(place) for place in np.unravel_index(int(sizes.argmax()), sizes.shape)]
    mask = np.isnan(here) if fault == "nan" else np.isinf(here) if fault == "inf" else here == 0
    return count, [int(place) for place in np.argwhere(mask)[0]]


def _row(link: Link, growth: bool) -> Sequence[str]:
    cells = (link.blob, link.by, digits(link.norm), digits(link.min, "none"), digits(link.max, "none"))
    counts = (str(link.nan), str(link.inf), str(link.zero))
    return (*cells, *counts, digits(link.growth, "none")) if growth else (*cells, *counts)


def _back(view: NetView, blob: Writing, fault: What) -> tuple[list[Step], list[str]]:
    """The way back along inputs that have the fault, until there is none; and those that were not followed."""
    bad_kinds: list[What] = ["nan", "inf"] if fault == "nan" else [fault]  # an infinity makes NaN, but not the reverse
    steps: dict[object, Step] = {}
    beside: list[str] = []
    while (place := (producer := producer_of(view, blob)).place) not in steps:
        steps[place] = producer, None
        view = producer.view
        bad = [one for one, value in producer.inputs if any(HAS[kind](value) for kind in bad_kinds)]
        if not bad:
            break
        same = [one for one, value in producer.inputs if HAS[fault](value)]
        is_sum = producer.statement is not None and producer.statement.role == "accumulation"
        blob = (same or bad)[-1 if is_sum else 0]
        came_from = [producer_of(view, one) for one in bad if one is not blob]
        beside += [other.view.named(other.blob) for other in came_from]
    return list(steps.values()), beside


def _growing(view: NetView, blob: Writing, factor: float) -> list[Step]:
    """The way back along the inputs of greatest norm, of a backward operator those that are gradients.

    Empty: from the end of the way to its start the norm has not grown more than so many times.
    """
    # A way may be long: norms alone say whether the rest needs to be measured.
    steps: dict[object, tuple[Producer, float]] = {}
    while (place := (producer := producer_of(view, blob)).place) not in steps:
        view = producer.view
        norms = [(norm, one) for one in _flowing(producer) if (norm := _norm(view, one)) is not None]
        before, blob = max(norms, default=(0.0, blob), key=lambda one: (one[0], str(one[1])))
        steps[place] = producer, before
        if not before > 0:
            break
    way = list(steps.values())
    end, start = _length(way[0][0]), _length(way[-1][0])
    if not start > 0 or not end / start > factor:
        return []
    return [(producer, _length(producer) / before if before > 0 else None) for producer, before in way]


def _length(producer: Producer) -> float:
    return _norm(producer.view, producer.blob) or 0.0


def _norm(view: NetView, blob: Writing) -> float | None:
    """The norm of a version, an infinity where it is NaN, which has no order; None: there is none."""
    length = view.norm(blob)
    return inf if length is not None and isnan(length) else length


def _flowing(producer: Producer) -> list[Writing]:
    view, statement = producer.view, producer.statement
    inputs = [] if statement is None else list(dict.fromkeys(statement.inputs))
    if statement is None or statement.role == "forward":
        return inputs
    return [
        one for one in inputs if _has_gradient_operator(one) or not any(map(view.is_forward, view.writings(one.name)))
    ]


def _has_gradient_operator(blob: Writing) -> bool:
    """Whether a gradient operator writes it."""
    return blob.statement is not None and blob.statement.role != "forward"


Inputs = Sequence[tuple[Writing, Value]]
"""The inputs of an operator, each with its statistics."""


class Producer(NamedTuple):
    """A blob version that has a value, and the operator that computed it; None: it was there before the program ran."""

    view: NetView
    blob: Writing
    statement: Statement | None

    @property
    def place(self) -> object:
        """The same for the same version in the same net, or run of it."""
        return self.view.net.id, self.view.run, self.blob.key

    @property
    def value(self) -> Value:
        """The statistics of the version."""
        value = self.view.value(self.blob)
        assert value is not None
        return value

    @property
    def inputs(self) -> Inputs:
        """The blob versions of numbers that went into it, each once."""
        blobs = [] if self.statement is None else list(dict.fromkeys(self.statement.inputs))
        pairs = zip(blobs, self.view.values(blobs), strict=True)
        return [(one, value) for one, value in pairs if value is not None and value.dtype != WORKSPACES]

    def link(self, growth: float | None) -> Link:
        """It in a chain."""
        (view, blob, statement), value = self, self.value
        return Link(
            blob=view.named(blob),
            by=placed(statement) if statement is not None else "came from outside" if view.net.path else "was fed",
            side="fed" if statement is None else "forward" if statement.role == "forward" else "backward",
            at=None if statement is None else view.ran_at(statement),
            norm=value.norm,
            min=value.min,
            max=value.max,
            nan=value.nan,
            inf=value.inf,
            zero=value.zero,
            size=value.size,
            growth=None if growth is None else number(growth),
        )


Step = tuple[Producer, float | None]
"""A step on the way back, with how many times the norm grew there; None: not asked for, or there is nothing before."""


def producer_of(view: NetView, blob: Writing) -> Producer:
    """Who computed a version: the operator, in the run of the innermost net, whose kernel computed the array.

    An array that goes from one iteration of a loop to the next, or into a nested net, is the same array; so the first
    kernel that computed it is found by it, whatever it is called on the way.
    """
    statement = blob.statement
    if statement is not None and statement.nets:
        return _inside(view, statement, blob) or _left(view, statement, blob) or Producer(view, blob, statement)
    found = view.found(blob) if statement is None and view.net.path else None
    if found is None:
        return Producer(view, blob, statement)
    run, entry = found
    if (maker := view.recorded.maker(run, entry)) is not None:
        return Producer(view.of(maker[0]), maker[1], maker[1].statement)
    return _around(view, run, blob) or Producer(view, blob, None)


def _around(view: NetView, run: int, blob: Writing) -> Producer | None:
    """Who computed the same version in the net around; None: it has none there."""
    begun = view.recorded.runs[run]
    around = next(reversed(list(view.around()))) if begun.around is None else view.of(begun.around)
    statement = view.recorded.recording.operator(begun.around, begun.operator)
    name = take_apart(statement.op, 0).outer.get(blob.name) if statement.op.type == "Do" else blob.name
    outer = next((one for one in statement.inputs if one.name == name), None)
    return None if outer is None else producer_of(around, outer)


def _inside(view: NetView, statement: Statement, blob: Writing) -> Producer | None:
    """Who computed an output of an operator with nested nets; None: none of its runs wrote it."""
    inner = take_apart(statement.op, 0).inner.get(blob.name, "") if statement.op.type == "Do" else blob.name
    for run in reversed(view.runs_of(statement)):
        inside = view.of(run)
        is_backward = view.recorded.runs[run].is_backward
        for writing in reversed(inside.writings(inner)):
            is_of_half = writing.statement is not None and _has_gradient_operator(writing) == is_backward
            if is_of_half and inside.run_with(writing) is not None:
                return producer_of(inside, writing)
    return None


def _left(view: NetView, statement: Statement, blob: Writing) -> Producer | None:
    """Who computed what an operator with nested nets has left as it was; None: nothing was there before."""
    before = next((one for one in statement.inputs if one.name == blob.name), None)
    return None if before is None else producer_of(view, before)


HAS: dict[What, Callable[[Value], bool]] = {
    "nan": lambda value: value.nan > 0,
    "inf": lambda value: value.inf > 0,
    "zero": lambda value: value.size > 0 and value.zero == value.size,
}


def finite(value: Number | None) -> float:
    """A number, 0 where there is none; infinities as they are, NaN as an infinity."""
    if value is None:
        return 0.0
    return float("inf") if isinstance(value, str) else float(value)


def growth_of(links: Sequence[Link]) -> float:
    """By how much the norm has grown from the end of a chain to its start."""
    start = finite(links[-1].norm)
    return finite(links[0].norm) / start if start > 0 else 0.0


def _cause(statement: Statement | None, inputs: Inputs, fault: What) -> str:
    """What in the inputs of an operator made its output zero or not finite; empty where statistics do not tell."""
    if statement is None or fault == "explosion":
        return ""
    if statement.role == "handover" and statement.op.type == "ConstantFill":
        return "It stands for the gradient of what the branch that ran does not use."
    tell = _CAUSES[fault].get(statement.op.type)
    return tell(statement, inputs) if tell is not None and inputs else ""


Tell = Callable[[Statement, Inputs], str]


def _dead(statement: Statement, inputs: Inputs) -> str:
    blob, value = inputs[0]
    if not isinstance(value.max, int | float) or value.max > 0:
        return ""
    return f"All {value.size} elements of {blob} are 0 or less, the greatest {digits(value.max)}: a dead Relu."


def _negative(statement: Statement, inputs: Inputs) -> str:
    blob, value = inputs[0]
    if isinstance(value.min, int | float) and value.min < 0:
        return f"{blob} has negative elements, down to {digits(value.min)}."
    return ""


def _has_zeros(statement: Statement, inputs: Inputs) -> str:
    blob, value = inputs[0]
    return f"{blob} has {count_of(value.zero, 'zero')}." if value.zero else ""


def _negative_power(statement: Statement, inputs: Inputs) -> str:
    exponent = statement.op.args["exponent"] if "exponent" in statement.op.args else inputs[-1][1].min
    return _has_zeros(statement, inputs) if isinstance(exponent, int | float) and exponent < 0 else ""


def _zeros(place: int) -> Tell:
    def tell(statement: Statement, inputs: Inputs) -> str:
        blob, value = inputs[min(place, len(inputs) - 1)]
        return f"{blob}, which it divides by, has {count_of(value.zero, 'zero')}." if value.zero else ""

    return tell


def _too_large(statement: Statement, inputs: Inputs) -> str:
    blob, value = inputs[0]
    return f"{blob} reaches up to {digits(value.max)}, too large for the exponential of {value.dtype}."


def _too_far(statement: Statement, inputs: Inputs) -> str:
    blob, value = inputs[0]
    if isinstance(value.min, int | float) and -value.min > finite(value.max):
        return f"{blob} reaches down to {digits(value.min)}, too far for the exponential of {value.dtype}."
    return _too_large(statement, inputs)


_CAUSES: dict[What, dict[str, Tell]] = {
    "zero": dict.fromkeys(("Relu", "ReluN"), _dead),
    "nan": {
        **dict.fromkeys(("Log", "Sqrt", "Rsqrt", "Pow"), _negative),
        **dict.fromkeys(("Div", "DivGradient"), _zeros(1)),
    },
    "inf": {
        "Log": _has_zeros,
        "Pow": _negative_power,
        **dict.fromkeys(("Div", "DivGradient"), _zeros(1)),
        **dict.fromkeys(("Reciprocal", "Rsqrt"), _zeros(0)),
        **dict.fromkeys(("Exp", "Expm1"), _too_large),
        **dict.fromkeys(("Sinh", "Cosh"), _too_far),
    },
}
