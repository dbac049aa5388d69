"""Narration: one or two plain sentences for each event, saying what happened and why now.

Code stands between backticks, blobs with their versions: `x@1`.
"""

from collections.abc import Iterable, Sequence

from ...operators import lookup
from ...program import GradientSlice, GradvizError
from ...program.control_flow import nested_nets
from ...program.events import (
    Accumulated,
    Checked,
    Completed,
    Deduplicated,
    Failed,
    GeneratorAdded,
    InputChecked,
    Played,
    RuleApplied,
    Seeded,
    Skipped,
    Visited,
)
from ...runtime.byte_counts import written
from ..document import Merge, Value
from ..journal import Recording
from ..statistics import WORKSPACES
from .lines import GrowingLine, Lines, Written
from .obstacle import sentence

MOST_NAMED = 4
"""Blobs that are named before the rest is counted."""


def summary(recording: Recording) -> str:
    """What a recording is about, before anything has happened."""
    forward = len(recording.net.ops)
    sums = sum(isinstance(event, Accumulated) for event in recording.generation)
    ys = listed([code(y) for y in dict.fromkeys(recording.ys)])
    said = f"A net of {count_of(forward, 'operator')}, differentiated from {ys}"
    has_failed = isinstance(last := recording.events[-1], Failed)
    if recording.obstacle is not None:
        has_failed = isinstance(last := recording.generation[-1], Failed)
        said += f". It cannot be run: {sentence(recording.obstacle)} The backward pass"
        said += " stops" if has_failed else " is generated all the same"
    elif has_failed:
        said += ". The pass stops"
    if isinstance(last, Failed):
        return f"{said} at the last event: {last.message}"
    said += f": {count_of(len(recording.operators) - forward, 'gradient operator')} in the making"
    said += f", with {count_of(sums, 'accumulation')}. Step to see how they come about."
    if nested := sum(net is not recording.nets for net in recording.nets):
        said += f" {count_of(nested, 'nested net')}: into enters one, out leaves it."
    if recording.deduplicate is None or any(isinstance(event, Deduplicated) for event in recording.events):
        return said
    return f"{said} No input of the net has a sparse gradient, so no rows are merged."


def stored(recording: Recording) -> str:
    """What is not in memory, because of a budget; empty where all is."""
    if recording.store is None:
        return ""
    contents = recording.store.contents
    gone = contents.dropped.arrays + contents.spilled.arrays
    if not gone:
        return "".join(f" {refusal}" for refusal in contents.refused)
    ways = [
        f"{count.arrays:,} {how}"
        for count, how in ((contents.dropped, "made again"), (contents.spilled, "read from files"))
        if count.arrays
    ]
    said = f" To keep within {written(contents.budget)}, {gone:,} of {gone + contents.kept.arrays:,} values that "
    said += f"operators made are not in memory: {listed(ways)} when they are asked for."
    return said + "".join(f" {refusal}" for refusal in contents.refused)


def played(event: Played, line: GrowingLine) -> str:
    known = lookup(event.op.type)
    formula = f", {known.formula}" if known and known.formula else ""
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


def seeded(event: Seeded, line: GrowingLine | None) -> str:
    y = code(f"{event.y}@{event.version}")
    if line is None and event.path:
        return f"The pass of the nested net starts at {y} from the gradient that arrives there, {code(event.gradient)}."
    if line is None:
        return f"The pass starts at {y} from the gradient that was given, {code(event.gradient)}."
    return f"The pass starts at {y}: its own gradient is one, so {code(line.text)} fills it with ones."


def visited(event: Visited, line: GrowingLine, gradients: Sequence[Written | None]) -> str:
    pairs = list(zip(line.outputs, gradients, strict=True))
    there = [f"{code(gradient)} of {code(output)}" for output, gradient in pairs if gradient]
    absent = [code(output) for output, gradient in pairs if not gradient]
    said = f"{name(line)} is reached with the gradient {listed(there)}"
    if absent:
        said += f"; nothing sends one to {listed(absent)}"
    return f"{said}. Now its rule can be asked."


def skipped(event: Skipped, line: GrowingLine) -> str:
    if not line.outputs:
        return f"{name(line)} is passed by: it has no output, so nothing can send it a gradient."
    outputs = listed([code(output) for output in line.outputs])
    return f"{name(line)} is passed by: nothing downstream sends a gradient to {outputs}. Not computed is not zero."


def rule_applied(event: RuleApplied, line: GrowingLine, made: Sequence[GrowingLine]) -> str:
    known = lookup(line.op.type)
    because = f" ({known.derivative})" if known and known.derivative else ""
    operators = [code(new.text) for new in made if new.role != "passed"]
    passed = [new for new in made if new.role == "passed"]
    sentences = []
    if operators:
        sentences.append(f"The rule of {name(line)} makes {listed(operators)}{because}.")
    for new in passed:
        sentences.append(
            f"The rule of {name(line)} lets {listed([code(gradient) for gradient in new.inputs])} pass on unchanged to "
            f"{listed([code(blob) for blob in new.outputs])}; no operator is needed."
        )
    if not sentences:
        blobs = listed([code(blob) for blob in line.inputs])
        return f"The rule of {name(line)} gives its inputs {blobs} no gradient: the flow ends here."
    return " ".join(sentences)


def input_checked(event: InputChecked, line: GrowingLine, gradient_line: GrowingLine, lines: Lines) -> str:
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
        parts.append(f"{listed(forward)}, which {holds} what {name(line)} saw")
    for checked in read:
        if checked.name != checked.blob:
            blob = code(f"{checked.blob}@{checked.version}")
            parts.append(f"{blob}, which {overwriter(lines, checked)}; the workspace has kept it")
    parts.extend(f"{code(checked.name)}, which the rule made just before" for checked in of("rule"))
    if not parts:
        return f"{code(gradient_line.op.type)} reads nothing, so no version can be wrong."
    return f"{code(gradient_line.op.type)} may read {'; and '.join(parts)}."


def generator_added(event: GeneratorAdded, gradient: Written, readers: Sequence[str]) -> str:
    blob = code(f"{event.blob}@{event.version}")
    if len(readers) == 1 and event.count == 1:
        return f"{code(gradient)} is the gradient of {blob}, complete: {readers[0]} is its only reader."
    return f"{code(gradient)} is gradient number {event.count} of {blob}, which {reading(readers)}."


def accumulated(
    event: Accumulated,
    line: GrowingLine,
    made: Sequence[GrowingLine],
    readers: Sequence[str],
    renamed: Iterable[tuple[str, str]],
) -> str:
    if len(event.contributions) == 1:
        return (
            f"The rule of {name(line)} reads a dense gradient, and that of {code(line.outputs[0])} is sparse: "
            f"{code(made[0].text)} adds its rows, those of equal index too, into zeros."
        )
    blob = code(f"{event.blob}@{event.version}")
    count = len(event.contributions)
    all_of = "both" if count == 2 else f"all {count}"
    said = f"{blob} {reading(readers)}. {name(line)} is the first of them, so {all_of} gradients are in"
    if isinstance(event.gradient, GradientSlice):
        halves = listed([code(new.outputs[0]) for new in made])
        said += f". They are sparse, so their rows are laid one after the other in {halves}, equal indices unmerged."
    else:
        said += ", the sparse ones made dense," if len(made) > 1 else ""
        said += f" and are added here: `{made[-1].outputs[0]} = {' + '.join(map(str, made[-1].inputs))}`."
    pairs = [f"the former {code(old)} became {code(new)}" for old, new in renamed]
    if pairs:
        shown = pairs if len(pairs) <= 3 else [*pairs[:2], f"{len(pairs) - 2} more likewise"]
        said += f" So that none overwrites another, {listed(shown)}."
    return said


def deduplicated(merge: Merge, made: Sequence[GrowingLine]) -> str:
    unique, segments = (code(line.op.type) for line in made)
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


def completed(event: Completed, operators: int, ys: Iterable[str], *, is_run: bool) -> str:
    """What the pass has come to; `is_run`: nothing keeps it from being run."""
    said = "The backward pass is whole" if is_run else "The backward pass is generated, and will not be run"
    said += f": {count_of(operators, 'gradient operator')}, "
    said += f"gradients of {count_of(len(event.gradients), 'blob')}."
    if set(event.gradients) <= set(ys):
        reached = listed([code(blob) for blob in event.gradients])
        said += f" None goes further back than {reached}; `why_none` says of any other blob what cuts its ways."
    return said


def failed(event: Failed) -> str:
    return f"The pass stops here. {event.message}"


def not_run(obstacle: GradvizError) -> str:
    return f"Nothing is run. {sentence(obstacle)}"


def ran(what: str, device: str, seconds: float | None, outputs: Sequence[tuple[str, str]]) -> str:
    """What an operator did; `outputs` are pairs of a blob version and its shape."""
    said = f"{what} ran on {device}" + ("" if seconds is None else f" in {duration(seconds)}")
    described = [f"{code(blob)} is {shape}" for blob, shape in outputs]
    return f"{said}: {shortened(described)}." if described else f"{said}."


def running(line: GrowingLine) -> str:
    """What a line does, for saying that it ran; one with nested nets shows more of it there than a sentence holds."""
    if not line.subnets:
        return code(line.text)
    if line.role == "forward":
        return name(line)
    return f"The gradient of {line.op.type}{'' if line.of is None else f' #{line.of}'}"


def overwriter(lines: Lines, checked: Checked) -> str:
    """Which operator overwrote a forward blob version."""
    next_one = (checked.blob, (checked.version or 0) + 1)
    for line in lines.forward:
        if any((written.name, written.version) == next_one for written in line.outputs):
            return f"{name(line)} overwrote"
    return "was overwritten"


def code(text: object) -> str:
    """`text` between backticks."""
    return f"`{text}`"


def name(line: GrowingLine) -> str:
    """``FC #2``, for a forward line."""
    return f"{line.op.type} #{line.id.rpartition('f')[2]}"


def listed(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def shortened(parts: Sequence[str]) -> str:
    """The first few of `parts`, and how many more there are."""
    if len(parts) <= MOST_NAMED + 1:
        return listed(parts)
    return listed([*parts[:MOST_NAMED], f"{len(parts) - MOST_NAMED} more"])


def reading(readers: Sequence[str]) -> str:
    """Who reads a blob: ``is read by FC #2 and Sum #4``."""
    shown = readers if len(readers) <= 5 else [*readers[:4], f"{len(readers) - 4} more"]
    return f"is read by {listed(shown)}"


def count_of(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


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
