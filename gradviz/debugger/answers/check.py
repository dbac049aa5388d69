"""Whether gradients are right: those of an operator's rule, or of a whole program, against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ...operators.registry import Array
from ...program import GradvizError
from ...program.errors import count_of, listed
from ...runtime.tasks import Work, results
from ..journal import Pace, Statement, Writing
from ..steering import CursorError, whole_number
from .comparison import MOST, SEED, Checked, Comparison, Verdict
from .flow import array_of, arriving, fed, gives, gradient_of, hooked, meant, seeds, sent, sum_through
from .forms import Answer, Block, Bullets, Grid, Paragraph, digits
from .leaves import leaves
from .net_view import NetView, text_of
from .rerun import (
    Doubles,
    NotCheckable,
    OperatorRun,
    as_double,
    cancelling,
    check_repeats,
    doubles_of,
    operator_run,
    rest_of,
)

HEAD = ("gradient of", "verdict", "elements", "relative error", "at", "gradient", "difference", "method", "step")


class CheckView(Answer, frozen=True):
    """Whether a gradient is that of the function.

    Attributes:
        subject: the operator or blob version, in a nested net behind the path to it.
        verdict: over all blobs, of a large one also along directions that move all of it. "kink": where differences
            from both sides disagree, no gradient is right or wrong.
        checks: for each blob whose gradient was checked.
        seed: from which the checked elements were drawn where there are many.
        notes: what was not checked and why, and what was kept constant.
    """

    answer = "check"
    subject: str
    verdict: Verdict
    checks: list[Checked]
    seed: int
    notes: list[str]

    def blocks(self) -> Iterator[Block]:
        words = {
            "agrees": "agrees with differences",
            "differs": "differs from differences",
            "kink": "lies on a kink, where no gradient is right or wrong",
            "not checkable": "cannot be checked",
        }
        yield Paragraph(f"{self.subject} {words[self.verdict]}.", is_title=True)
        if self.checks:
            yield Grid("With the actual gradient arriving and the recorded values", HEAD, list(map(_row, self.checks)))
        drawn = {one.checked for one in self.checks if one.checked < one.size}
        if drawn:
            elements = count_of(drawn.pop(), "element") if len(drawn) == 1 else "so many elements"
            yield Paragraph(f"Of large blobs it looks at {elements}, drawn from seed {self.seed}.")
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


class _Begun(NamedTuple):
    """What is to be measured, and what is to be said of it.

    Attributes:
        comparisons: for each blob; none where it cannot be checked.
        along: of a large blob, directions that move all of it.
        own: kernels of the user's that this calls, by the types of their operators.
    """

    notes: Sequence[str]
    comparisons: Sequence[Comparison] = ()
    along: Sequence[Comparison] = ()
    own: Mapping[str, Any] = {}

    def works(self) -> Iterator[Work]:
        own = {f"The kernel of {type}": kernel for type, kernel in self.own.items()}
        for one in (*self.comparisons, *self.along):
            yield Work(one.differences, one.places, own)


class _Planned(NamedTuple):
    """What is to be checked.

    Attributes:
        sizes: of the blobs whose gradients are.
        begin: runs the operators once and says what to measure, of blobs of so many elements each; None: it cannot be
            checked, and the notes say why.
    """

    subject: str
    notes: Sequence[str]
    sizes: Sequence[int] = ()
    begin: Callable[[Sequence[int]], _Begun] | None = None


ALL = "all"


def answer(here: NetView, word: str, samples: int | None, executor: Any, pace: Pace) -> CheckView:
    """Check the operator (``"#3"``) or blob that `word` means, or the gradients of all leaves.

    Args:
        samples: about how many elements are checked; None: `MOST` of each blob.

    Raises:
        CursorError: ``not_found``, ``not_computed``, ``bad_argument``. GradvizError: the executor cannot do it.
    """
    if samples is not None:
        samples = whole_number("samples", samples, "how many elements are checked, 1 or more", 1)
    if executor is not None and here.recorded.recording.again is not None:
        raise GradvizError(
            "What PyTorch runs again changes what a process has but once, random numbers and hooks of modules: no "
            "executor can do it.",
            kind="bad_executor",
            ways_out=["Leave the executor out: all is done here, one after the other."],
        )
    planned = _all(here) if word == ALL else [_planned(here, word)]
    most = _shares([size for one in planned for size in one.sizes], samples)
    begun = [_begun(one, [most.pop(0) for _ in one.sizes]) for one in planned]
    outcomes = results([work for one in begun for work in one.works()], executor, pace)
    views = [_judged(one.subject, what, outcomes) for one, what in zip(planned, begun, strict=True)]
    return _together(views) if word == ALL else views[0]


def checkable(here: NetView, word: str) -> CheckableView:
    """Whether `answer` has an answer, as far as one can say without running anything; raises the same."""
    planned = _planned(here, word)
    return CheckableView(planned.subject, " ".join(planned.notes) if planned.begin is None else "")


def _all(here: NetView) -> list[_Planned]:
    """The leaves of the program; raises CursorError ``not_computed`` where no gradient of one was computed."""
    view = NetView(here.recorded, here.position, here.recorded.text.outermost)
    doubles, planned = doubles_of(view), list[_Planned]()
    absent: CursorError | None = None
    for blob in leaves(view):
        try:
            planned.append(_of_blob(view, blob, doubles))
        except CursorError as error:
            absent = error
            planned.append(_Planned(f"The gradient of {blob}", [error.message]))
    if absent is not None and all(one.begin is None for one in planned):
        raise absent
    return planned


def _shares(sizes: Sequence[int], samples: int | None) -> list[int]:
    """How many elements are checked of blobs of these sizes: more of larger ones, and some of each."""
    if samples is None:
        return [MOST] * len(sizes)
    some = min(MOST, samples // max(1, len(sizes)))
    return [max(1, some, samples * size // max(1, sum(sizes))) for size in sizes]


def _begun(planned: _Planned, most: Sequence[int]) -> _Begun:
    """What is to be measured, or why nothing can be."""
    try:
        return _Begun(planned.notes) if planned.begin is None else planned.begin(most)
    except (NotCheckable, GradvizError) as error:
        return _Begun([*_why_not(error), *planned.notes])


def _why_not(error: NotCheckable | GradvizError) -> list[str]:
    if isinstance(error, NotCheckable):
        return [str(error)]
    return [f"It cannot be run again: {error.message}", *error.ways_out]


def _judged(subject: str, begun: _Begun, outcomes: list[list[Any]]) -> CheckView:
    """The view of what was measured, which is taken from `outcomes`."""
    measured = [outcomes.pop(0) for _ in begun.works()]
    try:
        checks = [one.judged(measured.pop(0)) for one in begun.comparisons]
        along = [one.judged(measured.pop(0)) for one in begun.along]
    except (NotCheckable, GradvizError) as error:
        return CheckView(subject, "not checkable", [], SEED, [*_why_not(error), *begun.notes])
    notes = [*map(_hidden, checks), *map(_of_all, along), *begun.notes]
    return CheckView(subject, _overall([*checks, *along]), checks, SEED, [note for note in notes if note])


def _together(views: Sequence[CheckView]) -> CheckView:
    """The views of several gradients as that of one."""
    if not views:
        none = ["Nothing that the program reads has a gradient."]
        return CheckView("The gradient of all leaves", "not checkable", [], SEED, none)
    verdict = _overall(views)
    subject = _of_leaves(sum(view.verdict == verdict for view in views), len(views))
    checks = [check for view in views for check in view.checks]
    subjects: dict[str, list[str]] = {}
    for view in views:
        for note in view.notes:
            subjects.setdefault(note, []).append(view.subject)
    notes = [
        note if of == [view.subject for view in views] else f"{listed(of)}: {note}" for note, of in subjects.items()
    ]
    return CheckView(subject, verdict, checks, SEED, notes)


def _of_leaves(some: int, count: int) -> str:
    """Of which leaves a verdict is, which is that of so many of all."""
    if count == 1:
        return "The gradient of the only leaf"
    which = f"{some} of {count}" if some < count else "both" if count == 2 else f"all {count}"
    return f"The gradient of {which} leaves"


def _planned(here: NetView, word: str) -> _Planned:
    view, statement = _operator(here, word)
    if statement is not None:
        return _of_operator(view, statement)
    view, writings = here.find(word)
    view, blob = view.differentiated(meant(writings))
    return _of_blob(view, blob, doubles_of(view))


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
        through = [blob.name for blob, gets in zip(statement.inputs, given, strict=True) if gets]
        run = operator_run(view, statement, through)
    except NotCheckable as reason:
        return _Planned(subject, [str(reason)])
    inputs = [as_double(view.needed(blob)) for blob in statement.inputs]
    notes = _notes(statement, inputs, given)
    moved: dict[Writing, list[int]] = {}
    for blob in dict.fromkeys(statement.inputs):
        places = [slot for slot, gets in enumerate(given) if gets and statement.inputs[slot] is blob]
        if places and inputs[places[0]].dtype.kind == "f":
            if not any(one.through == index and one.how != "sum" for one in sent(view, blob)):
                notes.append(f"{blob} is not checked: the gradient that the rule has made for it never came.")
            elif np.isfinite(inputs[places[0]]).all():
                moved[blob] = places
            else:
                notes.append(f'{blob} is not checked: it is not finite. session.provenance("{blob}") says why.')
    if not moved:
        return _Planned(subject, notes)

    def begin(most: Sequence[int]) -> _Begun:
        check_repeats(view, statement, run)
        comparisons = []
        for (blob, places), count in zip(moved.items(), most, strict=True):
            gradient = sum_through(view, blob, index)
            assert gradient is not None
            x, rerun = inputs[places[0]], partial(_moved, run.in_double(), inputs, places, slots)
            is_analytic = not statement.nets
            comparisons.append(Comparison(str(blob), rerun, x, weights, gradient, is_analytic=is_analytic, most=count))
        return _Begun(notes, comparisons, own={} if run.own is None else {statement.op.type: run.own})

    return _Planned(subject, notes, [inputs[places[0]].size for places in moved.values()], begin)


def _moved(
    run: OperatorRun, inputs: Sequence[Array], places: Sequence[int], slots: Sequence[int], x: Array
) -> list[Array]:
    """Some outputs of an operator with an array in place of some inputs."""
    outputs = run([x if slot in places else array for slot, array in enumerate(inputs)])
    return [outputs[slot] for slot in slots]


def _of_blob(view: NetView, blob: Writing, doubles: Doubles) -> _Planned:
    named = view.named(blob)
    subject = f"The gradient of {named}"
    came = gradient_of(view, blob)
    if came is None:
        return _Planned(subject, [f'It has none: session.why_none("{named}") says why.'])
    if not view.is_final(blob):
        return _Planned(subject, [f"It is not whole: not all operators that read {blob} have gone backward."])
    gradient, x = array_of(view, blob, came.parts), doubles(blob)
    if x.dtype.kind != "f":
        return _Planned(subject, [f"It holds {x.dtype}, which has no differences."])
    if not np.isfinite(x).all():
        return _Planned(subject, [f'It is not finite: session.provenance("{named}") says why.'])
    try:
        for who, changed in (("Hooks have", hooked(view, blob)), ("live.feed has", fed(view, blob))):
            if changed:
                raise NotCheckable(f"{who} changed the gradient of {listed(changed)}, which differences cannot know.")
        prepare = rest_of(view, blob, doubles)
    except (NotCheckable, GradvizError) as error:
        return _Planned(subject, _why_not(error))

    def begin(most: Sequence[int]) -> _Begun:
        rest, starts = prepare(), seeds(view)
        ys = [y for y in starts if rest.ys is None or y.key in rest.ys]
        weights = [as_double(array_of(view, y, starts[y].parts)) for y in ys]
        around = cache(partial(cancelling, view, blob))
        comparison = Comparison(
            str(blob), rest.run, x, weights, gradient, around=around, most=most[0], dtypes=rest.dtypes
        )
        return _Begun(rest.notes, [comparison], [comparison.along()] if x.size > most[0] else [], rest.own)

    return _Planned(subject, [], [x.size], begin)


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


def _hidden(check: Checked) -> str:
    """What is to be said of a gradient that differences cannot see; else nothing."""
    if check.verdict != "not checkable":
        return ""
    return f"Rounding moves differences by more than the whole gradient of {check.blob}: they do not see it."


def _of_all(along: Checked) -> str:
    """What directions say that move all elements of a blob; nothing where they do not see its gradient."""
    if along.verdict == "not checkable":
        return ""
    directions = f"Along {along.size} random directions, which move all elements at once,"
    if along.verdict == "agrees":
        return f"{directions} it agrees: relative error {digits(along.error)} at most."
    if along.verdict == "kink":
        return f"{directions} {along.kinks} lie on a kink."
    numbers = f"the gradient gives {digits(along.gradient)}, and differences {digits(along.difference)}"
    return f"{directions} {along.differing} differ: along direction {along.index[0]} {numbers}."


def _overall(checks: Sequence[Checked | CheckView]) -> Verdict:
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
