"""Parts of recordings: what a part says is what the whole document says, and what it leaves out it stands for."""

from collections.abc import Callable

import numpy as np
import pytest
from msgspec.structs import replace

import gradviz
from gradviz.debugger.document import (
    Line,
    Trace,
    TraceError,
    TraceEvent,
    Value,
    all_lines,
    decode,
    decode_with_events,
    encode,
    encode_packed,
)
from gradviz.debugger.steering import unpacked_recording
from gradviz.debugger.telling import Parts, document, outline
from gradviz.drawing import render
from tests.browser import programs

EVENTS, OPERATORS = 40, 40
LONG = 200


def deduplicated() -> gradviz.Session:
    net = gradviz.Net("rows")
    net.Gather(["w", "i"], "a")
    net.Gather(["w", "j"], "b")
    net.Sum(["a", "b"], "c")
    net.SumElements("c", "loss")
    ws = gradviz.Workspace()
    for name, array in {"w": np.ones((4, 2)), "i": np.array([0, 0, 1]), "j": np.array([1, 2, 2])}.items():
        ws.feed(name, array)
    return gradviz.debug(net, ["loss"], workspace=ws, deduplicate="sum")


def branches() -> gradviz.Session:
    """Stretches of it begin with an If, whose nested nets are not shown then."""
    net = gradviz.Net("branches")
    for _ in range(100):
        with net.If("c"):
            net.Tanh("x", "x")
    net.SumElements("x", "loss")
    ws = gradviz.Workspace()
    for name, array in {"x": np.ones(2), "c": np.array([True])}.items():
        ws.feed(name, array)
    return gradviz.debug(net, ["loss"], workspace=ws)


def chain(operators: int, schedule: str) -> gradviz.Session:
    x = gradviz.Variable(np.ones(3), name="x")
    y = x
    for _ in range(operators):
        y = gradviz.functions.tanh(y) + x
    return gradviz.debug(gradviz.functions.sum(y), schedule=schedule)


def program(build: Callable[[], programs.Built]) -> Callable[[], gradviz.Session]:
    return lambda: programs.record(build)


def packed() -> gradviz.Session:
    """As it is read from a packed file, without arrays."""
    recording = programs.record(programs.gated)._recording
    return gradviz.Session(
        None, unpacked_recording(*decode_with_events(encode_packed(outline(recording), *recording.noted)))
    )


RECORDINGS = {
    "large": program(programs.large),
    "gated loop": program(programs.gated),
    "loop of many operators": program(programs.large_loop),
    "branches": branches,
    "packed": packed,
    "merged rows": deduplicated,
    "by rank": lambda: chain(60, "rank"),
    "tape": lambda: chain(60, "tape"),
}


@pytest.fixture(scope="module", params=RECORDINGS)
def both(request: pytest.FixtureRequest) -> tuple[Parts, Trace]:
    """A recording in parts, and as a whole."""
    session = RECORDINGS[request.param]()
    return Parts(session._recording, EVENTS, OPERATORS), document(session._recording)


def test_the_events_of_a_part_are_those_of_the_whole(both: tuple[Parts, Trace]) -> None:
    parts, whole = both
    for position in positions(whole):
        part = parts.around(position)
        assert part.part is not None
        assert part.shows(position)
        assert part.length == len(whole.events)
        assert len(part.events) == min(EVENTS, part.length)
        ids = {line.id for line in all_lines(part)}
        for number, event in enumerate(part.events):
            other = whole.events[part.part.first + number]
            assert part.event_at(part.part.first + number + 1) is event
            assert said(event) == said(other)
            assert [id for id in other.lines if id in ids] == [id for id in event.lines if id in {*other.lines}]
            assert event.lines or not other.lines
            assert (event.frame is None) == (other.frame is None)
            if event.frame is not None and other.frame is not None:
                assert run(part, event.frame) == run(whole, other.frame)
            assert (event.ledger is None) == (other.ledger is None)
            if event.ledger is not None and other.ledger is not None:
                assert part.ledgers[event.ledger] == whole.ledgers[other.ledger]


def test_the_program_of_a_part_is_whole_in_lines_and_stretches(both: tuple[Parts, Trace]) -> None:
    parts, whole = both
    lines = {line.id: line for line in all_lines(whole)}
    for position in positions(whole):
        part = parts.around(position)
        assert part.part is not None
        numbers = [(line.number, line.number + line.many) for line in part.forward]
        assert [0, *(end for _, end in numbers)] == [*(first for first, _ in numbers), len(whole.forward)]
        operators = [line for line in part.backward if line.kind != "passed"]
        assert sum(line.many for line in operators) == part.part.backward
        for line in all_lines(part):
            assert line.kind == "stretch" or line.left_out or line == lines[line.id]
        stretches = [line for line in all_lines(part) if line.kind == "stretch"]
        assert all(line.made == lines[line.id].made for line in stretches)
        assert (len(whole.forward) > OPERATORS + EVENTS) <= bool(stretches)


def test_what_flows_between_the_lines_of_a_part_flows_in_the_whole(both: tuple[Parts, Trace]) -> None:
    parts, whole = both
    written = {blob for line in (*whole.forward, *whole.backward) if line.kind != "passed" for blob in line.outputs}
    for position in positions(whole):
        part = parts.around(position)
        lines: list[Line] = [*part.forward, *part.backward]
        makers = {blob for line in lines if line.kind != "passed" for blob in line.outputs}
        for line in lines:
            assert {blob for blob in line.inputs if blob in written} <= makers


def test_the_values_of_a_part_are_those_of_the_whole(both: tuple[Parts, Trace]) -> None:
    parts, whole = both
    for position in positions(whole):
        part = parts.around(position)
        shown = {blob for line in (*part.forward, *part.backward) for blob in (*line.inputs, *line.outputs)}
        for blob, value in part.values.items():
            assert replace(value, stack=None) == replace(whole.values[blob], stack=None)
        assert part.values.keys() == shown & whole.values.keys()


def test_a_part_is_drawn_and_written(both: tuple[Parts, Trace]) -> None:
    parts, whole = both
    for position in (0, len(whole.events) // 2, len(whole.events)):
        part = parts.around(position)
        graph = render(part)
        assert graph.svg is not None
        assert encode(replace(part, graph=graph))
        with pytest.raises(TraceError, match="is a part of a recording"):
            decode(encode(part))


def positions(whole: Trace) -> list[int]:
    return [*range(0, len(whole.events), max(7, len(whole.events) // 12)), len(whole.events)]


def said(event: TraceEvent) -> object:
    """What is the same in a part."""
    row = event.row.writes, event.row.is_gradient, event.row.added
    about = event.subnet, event.forward, event.blobs[:LONG], event.targets[:LONG], row
    return event.kind, event.group, event.phase, event.seconds, beginning(event.detail), about


def beginning(value: object) -> object:
    """The same with the beginnings of long lists."""
    if isinstance(value, dict):
        return {name: beginning(one) for name, one in value.items()}
    return list(map(beginning, value[:LONG])) if isinstance(value, list) else value


def run(trace: Trace, frame: int) -> object:
    """A run and those around it, with the values of each."""
    one = trace.frames[frame]
    net = next(net for net in trace.subnets if net.id == one.subnet)
    values = {
        blob: short(trace.arrays[number])
        for blob, number in zip(net.blobs, one.values, strict=False)
        if number is not None
    }
    around = None if one.around is None else run(trace, one.around)
    return one.subnet, one.operator, one.iteration, one.iterations, one.is_backward, values, around


def short(value: Value) -> object:
    """What does not depend on how many digits and elements there is room for."""
    return value.shape, value.dtype, value.nan, value.inf, value.zero


def test_a_part_says_whether_functions_had_run_when_they_were_called(both: tuple[Parts, Trace]) -> None:
    parts, whole = both
    part = parts.around(0).part
    assert part is not None
    assert part.is_called == (whole.schedule is not None)


def test_the_nested_nets_of_all_events_are_there_however_few_operators_are() -> None:
    session = branches()
    parts = Parts(session._recording, EVENTS, operators=1)
    for position in range(0, len(session), EVENTS):
        part = parts.around(position)
        assert {event.subnet for event in part.events} - {None} <= {net.id for net in part.subnets}
        assert encode(part)


def test_the_sums_of_all_events_are_there_however_few_operators_are() -> None:
    session = programs.record(programs.large)
    parts = Parts(session._recording, EVENTS, operators=1)
    added = 0
    for position in range(0, len(session), EVENTS // 2):
        part = parts.around(position)
        alone = {blob for line in part.backward if line.kind == "operator" for blob in line.outputs}
        assert {ledger.total for ledger in part.ledgers} <= alone & {*part.values}
        added += sum(event.ledger is not None for event in part.events)
    assert added
