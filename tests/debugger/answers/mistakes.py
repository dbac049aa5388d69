"""The ten most common mistakes, and all that the debugger says about each."""

from collections.abc import Iterator

import numpy as np

from gradviz import GradvizError, Net, Session, Workspace, debug


def workspace(**values) -> Workspace:
    ws = Workspace()
    for name, value in values.items():
        ws.feed(name, value)
    return ws


def told(net: Net, ys, *questions, **values) -> str:
    """What a person reads: the error that is raised, or what the last event says, then answers to `questions`."""
    try:
        session = debug(net, ys, workspace=workspace(**values))
    except GradvizError as error:
        return f"{net}\n\ndebug(net, {ys!r}) raises {type(error).__name__}:\n{error.explain()}\n"
    session.finish()
    if session.event.kind != "Failed":
        session.restart()
        session.run_to("Completed")
    said = [str(net), "", f"debug(net, {ys!r}) ends so:", session.narration]
    if session.event.kind == "Failed":
        said += session.event.explanation.splitlines()[1:]
    for question, ask in questions:
        said += ["", f"session.{question}", str(ask(session))]
    return "\n".join(said) + "\n"


def at(target: str) -> tuple[str, object]:
    def narration(session: Session) -> str:
        here = session.position
        session.restart()
        session.run_to(target)
        said = session.narration
        session.move_to(here)
        return said

    return f'run_to("{target}")', narration


def versions(blob: str) -> tuple[str, object]:
    return f'versions("{blob}")', lambda session: session.versions(blob)


def why_none(blob: str) -> tuple[str, object]:
    return f'why_none("{blob}")', lambda session: session.why_none(blob)


def relu_in_place() -> str:
    net = Net("relu_in_place")
    net.FC(["x", "w", "b"], "h")
    net.Sigmoid("h", "a")
    net.Relu("a", "a")
    net.SumElements("a", "loss")
    values = {"x": np.ones((2, 3)), "w": np.ones((4, 3)), "b": np.zeros(4)}
    return told(net, ["loss"], versions("a"), why_none("w"), **values)


def input_overwritten() -> str:
    net = Net("input_overwritten")
    net.FC(["x", "w", "b"], "h")
    net.Scale("x", "x", scale=0.5)
    net.Mul(["h", "x"], "q")
    net.SumElements("q", "loss")
    values = {"x": np.ones((2, 3)), "w": np.ones((3, 3)), "b": np.zeros(3)}
    return told(net, ["loss"], versions("x"), why_none("w"), **values)


def stop_gradient_orphan() -> str:
    net = Net("stop_gradient_orphan")
    net.Tanh("x", "h")
    net.StopGradient("h", "frozen")
    net.SumElements("h", "loss")
    return told(net, ["loss"], x=np.ones(3))


def split_output_unused() -> str:
    net = Net("split_output_unused")
    net.Tanh("x", "h")
    net.Split("h", ["left", "right"], axis=1)
    net.SumElements("left", "loss")
    return told(net, ["loss"], at("h_grad"), why_none("right"), why_none("x"), x=np.ones((2, 4)))


def integer_loss() -> str:
    net = Net("integer_loss")
    net.FC(["x", "w", "b"], "scores")
    net.ArgMax("scores", "best")
    values = {"x": np.ones((2, 3)), "w": np.ones((4, 3)), "b": np.zeros(4)}
    return told(net, ["best"], why_none("w"), **values)


def sparse_meets_dense() -> str:
    net = Net("sparse_meets_dense")
    net.Gather(["table", "rows"], "found")
    net.SumElements("found", "some")
    net.SumElements("table", "all")
    net.Add(["some", "all"], "loss")
    sums = 'ledger("table")', lambda session: session.ledger("table")
    values = {"table": np.ones((3, 2)), "rows": np.array([1, 1, 0])}
    return told(net, ["loss"], at("Accumulated"), sums, **values)


def y_that_is_not_there() -> str:
    net = Net("y_that_is_not_there")
    net.Tanh("x", "h")
    net.SumElements("h", "loss")
    return told(net, ["lost"], x=np.ones(3))


def no_gradient_rule() -> str:
    net = Net("no_gradient_rule")
    net.Tanh("x", "h")
    net.Floor("h", "steps")
    net.SumElements("steps", "loss")
    return told(net, ["loss"], why_none("x"), x=np.ones(3))


def nan_seed() -> str:
    net = Net("nan_seed")
    net.Tanh("x", "y")
    return told(net, {"y": "dy"}, x=np.ones(3), dy=np.array([1.0, np.nan, 1.0]))


def gradient_of_the_wrong_shape() -> str:
    net = Net("gradient_of_the_wrong_shape")
    net.Tanh("x", "y")
    return told(net, {"y": "dy"}, why_none("x"), x=np.ones((2, 3)), dy=np.ones((3, 2)))


MISTAKES = (
    relu_in_place,
    input_overwritten,
    stop_gradient_orphan,
    split_output_unused,
    integer_loss,
    sparse_meets_dense,
    y_that_is_not_there,
    no_gradient_rule,
    nan_seed,
    gradient_of_the_wrong_shape,
)


def texts() -> Iterator[tuple[str, str]]:
    """The name of each mistake and what is said about it."""
    for mistake in MISTAKES:
        yield mistake.__name__, mistake()
