"""A program that cannot be run: it is said at once what keeps it, where, and how to mend it."""

from collections.abc import Callable

import numpy as np
import pytest

import gradviz
from gradviz.debugger.document import TraceError, decode, encode
from gradviz.notebook import still
from gradviz.program.events import Completed, Failed, Ran
from tests.debugger.conftest import fed_workspace, skip_net

ARRAY = np.ones((2, 3))


def recorded(net: gradviz.Net, ys: list[str] | dict[str, str | None], **fed: np.ndarray) -> gradviz.Session:
    ws = gradviz.Workspace()
    for name, array in fed.items():
        ws.feed(name, array)
    return gradviz.debug(net, ys, workspace=ws)


def net_of(*operators: gradviz.Operator) -> gradviz.Net:
    return gradviz.Net("n", list(operators))


TANH = gradviz.Operator("Tanh", ["x"], ["a"])


def typo() -> gradviz.Session:
    """The second operator reads aa, and means a."""
    net = gradviz.Net("typo")
    net.Tanh("x", "a")
    net.Mul(["aa", "w"], "y")
    return recorded(net, ["y"], x=ARRAY, w=ARRAY)


def in_a_loop() -> gradviz.Session:
    net = gradviz.Net("loop")
    with net.While("go") as loop:
        with loop.condition():
            net.LT(["i", "n"], "go")
        net.Mul(["x", "ww"], "x")
        net.Add(["i", "one"], "i")
    fed = {"x": 2.0, "w": 3.0, "i": 0, "n": 4, "one": 1}
    return recorded(net, ["x"], **{name: np.array(value) for name, value in fed.items()})


CASES: dict[str, tuple[Callable[[], gradviz.Session], str, list[str], str]] = {
    "a name mistyped": (typo, "undefined_blob", ["f1"], "Did you mean a?"),
    "in a loop": (in_a_loop, "undefined_blob", ["f2"], "Did you mean w?"),
    "a gradient that nobody fed": (
        lambda: recorded(net_of(TANH), {"a": "dy"}, x=ARRAY, dyy=ARRAY),
        "undefined_blob",
        ["b0"],
        "Did you mean dyy?",
    ),
    "a gradient of another shape": (
        lambda: recorded(net_of(TANH), {"a": "dy"}, x=ARRAY, dy=np.ones(5)),
        "shape_mismatch",
        [],
        "it must have the shape (2, 3)",
    ),
    "shapes that do not fit": (
        lambda: recorded(net_of(TANH, gradviz.Operator("Mul", ["a", "w"], ["y"])), ["y"], x=ARRAY, w=np.ones((5, 7))),
        "shape_mismatch",
        ["f1"],
        "(5, 7)",
    ),
    "a type that nobody knows": (
        lambda: recorded(
            net_of(TANH, gradviz.Operator("Tanhh", ["a"], ["z"]), gradviz.Operator("Tanh", ["a"], ["y"])),
            ["y"],
            x=ARRAY,
        ),
        "unknown_operator",
        ["f1"],
        "Did you mean Tanh",
    ),
    "a type without a gradient either": (
        lambda: recorded(net_of(TANH, gradviz.Operator("Tanhh", ["a"], ["y"])), ["y"], x=ARRAY),
        "unknown_operator",
        ["f1"],
        "Did you mean Tanh",
    ),
    "an argument that cannot be": (
        lambda: recorded(
            net_of(TANH, gradviz.Operator("MaxPool", ["a"], ["y"], {"kernel": 0})), ["y"], x=np.ones((1, 1, 4, 4))
        ),
        "bad_argument",
        ["f1"],
        "kernel",
    ),
    "too many inputs": (
        lambda: recorded(net_of(TANH, gradviz.Operator("Tanh", ["a", "x"], ["y"])), ["y"], x=ARRAY),
        "bad_arity",
        ["f1"],
        "Give Tanh its inputs",
    ),
}


@pytest.mark.parametrize(("record", "kind", "lines", "said"), CASES.values(), ids=CASES)
def test_it_is_said_at_once(record: Callable[[], gradviz.Session], kind: str, lines: list[str], said: str) -> None:
    session = record()
    obstacle = session.trace().obstacle
    assert obstacle is not None
    assert (obstacle.kind, obstacle.lines) == (kind, lines)
    assert "cannot be run" in session.narration
    assert said in session.narration
    assert said in repr(session)
    # It stays said at every step, in each form.
    for position in range(len(session) + 1):
        session.move_to(position)
        assert said in repr(session)
        plain, html = still.text(session.trace(), position), still.html(session.trace(), position, "")
        assert said in plain
        assert obstacle.message[:12] in html
        assert plain.count("cannot be run)") == len(lines)
    assert not any(isinstance(event, Ran) for event in session.events)
    assert isinstance(session.event, Failed)


@pytest.mark.parametrize("record", [case[0] for case in CASES.values()], ids=CASES)
def test_it_is_in_the_document(record: Callable[[], gradviz.Session]) -> None:
    document = record().trace()
    again = decode(encode(document))
    assert again == document
    assert again.obstacle == document.obstacle


def test_a_pass_that_will_not_be_run_is_not_called_whole() -> None:
    session = typo()
    session.run_to("Completed")
    assert isinstance(session.event, Completed)
    assert "whole" not in session.narration
    assert "not be run" in session.narration
    session.finish()
    assert session.narration.startswith("Nothing is run. Operator #1 y = Mul(aa, w) reads aa")


def test_every_blob_that_is_not_there_is_named() -> None:
    ws, partial = fed_workspace(), gradviz.Workspace()
    partial.feed("x", ws["x"])
    partial.feed("W2", ws["w2"])
    obstacle = gradviz.debug(skip_net(), ["loss"], workspace=partial).trace().obstacle
    assert obstacle is not None
    assert obstacle.blobs == ["w1", "b1", "w2", "b2", "w3", "b3", "label"]
    assert obstacle.lines == ["f0", "f2", "f5", "f6"]
    assert "b1, w2, b2, w3 and 2 more" in obstacle.message
    assert 'ws.feed("w1", array)' in obstacle.ways_out[-1]


def test_each_name_that_is_mistyped_has_the_one_that_is_like_it() -> None:
    net = gradviz.Net("n")
    net.Tanh("inputt", "a")
    net.Mul(["a", "weigth"], "y")
    obstacle = recorded(net, ["y"], input=ARRAY, weight=ARRAY).trace().obstacle
    assert obstacle is not None
    assert obstacle.ways_out[:2] == [
        "In place of inputt, did you mean input?",
        "In place of weigth, did you mean weight?",
    ]


def test_what_has_no_value_says_why() -> None:
    with pytest.raises(gradviz.GradvizError, match="nothing was run") as caught:
        typo().value("a")
    assert "Did you mean a?" in caught.value.ways_out


def test_a_notebook_that_cannot_be_made_says_why(tmp_path) -> None:
    with pytest.raises(gradviz.GradvizError, match="reads aa") as caught:
        typo().to_notebook(tmp_path / "it.ipynb")
    assert "Did you mean a?" in caught.value.ways_out


def test_the_graph_marks_the_operator() -> None:
    session = typo()
    for position in (0, 3, len(session)):
        session.move_to(position)
        assert 'label="✗ Mul' in session.graph().source.replace("\\n", "\n")
    assert "✗ Mul" in (session.trace().graph.svg or "")


def test_the_graph_marks_the_group_around_the_operator_and_the_operator_in_it() -> None:
    net = gradviz.Net("large")
    fed = {"r0": ARRAY, "w": np.ones((3, 3)), "b": np.ones(3)}
    for layer in range(120):
        net.FC([f"r{layer}" if layer != 70 else "mistyped", "w", "b"], f"h{layer}")
        net.Relu(f"h{layer}", f"r{layer + 1}")
    graph = recorded(net, ["r120"], **fed).trace().graph
    assert ">✗ FC, Relu" in (graph.svg or "")
    assert "✗ FC" in [word for group in graph.groups for word in group.words]


def test_without_a_workspace_the_recording_is_of_the_pass_alone() -> None:
    net = gradviz.Net("typo")
    net.Tanh("x", "a")
    net.Mul(["aa", "w"], "y")
    session = gradviz.debug(net, ["y"])
    assert session.trace().obstacle is None
    assert "run" not in session.narration
    assert isinstance(session.finish(), Completed)
    assert session.narration.startswith("The backward pass is whole")


def test_what_fails_while_it_runs_is_no_obstacle() -> None:
    @gradviz.register_kernel("RaisesHere")
    def raises(op: gradviz.Operator, x: np.ndarray) -> np.ndarray:
        raise ValueError("no")

    net = net_of(gradviz.Operator("RaisesHere", ["x"], ["z"]), gradviz.Operator("Tanh", ["x"], ["y"]))
    session = recorded(net, ["y"], x=ARRAY)
    assert session.trace().obstacle is None
    assert isinstance(session.finish(), Failed)
    assert session.narration.startswith("The pass stops here.")


def test_a_document_whose_obstacle_is_nowhere_is_refused() -> None:
    written = encode(typo().trace()).decode()
    with pytest.raises(TraceError, match="no line f7"):
        decode(written.replace('"lines":["f1"]}', '"lines":["f7"]}', 1))
