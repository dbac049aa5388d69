"""Where a NaN, an infinity, zeros or an explosion was born: the operator that made it of what was fine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ...program.errors import shorten
from ...program.wording import count_of, listed
from ...runtime.devices import CPU, moved
from ..document import Value
from ..journal import Statement, Writing
from ..statistics import WORKSPACES, absolute
from ..steering import CursorError, bad_argument
from .fault_trail import HAS, Chain, FaultTrail, Link, Producer, What, finite, growth_of, inputs_of, link_of
from .forms import Answer, Block, Grid, Paragraph, digits
from .net_view import NetView

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
"""Operators of a chain that a text or a table shows."""


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
        cause: what in the inputs there made it, as far as it can be told.
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
            said = _NOTHING[self.asked]
            yield Paragraph(f"{said} {self.blob}.", is_title=True)
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
            yield Grid("What went in there", head, [_row(link, growth) for link in self.inputs])
        if self.beside:
            yield Paragraph(
                f"{listed(self.beside)} had it too, and {'was' if len(self.beside) == 1 else 'were'} not followed."
            )

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
    view, found = here.find(word)
    blob = next((one for one in reversed(found) if view.value(one) is not None), found[-1])
    value = view.value(blob)
    if value is None:
        raise view.no_value(blob)
    if value.dtype == WORKSPACES:
        raise no_numbers(blob)
    asked: What | None = what
    trail = FaultTrail()
    for fault in [asked] if asked else NAMES:
        if fault == "explosion":
            chain = trail.growing(view, blob)
            if growth_of(chain.links) > factor:
                return _explained(view, blob, fault, asked, chain)
        elif HAS[fault](value):
            return _explained(view, blob, fault, asked, trail.back(view, blob, fault))
    return ProvenanceView(view.named(blob), None, asked)


def no_numbers(blob: Writing) -> CursorError:
    """A blob holds workspaces."""
    return CursorError(
        f"{shorten(str(blob))} holds workspaces, no numbers.",
        kind="bad_argument",
        blobs=[str(blob)],
        ways_out=["Ask for a blob in one of them: a path and a colon say which."],
    )


def _explained(view: NetView, blob: Writing, fault: What, asked: What | None, chain: Chain) -> ProvenanceView:
    links = chain.links
    place = len(links) - 1
    if fault == "explosion":
        place = max(range(len(links)), key=lambda at: finite(links[at].growth))
    producer, born = chain.producers[place], links[place]
    inputs = inputs_of(producer)
    because = ""
    if producer.statement is not None and fault != "explosion":
        because = _cause(producer.statement, [(str(one), producer.view.value(one)) for one in inputs])
    count, first = _elements(view, blob, fault)
    return ProvenanceView(
        blob=view.named(blob),
        what=fault,
        asked=asked,
        count=count,
        first=first,
        chain=tuple(links),
        born=born,
        cause=because,
        inputs=tuple(link_of(Producer(producer.view, one, one.statement), None) for one in inputs),
        beside=tuple(dict.fromkeys(other for other in chain.beside if other not in chain.seen)),
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


Inputs = Sequence[tuple[str, Value | None]]
"""The inputs of an operator and what is known of them."""


def _cause(statement: Statement, inputs: Inputs) -> str:
    """What in the inputs of an operator made its output zero or not finite; empty where statistics do not tell."""
    if statement.role == "handover" and statement.op.type == "ConstantFill":
        return "It stands for the gradient of what the branch that ran does not use."
    tell = _CAUSES.get(statement.op.type)
    known = [(blob, value) for blob, value in inputs if value is not None]
    return tell(known) if tell is not None and len(known) == len(inputs) else ""


def _dead(inputs: Sequence[tuple[str, Value]]) -> str:
    blob, value = inputs[0]
    if not isinstance(value.max, int | float) or value.max > 0:
        return ""
    return f"All {value.size} elements of {blob} are 0 or less, the greatest {digits(value.max)}: a dead Relu."


def _negative(inputs: Sequence[tuple[str, Value]]) -> str:
    blob, value = inputs[0]
    if isinstance(value.min, int | float) and value.min < 0:
        return f"{blob} has negative elements, down to {digits(value.min)}."
    return f"{blob} has {count_of(value.zero, 'zero')}." if value.zero else ""


def _zeros(place: int) -> Callable[[Sequence[tuple[str, Value]]], str]:
    def tell(inputs: Sequence[tuple[str, Value]]) -> str:
        blob, value = inputs[min(place, len(inputs) - 1)]
        return f"{blob}, which it divides by, has {count_of(value.zero, 'zero')}." if value.zero else ""

    return tell


def _too_large(inputs: Sequence[tuple[str, Value]]) -> str:
    blob, value = inputs[0]
    return f"{blob} reaches up to {digits(value.max)}, too large for the exponential of {value.dtype}."


_CAUSES: dict[str, Callable[[Sequence[tuple[str, Value]]], str]] = {
    **dict.fromkeys(("Relu", "ReluN"), _dead),
    **dict.fromkeys(("Log", "Sqrt", "Pow", "Logit", "LogGradient"), _negative),
    **dict.fromkeys(("Div", "DivGradient"), _zeros(1)),
    **dict.fromkeys(("Reciprocal", "Rsqrt", "SqrtGradient", "ReciprocalGradient", "RsqrtGradient"), _zeros(0)),
    **dict.fromkeys(("Exp", "Expm1", "Sinh", "Cosh"), _too_large),
}
