"""Narration: one or two plain sentences for each event, saying what happened and why now.

Code stands between backticks, blobs with their versions: `x@1`. A pass that runs as it goes adds gradients as they
arrive; where functions have ranks, it takes that of the greatest rank from a heap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...operators import lookup
from ...program import GradientSlice, GradvizError
from ...program.control_flow import nested_nets
from ...program.errors import code, count_of, listed
from ...program.events import (
    Accumulated,
    Checked,
    Completed,
    Failed,
    GeneratorAdded,
    GradWritten,
    InputChecked,
    Played,
    RuleApplied,
    Seeded,
    Skipped,
    Visited,
    Waiting,
)
from ...program.operator import BlobVersion, parts_of
from ...runtime.store import written as written_bytes
from ..document import Merge, Obstacle, Value
from ..journal import UNDEFINED, NetText, Reading, Recording, Writing
from ..statistics import WORKSPACES

MOST_NAMED = 4
"""Blobs that are named before the rest is counted."""

Named = Writing | BlobVersion
"""What a writing is called."""


def stored(recording: Recording) -> str:
    """What is not in memory, because of a budget; empty where all is."""
    if recording.store is None:
        return ""
    contents = recording.store.contents
    gone = contents.spilled.arrays
    said = ""
    if gone:
        said = f" To keep within {written_bytes(contents.budget)}, {gone:,} of {gone + contents.kept.arrays:,} values "
        said += "that operators made are in a file, and read from there when they are asked for."
    return f"{said} {contents.refused}" if contents.refused else said


def played(event: Played, line: Reading, deepest: Named | None, *, goes: bool) -> str:
    """What joined.

    Args:
        deepest: of what a function with a rank read, that of the greatest rank; None: it read leaves alone.
        goes: whether the pass runs as it goes.
    """
    known = lookup(event.op.type)
    formula = f", {known.formula}" if known and known.formula else ""
    if goes:
        said = f"Function #{event.index} was called: {code(line.text)}{formula}."
        if event.op.type == "NewData":
            return f"{said} It stands for new data that was given to a Variable, and has no gradient of its own."
        if event.rank is None:
            return said
        if deepest is None:
            return f"{said} It reads leaves alone, so its rank is {event.rank}."
        return f"{said} Its rank is {event.rank}, that of {code(deepest)}, the greatest among what it reads."
    what = "is part of the nested net" if event.path else "joins the program"
    nets = [f"{argument} {code(net.name)}" for argument, net in nested_nets(line.op).items()]
    it = f"{code(line.op.type)} over {listed(nets)}" if nets else code(line.text)
    said = f"Operator #{event.index} {what}: {it}{formula}."
    new = {name: version for name, version in zip(event.op.outputs, event.out_versions, strict=True) if version}
    for how, names in (
        ("in place", [name for name in new if name in event.op.inputs]),
        ("again", [name for name in new if name not in event.op.inputs]),
    ):
        if len(names) == 1:
            said += f" It writes {code(names[0])} {how}, which makes it version {new[names[0]]}."
        elif names:
            said += f" It writes {listed(list(map(code, names)))} {how}, which makes new versions of them."
    return said


def seeded(event: Seeded, seed: Reading | None, owner: Reading | None, *, goes: bool) -> str:
    """`owner`: what returned y; None: nothing did."""
    y = code(f"{event.y}@{event.version}")
    if seed is None:
        what = "The pass of the nested net" if event.path else "The pass"
        which = "that arrives there" if event.path else "that was given"
        said = f"{what} starts at {y} from the gradient {which}, {code(event.gradient)}."
    elif goes:
        said = f"The pass starts at {y}, which is one number: its own gradient is 1, {code(seed.outputs[0])}."
    else:
        said = f"The pass starts at {y}: its own gradient is one, so {code(seed.text)} fills it with ones."
    return said if owner is None or event.queued is None else f"{said} {_joins(owner, event.queued)}"


def visited(
    event: Visited, line: Reading, gradients: Sequence[Named | None], waiting: Sequence[Reading], is_read: bool
) -> str:
    """`waiting`: those that are next in the heap; `is_read`: whether others read what this one returned."""
    pairs = list(zip(line.outputs, gradients, strict=True))
    there = [(output, gradient) for output, gradient in pairs if gradient]
    absent = listed([code(output) for output, gradient in pairs if not gradient])
    if event.rank is None:
        said = listed([f"{code(gradient)} of {code(output)}" for output, gradient in there])
        said = f"{line.name} is reached with the gradient {said}"
        return f"{said}{f'; nothing sends one to {absent}' if absent else ''}. Now its rule can be asked."
    said = f"{line.name} is next: {_why_next(event, waiting)}"
    if is_read:
        read, whole = listed([code(output) for output, _ in there]), listed([code(gradient) for _, gradient in there])
        is_whole = "is whole" if len(there) == 1 else "are whole"
        said += f" The readers of {read} have greater ranks and ran before: {whole} {is_whole}."
    return f"{said} Nothing sends a gradient to {absent}." if absent else said


def _why_next(event: Visited, waiting: Sequence[Reading]) -> str:
    if not event.waits:
        return f"it is the only one in the heap, with rank {event.rank}."
    equal = [other for other, one in zip(waiting, event.waiting, strict=True) if one.rank == event.rank]
    who = _who_waits(event, waiting)
    if equal:
        return f"no rank in the heap is greater than its {event.rank}, and it was reached first; {who}."
    return f"its rank {event.rank} is the greatest in the heap; {who}."


def _who_waits(event: Visited, waiting: Sequence[Reading]) -> str:
    """``Mul #1 and Sin #2 wait with rank 1, Add #0 with rank 0``."""
    groups: dict[int, list[str]] = {}
    for one, line in list(zip(event.waiting, waiting, strict=True))[:4]:
        groups.setdefault(one.rank, []).append(line.name)
    parts = []
    for number, (rank, names) in enumerate(groups.items()):
        wait = "" if number else " waits" if len(names) == 1 else " wait"
        parts.append(f"{listed(names)}{wait} with rank {rank}")
    left = event.waits - min(len(event.waiting), 4)
    return listed([*parts, f"{left} more"] if left else parts)


def _joins(line: Reading, queued: Waiting) -> str:
    return f"{line.name} joins the heap with rank {queued.rank}, arrival number {queued.arrival}."


def skipped(event: Skipped, line: Reading, *, goes: bool) -> str:
    if not line.outputs:
        return f"{line.name} is passed by: it has no output, so nothing can send it a gradient."
    outputs = listed([code(output) for output in line.outputs])
    why = f"no gradient has reached {outputs}" if goes else f"nothing downstream sends a gradient to {outputs}"
    return f"{line.name} is passed by: {why}. Not computed is not zero."


def rule_applied(line: Reading, new: Sequence[Reading]) -> str:
    known = lookup(line.op.type)
    because = f" ({known.derivative})" if known and known.derivative else ""
    operators = [code(one.text) for one in new if one.role != "passed"]
    sentences = []
    if operators:
        sentences.append(f"The rule of {line.name} makes {listed(operators)}{because}.")
    for one in new:
        if one.role == "passed":
            sentences.append(
                f"The rule of {line.name} lets {listed([code(gradient) for gradient in one.inputs])} pass on unchanged "
                f"to {listed([code(blob) for blob in one.outputs])}; no operator is needed."
            )
    if not sentences:
        blobs = listed([code(blob) for blob in line.inputs])
        return f"The rule of {line.name} gives its inputs {blobs} no gradient: the flow ends here."
    return " ".join(sentences)


def rule_run(event: RuleApplied, line: Reading, new: Sequence[Reading]) -> str:
    """What a rule gave whose operators ran at once, or a backward method that somebody wrote."""
    unwanted = [str(line.inputs[slot]) for slot in event.unwanted]
    is_method = event.by == "method"
    count = sum(one.role != "passed" for one in new)
    if is_method and not new:
        said = f"The backward method of {line.name} gave no gradient: the flow ends here."
    elif is_method:
        said = f"The backward method of {line.name} ran: {listed([code(one.text) for one in new])}."
        pairs = zip(map(str, line.inputs), event.g_input, strict=True)
        none = [code(blob) for blob, gradient in pairs if gradient is None and blob not in unwanted]
        said += f" It gave no gradient of {listed(none)}: the flow ends there." if none else ""
    else:
        said = rule_applied(line, new)
        said += f" {'It is' if count == 1 else 'They are'} run at once." if count else ""
    if unwanted:
        require = "requires" if len(set(unwanted)) == 1 else "require"
        said += f" {listed(list(dict.fromkeys(map(code, unwanted))))} {require} no gradient: none is computed."
    return said


def input_checked(event: InputChecked, line: Reading, gradient_line: Reading, net: NetText) -> str:
    def of(source: str) -> list[Checked]:
        return list({checked.name: checked for checked in event.inputs if checked.source == source}.values())

    parts = [
        f"{code(checked.name)}, the gradient of {code(f'{checked.blob}@{checked.version}')}"
        for checked in of("output gradient")
    ]
    read = [*of("input"), *of("output")]
    forward = [code(f"{checked.blob}@{checked.version}") for checked in read if checked.name == checked.blob]
    if forward:
        holds = "still holds" if len(forward) == 1 else "still hold"
        parts.append(f"{listed(forward)}, which {holds} what {line.name} saw")
    for checked in read:
        if checked.name != checked.blob:
            blob = code(f"{checked.blob}@{checked.version}")
            parts.append(f"{blob}, which {_overwriter(net, checked)}; the workspace has kept it")
    parts.extend(f"{code(checked.name)}, which the rule made just before" for checked in of("rule"))
    if not parts:
        return f"{code(gradient_line.op.type)} reads nothing, so no version can be wrong."
    return f"{code(gradient_line.op.type)} may read {'; and '.join(parts)}."


def _overwriter(net: NetText, checked: Checked) -> str:
    """Which operator overwrote a forward blob version."""
    statement = net.version(checked.blob, (checked.version or 0) + 1).statement
    return "was overwritten" if statement is None or statement.role != "forward" else f"{statement.name} overwrote"


def generator_added(event: GeneratorAdded, gradient: Named, readers: Sequence[str]) -> str:
    blob = code(f"{event.blob}@{event.version}")
    if len(readers) == 1 and event.count == 1:
        return f"{code(gradient)} is the gradient of {blob}, complete: {readers[0]} is its only reader."
    return f"{code(gradient)} is gradient number {event.count} of {blob}, which {reading(readers)}."


def arrived(event: GeneratorAdded, gradient: Named, owner: Reading | None, *, has_heap: bool) -> str:
    """A gradient in a pass that runs as it goes; `owner`: the function that returned the blob, None: it is a leaf."""
    blob = code(f"{event.blob}@{event.version}")
    whose = "a leaf" if owner is None else f"which {owner.name} returned"
    if event.count > 1:
        said = f"{code(gradient)} arrives at {blob}, {whose}: gradient number {event.count} of it,"
        return f"{said} added at once to what is there."
    said = f"{code(gradient)} arrives at {blob}, {whose}"
    if owner is None:
        return f"{said}: the first gradient of it in this pass."
    if event.queued is not None:
        return f"{said}. {_joins(owner, event.queued)}"
    if not has_heap:
        return f"{said}."
    return f"{said}. {owner.name} is in the heap already, by a gradient of something else that it returned."


def densified(line: Reading, new: Reading, *, goes: bool) -> str:
    how = "goes backward on dense gradients" if goes else "reads a dense gradient"
    who, blob = (line.name, new.inputs[-1]) if goes else (f"The rule of {line.name}", line.outputs[0])
    return (
        f"{who} {how}, and that of {code(blob)} is sparse: "
        f"{code(new.text)} adds its rows, those of equal index too, into zeros."
    )


def accumulated(
    event: Accumulated,
    line: Reading,
    new: Sequence[Reading],
    readers: Sequence[str],
    renamed: Iterable[tuple[str, str]],
) -> str:
    blob = code(f"{event.blob}@{event.version}")
    count = len(event.contributions)
    all_of = "both" if count == 2 else f"all {count}"
    said = f"{blob} {reading(readers)}. {line.name} is the first of them, so {all_of} gradients are in"
    if isinstance(event.gradient, GradientSlice):
        halves = listed([code(one.outputs[0]) for one in new])
        said += f". They are sparse, so their rows are laid one after the other in {halves}, equal indices unmerged."
    else:
        said += ", the sparse ones made dense," if len(new) > 1 else ""
        said += f" and are added here: `{new[-1].outputs[0]} = {' + '.join(map(str, new[-1].inputs))}`."
    pairs = [f"the former {code(old)} became {code(name)}" for old, name in renamed]
    if pairs:
        shown = pairs if len(pairs) <= 3 else [*pairs[:2], f"{len(pairs) - 2} more likewise"]
        said += f" So that none overwrites another, {listed(shown)}."
    return said


def added(event: Accumulated, new: Sequence[Reading], readers: Sequence[str]) -> str:
    """A gradient that was added to what was there when it arrived."""
    blob = code(f"{event.blob}@{event.version}")
    times = {reader: readers.count(reader) for reader in readers} if len(set(readers)) < len(readers) else {}
    whose = [f"{one} ({times[one]} times)" if times.get(one, 1) > 1 else one for one in dict.fromkeys(readers)]
    said = f"{blob} {reading(whose)}; the gradients that come from there are added as they arrive"
    if len(parts_of(event.gradient)) == 2:
        halves = listed([code(one.outputs[0]) for one in new])
        return f"{said}: both are sparse, so their rows are laid one after the other in {halves}."
    sparse = " the sparse one made dense;" if len(new) > 1 else ""
    said += f":{sparse} `{new[-1].outputs[0]} = {' + '.join(map(str, new[-1].inputs))}`"
    return f"{said}, the sum of {event.so_far} by now." if event.so_far and event.so_far > 2 else f"{said}."


def deduplicated(merge: Merge, new: Sequence[Reading]) -> str:
    unique, segments = (code(one.op.type) for one in new)
    said = f"The gradient of {code(merge.blob)} is sparse, and its rows of equal index are merged: {unique} finds each "
    if merge.aggregator == "sum":
        said += f"index once, {segments} adds up the rows of each, and the gradient stays what it is."
    else:
        said += f"index once, {segments} takes the mean of the rows of each: another gradient where one repeats."
    if merge.rows_before is None:
        return f"{said} How many repeat is known once it has run."
    if merge.rows_before == merge.rows_after:
        return f"{said} Here none repeats: all {merge.rows_after} rows stay."
    most = merge.most_repeated[0]
    rows = f"{count_of(merge.rows_before, 'row')} became {merge.rows_after}"
    return f"{said} Here {rows}; index {most.index} stood there {most.times} times."


def written(event: GradWritten, gradient: Named | None, count: int) -> str:
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


def completed(event: Completed, operators: int, ys: Iterable[str], *, is_run: bool) -> str:
    """What the pass has come to; `is_run`: nothing keeps it from being run."""
    said = "The backward pass is whole" if is_run else "The backward pass is generated, and will not be run"
    said += f": {count_of(operators, 'gradient operator')}, "
    said += f"gradients of {count_of(len(event.gradients), 'blob')}."
    if set(event.gradients) <= set(ys):
        reached = listed([code(blob) for blob in event.gradients])
        said += f" None goes further back than {reached}; `why_none` says of any other blob what cuts its ways."
    return said


def heap_emptied(functions: int, variables: int) -> str:
    """What a pass has come to in which so many functions went backward and so many Variables got a gradient."""
    said = f"The heap is empty, so the pass is whole: {count_of(functions, 'function')} went backward, "
    return f"{said}and {count_of(variables, 'Variable')} got {'its' if variables == 1 else 'their'} grad."


def failed(event: Failed) -> str:
    return f"The pass stops here. {event.message}"


def not_run(obstacle: GradvizError) -> str:
    return f"Nothing is run. {sentence(obstacle)}"


def ran(what: str, device: str, seconds: float | None, outputs: Sequence[tuple[str, str]]) -> str:
    """What an operator did; `outputs` are pairs of a blob version and its shape."""
    said = f"{what} ran on {device}" + ("" if seconds is None else f" in {duration(seconds)}")
    described = [f"{code(blob)} is {shape}" for blob, shape in outputs]
    return f"{said}: {shortened(described)}." if described else f"{said}."


def ran_before(line: Reading, outputs: Sequence[tuple[str, str]]) -> str:
    """A function whose values are there already."""
    described = [f"{code(blob)} is {shape}" for blob, shape in outputs]
    return f"{shortened(described)}: known since {line.name} was called; nothing is run again."


def running(line: Reading) -> str:
    """What a statement does, for saying that it ran; one with nested nets shows more there than a sentence holds."""
    if not line.nets:
        return code(line.text)
    if line.role == "forward":
        return line.name
    return f"The gradient of {line.op.type}{'' if line.of is None else f' #{line.of}'}"


def shortened(parts: Sequence[str]) -> str:
    """The first few of `parts`, and how many more there are."""
    if len(parts) <= MOST_NAMED + 1:
        return listed(parts)
    return listed([*parts[:MOST_NAMED], f"{len(parts) - MOST_NAMED} more"])


def reading(readers: Sequence[str]) -> str:
    """Who reads a blob: ``is read by FC #2 and Sum #4``."""
    return f"is read by {shortened(readers)}"


def duration(seconds: float) -> str:
    """Seconds in the unit a person reads best."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def shape(value: Value) -> str:
    """``64 × 32 float32``."""
    if value.dtype == WORKSPACES:
        return f"a stack of {count_of(value.size, 'workspace')}"
    return f"{' × '.join(map(str, value.shape)) or 'scalar'} {value.dtype}"


def entry(error: GradvizError, text: NetText) -> Obstacle:
    """What a document says of it, with the lines at fault: those of gradient operators only where no other is."""
    index = error.operator_index
    every = [*text.forward, *text.operators]
    missing = {f"{name}@0" for name in error.blobs} if error.kind == UNDEFINED else set()
    at_fault = [line.id for line in every if not missing.isdisjoint(map(str, line.inputs))]
    if index is not None and index < len(every) and not at_fault:
        at_fault = [every[index].id]
    return Obstacle(
        kind=error.kind,
        message=error.message,
        ways_out=list(error.ways_out),
        blobs=list(map(str, error.blobs)),
        lines=list(dict.fromkeys(id for id in at_fault if id[0] == at_fault[0][0])),
    )


def sentence(obstacle: Obstacle | GradvizError) -> str:
    """Why, and the ways out."""
    return " ".join([obstacle.message, *obstacle.ways_out])


def reminder(obstacle: Obstacle | GradvizError | None, *, is_told: bool) -> str:
    """That the program is not run, and why, for where the narration does not say it; else empty."""
    return "" if obstacle is None or is_told else f"Not run: {sentence(obstacle)}"
