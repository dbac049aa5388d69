"""Calls of gradient operators: those of the backward pass through a call of each type, on what reaches them there.

Which of their inputs have a gradient is what their rules say; that none is missing, test_second_derivatives.py tells.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from gradviz.net import Net
from gradviz.operators import lookup
from gradviz.runtime import Workspace
from tests.operators.case import Case, floats, integers, pair, probabilities, unary

FORWARD: list[Case] = [
    *[case for type in ("Add", "Sub", "Mul", "Div") for case in pair(type)[3:]],
    *[case for type in ("Relu", "Sigmoid", "Tanh", "Softmax", "AveragedLoss") for case in unary(type)[1:]],
    Case("FC", "plain", {"x": floats(3, 4), "w": floats(5, 4), "b": floats(5)}),
    Case(
        "SoftmaxWithLoss",
        "plain",
        {"x": floats(3, 4), "labels": integers(2, 0, 3)},
        writes=("p", "loss"),
        given=["loss"],
    ),
    Case("LabelCrossEntropy", "plain", {"x": probabilities(3, 4), "labels": integers(2, 0, 3)}),
    Case("SquaredL2Distance", "plain", {"x": floats(3, 4), "y": floats(3, 4, seed=1)}),
    *[
        case
        for file in sorted(Path(__file__).parent.glob("cases_*.py"))
        if file != Path(__file__)
        for case in import_module(f"tests.operators.{file.stem}").CASES
    ],
]

NORMALIZED = ("LayerNorm", "RMSNorm", "GroupNorm", "SpatialBN")
"""Types whose gradient reads statistics of x that were written, which differences of it alone would hold fixed: it is
called on nothing, or where the statistics are constants."""


def first_calls() -> Iterator[Case]:
    """The first call of each type that has a rule, with and without each argument that changes what its rule makes."""
    met: set[tuple[str, ...]] = set()
    for case in FORWARD:
        key = case.type, *[name for name in case.args if name.startswith(("grad_on", "broadcast", "num_batches"))]
        is_told = "num_batches" in case.args  # its statistics: they are sums that it reads
        fixed = case.type in NORMALIZED and len(case.writes) > 1 and case.inputs["x"].size and not is_told
        single = case.type == "Pow" and len(case.inputs) == 1  # made of other types' operators
        if case.known.rule is not None and key not in met and not fixed and not single:
            met.add(key)
            yield case


def gradient_calls(case: Case) -> Iterator[Case]:
    """The operators of the backward pass through `case` that exist for gradients alone and have a rule.

    What they read and write is called by its place.
    """
    workspace, net = Workspace(), Net("backward", [case.op])
    outputs = case.forward(case.inputs)
    given = [y for y in (case.writes if case.given is None else case.given) if outputs[y].dtype.kind == "f"]
    seeds = {f"given_{y}": floats(*outputs[y].shape, seed=7 + i) for i, y in enumerate(given)}
    net.add_gradient_operators({y: f"given_{y}" for y in given})
    for name, value in {**case.inputs, **seeds}.items():
        workspace.feed(name, value)
    for op in net.ops:
        reads = {name: workspace[name] for name in op.inputs}
        workspace.run_operator(op)
        known = lookup(op.type)
        if known is not None and known.rule is not None and op.type.endswith(("Gradient", "Grad")) and op.is_gradient:
            names = {name: f"in{place}" for place, name in enumerate(op.inputs)}
            writes = ["out", *[f"out{place}" for place in range(1, len(op.outputs))]]
            _, g_input = known.rule(op, [f"gradient_of_{name}" for name in op.outputs])
            yield Case(
                op.type,
                f"of {case}",
                {names[name]: value for name, value in reads.items()},
                op.args,
                [names[name] for name in op.inputs],
                writes,
                constants=[names[name] for name, g in zip(op.inputs, g_input, strict=True) if g is None],
            )


CASES = [
    *[case for forward in first_calls() for case in gradient_calls(forward)],
    Case(
        "TopKGradientGradient",
        "more than there are",
        {"dvalues": floats(2, 4), "indices": integers(1, 2, 0, -1, 0, 1, 2, -1).reshape(2, 4), "g": floats(2, 3)},
        constants=["dvalues"],
    ),
]
