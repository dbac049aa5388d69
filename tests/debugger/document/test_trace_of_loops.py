"""The trace document of a loop: small where iterations repeat themselves, whole when it is read, and checked."""

import json

import numpy as np
import pytest
from msgspec.structs import replace

from gradviz import debug
from gradviz.debugger.document import TraceError, decode, encode
from gradviz.debugger.document.codec import MOST_CHARACTERS
from gradviz.debugger.statistics import all_statistics, short_statistics, statistics
from tests.debugger.loops import fed, gated, recurrent

TRACE = debug(gated(), ["loss"], workspace=fed(3)).trace()
WRITTEN = json.loads(encode(TRACE))


def damaged(part, index, *way, to):
    """The document with one place of a list changed."""
    document = json.loads(encode(TRACE))
    at = document[part]
    for step in (index, *way[:-1]):
        at = at[step]
    if way:
        at[way[-1]] = to
    else:
        document[part][index] = to
    return json.dumps(document)


def row():
    """The number of the first event that is written as a row."""
    return next(number for number, event in enumerate(WRITTEN["events"]) if isinstance(event, list))


def test_a_document_with_nested_nets_comes_back_as_it_went_out():
    assert decode(encode(TRACE)) == TRACE


def test_an_iteration_more_costs_little():
    sizes = [len(encode(debug(recurrent(), ["loss"], workspace=fed(rounds)).trace())) for rounds in (100, 200)]
    events = [len(debug(recurrent(), ["loss"], workspace=fed(rounds)).events) for rounds in (100, 200)]
    assert (sizes[1] - sizes[0]) / (events[1] - events[0]) < 250, "bytes for an event with its values and workspaces"


def test_what_repeats_is_written_once():
    trace = debug(recurrent(), ["loss"], workspace=fed(30)).trace()
    written = json.loads(encode(trace))
    whole = [event for event in written["events"] if isinstance(event, dict)]
    assert len(whole) < len(trace.events) / 4
    begins = written["templates"].index("Iteration {number} of {runner} begins.")
    assert [event["narration"] for event in whole if event["narration"][0] == begins] == [[begins, ["0", "While #2"]]]
    rounds = {f"Iteration {number} of While #2 begins." for number in range(30)}
    assert rounds <= set(map(trace.narration, range(1, len(trace.events) + 1)))


def test_previews_of_a_long_loop_are_smaller_than_those_of_a_short_one():
    def largest(rounds):
        ws = fed(rounds, w=np.eye(6) / 2, h=np.ones((6, 16)))
        return max(
            len(value.preview) * len(value.preview[0])
            for value in debug(recurrent(), ["loss"], workspace=ws).trace().arrays
            if value.preview
        )

    assert largest(3) == 6 * 16
    assert largest(900) < 6 * 16


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(), (1,), (5,), (0,), (3, 4), (2, 0), (2, 3, 20)])
def test_arrays_measured_together_are_measured_as_alone(shape, dtype):
    rng = np.random.default_rng(0)
    arrays = [(10 * rng.normal(size=shape)).astype(dtype) for _ in range(3)]
    if dtype.startswith("float") and shape in ((5,), (3, 4)):
        arrays[1].flat[:3] = [np.nan, np.inf, -np.inf]
        arrays[2][...] = np.nan
    assert all_statistics(arrays) == [statistics(array) for array in arrays]
    for found, array in zip(short_statistics(arrays, (6, 16)), arrays, strict=True):
        alone = statistics(array)
        for field in ("shape", "dtype", "size", "rows", "columns", "nan", "inf", "zero", "preview"):
            assert getattr(found, field) == getattr(alone, field)
        for field in ("min", "max", "mean", "mean_abs", "norm"):
            one, other = getattr(found, field), getattr(alone, field)
            assert one == other if one is None or isinstance(one, str) else one == pytest.approx(other, rel=1e-5)


def test_statistics_of_what_is_not_finite():
    value = statistics(np.array([1.0, np.nan, -3.0, np.inf, 0.0]))
    assert (value.min, value.max, value.mean, value.mean_abs) == (-3, 1, -2 / 3, 4 / 3)
    assert (value.nan, value.inf, value.zero, value.norm) == (1, 1, 1, "nan")
    value = statistics(np.array([np.nan]))
    assert (value.min, value.mean, value.norm, value.preview) == (None, None, "nan", [["nan"]])


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (damaged("events", row(), to=[10**6, 0, None, None, 0, []]), "bad_reference"),
        (damaged("events", row(), to=[row(), 0, None, None, 0, []]), "bad_reference"),
        (damaged("events", row(), to=[0, 0, None, None, 0, ["x"] * 99]), "bad_reference"),
        (damaged("events", row(), to=[0, 0]), "bad_structure"),
        (damaged("events", row(), 2, to=10**6), "bad_reference"),
        (damaged("events", row(), 4, to=99), "bad_reference"),
        (damaged("events", row(), 4, to=-1), "bad_reference"),
        (damaged("events", row(), 5, to=[0]), "bad_structure"),
        (damaged("events", 0, "narration", 0, to=len(TRACE.templates)), "bad_reference"),
        (damaged("events", 0, "narration", 0, to=-1), "bad_reference"),
        (damaged("events", 0, "narration", 1, to=[]), "bad_reference"),
        (damaged("events", 0, "narration", 1, to=["x"] * 99), "bad_reference"),
        (damaged("events", 0, "narration", 1, to=[0]), "bad_structure"),
        (damaged("events", 0, "narration", to="Text."), "bad_structure"),
        (damaged("templates", 0, to="{place} more"), "bad_reference"),
        (damaged("templates", 0, to=0), "bad_structure"),
        (damaged("events", 0, "subnet", to="s99"), "bad_reference"),
        (damaged("subnets", 0, "id", to="s5"), "bad_reference"),
        (damaged("subnets", 0, "owner", to="f99"), "bad_reference"),
        (damaged("subnets", 2, "forward", 0, "id", to="f0"), "bad_reference"),
        (damaged("subnets", 2, "forward", 0, "of", to=50), "bad_reference"),
        (damaged("forward", 2, "subnets", to={"net": "s99"}), "bad_reference"),
        (damaged("frames", 0, 0, to="s99"), "bad_reference"),
        (damaged("frames", 1, 1, to=1), "bad_reference"),
        (damaged("frames", 0, 6, to=[10**6]), "bad_reference"),
        (damaged("frames", 0, 6, to=[0] * 99), "bad_reference"),
        (damaged("frames", 0, to=["s0"]), "bad_structure"),
        (damaged("stacks", 0, "below", to=0), "bad_reference"),
        (damaged("stacks", 0, "frame", to=10**6), "bad_reference"),
        (damaged("ledgers", 0, "frame", to=10**6), "bad_reference"),
        (damaged("arrays", "rows", 0, to=[99, [[1.0]]]), "bad_reference"),
        (damaged("arrays", "rows", 0, to=[0, []]), "bad_reference"),
        (damaged("arrays", "rows", 0, to=[0, [], [1.0], [0]]), "bad_reference"),
        (damaged("arrays", "kinds", 0, to=[[-1], "float64", "cpu"]), "bad_reference"),
    ],
)
def test_faults_are_named(data, kind):
    with pytest.raises(TraceError) as caught:
        decode(data)
    assert caught.value.kind == kind


@pytest.mark.parametrize("is_long", ["template", "argument"])
def test_rows_that_repeat_a_long_narration_too_often_are_refused(is_long):
    document = json.loads(encode(TRACE))
    at = row()
    like, *rest, _, _ = document["events"][at]
    number, arguments = document["events"][like]["narration"]
    if is_long == "template":
        document["templates"][number] += "y" * 10_000_000
    else:
        arguments[0] = "y" * 10_000_000
    document["events"][at:at] = [[like, *rest, 0, []]] * (MOST_CHARACTERS // 10_000_000 + 1)
    with pytest.raises(TraceError, match="narrations have more than 200,000,000 characters") as caught:
        decode(json.dumps(document))
    assert caught.value.kind == "bad_structure"


def test_leaving_what_was_not_entered_is_refused():
    events = list(TRACE.events)
    left = next(event for event in events if event.kind == "LeftSubnet")
    with pytest.raises(TraceError, match="not entered"):
        encode(replace(TRACE, events=[replace(left, group=10**6), *events]))


def test_a_document_without_nested_nets_reads_as_before():
    document = json.loads(encode(TRACE))
    for name in ("subnets", "frames", "arrays", "stacks"):
        del document[name]
    document |= {"events": [], "ledgers": [], "backward": [], "values": {}, "gradients": {}}
    document["forward"] = [line | {"made": 0, "ran": None} for line in document["forward"][:1]]
    for line in document["forward"]:
        line.pop("subnets", None)
        line["history"] = [line["history"][0] | {"at": 0}]
    read = decode(json.dumps(document))
    assert (read.subnets, read.frames, read.arrays, read.stacks) == ([], [], [], [])
