"""Whether gradients are right: those of an operator's rule, or of a whole program, against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...operators.registry import Array
from ...program import GradvizError
from ...program.errors import listed
from ..journal import Pace, Statement, Writing
from .comparison import MOST, SEED, Checked, Verdict, compared, compared_along
from .flow import array_of, arriving, arriving_after, gives, gradient_of, hooked, meant, seeds, sum_through
from .forms import Answer, Block, Bullets, Grid, Paragraph, digits
from .net_view import NetView, text_of
from .rerun import NotCheckable, as_double, check_repeats, operator_run, recorded_inputs, rest_of

HEAD = ("gradient of", "verdict", "elements", "relative error", "at", "gradient", "difference", "method", "step")


class CheckView(Answer, frozen=True):
    """Whether a gradient is that of the function.

    Attributes:
        subject: the operator or blob version, in a nested net behind the path to it.
        verdict: over all blobs, of a large one also along directions that move all of it. "kink": where differences
            from both sides disagree, no gradient is right or wrong.
        checks: for each blob whose gradient was checked.
        seed: from which the checked elements were drawn where there are many.
        notes: what was not checked and why, and what was held as it was.
    """

    answer = "check"
    subject: str
    verdict: Verdict
    checks: list[Checked]
    seed: int
    notes: list[str]

    def blocks(self) -> Iterator[Block]:
        said = {
            "agrees": "agrees with differences",
            "differs": "differs from differences",
            "kink": "lies on a kink, where no gradient is right or wrong",
            "not checkable": "cannot be checked",
        }
        yield Paragraph(f"{self.subject} {said[self.verdict]}.", is_title=True)
        if self.checks:
            yield Grid("With the actual gradient arriving and the recorded values", HEAD, list(map(_row, self.checks)))
        if any(one.checked < one.size for one in self.checks):
            yield Paragraph(f"Of large blobs {MOST} elements were drawn, from seed {self.seed}.")
        if self.notes:
            yield Bullets(self.notes)


class CheckableView(Answer, frozen=True):
    """Whether a gradient can be checked.

    Attributes:
        subject: the operator or blob version, in a nested net behind the path to it.
        problem: why it cannot be checked, in a sentence or two; empty: it can.
    """

    answer = "checkable"
    subject: str
    problem: str

    def blocks(self) -> Iterator[Block]:
        yield Paragraph(f"{self.subject} {'cannot' if self.problem else 'can'} be checked.", is_title=True)
        if self.problem:
            yield Paragraph(self.problem)


class _Compared(NamedTuple):
    """What came of comparing: for each blob, of a large one also along directions, and what is to be said of it."""

    checks: list[Checked]
    notes: Sequence[str]
    along: Checked | None = None


class _Planned(NamedTuple):
    """What is to be compared, which runs operators again; None: it cannot be checked, and the notes say why."""

    subject: str
    notes: Sequence[str]
    compare: Callable[[], _Compared] | None = None


def answer(here: NetView, word: str, pace: Pace) -> CheckView:
    """Check the operator (``"#3"``) or blob that `word` means; raises CursorError ``not_found``, ``not_computed``."""
    subject, notes, compare = _planned(here, word, pace)
    if compare is None:
        return _not_checkable(subject, *notes)
    try:
        checks, notes, along = compare()
    except NotCheckable as reason:
        return _not_checkable(subject, str(reason), *notes)
    except GradvizError as error:
        return _not_checkable(subject, f"It cannot be run again: {error.message}", *error.ways_out, *notes)
    if along is None:
        return CheckView(subject, _overall(checks), checks, SEED, list(notes))
    return CheckView(subject, _overall([*checks, along]), checks, SEED, [_of_all(along), *notes])


def checkable(here: NetView, word: str, pace: Pace) -> CheckableView:
    """Whether `answer` has an answer, as far as one can say without running anything; raises the same."""
    planned = _planned(here, word, pace)
    return CheckableView(planned.subject, " ".join(planned.notes) if planned.compare is None else "")


def _planned(here: NetView, word: str, pace: Pace) -> _Planned:
    view, statement = _operator(here, word)
    if statement is not None:
        return _of_operator(view, statement)
    view, found = here.find(word)
    return _of_blob(view, meant(found), pace)


def _operator(here: NetView, word: str) -> tuple[NetView, Statement | None]:
    """The view and the operator that ``"#3"`` means, perhaps behind a path and a colon; None where it is no number."""
    if not isinstance(word, str):
        return here, None
    path, colon, last = word.rpartition(":")
    inside = here.at(path) if colon else None
    view, last = (inside, last) if inside is not None else (here, word)
    return view, view.statement(last) if last[:1] == "#" and last[1:].isdigit() else None


def _of_operator(view: NetView, statement: Statement) -> _Planned:
    index = statement.number
    subject = view.named(f"#{index} {text_of(statement)}")
    given, arrived = gives(view, index), arriving(view, index)
    if given is None or not any(given):
        why = "The pass did not ask its rule" if given is None else "Its rule gives no input a gradient"
        return _Planned(subject, [f"{why}, so there is nothing to check."])
    slots = [slot for slot, parts in enumerate(arrived) if parts is not None]
    weights = [as_double(array_of(view, statement.outputs[slot], arrived[slot] or ())) for slot in slots]
    if not all(np.isfinite(weight).all() for weight in weights):
        return _Planned(subject, ["The gradient that arrives is not finite: session.provenance says why."])
    try:
        run, inputs = operator_run(view, statement), recorded_inputs(view, statement)
    except NotCheckable as reason:
        return _Planned(subject, [str(reason)])
    notes = _notes(statement, inputs, given)
    moved: dict[Writing, list[int]] = {}
    for blob in dict.fromkeys(statement.inputs):
        places = [slot for slot, gets in enumerate(given) if gets and statement.inputs[slot] is blob]
        if places and inputs[places[0]].dtype.kind == "f":
            if np.isfinite(inputs[places[0]]).all():
                moved[blob] = places
            else:
                notes.append(f'{blob} is not checked: it is not finite. session.provenance("{blob}") says why.')
    if not moved:
        return _Planned(subject, notes)

    def check(blob: Writing, places: Sequence[int]) -> Checked:
        def rerun(x: Array) -> list[Array]:
            outputs = run([x if slot in places else array for slot, array in enumerate(inputs)])
            return [outputs[slot] for slot in slots]

        gradient = sum_through(view, blob, index)
        assert gradient is not None
        return compared(str(blob), rerun, inputs[places[0]], weights, gradient, is_analytic=not statement.nets)

    def compare() -> _Compared:
        check_repeats(view, statement, run)
        return _Compared([check(blob, places) for blob, places in moved.items()], notes)

    return _Planned(subject, notes, compare)


def _of_blob(view: NetView, blob: Writing, pace: Pace) -> _Planned:
    named = view.named(blob)
    subject = f"The gradient of {named}"
    sent = gradient_of(view, blob)
    if sent is None:
        return _Planned(subject, [f'It has none: session.why_none("{named}") says why.'])
    gradient, x = array_of(view, blob, sent.parts), as_double(view.needed(blob))
    if x.dtype.kind != "f":
        return _Planned(subject, [f"It holds {x.dtype}, which has no differences."])
    if not np.isfinite(x).all():
        return _Planned(subject, [f'It is not finite: session.provenance("{named}") says why.'])
    try:
        if changed := hooked(view, blob):
            raise NotCheckable(f"Hooks have changed the gradient of {listed(changed)}, which differences cannot know.")
        prepare = rest_of(view, blob, pace)
    except NotCheckable as reason:
        return _Planned(subject, [str(reason)])
    except GradvizError as error:
        return _Planned(subject, [f"It cannot be run again: {error.message}", *error.ways_out])

    def compare() -> _Compared:
        rest, starts = prepare(), seeds(view)
        weights = [as_double(array_of(view, y, starts[y].parts)) for y in rest.ys]
        told = str(blob), rest.run, x, weights, gradient
        around = max(map(_largest, arriving_after(view, blob)), default=0.0)
        checked = compared(*told, is_analytic=False, around=around)
        along = compared_along(*told, around=around) if x.size > MOST else None
        return _Compared([checked], rest.notes, along)

    return _Planned(subject, [], compare)


def _notes(statement: Statement, inputs: Sequence[Array], given: Sequence[bool]) -> list[str]:
    """What is not checked of the inputs, and what chance does to them."""
    notes = []
    pairs = list(zip(statement.inputs, inputs, given, strict=True))
    with_gradient = {blob for blob, _, gets in pairs if gets}
    without = list(dict.fromkeys(str(blob) for blob, _, _ in pairs if blob not in with_gradient))
    if without:
        notes.append(f"Not checked, because the rule gives no gradient: {', '.join(without)}.")
    for blob in dict.fromkeys(blob for blob, array, gets in pairs if gets and array.dtype.kind != "f"):
        notes.append(f"Not checked, because it holds no floating-point numbers, which could be moved: {blob}.")
    if statement.op.type == "Dropout":
        notes.append("What Dropout drops is drawn from its seed and name, the same at every run: it is held.")
    return notes


def _largest(array: Array) -> float:
    return float(np.abs(as_double(array)).max(initial=0.0))


def _of_all(along: Checked) -> str:
    """What directions say that move all elements of a blob."""
    said = f"Along {along.size} random directions, which move all elements at once,"
    if along.verdict == "agrees":
        return f"{said} it agrees: relative error {digits(along.error)} at most."
    if along.verdict == "kink":
        return f"{said} {along.kinks} lie on a kink."
    numbers = f"the gradient gives {digits(along.gradient)}, and differences {digits(along.difference)}"
    return f"{said} {along.differing} differ: along direction {along.index[0]} {numbers}."


def _not_checkable(subject: str, *notes: str) -> CheckView:
    return CheckView(subject, "not checkable", [], SEED, list(notes))


def _overall(checks: Sequence[Checked]) -> Verdict:
    verdicts = {one.verdict for one in checks}
    order: tuple[Verdict, ...] = ("differs", "kink", "agrees")
    return next((verdict for verdict in order if verdict in verdicts), "not checkable")


def _row(one: Checked) -> tuple[str, ...]:
    elements = str(one.size) if one.checked == one.size else f"{one.checked} of {one.size}"
    if one.kinks:
        elements += f", {one.kinks} on a kink"
    return (
        one.blob,
        one.verdict,
        elements,
        digits(one.error, "none"),
        str(one.index),
        digits(one.gradient, "none"),
        digits(one.difference, "none"),
        one.method,
        digits(one.step),
    )
