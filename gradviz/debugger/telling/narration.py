"""Narration: one or two plain sentences for each event, saying what happened and why now.

Code stands between backticks, blobs with their versions: `x@1`. A pass that runs as it goes adds gradients as they
arrive; where functions have ranks, it takes that of the greatest rank from a heap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...operators import lookup
from ...program import GradientSlice, GradvizError
from ...program.control_flow import nested_nets
from ...program.errors import a_few, code, count_of, joined, listed
from ...program.events import (
    Accumulated,
    ChangedByHand,
    Checked,
    Completed,
    GeneratorAdded,
    GradWritten,
    HookRan,
    InputChecked,
    Played,
    RuleApplied,
    Seeded,
    Visited,
    Waiting,
)
from ...program.operator import BlobVersion, parts_of
from ...runtime.store import written as written_bytes
from ..document import Merge, Obstacle, Value
from ..journal import UNDEFINED, NetText, Reading, Recording, Statement, Writing, inner_words
from ..statistics import WORKSPACES
from . import sentences as say
from .sentences import Sentence, Sentences

Named = Writing | BlobVersion
"""What a writing is called."""


def stored(recording: Recording) -> str:
    """What is not in memory, because of a budget; empty where all is."""
    if recording.store is None:
        return ""
    contents = recording.store.contents
    gone = contents.spilled.arrays
    text = ""
    if gone:
        text = f" To keep within {written_bytes(contents.budget)}, {gone:,} of {gone + contents.kept.arrays:,} values "
        text += "that operators made are in a file, and read from there when they are asked for."
    return f"{text} {contents.refused}" if contents.refused else text


def played(event: Played, line: Reading, deepest: Named | None, *, goes: bool) -> Sentences:
    """What joined.

    Args:
        deepest: of what a function with a rank read, that of the greatest rank; None: it read leaves alone.
        goes: whether the pass runs as it goes.
    """
    operator_type = lookup(event.op.type)
    formula = operator_type.formula if operator_type else ""
    nets = [f"{argument} {code(net.name)}" for argument, net in nested_nets(line.op).items()]
    where = line.statement.code
    number = event.index if where is None else f"{event.index} ({where})"
    sentences: Sentences = [(say.JOINS_NESTED if event.path else say.JOINS, number)]
    if goes:
        sentences = [_called(event, line.statement.scopes)]
    sentences += [(say.CALL_OVER, line.op.type, listed(nets))] if nets else [(say.CALL, line.text)]
    sentences += [(say.FORMULA, formula)] if formula else []
    sentences += [(say.STOP,)]
    if not goes:
        return sentences + _overwrites(event)
    if event.op.type == "NewData":
        return [*sentences, (say.NEW_DATA,)]
    if event.rank is None:
        return sentences
    return [*sentences, (say.RANK_BY_LEAVES, event.rank) if deepest is None else (say.RANK, event.rank, deepest)]


def _called(event: Played, scopes: Sequence[str]) -> Sentence:
    """Which function was called, and where."""
    if event.code is None:
        return say.CALLED, event.index
    return (say.CALLED_IN, event.index, scopes[-1], event.code) if scopes else (say.CALLED_ON, event.index, event.code)


def _overwrites(event: Played) -> Sentences:
    """The names that an operator writes again."""
    sentences: Sentences = []
    new = {name: version for name, version in zip(event.op.outputs, event.out_versions, strict=True) if version}
    for how, names in (
        ("in place", [name for name in new if name in event.op.inputs]),
        ("again", [name for name in new if name not in event.op.inputs]),
    ):
        if len(names) == 1:
            sentences.append((say.WRITES_ONE, names[0], how, new[names[0]]))
        elif names:
            sentences.append((say.WRITES_SEVERAL, coded(names), how))
    return sentences


def seeded(event: Seeded, seed: Reading | None, owner: Reading | None, *, goes: bool) -> Sentences:
    """`owner`: what returned y; None: nothing did."""
    y = f"{event.y}@{event.version}"
    if seed is None:
        sentences: Sentences = [(say.SEED_GIVEN_NESTED if event.path else say.SEED_GIVEN, y, event.gradient)]
        if inner_words(str(event.gradient)):
            sentences = [(say.SEED_ARRIVES, y)]
    else:
        sentences = [(say.SEEDED_AS_IT_GOES, y, seed.outputs[0]) if goes else (say.SEEDED, y, seed.text)]
    return sentences if owner is None or event.queued is None else [*sentences, _joins(owner, event.queued)]


def visited(
    event: Visited, line: Reading, gradients: Sequence[Named | None], waiting: Sequence[Reading], is_read: bool
) -> Sentences:
    """`waiting`: those that are next in the heap; `is_read`: whether others read what this one returned."""
    pairs = list(zip(line.outputs, gradients, strict=True))
    there = [(output, gradient) for output, gradient in pairs if gradient]
    absent = coded(output for output, gradient in pairs if not gradient)
    if event.rank is None:
        whose = {id(output): "" if inner_words(str(gradient)) else f"{code(gradient)} " for output, gradient in there}
        reached = listed([f"{whose[id(output)]}of {code(output)}" for output, _ in there])
        nothing: Sentences = [(say.NONE_SENT, absent)] if absent else []
        return [(say.REACHED, line.name_and_line, reached), *nothing, (say.RULE_IS_NEXT,)]
    sentences = [_why_next(event, line, waiting)]
    if is_read:
        read, whole = coded(output for output, _ in there), coded(gradient for _, gradient in there)
        sentences.append((say.WHOLE, read, whole, "is" if len(there) == 1 else "are"))
    return [*sentences, (say.NONE_SENT_TO, absent)] if absent else sentences


def _why_next(event: Visited, line: Reading, waiting: Sequence[Reading]) -> Sentence:
    function = line.name_and_line
    if not event.waits:
        return say.NEXT_ALONE, function, event.rank
    is_equal = any(one.rank == event.rank for one in event.waiting)
    return say.NEXT_OF_EQUALS if is_equal else say.NEXT_BY_RANK, function, event.rank, _who_waits(event, waiting)


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


def _joins(line: Reading, queued: Waiting) -> Sentence:
    return say.JOINS_HEAP, line.name, queued.rank, queued.arrival


def skipped(line: Reading, *, goes: bool) -> Sentences:
    if not line.outputs:
        return [(say.WITHOUT_OUTPUT, line.name)]
    return [(say.NOT_REACHED if goes else say.NOTHING_DOWNSTREAM, line.name, coded(line.outputs))]


def rule_applied(line: Reading, new: Sequence[Reading]) -> Sentences:
    operator_type = lookup(line.op.type)
    derivative = operator_type.derivative if operator_type else ""
    operators = coded(one.text for one in new if one.role != "passed")
    sentences: Sentences = []
    if operators:
        because: Sentences = [(say.DERIVATIVE, derivative)] if derivative else []
        sentences = [(say.RULE, line.name, operators), *because, (say.STOP,)]
    passed = [one for one in new if one.role == "passed"]
    sentences += [(say.RULE_PASSES, line.name, coded(one.inputs), coded(one.outputs)) for one in passed]
    return sentences or [(say.RULE_ENDS, line.name, coded(line.inputs))]


def rule_run(event: RuleApplied, line: Reading, new: Sequence[Reading]) -> Sentences:
    """What a rule gave whose operators ran at once, or a backward method that somebody wrote."""
    unwanted = dict.fromkeys(str(line.inputs[slot]) for slot in event.unwanted)
    is_method = event.by == "method"
    count = sum(one.role != "passed" for one in new)
    if is_method and not new:
        sentences: Sentences = [(say.METHOD_ENDS, line.name)]
    elif is_method:
        sentences = [(say.METHOD, line.name, coded(one.text for one in new))]
        pairs = zip(map(str, line.inputs), event.g_input, strict=True)
        none = coded(blob for blob, gradient in pairs if gradient is None and blob not in unwanted)
        sentences += [(say.METHOD_GAVE_NONE, none)] if none else []
    else:
        sentences = rule_applied(line, new)
        sentences += [(say.RUN_AT_ONCE, "It is" if count == 1 else "They are")] if count else []
    if unwanted:
        sentences.append((say.NOT_WANTED, coded(unwanted)))
    return sentences


def input_checked(event: InputChecked, line: Reading, gradient_line: Reading, net: NetText) -> Sentences:
    def of(source: str) -> list[Checked]:
        return list({checked.name: checked for checked in event.inputs if checked.source == source}.values())

    type = gradient_line.op.type
    parts: Sentences = [
        (say.GRADIENT_ARRIVED, f"{checked.blob}@{checked.version}")
        if inner_words(checked.name)
        else (say.GRADIENT_OF, checked.name, f"{checked.blob}@{checked.version}")
        for checked in of("output gradient")
    ]
    read = [*of("input"), *of("output")]
    forward = [code(f"{checked.blob}@{checked.version}") for checked in read if checked.name == checked.blob]
    if forward:
        hold = "still holds" if len(forward) == 1 else "still hold"
        parts.append((say.STILL_HOLDS, listed(forward), hold, line.name))
    parts += [_overwritten(net, checked) for checked in read if checked.name != checked.blob]
    parts += [(say.FROM_THE_RULE, checked.name) for checked in of("rule")]
    if not parts:
        return [(say.READS_NOTHING, type)]
    also = [one for part in parts[1:] for one in ((say.AND_ALSO,), part)]
    return [(say.MAY_READ, type), parts[0], *also, (say.STOP,)]


def _overwritten(net: NetText, checked: Checked) -> Sentence:
    """Which operator overwrote a forward blob version."""
    blob = f"{checked.blob}@{checked.version}"
    statement = net.version(checked.blob, (checked.version or 0) + 1).statement
    is_forward = statement is not None and statement.role == "forward"
    return (say.OVERWRITTEN_BY, blob, statement.name) if statement and is_forward else (say.OVERWRITTEN, blob)


def generator_added(event: GeneratorAdded, gradient: Named, readers: Sequence[str]) -> Sentences:
    blob = f"{event.blob}@{event.version}"
    if len(readers) == 1 and event.count == 1:
        return [(say.ONLY_GRADIENT, gradient, blob, readers[0])]
    return [(say.ONE_OF_GRADIENTS, gradient, event.count, blob, a_few(readers))]


def arrived(event: GeneratorAdded, gradient: Named, owner: Reading | None, *, has_heap: bool) -> Sentences:
    """A gradient in a pass that runs as it goes; `owner`: the function that returned the blob, None: it is a leaf."""
    blob = f"{event.blob}@{event.version}"
    arrives: Sentence = (say.ARRIVES_AT_LEAF, gradient, blob)
    if owner is not None:
        arrives = (say.ARRIVES, gradient, blob, owner.name)
    if event.count > 1:
        return [arrives, (say.ADDED_AT_ONCE, event.count)]
    if owner is None:
        return [arrives, (say.FIRST_IN_PASS,)]
    if event.queued is not None:
        return [arrives, (say.STOP,), _joins(owner, event.queued)]
    return [arrives, (say.STOP,), (say.IN_HEAP, owner.name)] if has_heap else [arrives, (say.STOP,)]


def accumulated(
    event: Accumulated,
    line: Reading,
    new: Sequence[Reading],
    readers: Sequence[str],
    renamed: Iterable[tuple[str, str]],
) -> Sentences:
    count = len(event.contributions)
    all_of = "both" if count == 2 else f"all {count}"
    blob = f"{event.blob}@{event.version}"
    sentences: Sentences = [(say.ALL_ARE_IN, blob, a_few(readers), line.name, all_of)]
    if isinstance(event.gradient, GradientSlice):
        sentences.append((say.ARE_SPARSE, coded(one.outputs[0] for one in new)))
    else:
        sentences += [(say.SOME_TO_DENSE,)] if len(new) > 1 else []
        sentences.append((say.ADDED_HERE, *_sum(new)))
    pairs = [f"the former {code(old)} became {code(name)}" for old, name in renamed]
    if pairs:
        shown = pairs if len(pairs) <= 3 else [*pairs[:2], f"{len(pairs) - 2} more likewise"]
        sentences.append((say.RENAMED, listed(shown)))
    return sentences


def added(event: Accumulated, new: Sequence[Reading], readers: Sequence[str]) -> Sentences:
    """A gradient that was added to what was there when it arrived."""
    times = {reader: readers.count(reader) for reader in readers} if len(set(readers)) < len(readers) else {}
    whose = [f"{one} ({times[one]} times)" if times.get(one, 1) > 1 else one for one in dict.fromkeys(readers)]
    arrive: Sentence = (say.AS_THEY_ARRIVE, f"{event.blob}@{event.version}", a_few(whose))
    if len(parts_of(event.gradient)) == 2:
        return [arrive, (say.BOTH_SPARSE, coded(one.outputs[0] for one in new))]
    by_now: Sentence = (say.SUM_BY_NOW, event.so_far) if event.so_far and event.so_far > 2 else (say.STOP,)
    return [arrive, (say.ONE_TO_DENSE if len(new) > 1 else say.ADDED, *_sum(new)), by_now]


def _sum(new: Sequence[Reading]) -> tuple[object, str]:
    """The last of `new` as what it writes, and the terms that it adds."""
    return new[-1].outputs[0], joined(new[-1].inputs, " + ")


def hooked(event: HookRan, new: Sequence[Reading]) -> Sentences:
    sentences: Sentences = [(say.HOOKED, f"{event.blob}@{event.version}", coded(one.text for one in new))]
    if event.hooks:
        sentences.append((say.HAS_HOOKS if len(event.hooks) > 1 else say.HAS_HOOK, event.blob, coded(event.hooks)))
    return sentences


def changed(event: ChangedByHand, stale: Sequence[Statement]) -> Sentences:
    """`stale`: the operators that have computed from the version before."""
    before = BlobVersion(event.blob, event.version - 1)
    blobs = [writing for one in stale for writing in one.outputs]
    computed: Sentence = (say.STALE, a_few(list(map(code, blobs)))) if blobs else (say.NOT_STALE,)
    return [(say.BY_HAND, before.name, f"{event.blob}@{event.version}", before), computed]


def deduplicated(merge: Merge, new: Sequence[Reading]) -> Sentences:
    unique, segments = (one.op.type for one in new)
    rows = say.ROWS_ADDED if merge.aggregator == "sum" else say.ROWS_AVERAGED
    sentences: Sentences = [(say.MERGED, merge.blob, unique), (rows, segments)]
    if merge.rows_before is None:
        return [*sentences, (say.REPEATS_UNKNOWN,)]
    if merge.rows_before == merge.rows_after:
        return [*sentences, (say.NO_REPEATS, merge.rows_after)]
    most = merge.most_repeated[0]
    return [*sentences, (say.REPEATS, count_of(merge.rows_before, "row"), merge.rows_after, most.index, most.times)]


def written(event: GradWritten, gradient: Named | None, count: int) -> Sentences:
    """`count`: how many gradients the sum `gradient` consists of."""
    blob, after, before = event.blob, event.after, event.before
    if event.how == "dropped":
        return [(say.GRAD_DROPPED, blob, before) if gradient is None else (say.GRAD_TAKEN, gradient, blob)]
    if event.how == "added":
        return [(say.GRAD_ADDED, blob, before, after, before, gradient)]
    is_replaced = event.how == "replaced"
    sentences: Sentences = [(say.GRAD_IS if is_replaced else say.GRAD_WAS_EMPTY, blob, after)]
    sentences += [] if gradient is None else [(say.GRAD_OF, gradient)]
    sentences += [(say.GRAD_IS_SUM, count)] if count > 1 else []
    sentences += [(say.GRAD_OF_ROWS,)] if isinstance(event.gradient, GradientSlice) else []
    return [*sentences, (say.GRAD_REPLACED, before) if is_replaced else (say.STOP,)]


def completed(event: Completed, operators: int, *, is_from_ys_alone: bool, is_run: bool) -> Sentences:
    """What the pass has come to.

    Args:
        event: it.
        operators: how many gradient operators it has.
        is_from_ys_alone: no gradient came further back than the ys.
        is_run: nothing keeps it from being run.
    """
    completed = say.COMPLETED if is_run else say.COMPLETED_UNRUN
    gradients = count_of(len(event.gradients), "blob")
    sentences: Sentences = [(completed, count_of(operators, "gradient operator"), gradients)]
    return [*sentences, (say.NO_FURTHER, coded(event.gradients))] if is_from_ys_alone else sentences


def ran(
    what: str,
    device: str,
    seconds: float | None,
    outputs: Sequence[tuple[str, str]],
    copied: tuple[str, str] | None = None,
) -> Sentences:
    """What an operator did; `outputs` are pairs of a blob version and its shape.

    `copied`: how much it copied from another device, and from which, if that is all it did.
    """
    took: Sentences = [] if seconds is None else [(say.TOOK, duration(seconds))]
    copies: Sentences = [] if copied is None else [(say.COPIED, *copied)]
    return [(say.RAN, what, device), *took, *copies, (say.OUTPUTS, _shapes(outputs)) if outputs else (say.STOP,)]


def ran_before(line: Reading, outputs: Sequence[tuple[str, str]]) -> Sentences:
    """A function whose values are there already."""
    if not outputs:
        return [(say.RAN_UNSEEN, line.name_and_line)]
    return [(say.RAN_BEFORE, _shapes(outputs), line.name_and_line)]


def _shapes(outputs: Sequence[tuple[str, str]]) -> str:
    return a_few([f"{code(blob)} is {shape}" for blob, shape in outputs])


def running(line: Reading) -> str:
    """What a statement does, for saying that it ran; one with nested nets shows more there than a sentence holds."""
    if not line.nets:
        where = line.statement.code if line.role == "forward" else None
        return code(line.text) if where is None else f"{code(line.text)} ({where})"
    return line.name_and_line if line.role == "forward" else capital(named(line))


def named(line: Reading) -> str:
    """What runs nested nets: ``While #2``, ``the gradient of While #2``."""
    if line.role == "forward":
        return line.name
    return f"the gradient of {line.op.type}{'' if line.of is None else f' #{line.of}'}"


def capital(text: str) -> str:
    """As at the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def coded(names: Iterable[object]) -> str:
    return listed(list(map(code, names)))


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


def measured(value: Value) -> str:
    """``64 × 32 float32, norm 2.07; 3 NaN``: what an array is, how large, and what is odd about it."""
    description = shape(value)
    if value.dtype == WORKSPACES or value.norm is None or value.dtype[0] not in "fcb" or value.dtype == "bool":
        return description
    odd = [f"{count} {word}" for count, word in ((value.nan, "NaN"), (value.inf, "infinite")) if count]
    if not odd:
        norm = value.norm if isinstance(value.norm, str) else f"{value.norm:.3g}"
        description += ", all zero" if value.zero == value.size else f", norm {norm}"
    return "; ".join([description, *odd])


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


def reminder(obstacle: Obstacle | GradvizError | None, *, is_narrated: bool) -> str:
    """That the program is not run, and why, for where the narration does not say it; else empty."""
    return "" if obstacle is None or is_narrated else f"Not run: {sentence(obstacle)}"
