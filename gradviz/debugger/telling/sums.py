"""The ledgers of a recording: how much of a blob's gradient came from where, and the way from there to a y.

For contributions c_i with the sum t:

    share_i      = <c_i, t> / <t, t>          the shares add up to 1; negative: it pulls the other way
    cosine_i     = <c_i, t> / (|c_i| |t|)
    cancellation = 1 - |t| / sum_i |c_i|      0: all pull one way, 1: they annihilate each other

`statistics.vectors` says what these are of complex numbers. An accumulation has a ledger, and so has a loop: its
backward pass keeps a running sum for each blob w that every iteration reads. In iteration k it adds g_k(w), so that
after the last of them the sum is

    g(w) = sum over the iterations k of g_k(w)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ...operators.registry import Array
from ...program.control_flow import RUNNING_SUM, take_apart
from ...program.events import Accumulated
from ...runtime.devices import current, device_of, moved
from ..document import Contribution, Ledger, Number, number
from ..journal import NOWHERE, Key, NetHalves, NetText, Recording, Writing, dense
from ..statistics import compare, norm, vector
from .story import Story

Term = tuple[Contribution, Array | None]
"""One gradient that went into a sum, without numbers, and its value, a sparse one made dense; None: not computed."""


def ledger(
    blob: str,
    at: int,
    total: str,
    terms: Sequence[Term],
    whole: Array | None,
    subnet: str | None = None,
    frame: int | None = None,
) -> Ledger:
    """The ledger of the gradient of `blob`, added up at position `at`.

    Args:
        total: the sum, ``"a_grad@1"``.
        terms: the contributions, wherever they lie; where one has no value like the sum, there are no numbers.
        whole: the sum's value.
        subnet, frame: as the ledger has them.
    """
    contributions = [contribution for contribution, _ in terms]
    arrays = [array for _, array in terms if array is not None and whole is not None and array.shape == whole.shape]
    unmeasured = Ledger(blob=blob, at=at, total=total, contributions=contributions, subnet=subnet, frame=frame)
    if whole is None or len(arrays) < len(terms):
        return unmeasured
    device = device_of(whole)
    with current(device):
        sum_ = vector(whole)
        comparison = compare([moved(array, device) for array in arrays], sum_)
    numbers = [_numbers(column) for column in (comparison.norms, comparison.shares, comparison.cosines)]
    return replace(
        unmeasured,
        contributions=[
            replace(contribution, norm=length, share=share, cosine=cosine)
            for contribution, length, share, cosine in zip(contributions, *numbers, strict=True)
        ],
        norm=number(norm(sum_)),
        cancellation=None if comparison.cancellation is None else number(comparison.cancellation),
    )


def _numbers(values: Sequence[float | None]) -> list[Number | None]:
    return [None if value is None else number(value) for value in values]


PATH_LENGTH = 12
"""Words of a path that are shown before it is cut."""

Values = Mapping[Key, Array]


Placed = tuple[int, Accumulated, int | None]
"""An accumulation with the position after it, and the run that the numbers of its ledger are of; None: of no one."""


def placed(sums: Iterable[tuple[int, Accumulated]], recording: Recording) -> list[Placed]:
    """The ledgers that there are of sums.

    A sum in a nested net is formed in each run of its backward pass: where there is one run, the ledger has its
    numbers, where there are more, a ledger without numbers is followed, at the end, by one for each run.
    """
    first: list[Placed] = []
    more: list[Placed] = []
    for at, event in sums:
        runs = recording.halves.get((event.path, True), [])
        first.append((at, event, runs[0] if len(runs) == 1 else None))
        more += [(at, event, run) for run in runs if len(runs) > 1]
    return first + more


def ledger_of(story: Story, at: int, event: Accumulated, frame: int | None) -> Ledger:
    """The ledger of a sum, in a nested net with the numbers of a run, or without any.

    That of the last accumulation of a blob has all its terms.
    """
    recording, total = story.recording, story.brought(event, at)
    net = recording.text.of(event)
    values: Values = {} if event.path and frame is None else recording.values_of(frame)
    terms = []
    for parts, producer, term in story.terms(event, at, is_whole=story.is_last(event, at)):
        array, path = _dense(parts, event, values), path_to_y(term.index, event.blob, net)
        contribution = Contribution(gradient=str(parts[-1]), producer=producer, of=term.index, how=term.how, path=path)
        terms.append((contribution, array))
    blob = f"{event.blob}@{event.version}"
    return ledger(blob, at, str(total[-1]), terms, _dense(total, event, values), net.id or None, frame)


def _dense(parts: Sequence[Writing], event: Accumulated, computed: Values) -> Array | None:
    """The value of a gradient as one array, None where it was not computed."""
    values = computed.get(parts[-1].key)
    if len(parts) == 1 or values is None:
        return values
    table, indices = computed.get((event.blob, event.version)), computed.get(parts[0].key)
    return None if table is None or indices is None else dense(indices, values, table)


def path_to_y(index: int | None, blob: str, net: NetText) -> list[str]:
    """One shortest way from forward operator `index` to a y, as words; for a seed, the `blob` it belongs to."""
    path = [blob] if index is None else [f"#{index}"]
    while index is not None and index in net.hops:
        if len(path) == PATH_LENGTH:
            return [*path, "…"]
        name, index = net.hops[index]
        path.append(name)
    return path


class LoopSum(NamedTuple):
    """What one run of a loop's backward pass has summed for a blob.

    Attributes:
        blob: it, in the net around the loop.
        total: the sum, in that net.
        term: the gradient of one iteration, in the net of the loop's Do.
        subnet: the id of the net around the loop; None: the outermost one.
        frame: the run of that, a number among all runs.
        at: the position after the loop's backward pass.
        rounds: the runs of its Do, in the order of the backward pass.
    """

    blob: Writing
    total: Writing
    term: Key
    subnet: str | None
    frame: int | None
    at: int
    rounds: Sequence[int]


def sums_of_loops(recording: Recording) -> Iterator[LoopSum]:
    """A sum for each blob that the iterations of a loop read, and each time that the loop's backward pass ran."""

    def backward(net: NetHalves) -> list[int]:
        return recording.halves.get((net.path, True), [])

    around_of = recording.runs.around
    for net in recording.nets:
        for (is_backward, index, argument), loop in net.inside.items():
            if not is_backward or argument != "loop_net":
                continue
            around = recording.text.net(net.path)
            bodies, each = backward(loop.inside[True, 0, "net"]), backward(loop)
            inside = dict(zip(around_of[bodies].tolist(), bodies, strict=True))
            rounds: dict[int, list[int]] = {}
            for place, frame in zip(each, around_of[each].tolist(), strict=True):
                rounds.setdefault(frame, []).append(place)
            frames: list[int | None] = [*backward(net)] if net.path else [None]
            ended = [(frame, recording.ran(around.operators[index], frame)) for frame in frames]
            for blob, total, term in _summed(around, index, loop):
                for frame, at in ended:
                    if at is not None:
                        within = [inside[place] for place in rounds.get(NOWHERE if frame is None else frame, ())]
                        yield LoopSum(blob, total, term, around.id or None, frame, at, within)


def _summed(around: NetText, index: int, loop: NetHalves) -> Iterator[tuple[Writing, Writing, Key]]:
    """What gradient operator `index`, a While, sums over the iterations of `loop`: blob, sum and term."""
    body = loop.inside[True, 0, "net"]
    forward, backward = take_apart(loop.forward[0], 0), take_apart(loop.backward[0], 0)
    statement = around.operators[index]
    assert statement.of is not None
    read = {writing.name: writing for writing in around.forward[statement.of].inputs}
    written = {writing.name: writing for writing in statement.outputs}
    for ssa in body.program[len(body.forward) :]:
        total = ssa.op.outputs[0]
        if ssa.op.type != "Sum" or not total.endswith(RUNNING_SUM):
            continue
        blob = forward.outer[total.removesuffix(RUNNING_SUM)]
        yield read[blob], written[backward.outer[total]], ssa.reads[1].key


def loop_ledger(recording: Recording, one: LoopSum) -> Ledger:
    """One contribution for each iteration, in the order of the forward pass; the backward pass has them reversed."""
    name, version = one.term
    terms: list[Term] = []
    for iteration, frame in enumerate(reversed(one.rounds)):
        producer = f"iteration {iteration}"
        contribution = Contribution(gradient=f"{name}@{version}", producer=producer, how="generated", frame=frame)
        terms.append((contribution, recording.runs[frame].values.get(one.term)))
    whole = recording.values_of(one.frame).get(one.total.key)
    return ledger(str(one.blob), one.at, str(one.total), terms, whole, one.subnet, one.frame)
