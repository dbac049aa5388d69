"""A recording as a notebook: it runs from top to bottom and ends with the recorded gradients."""

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from hypothesis import given, note, settings
from nbclient import NotebookClient

import gradviz
from gradviz.notebook.cells import INLINE, NotebookError
from gradviz.notebook.still import SESSION_TYPE
from tests.cupy_stand_in import stand_in
from tests.drawing.nested import loop, three_deep, two_branches
from tests.gradient.nets.strategy import RandomNet, random_nets
from tests.gradient.nets.themes import THEMES
from tests.notebook.conftest import REPOSITORY


def code_of(path: Path) -> str:
    """All code cells of a notebook, as one program that runs in the notebook's folder."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")


def run(path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run the code cells in this process; returns their variables."""
    monkeypatch.chdir(path.parent)
    variables: dict[str, Any] = {}
    exec(code_of(path), variables)
    return variables


def run_in_kernel(path: Path, *before: str) -> Any:
    """The notebook after a fresh kernel has run it, and first the cells `before`."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[:0] = map(nbformat.v4.new_code_cell, before)
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "IPYTHONDIR": str(path.parent)}
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}})
    client.execute(env=environment)
    return notebook


def steps_of(notebook: Any) -> list[Any]:
    """The cells that are steps of a live net."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and "live.step(" in cell.source]


def test_it_runs_from_top_to_bottom_in_a_kernel_and_each_step_shows_what_it_wrote(
    session: gradviz.Session, tmp_path: Path
) -> None:
    session.to_notebook(tmp_path / "lesson.ipynb")
    notebook = run_in_kernel(tmp_path / "lesson.ipynb")
    assert "are as recorded" in notebook.cells[-1].outputs[0].text
    for cell, op in zip(steps_of(notebook), session.net.ops, strict=True):
        (shown,) = [output.data for output in cell.outputs]
        assert {"image/svg+xml", SESSION_TYPE} <= shown.keys()
        for name in op.outputs:
            assert re.search(rf"^{name}@\d, \d", shown["text/plain"], re.MULTILINE)


def test_the_first_lesson_as_steps_has_its_gradients(tmp_path: Path) -> None:
    """The notebook of demos/01-first-backward-pass.ipynb, in a kernel that has nothing but this."""
    lesson = nbformat.read(REPOSITORY / "demos" / "01-first-backward-pass.ipynb", as_version=4)
    cells = [cell.source for cell in lesson.cells if cell.cell_type == "code"]
    variables: dict[str, Any] = {}
    for source in cells[:3]:
        exec(source, variables)
    written = variables["session"].to_notebook(tmp_path / "lesson.ipynb")
    notebook = run_in_kernel(tmp_path / "lesson.ipynb")
    assert len(steps_of(notebook)) == len(variables["session"].net.ops)
    assert re.fullmatch(r"All \d+ are as recorded.\n", notebook.cells[-1].outputs[0].text)
    said = f"{len(notebook.cells)} cells in lesson.ipynb: 7 operators of the net, 8 of its backward pass, "
    assert str(written).startswith(said)
    assert str(written).endswith("arrays in lesson.npz")
    assert str(written) in written._repr_html_()


def two_devices() -> gradviz.Session:
    """A recording of which one operator, and with it what its rule makes, runs on a GPU."""
    net = gradviz.Net("two devices")
    net.Scale("z", "x", scale=2.0, device="cpu")
    net.Tanh("x", "a", device="cuda:0")
    net.SumElements("a", "loss", device="cpu")
    ws = gradviz.Workspace()
    ws.feed("z", np.linspace(-1, 1, 5))
    return gradviz.debug(net, ["loss"], workspace=ws)


GPU = "import sys\nfrom tests.cupy_stand_in import stand_in\nsys.modules['cupy'] = stand_in(1)"


def test_steps_run_on_the_devices_that_operators_carry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", stand_in(1))
    two_devices().to_notebook(tmp_path / "lesson.ipynb")
    notebook = run_in_kernel(tmp_path / "lesson.ipynb", GPU)
    steps = steps_of(notebook)
    copied, there, returned = steps[1:4]
    assert copied.source == 'net.CopyCPUToGPU("x", "x_cuda_0")\nlive.step(device="cuda:0")'
    assert there.source == 'net.Tanh("x_cuda_0", "a")\nlive.step(device="cuda:0")'
    assert returned.source == 'net.CopyGPUToCPU("a", "a_cpu")\nlive.step(device="cuda:0")'
    assert "a copy of 40 bytes from cuda:0" in returned.outputs[0].data["text/plain"]
    (back,) = [cell for cell in steps if "TanhGradient" in cell.source]
    assert back.source.startswith('live.step(device="cuda:0")  # x_cuda_0_grad = TanhGradient(a, ')
    for cell in (copied, there, back):
        assert " ran on cuda:0 in " in cell.outputs[0].data["text/plain"]
    assert "are as recorded" in notebook.cells[-1].outputs[0].text
    assert "on the CPU" not in (tmp_path / "lesson.ipynb").read_text()


def test_where_a_device_is_not_there_the_step_says_so_and_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "cupy", stand_in(1))
        two_devices().to_notebook(tmp_path / "lesson.ipynb")
    monkeypatch.setitem(sys.modules, "cupy", stand_in(0))
    with pytest.raises(gradviz.RunError, match="There is no cuda:0") as raised:
        run(tmp_path / "lesson.ipynb", monkeypatch)
    assert 'Use "cpu".' in raised.value.ways_out


def test_each_operator_has_its_cell_and_its_story(session: gradviz.Session, tmp_path: Path) -> None:
    session.to_notebook(tmp_path / "lesson.ipynb")
    cells = nbformat.read(tmp_path / "lesson.ipynb", as_version=4).cells
    steps = [number for number, cell in enumerate(cells) if "live.step()" in cell.source and cell.cell_type == "code"]
    assert len(steps) == len(session.net.ops)
    for number, op in zip(steps, session.net.ops, strict=True):
        assert f"net.{op.type}(" in cells[number].source or cells[number].source.endswith(f"# {op}")
        assert cells[number - 1].cell_type == "markdown"
        assert f"= {op.type}(" in cells[number - 1].source
    story = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert session.run_to("Accumulated")
    assert session.narration in story
    assert "pass on unchanged" in story


def test_a_wrong_gradient_is_noticed(session: gradviz.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lesson.ipynb"
    session.to_notebook(path)
    path.write_text(path.read_text().replace("net.Relu(", "net.Tanh("))
    with pytest.raises(AssertionError, match=r"a_grad|w_grad|b_grad|x_grad"):
        run(path, monkeypatch)


@pytest.mark.parametrize("build", [two_branches, loop, three_deep])
def test_branches_and_loops_run_as_one_operator(
    build: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, ys, workspace = build()
    session = gradviz.debug(net, ys, workspace=workspace)
    session.to_notebook(tmp_path / "nested.ipynb")
    assert "live" not in code_of(tmp_path / "nested.ipynb")
    variables = run(tmp_path / "nested.ipynb", monkeypatch)
    assert "w_grad" in variables["gradients"]


def test_small_arrays_stand_in_the_cells_and_large_ones_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = gradviz.Net("sizes")
    net.Mul(["file", "small"], "y")  # numpy.savez has an argument of this name
    ws = gradviz.Workspace()
    ws.feed("file", np.random.default_rng(0).normal(size=(INLINE + 1, 1)))
    ws.feed("small", np.array([[np.nan, np.inf, -np.inf, 1 / 3]]))
    gradviz.debug(net, ["y"], workspace=ws).to_notebook(tmp_path / "sizes.ipynb")
    code = code_of(tmp_path / "sizes.ipynb")
    assert 'np.load("sizes.npz")' in code
    assert 'ws.feed("small", np.array([[' in code
    found = run(tmp_path / "sizes.ipynb", monkeypatch)["ws"]
    for name in ("file", "small"):
        np.testing.assert_array_equal(found[name], ws[name], strict=True)
    assert {path.name for path in tmp_path.iterdir()} == {"sizes.ipynb", "sizes.npz"}


def test_a_notebook_that_cannot_be_written_leaves_its_arrays_as_they_were(tmp_path: Path) -> None:
    net = gradviz.Net("large")
    net.Tanh("x", "y")
    ws = gradviz.Workspace()
    ws.feed("x", np.ones(INLINE + 1))
    (tmp_path / "large.ipynb").mkdir()
    (tmp_path / "large.npz").write_bytes(b"old")
    with pytest.raises(gradviz.GradvizError, match="is a folder"):
        gradviz.debug(net, ["y"], workspace=ws).to_notebook(tmp_path / "large.ipynb")
    assert (tmp_path / "large.npz").read_bytes() == b"old"


def test_large_arrays_that_are_called_as_entries_of_a_file_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = gradviz.Net("alike")
    net.Mul(["x", "x.npy"], "y")
    ws = gradviz.Workspace()
    for number, name in enumerate(["x", "x.npy"]):
        ws.feed(name, np.full(INLINE + 1, 2.0 + number))
    gradviz.debug(net, ["y"], workspace=ws).to_notebook(tmp_path / "alike.ipynb")
    variables = run(tmp_path / "alike.ipynb", monkeypatch)
    assert [variables["ws"][name][0] for name in ("x", "x.npy", "y")] == [2, 3, 6]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int8", "int64", "bool"])
def test_an_array_in_a_cell_is_the_same_to_the_last_bit(
    dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = np.random.default_rng(0).normal(size=(3, 10)).view(complex) * 100
    made[1, :3] = complex(1, -0.0), complex(-0.0, 1), complex(-0.0, np.inf)
    made = made if np.dtype(dtype).kind == "c" else made.imag
    if np.dtype(dtype).kind == "i":
        made = np.nan_to_num(made, posinf=1)
    for array in (made.astype(dtype), made.astype(dtype)[0, 0], made.astype(dtype)[:0], made.astype(dtype).T):
        net = gradviz.Net("dtypes")
        net.Copy("x", "y")
        net.Copy("ones", "loss")
        ws = gradviz.Workspace()
        ws.feed("x", array)
        ws.feed("ones", np.ones(2))
        gradviz.debug(net, ["loss"], workspace=ws).to_notebook(tmp_path / "dtypes.ipynb")
        found = run(tmp_path / "dtypes.ipynb", monkeypatch)["ws"]["x"]
        assert (found.shape, found.dtype, found.tobytes()) == (array.shape, array.dtype, array.tobytes())


def test_gradients_that_are_not_finite_are_held_against_the_recorded_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = gradviz.Net("not finite")
    net.Log("x", "l")
    net.Div(["l", "z"], "d")
    ws = gradviz.Workspace()
    ws.feed("x", np.array([0.0, -1.0, 1.0, 1.0]))
    ws.feed("z", np.array([0.0, 1.0, 0.0, 1.0]))
    path = tmp_path / "lesson.ipynb"
    gradviz.debug(net, ["d"], workspace=ws).to_notebook(path)
    x_grad = run(path, monkeypatch)["gradients"]["x_grad"]
    assert not np.isfinite(x_grad).all()
    assert x_grad[3] == 1
    path.write_text(path.read_text().replace("[0., 1., 0., 1.]", "[0., 1., 0., 1.1]"))
    with pytest.raises(AssertionError, match="_grad"):
        run(path, monkeypatch)


@pytest.mark.parametrize("schedule", ["rank", "tape"])
def test_a_pass_of_code_as_it_ran_becomes_a_program(
    schedule: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, w = gradviz.Variable(np.linspace(-1, 1, 5)), gradviz.Variable(np.full(5, 0.5))
    y = gradviz.functions.sum(gradviz.functions.tanh(x) * x * w)
    gradviz.debug(y, schedule=schedule).to_notebook(tmp_path / "eager.ipynb")
    found = run(tmp_path / "eager.ipynb", monkeypatch)
    y.backward(schedule=schedule)
    for wanted in (x.grad, w.grad):
        assert any(np.allclose(wanted, gradient) for gradient in found["gradients"].values())
    assert not [name for name in found["ws"] if ".grad" in name]


def test_behind_what_a_tape_left_out_the_pass_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = gradviz.Variable(np.array([1.0, 2.0]), name="x")
    gradviz.functions.sum(x * x * x).backward(create_graph=True)
    assert isinstance(x.grad, gradviz.Variable)
    session = gradviz.debug(gradviz.functions.sum(x.grad * x), schedule="tape")
    assert any(line.ran is None for line in session.trace().backward[:-1])
    session.to_notebook(tmp_path / "second.ipynb")
    assert run(tmp_path / "second.ipynb", monkeypatch)["ws"]["x_grad"].tolist() == [9.0, 36.0]


@pytest.mark.parametrize("schedule", ["rank", "tape"])
def test_what_a_pass_of_several_dtypes_has_cast_is_cast_again(
    schedule: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = gradviz.Variable(np.linspace(-1, 1, 5, dtype=np.float32), name="x")
    w = gradviz.Variable(np.linspace(0, 3, 5), name="w")
    y = gradviz.functions.sum(gradviz.functions.tanh(x) * w + x * w)
    gradviz.debug(y, schedule=schedule).to_notebook(tmp_path / "mixed.ipynb")
    ws = run(tmp_path / "mixed.ipynb", monkeypatch)["ws"]
    y.backward(schedule=schedule)
    np.testing.assert_array_equal(ws["x_grad"], x.grad, strict=True)


@gradviz.register_kernel("TestCube")
def cube(op: gradviz.Operator, x: Any) -> Any:
    return x**3


@gradviz.register_gradient("TestCube")
def cube_rule(op: gradviz.Operator, g_output: Any) -> Any:
    x, dx = op.inputs[0], op.inputs[0] + "_grad"
    square = gradviz.Operator("Sqr", [x], [dx + "_square"])
    scaled = gradviz.Operator("Scale", [dx + "_square"], [dx + "_slope"], {"scale": 3.0})
    return [square, scaled, gradviz.Operator("Mul", [dx + "_slope", g_output[0]], [dx])], [dx]


def test_an_operator_of_a_users_own_is_given_as_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = gradviz.Net("own")
    net.TestCube("x", "y")
    ws = gradviz.Workspace()
    ws.feed("x", np.array([1.0, -2.0]))
    gradviz.debug(net, ["y"], workspace=ws).to_notebook(tmp_path / "own.ipynb")
    story = json.dumps(json.loads((tmp_path / "own.ipynb").read_text())["cells"])
    assert "The kernel of TestCube is not part of gradviz" in story
    found = run(tmp_path / "own.ipynb", monkeypatch)["ws"]
    np.testing.assert_array_equal(found["x_grad"], [3.0, 12.0])


def test_an_operator_of_a_users_own_in_a_branch_is_refused_by_its_name(tmp_path: Path) -> None:
    net = gradviz.Net("own")
    with net.If("is"):
        net.TestCube("x", "y")
    with net.Else():
        net.Copy("x", "y")
    ws = gradviz.Workspace()
    ws.feed("is", True)
    ws.feed("x", np.array([1.0, -2.0]))
    with pytest.raises(NotebookError, match="a net in If has TestCube, whose kernel is not part of gradviz") as raised:
        gradviz.debug(net, ["y"], workspace=ws).to_notebook(tmp_path / "own.ipynb")
    assert 'session.to_cells("pass")' in raised.value.ways_out[1]


class Square(gradviz.Function):
    def forward(self, xs: Any) -> Any:
        return xs[0] ** 2

    def backward(self, xs: Any, gys: Any) -> Any:
        return 2 * xs[0] * gys[0]


def test_a_function_in_python_is_given_as_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    y = Square()(gradviz.Variable(np.array([1.0, -2.0]), name="x"))
    gradviz.debug(gradviz.functions.sum(y)).to_notebook(tmp_path / "own.ipynb")
    del y  # and with it the call
    story = (tmp_path / "own.ipynb").read_text()
    assert "Square is a function in Python that ran once" in story
    assert "uid" not in story
    gradients = run(tmp_path / "own.ipynb", monkeypatch)["gradients"]
    np.testing.assert_array_equal(gradients["x_grad"], [2.0, -4.0])


def test_what_only_another_engine_runs_and_nobody_recorded(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    w = torch.ones(3, requires_grad=True)
    session = gradviz.debug((w * 2).sum())
    with pytest.raises(NotebookError, match="gradviz has no kernel of mul, and what it gave, mul@0, was not") as raised:
        session.to_notebook(tmp_path / "none.ipynb")
    assert raised.value.kind == "no_values"
    assert not (tmp_path / "none.ipynb").exists()


def test_a_recording_that_failed_is_told_up_to_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = gradviz.Net("failing")
    net.Tanh("x", "a")
    net.MatMul(["a", "w"], "y")
    ws = gradviz.Workspace()
    ws.feed("x", np.ones((2, 3)))
    ws.feed("w", np.ones((3, 1)))

    @gradviz.register_kernel("TestFails")
    def fails(op: gradviz.Operator, x: Any) -> Any:
        raise ValueError("on purpose")

    @gradviz.register_gradient("TestFails")
    def passes(op: gradviz.Operator, g_output: Any) -> Any:
        return [], [g_output[0]]

    net.TestFails("y", "z")
    session = gradviz.debug(net, ["z"], workspace=ws)
    session.to_notebook(tmp_path / "failing.ipynb")
    found = run(tmp_path / "failing.ipynb", monkeypatch)["ws"]
    assert "y" in found
    assert "z" not in found
    last = nbformat.read(tmp_path / "failing.ipynb", as_version=4).cells[-1].source
    assert "Where it ends" in last
    assert "on purpose" in last


def test_what_stands_before_its_first_gradient_compares_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = gradviz.Net("standing")
    net.Tanh("x", "a")
    ws = gradviz.Workspace()
    ws.feed("x", np.ones((2, 3)))
    live = gradviz.live(net, ["a"], workspace=ws)
    live.step()
    live.session.to_notebook(tmp_path / "standing.ipynb")
    assert "a" in run(tmp_path / "standing.ipynb", monkeypatch)["live"].workspace
    cells = nbformat.read(tmp_path / "standing.ipynb", as_version=4).cells
    assert "against the recorded one" not in cells[0].source
    assert cells[-1].source.startswith("## Where it ends")


def test_odd_names_of_files_and_variables_stay_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = gradviz.Net('odd "net" \\ <b>')
    net.Tanh("x", "y")
    ws = gradviz.Workspace()
    ws.feed("x", np.ones((INLINE, 2)))
    session = gradviz.debug(net, ["y"], workspace=ws)
    session.to_notebook(tmp_path / 'it\'s "odd".ipynb')
    run(tmp_path / 'it\'s "odd".ipynb', monkeypatch)
    with pytest.raises(NotebookError, match=r"end in \.ipynb"):
        session.to_notebook(tmp_path / "lesson.npz")


def test_without_values_there_is_nothing_to_run(session: gradviz.Session, tmp_path: Path) -> None:
    session.save(tmp_path / "saved.gradviz.json")
    read = gradviz.load(tmp_path / "saved.gradviz.json")
    unfed = gradviz.debug(session.net, ["s"])
    for one, why in ((read, "a saved trace keeps statistics"), (unfed, "nothing was run")):
        with pytest.raises(NotebookError, match=why) as raised:
            one.to_notebook(tmp_path / "none.ipynb")
        assert raised.value.kind == "no_values"
        assert raised.value.ways_out
    assert not (tmp_path / "none.ipynb").exists()


def test_given_gradients_and_operators_to_skip_are_told_to_the_live_net(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = gradviz.Net("given")
    net.Scale("z", "x", scale=3.0)
    net.Gather(["x", "rows"], "y")
    net.Copy("y", "t")
    ws = gradviz.Workspace()
    for name, array in {"z": np.ones((3, 2)), "rows": np.array([2, 0]), "y_given": np.full((2, 2), 2.0)}.items():
        ws.feed(name, array)
    session = gradviz.debug(net, {"y": "y_given", "t": None}, workspace=ws, skip=1)
    session.to_notebook(tmp_path / "given.ipynb")
    code = code_of(tmp_path / "given.ipynb")
    assert "live = gradviz.live(net, workspace=ws, skip=1)" in code
    assert 'net.Scale("z", "x", scale=3.0)' in code
    assert 'live.differentiate({"y": "y_given", "t": None})' in code
    found = run(tmp_path / "given.ipynb", monkeypatch)
    assert not [name for name in found["gradients"] if name.startswith("z_grad")]


def test_what_was_changed_by_hand_runs_as_it_happened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = gradviz.Net("changed")
    net.Tanh("x", "a")
    net.Mul(["a", "a"], "b")
    ws = gradviz.Workspace()
    ws.feed("x", np.linspace(-1, 1, 3))
    live = gradviz.live(net, ["b"], workspace=ws)
    for _ in range(3):
        live.step()
    live.feed("b_autogen_grad", [1.0, 2.0, 3.0])
    live.finish().to_notebook(tmp_path / "changed.ipynb")
    assert "live" not in code_of(tmp_path / "changed.ipynb")
    found = run(tmp_path / "changed.ipynb", monkeypatch)
    np.testing.assert_allclose(found["ws"]["x_grad"], live.session.value("x_grad"))


def test_the_same_recording_gives_the_same_notebook(session: gradviz.Session, tmp_path: Path) -> None:
    for name in ("one.ipynb", "other.ipynb"):
        session.to_notebook(tmp_path / name)
    assert (tmp_path / "one.ipynb").read_bytes() == (tmp_path / "other.ipynb").read_bytes()


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_random_programs_end_with_their_gradients(theme: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    """In-place operators, sparse gradients, given ones, several ys: the same names at the end hold the same arrays."""
    folder = tmp_path_factory.mktemp("random")
    ran = 0

    @settings(max_examples=25, derandomize=True, deadline=None, database=None)
    @given(random_nets(theme))
    def ends_alike(case: RandomNet) -> None:
        nonlocal ran
        note(repr(case))
        ws = gradviz.Workspace()
        for name, array in {**case.feeds, **case.given}.items():
            ws.feed(name, array)
        try:
            session = gradviz.debug(case.net, case.ys, workspace=ws, skip=case.skip)
        except gradviz.GradvizError:
            return
        if not session.trace().values:
            return
        session.to_notebook(folder / "random.ipynb")
        with pytest.MonkeyPatch.context() as patch:
            run(folder / "random.ipynb", patch)
        ran += 1

    ends_alike()
    assert ran >= 10
