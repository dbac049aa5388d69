"""Recordings with a budget: whatever does not fit, what one sees and asks is the same, bit for bit."""

import gc
import os
import re
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path
from time import perf_counter

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gradviz
from gradviz import GradvizError, Net, Variable, Workspace, debug, functions, load
from gradviz.debugger import record
from gradviz.debugger.journal import record_backward
from gradviz.debugger.journal.net_recorder import bytes_of
from gradviz.debugger.telling import document
from gradviz.operators.scopes import ScopeStack
from gradviz.program.events import Ran
from gradviz.runtime.spill import StoreError
from tests.debugger.conftest import fed_workspace, skip_net
from tests.debugger.journal.test_devices import on_device
from tests.debugger.loops import fed, gated, recurrent
from tests.random_cases import counts

ROOT = Path(__file__).resolve().parents[3]
budgets = st.sampled_from([0, 8, 64, 200, 1000, 5000, "1 MB"])


def often(count):
    """What hypothesis does with a random recording, so many times."""
    return settings(
        max_examples=count, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )


def bits(values):
    """Every array with its shape and dtype; stacks of workspaces by their length."""
    found = {key: values[key] for key in values}
    return {
        key: len(array) if isinstance(array, ScopeStack) else (array.shape, array.dtype.str, array.tobytes())
        for key, array in found.items()
    }


def told(session):
    """What a trace document says, but for times and for what the budget made of values."""
    trace = session.trace()
    plain = msgspec.to_builtins(
        {"values": trace.values, "arrays": trace.arrays, "frames": trace.frames, "ledgers": trace.ledgers}
    )
    for value in (*plain["values"].values(), *plain["arrays"]):
        value.pop("seconds", None)
    return [event.kind for event in session.events], plain


def answers(session):
    """What the questions say of every blob and operator, but for times."""
    asked = []
    for blob in [*session.trace().values, *(f"#{index}" for index in range(len(session.trace().forward)))]:
        for question in (session.ledger, session.provenance, session.paths, session.check, session.why_none):
            try:
                asked.append(str(question(blob)))
            except GradvizError as error:
                asked.append(error.kind)
    return [re.sub(r"[\d.]+ [mµ]?s\b", "", text) for text in asked]


def assert_same(one, other):
    recordings = one._recording, other._recording
    first, second = ([bits(r.values), *(bits(run.values) for run in r.runs)] for r in recordings)
    assert first == second
    assert told(one) == told(other)


def assert_budget_changes_nothing(net, ys, ws, budget, **options):
    try:
        plain = debug(net, ys, workspace=ws, **options)
    except GradvizError as error:
        with pytest.raises(type(error)):
            debug(net, ys, workspace=ws, budget=budget, **options)
        return
    assert_same(debug(net, ys, workspace=ws, budget=budget, **options), plain)


@counts(12)
def test_random_nets_are_recorded_as_without_a_budget(count):
    pytest.importorskip("torch")
    from tests.gradient.nets.strategy import random_nets
    from tests.gradient.nets.themes import THEMES

    @often(count)
    @given(st.sampled_from(THEMES).flatmap(random_nets), budgets)
    def agrees(case, budget):
        ws = Workspace()
        for name, array in {**case.feeds, **case.given}.items():
            ws.feed(name, array)
        assert_budget_changes_nothing(case.net, case.ys, ws, budget, skip=case.skip)

    agrees()


@counts(12)
def test_random_programs_with_branches_and_loops_are_recorded_as_without_a_budget(count):
    pytest.importorskip("torch")
    from tests.gradient.programs.growth import programs
    from tests.gradient.programs.lowering import Lowered
    from tests.gradient.programs.tree import CONSTANTS
    from tests.gradient.programs.verdict import starts

    @often(count)
    @given(programs(), budgets)
    def agrees(program, budget):
        lowered, ws = Lowered(program, sheltered=True), Workspace()
        ys, given_gradients = starts(program, lowered)
        for name, array in {**CONSTANTS, **program.inputs, **given_gradients}.items():
            ws.feed(name, array)
        assert_budget_changes_nothing(lowered.net, ys, ws, budget, skip=lowered.skip)

    agrees()


@counts(12)
@pytest.mark.parametrize("schedule", ["rank", "tape"])
def test_random_code_is_recorded_as_without_a_budget(schedule, count):
    pytest.importorskip("torch")
    from tests.eager.test_against_torch import programs, run

    @often(count)
    @given(programs, budgets)
    def agrees(program, budget):
        _, _, values, _ = run(program)
        loss = sum((value * 0.7).sum() for value in values if value.requires_grad)
        plain = debug(loss, schedule=schedule)
        assert_same(debug(loss, schedule=schedule, budget=budget), plain)

    agrees()


@pytest.mark.parametrize("previewed", [400_000, 1000, 200])
def test_values_of_a_loop_with_a_cut_preview_have_their_histograms_too(monkeypatch, previewed):
    monkeypatch.setattr("gradviz.debugger.telling.values.PREVIEWED", previewed)
    ws = fed(3, w=np.eye(6) * 0.9, h=np.linspace(-1, 1, 96).reshape(6, 16))
    plain, frugal = debug(recurrent(), ["loss"], workspace=ws), debug(recurrent(), ["loss"], workspace=ws, budget=0)
    assert frugal.store().spilled.arrays
    assert_same(frugal, plain)
    cut = [value for value in frugal.trace().arrays if value.shape == [6, 16]]
    assert all(bool(value.histogram) == (previewed < 400_000) for value in cut if value.min != value.max)


@pytest.mark.parametrize("net", [skip_net, recurrent, gated])
@pytest.mark.parametrize("budget", [100, 0])
def test_every_answer_is_the_same(net, budget):
    ws = fed_workspace() if net is skip_net else fed(4)
    plain, session = debug(net(), ["loss"], workspace=ws), debug(net(), ["loss"], workspace=ws, budget=budget)
    assert session.store().spilled.arrays > 0
    assert answers(session) == answers(plain)


def test_what_is_watched_broken_on_saved_and_written_needs_no_array_in_memory(tmp_path):
    session = debug(skip_net(), ["loss"], workspace=fed_workspace(), budget=0)
    session.break_on("norm > 0.1 and op == 'FC'")
    assert session.continue_() is not None
    session.watch("h.norm")
    session.save(tmp_path / "kept.gradviz.json")
    session.to_html(tmp_path / "kept.html")
    session.to_notebook(tmp_path / "kept.ipynb")
    assert session.store().read_again
    assert load(tmp_path / "kept.gradviz.json").trace().values == session.trace().values


def chain(operators, elements):
    net, ws = Net("chain"), Workspace()
    ws.feed("x0", np.linspace(-1, 1, elements))
    for place in range(operators):
        net.Tanh(f"x{place}", f"x{place + 1}")
    return net, [f"x{operators}"], ws


def code_chain(length, elements):
    y = Variable(np.linspace(-1, 1, elements), name="x")
    for _ in range(length):
        y = functions.tanh(y)
    return functions.sum(y)


@pytest.mark.parametrize("schedule", ["rank", "tape"])
def test_the_gradients_of_code_are_in_memory_and_in_the_file(schedule):
    store = debug(code_chain(200, 1000), schedule=schedule, budget="200 KB").store()
    assert 192_000 < store.kept.bytes <= 200_000
    assert store.kept.bytes + store.spilled.bytes > 200 * 8000
    assert store.kept.arrays + store.spilled.arrays > 200


def test_memory_stays_near_the_budget():
    size, values = 8 * 10**5, 121
    net, ys, ws = chain(60, 10**5)
    gc.collect()
    tracemalloc.start()
    try:
        recording = record(net, ys, workspace=ws, budget=4 * size)
        taken, peak = tracemalloc.get_traced_memory()
        contents = recording.store.contents
        assert (contents.kept.arrays, contents.spilled.arrays) == (4, values - 4)
        assert 4 * size < taken < 5 * size
        assert peak < (4 + 5) * size
        tracemalloc.reset_peak()
        assert len(document(recording).values) == values + 1
        assert tracemalloc.get_traced_memory()[1] < values // 3 * size
    finally:
        tracemalloc.stop()


def test_the_summary_and_the_store_say_what_is_in_the_file():
    session = debug(skip_net(), ["loss"], workspace=fed_workspace(), budget="1 KB")
    store = session.store()
    assert "To keep within 1 KB" in session.narration
    assert store.spilled.arrays > 0
    assert f"{store.spilled.arrays} of {store.spilled.arrays + store.kept.arrays} values" in session.narration
    assert f"{store.spilled.arrays}" in str(store)
    assert "written to a file" in store._repr_html_()
    assert store.to_dict()["answer"] == "store"
    assert debug(skip_net(), ["loss"], workspace=fed_workspace()).store().budget is None


def test_a_session_read_from_a_file_has_no_store(tmp_path):
    debug(skip_net(), ["loss"], workspace=fed_workspace()).save(tmp_path / "s.gradviz.json")
    with pytest.raises(GradvizError) as caught:
        load(tmp_path / "s.gradviz.json").store()
    assert caught.value.kind == "not_computed"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1 GB", 10**9),
        ("500MB", 5 * 10**8),
        ("64 MiB", 2**26),
        ("1.5 kb", 1500),
        ("0 B", 0),
        (12, 12),
        (np.int64(7), 7),
    ],
)
def test_budgets_as_people_write_them(text, count):
    assert bytes_of(text) == count


@pytest.mark.parametrize("text", ["1", "GB", "-1 GB", "1 GB of memory", -1, 1e9, None, True, "1 EB"])
def test_what_is_no_budget(text):
    with pytest.raises(StoreError) as caught:
        bytes_of(text)
    assert caught.value.kind == "bad_budget"


@pytest.mark.parametrize("budget", ["much", "1 XB", -1, 1.5, True, "", "GB", b"1 GB", []])
def test_a_budget_that_is_none_is_refused(budget):
    with pytest.raises(StoreError) as caught:
        debug(skip_net(), ["loss"], workspace=fed_workspace(), budget=budget)
    assert caught.value.kind == "bad_budget"
    assert "1 GB" in str(caught.value)


def test_a_folder_that_cannot_be_used_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for options in ({"budget": 1, "spill": tmp_path / "file"}, {"budget": 1, "spill": 7}, {"spill": tmp_path}):
        with pytest.raises(StoreError) as caught:
            debug(skip_net(), ["loss"], workspace=fed_workspace(), **options)
        assert caught.value.kind == "bad_spill"
        assert caught.value.ways_out


def spilling(tmp_path, **options):
    return debug(skip_net(), ["loss"], workspace=fed_workspace(), budget=0, spill=tmp_path / "spill", **options)


def files(tmp_path):
    return list((tmp_path / "spill").iterdir())


def test_the_file_goes_with_the_recording(tmp_path):
    session = spilling(tmp_path)
    (file,) = files(tmp_path)
    assert file.stat().st_size == session.store().spilled.bytes > 0
    del session
    gc.collect()
    assert files(tmp_path) == []


@pytest.mark.parametrize("spill", [None, True, False])
def test_without_a_folder_the_file_lies_among_the_temporary_ones(tmp_path, monkeypatch, spill):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    session = debug(skip_net(), ["loss"], workspace=fed_workspace(), budget=0, spill=spill)
    (file,) = tmp_path.iterdir()
    assert file.stat().st_size == session.store().spilled.bytes


def test_files_go_at_the_end_of_the_program_and_of_a_recording_that_fails(tmp_path):
    program = f"""
import gradviz
from tests.debugger.conftest import fed_workspace, skip_net
kept = gradviz.debug(skip_net(), ["loss"], workspace=fed_workspace(), budget=0, spill={str(tmp_path)!r})
assert kept.store().spilled.arrays
try:
    gradviz.debug(skip_net(), ["none"], workspace=fed_workspace(), budget=0, spill={str(tmp_path)!r})
except gradviz.GradvizError:
    print(len(list(__import__("pathlib").Path({str(tmp_path)!r}).iterdir())))
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout == "1\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: os.truncate(path, 100)])
def test_a_file_that_is_gone_or_cut_off_is_an_error_and_no_wrong_value(tmp_path, harm):
    session = spilling(tmp_path)
    wanted = bits(debug(skip_net(), ["loss"], workspace=fed_workspace())._recording.values)
    for path in files(tmp_path):
        harm(path)
    values = session._recording.values
    kinds = set()
    for key in values:
        try:
            assert (values[key].shape, values[key].dtype.str, values[key].tobytes()) == wanted[key]
        except StoreError as error:
            kinds.add((error.kind, bool(error.ways_out)))
    assert kinds == {("lost", True)}
    session.finish()
    assert session.trace().values["h@0"].norm is not None


def test_a_full_disk_is_told_and_loses_nothing(tmp_path):
    program = f"""
import resource
from gradviz import debug
from tests.debugger.conftest import fed_workspace, skip_net
from tests.debugger.journal.test_budget import assert_same
resource.setrlimit(resource.RLIMIT_FSIZE, (160, 160))
full = debug(skip_net(), ["loss"], workspace=fed_workspace(), budget=0, spill={str(tmp_path)!r})
print(full.store().refused)
print(full.narration)
assert_same(full, debug(skip_net(), ["loss"], workspace=fed_workspace()))
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("File too large") == 2


def test_kernels_of_ones_own_promise_nothing():
    calls = iter(range(1, 1000))
    gradviz.register_kernel("Restless")(lambda op, x: x + next(calls))
    gradviz.register_gradient("Restless")(lambda op, g: (None, [g[0]]))
    with pytest.raises(TypeError):
        gradviz.register_kernel("Restless", repeatable=True)
    net, ws = Net("own"), Workspace()
    ws.feed("x", np.linspace(0, 1, 8))
    net.Restless("x", "a")
    net.Tanh("a", "y")
    session = debug(net, ["y"], workspace=ws, budget=0)
    assert session.store().kept.bytes == 0
    np.testing.assert_array_equal(session.value("a"), ws["x"] + 1)
    np.testing.assert_array_equal(session.value("y"), np.tanh(session.value("a")))


def test_the_seconds_of_operators_are_without_those_of_the_file():
    net, ys, ws = chain(20, 10**5)
    start = perf_counter()
    recording = record(net, ys, workspace=ws, budget=0)
    whole = perf_counter() - start
    seconds = [event.seconds for event in recording.events if isinstance(event, Ran)]
    assert sum(seconds) + recording.store.seconds <= whole


def test_arrays_on_a_gpu_come_back_to_it(cupy):
    ws = on_device(fed_workspace(), "cuda:0")
    plain = debug(skip_net(), ["loss"], workspace=ws)
    session = debug(skip_net(), ["loss"], workspace=ws, budget=0)
    store = session.store()
    assert (store.kept.arrays, store.spilled.arrays > 0) == (0, True)
    for key in plain._recording.values:
        one, other = session._recording.values[key], plain._recording.values[key]
        assert isinstance(one, cupy.ndarray)
        assert one.get().tobytes() == other.get().tobytes()


def test_gradients_that_code_left_are_kept_too():
    x = Variable(np.linspace(-1, 1, 6), name="x")
    y = functions.sum(functions.tanh(x) * x)
    y.backward()
    recording = record_backward(y, budget=0)
    assert recording.store.contents.kept.bytes == 0
    np.testing.assert_array_equal(recording.values["x.grad", 1], 2 * x.grad)
    assert "To keep within 0 bytes" in debug(y, budget=0).narration
