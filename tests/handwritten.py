"""Operators with nested nets, written by hand: for tests of what a builder would not write."""

from typing import Any

import numpy as np

from gradviz import IR, GradientSlice, Net, Operator, Workspace
from gradviz.program import Gradient, NetDef

COUNTING = "i one"
"""What a loop of `counted` reads besides."""


def op(type: str, inputs: str, outputs: str, **args: Any) -> Operator:
    """An operator; blobs are separated by spaces."""
    return Operator(type, inputs.split(), outputs.split(), args)


def net(*operators: Operator, name: str = "net") -> NetDef:
    """A nested net."""
    return NetDef(name, operators)


def scope(name: str = "ws") -> Operator:
    """Makes a stack of workspaces."""
    return op("CreateScope", "", name)


def do(inputs: str, outputs: str, *operators: Operator, scope: str = "ws", **args: Any) -> Operator:
    """A Do in which blobs have the names that they have outside, or another: ``"x inner=outer"``."""
    pairs = [
        (inner, outer or inner) for inner, _, outer in (word.partition("=") for word in f"{inputs} {outputs}".split())
    ]
    outer = [outer for _, outer in pairs]
    count = len(inputs.split())
    binding = {inner: outer.index(name) for inner, name in pairs}
    args = {
        "net": net(*operators),
        "inner_blobs": list(binding),
        "outer_blobs_idx": list(binding.values()),
        **args,
    }
    return Operator("Do", [*outer[:count], scope], [*outer[count:], scope], args)


def if_(inputs: str, outputs: str, then: list[Operator], otherwise: list[Operator] | None = None) -> Operator:
    """An If of bare branches."""
    nets = {"then_net": net(*then, name="then")}
    if otherwise is not None:
        nets["else_net"] = net(*otherwise, name="otherwise")
    return op("If", inputs, outputs, **nets)


def counted(inputs: str, outputs: str, *operators: Operator, scope: str = "ws", **args: Any) -> list[Operator]:
    """A loop of n rounds, n being a blob, with all that it needs; `inputs` and `outputs` are those of its body."""
    body = do(f"{inputs} {COUNTING}", f"{outputs} i", *operators, op("Add", "i one", "i"), scope=scope)
    ask = op("LT", "i n", "go")
    reads = dict.fromkeys(["go", "n", *body.inputs])
    writes = dict.fromkeys([*body.outputs, "go"])
    return [
        op("ConstantFill", "", "i", value=0, dtype="int64"),
        op("ConstantFill", "", "one", value=1, dtype="int64"),
        op("CreateScope", "", scope),
        ask,
        Operator("While", list(reads), list(writes), {"cond_net": net(ask), "loop_net": net(body), **args}),
    ]


def ran(operators: list[Operator], feeds: dict[str, Any]) -> Workspace:
    """A workspace in which the operators ran."""
    workspace = Workspace()
    for name, value in feeds.items():
        workspace.feed(name, np.asarray(value))
    workspace.run(Net("handwritten", operators))
    return workspace


def assert_true_gradients(operators: list[Operator], ys: list[str] | dict[str, Any], **feeds: Any) -> None:
    """The gradients of what is fed are the differences of the sum of the ys, weighed with the gradients given."""
    fed = {name: np.asarray(value) for name, value in feeds.items()}
    starts = ys if isinstance(ys, dict) else dict.fromkeys(ys)
    ir = IR(Net("forward", operators).ops)
    made, _ = ir.get_backward_pass(ys)
    workspace = ran([*operators, *made], fed)
    written = {name for made_by in operators for name in made_by.outputs}

    def total(values: dict[str, np.ndarray]) -> float:
        forward = ran(operators, values)
        weights = {y: 1.0 if given is None else workspace[given] for y, given in starts.items()}
        return float(sum((forward[y] * weight).sum() for y, weight in weights.items()))

    for name, value in fed.items():
        if name not in written:
            np.testing.assert_array_equal(workspace[name], value, err_msg=f"{name} was overwritten")
        if value.dtype.kind != "f" or name in starts.values():
            continue
        numerical = np.zeros_like(value)
        for at in np.ndindex(value.shape):
            step = np.zeros_like(value)
            step[at] = 1e-6
            numerical[at] = (total({**fed, name: value + step}) - total({**fed, name: value - step})) / 2e-6
        gradient = ir.blobs[name][0].gradient if name in ir.blobs and ir.is_from_outside(name) else None
        actual = dense(workspace, gradient, value)
        assert actual.shape == value.shape, f"{gradient}, the gradient of {name}, has the shape {actual.shape}"
        np.testing.assert_allclose(actual, numerical, atol=1e-6, err_msg=f"{gradient}, the gradient of {name}")


def dense(workspace: Workspace, gradient: Gradient | None, like: np.ndarray) -> np.ndarray:
    """A gradient as an array; one that is not there is zeros."""
    if isinstance(gradient, str):
        return workspace[gradient]
    total = np.zeros_like(like)
    if isinstance(gradient, GradientSlice):
        np.add.at(total, workspace[gradient.indices], workspace[gradient.values])
    return total
