"""Narration of a pass that runs while it is recorded: what happened to the functions and the heap, and why now.

Code stands between backticks, blobs with their versions: `x@1`.
"""

from collections.abc import Iterable, Sequence

from ...operators import lookup
from ...program import GradientSlice
from ...program.events import (
    Accumulated,
    Completed,
    Event,
    Failed,
    GeneratorAdded,
    GradWritten,
    Played,
    RuleApplied,
    Seeded,
    Skipped,
    Visited,
    Waiting,
)
from ...program.operator import parts_of
from ..document import Value
from .lines import GrowingLine, Written
from .narration import code, count_of, listed, name, rule_applied, shape, shortened


def summary(ys: Iterable[str], events: Sequence[Event]) -> str:
    """What a recording is about, before anything has happened."""
    played = [event for event in events if isinstance(event, Played)]
    sums = sum(isinstance(event, Accumulated) and len(event.contributions) > 1 for event in events)
    starts = listed(list(map(code, ys)))
    said = f"{count_of(len(played), 'function')} led to {starts} when the code ran"
    if isinstance(last := events[-1], Failed):
        return f"{said}. The backward pass stops at the last event: {last.message}"
    said += f"; {'they go' if len(played) > 1 else 'it goes'} backward as {starts} asks, the greatest rank first"
    return f"{said}, with {count_of(sums, 'accumulation')}. Step to see who is next, and why."


def tape_summary(ys: Iterable[str], events: Sequence[Event]) -> str:
    """The same for a tape."""
    played = sum(isinstance(event, Played) for event in events)
    starts = listed(list(map(code, ys)))
    said = f"{count_of(played, 'function')} led to {starts} when the code ran"
    if isinstance(last := events[-1], Failed):
        return f"{said}. The backward pass stops at the last event: {last.message}"
    said += "; the tape that they are makes a program, whose gradient operators come next and then run"
    return f"{said} on the values that are there. Step to see how they come about."


def played(event: Played, line: GrowingLine, deepest: Written | None) -> str:
    """`deepest`: of what the function read, that of the greatest rank; None: it read leaves alone."""
    known = lookup(event.op.type)
    formula = f", {known.formula}" if known and known.formula else ""
    said = f"Function #{event.index} was called: {code(line.text)}{formula}."
    if event.rank is None:
        return f"{said} It stands for new data that was given to a Variable, and has no gradient of its own."
    if deepest is None:
        return f"{said} It reads leaves alone, so its rank is {event.rank}."
    return f"{said} Its rank is {event.rank}, that of {code(deepest)}, the greatest among what it reads."


def known_before(line: GrowingLine, outputs: Sequence[tuple[str, Value]]) -> str:
    """A function whose values are there already; `outputs` are pairs of a blob version and its value."""
    described = [f"{code(blob)} is {shape(value)}" for blob, value in outputs]
    return f"{shortened(described)}: known since {name(line)} was called; nothing is run again."


def seeded(event: Seeded, line: GrowingLine | None, queued: GrowingLine | None) -> str:
    y = code(f"{event.y}@{event.version}")
    if line is None:
        said = f"The pass starts at {y} from the gradient that was given, {code(event.gradient)}."
    else:
        said = f"The pass starts at {y}, which is one number: its own gradient is 1, {code(line.outputs[0])}."
    return f"{said} {_joins(queued, event.queued)}" if queued is not None and event.queued else said


def visited(
    event: Visited,
    line: GrowingLine,
    gradients: Sequence[Written | None],
    waiting: Sequence[GrowingLine],
    is_read: bool,
) -> str:
    """`is_read`: whether other functions read what this one returned."""
    pairs = list(zip(line.outputs, gradients, strict=True))
    whole = listed([code(gradient) for _, gradient in pairs if gradient])
    absent = [code(output) for output, gradient in pairs if not gradient]
    said = f"{name(line)} is next: {_why_next(event, waiting)}"
    if is_read:
        read = listed([code(output) for output, gradient in pairs if gradient])
        is_whole = "is whole" if len(pairs) - len(absent) == 1 else "are whole"
        said += f" The readers of {read} have greater ranks and ran before: {whole} {is_whole}."
    if absent:
        said += f" Nothing sends a gradient to {listed(absent)}."
    return said


def _why_next(event: Visited, waiting: Sequence[GrowingLine]) -> str:
    if not event.waits:
        return f"it is the only one in the heap, with rank {event.rank}."
    equal = [other for other, one in zip(waiting, event.waiting, strict=True) if one.rank == event.rank]
    who = _who_waits(event, waiting)
    if equal:
        return f"no rank in the heap is greater than its {event.rank}, and it was reached first; {who}."
    return f"its rank {event.rank} is the greatest in the heap; {who}."


def _who_waits(event: Visited, waiting: Sequence[GrowingLine]) -> str:
    """``Mul #1 and Sin #2 wait with rank 1, Add #0 with rank 0``."""
    groups: dict[int, list[str]] = {}
    for one, line in list(zip(event.waiting, waiting, strict=True))[:4]:
        groups.setdefault(one.rank, []).append(name(line))
    told = []
    for number, (rank, names) in enumerate(groups.items()):
        wait = "" if number else " waits" if len(names) == 1 else " wait"
        told.append(f"{listed(names)}{wait} with rank {rank}")
    left = event.waits - min(len(event.waiting), 4)
    return listed([*told, f"{left} more"] if left else told)


def answered(
    event: RuleApplied, line: GrowingLine, made: Sequence[GrowingLine], unwanted: Sequence[Written], is_python: bool
) -> str:
    """`unwanted`: what the function read that requires no gradient."""
    if is_python:
        operators = listed([code(new.text) for new in made])
        said = f"The backward method of {name(line)} ran: {operators}." if made else _gives_nothing(line)
        none = [blob for blob, g in zip(line.inputs, event.g_input, strict=True) if g is None and blob not in unwanted]
        if made and none:
            said += f" It gave no gradient of {listed(list(map(code, none)))}: the flow ends there."
    else:
        said = rule_applied(event, line, made)
        count = sum(new.role != "passed" for new in made)
        if count:
            said += f" {'It is' if count == 1 else 'They are'} run at once."
    if unwanted:
        blobs = listed(list(dict.fromkeys(map(code, unwanted))))
        return f"{said} {blobs} {'requires' if len(set(unwanted)) == 1 else 'require'} no gradient: none is computed."
    return said


def _gives_nothing(line: GrowingLine) -> str:
    return f"The backward method of {name(line)} gave no gradient: the flow ends here."


def arrived(event: GeneratorAdded, gradient: Written, owner: GrowingLine | None) -> str:
    """`owner`: the function that returned the blob; None: it is a leaf."""
    blob = code(f"{event.blob}@{event.version}")
    whose = "a leaf" if owner is None else f"which {name(owner)} returned"
    if event.count > 1:
        said = f"{code(gradient)} arrives at {blob}, {whose}: gradient number {event.count} of it,"
        return f"{said} added at once to what is there."
    said = f"{code(gradient)} arrives at {blob}, {whose}"
    if owner is None:
        return f"{said}: the first gradient of it in this pass."
    if event.queued is not None:
        return f"{said}. {_joins(owner, event.queued)}"
    return f"{said}. {name(owner)} is in the heap already, by a gradient of something else that it returned."


def _joins(line: GrowingLine | None, queued: Waiting) -> str:
    assert line is not None
    return f"{name(line)} joins the heap with rank {queued.rank}, arrival number {queued.arrival}."


def added(event: Accumulated, made: Sequence[GrowingLine], terms: Sequence[Written], readers: Sequence[str]) -> str:
    blob = code(f"{event.blob}@{event.version}")
    shown = readers if len(readers) <= 5 else [*readers[:4], f"{len(readers) - 4} more"]
    said = f"{blob} is read by {listed(shown)}; the gradients that come from there are added as they arrive"
    if len(parts_of(event.gradient)) == 2:
        halves = listed([code(line.outputs[0]) for line in made])
        return f"{said}: both are sparse, so their rows are laid one after the other in {halves}."
    sparse = " the sparse one made dense;" if len(made) > 1 else ""
    sum_ = " + ".join(map(str, made[-1].inputs))
    said += f":{sparse} `{made[-1].outputs[0]} = {sum_}`"
    return f"{said}, the sum of {event.so_far} by now." if event.so_far and event.so_far > 2 else f"{said}."


def densified(line: GrowingLine, made: GrowingLine) -> str:
    return (
        f"{name(line)} goes backward on dense gradients, and that of {code(made.inputs[-1])} is sparse: "
        f"{code(made.text)} adds its rows, those of equal index too, into zeros."
    )


def skipped(event: Skipped, line: GrowingLine) -> str:
    outputs = listed([code(output) for output in line.outputs])
    return f"{name(line)} is passed by: no gradient has reached {outputs}. Not computed is not zero."


def written(event: GradWritten, gradient: Written | None, count: int) -> str:
    """`count`: how many gradients the sum `gradient` consists of."""
    grad = code(f"{event.blob}.grad")
    after, before = code(event.after), code(event.before)
    if event.how == "dropped":
        return f"{grad} held {before}, left by another pass, and keeps nothing now: retain_grad was not asked for."
    of_what = "" if gradient is None else f", {code(gradient)}"
    if count > 1:
        of_what += f", the sum of {count} gradients"
    if event.how == "added":
        return (
            f"{grad} held {before} of an earlier pass, so this pass is added to it: "
            f"`{event.after} = {event.before} + {gradient}`. cleargrad() would make it start anew."
        )
    if isinstance(event.gradient, GradientSlice):
        of_what += ", its rows added into zeros"
    if event.how == "replaced":
        return f"{grad} is {after} now{of_what}; what it held, {before}, is replaced."
    return f"{grad} was empty and is {after} now{of_what}."


def completed(event: Completed, functions: int, written_: int) -> str:
    said = f"The heap is empty, so the pass is whole: {count_of(functions, 'function')} went backward, "
    return f"{said}and {count_of(written_, 'Variable')} got {'its' if written_ == 1 else 'their'} grad."
