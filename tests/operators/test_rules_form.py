"""Gradient rules give the operators that Caffe2's give: types, names, order, arguments; recorded from the real one."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from gradviz.operators import lookup
from gradviz.program import Device, Gradient, GradientSlice, Operator
from tests.operators.cases import defined_types

RECORDED = Path(__file__).parents[1] / "golden" / "data" / "grad_makers.json.gz"
OWN_FORM = {
    "Sqr": "Caffe2 scales the gradient of the output in place, which others may read",
    "Split": "Caffe2 leaves out the parts that have no gradient",
    "DepthSplit": "like Split",
    "SoftmaxWithLoss": "Caffe2 ignores a gradient into the probabilities",
    "LayerNorm": "Caffe2 ignores gradients into the mean and the standard deviation",
    "InstanceNorm": "Caffe2 ignores gradients into the statistics; they are refused",
    "GroupNorm": "Caffe2 ignores gradients into the statistics; they are refused",
    "RMSNorm": "Caffe2 ignores a gradient into the inverse root mean square; it is refused",
    "LRN": "Caffe2 ignores a gradient into the scale; it is refused",
    "MatMul": "Caffe2 takes the gradient for a matrix, which the shape of a third input need not be",
}
"""Types that answer otherwise where Caffe2 is wrong; tests below say how."""


def recordings() -> list[Any]:
    """Every recorded variant of a type that gradviz has a rule for."""
    types = json.loads(gzip.decompress(RECORDED.read_bytes()))["types"]
    defined = {known.type for known in defined_types() if known.rule is not None}
    return [
        pytest.param(type, variant, id=f"{type}-{variant['inputs']}-{variant['outputs']}-{variant['given']}")
        for type in sorted(defined & types.keys())
        for variant in types[type].get("variants", ())
        if type not in OWN_FORM or agrees(type, variant)
    ]


def agrees(type: str, variant: dict[str, Any]) -> bool:
    """Whether Caffe2 is right in this variant of a type with a form of our own."""
    if type in ("Split", "DepthSplit"):
        return len(variant["given"]) == variant["outputs"]
    if type == "SoftmaxWithLoss":
        return variant["given"] == [1]
    if type == "MatMul":
        return variant["inputs"] == 2
    return type != "Sqr" and variant["given"] == [0]


def ask(op: Operator, *given: int) -> tuple[list[Operator], list[Gradient | None]]:
    """The rule's answer where the outputs at positions `given` have gradients GO0, GO1, ..."""
    known = lookup(op.type)
    assert known is not None
    assert known.rule is not None
    made, g_input = known.rule(op, [f"GO{i}" if i in given else None for i in range(len(op.outputs))])
    return [made] if isinstance(made, Operator) else list(made or ()), list(g_input)


def form(made: list[Operator]) -> list[tuple[str, list[str], list[str], dict[str, Any]]]:
    """Type, inputs, outputs and arguments of operators."""
    return [(op.type, op.inputs, op.outputs, op.args) for op in made]


def call(type: str, inputs: int, outputs: int = 1, **args: Any) -> Operator:
    """An operator with inputs I0, I1, ... and outputs O0, O1, ..."""
    return Operator(type, [f"I{i}" for i in range(inputs)], [f"O{i}" for i in range(outputs)], args)


@pytest.mark.parametrize(("type", "variant"), recordings())
def test_form_is_the_recorded_one(type: str, variant: dict[str, Any]) -> None:
    op = call(type, variant["inputs"], variant["outputs"], **variant.get("args", {}))
    made, g_input = ask(op, *variant["given"])
    assert form(made) == [(r["type"], r["inputs"], r["outputs"], r.get("args", {})) for r in variant["gradient_ops"]]
    assert all(op.is_gradient for op in made)
    assert g_input == [GradientSlice(**g) if isinstance(g, dict) else g for g in variant["g_input"]]


@pytest.mark.parametrize(
    ("flags", "of_a", "of_b"),
    [
        ({}, (["GO0", "I1", "I0"], {"trans_b": 1, "axis_b": 1}), (["I0", "GO0", "I1"], {"trans_a": 1, "axis_a": 1})),
        ({"trans_b": 1}, (["GO0", "I1", "I0"], {"axis_b": 1}), (["GO0", "I0", "I1"], {"trans_a": 1, "axis_b": 1})),
        ({"trans_a": 1}, (["I1", "GO0", "I0"], {"trans_b": 1, "axis_a": 1}), (["I0", "GO0", "I1"], {"axis_a": 1})),
        (
            {"trans_a": 1, "trans_b": 1, "axis_a": 2, "axis_b": 3},
            (["I1", "GO0", "I0"], {"trans_a": 1, "trans_b": 1, "axis_a": 3}),
            (["GO0", "I0", "I1"], {"trans_a": 1, "trans_b": 1, "axis_b": 2}),
        ),
    ],
)
def test_matmul_puts_factors_in_the_order_that_its_flags_demand(
    flags: dict[str, int], of_a: tuple[list[str], dict[str, int]], of_b: tuple[list[str], dict[str, int]]
) -> None:
    made, _ = ask(call("MatMul", 2, **flags), 0)
    assert form(made) == [("MatMul", of_a[0], ["I0_grad"], of_a[1]), ("MatMul", of_b[0], ["I1_grad"], of_b[1])]


def test_transpose_is_undone_by_the_inverse_permutation() -> None:
    made, _ = ask(call("Transpose", 1, axes=[1, 2, 0]), 0)
    assert form(made) == [("Transpose", ["GO0"], ["I0_grad"], {"axes": [2, 0, 1]})]


def test_arguments_travel_along() -> None:
    made, _ = ask(call("Add", 2, broadcast=1, axis=0), 0)
    assert made[0].args == {"broadcast": 1, "axis": 0}


def test_sqr_writes_no_blob_but_its_own() -> None:
    made, g_input = ask(call("Sqr", 1), 0)
    assert [op.type for op in made] == ["Scale", "Mul"]
    assert all("GO0" not in op.outputs for op in made)
    assert g_input == ["I0_grad"]


def test_split_fills_parts_without_gradient_with_zeros_like_them() -> None:
    made, g_input = ask(call("Split", 1, 3, axis=1), 1)
    *fills, join = made
    assert [(op.type, op.inputs, op.args) for op in fills] == [
        ("ConstantFill", ["O0"], {"value": 0.0}),
        ("ConstantFill", ["O2"], {"value": 0.0}),
    ]
    assert join.inputs == [fills[0].outputs[0], "GO1", fills[1].outputs[0]]
    assert (join.type, join.outputs, join.args) == ("Concat", ["I0_grad", "_I0_grad_dims"], {"axis": 1})
    assert g_input == ["I0_grad"]


def test_softmax_with_loss_takes_what_arrives_at_each_output() -> None:
    op = call("SoftmaxWithLoss", 2, 2)
    assert [made.type for made in ask(op, 1)[0]] == ["SoftmaxWithLossGradient"]
    assert [made.type for made in ask(op, 0)[0]] == ["SoftmaxGradient"]
    assert [made.type for made in ask(op, 0, 1)[0]] == ["SoftmaxWithLossGradient", "SoftmaxGradient", "Sum"]
    for given in [(0,), (1,), (0, 1)]:
        made, g_input = ask(op, *given)
        assert made[-1].outputs == ["I0_grad"]
        assert g_input == ["I0_grad", None]


@pytest.mark.parametrize("known", [known for known in defined_types() if known.rule], ids=lambda known: known.type)
def test_gradient_operators_run_where_their_operator_ran(known: Any) -> None:
    outputs = max(known.outputs.least, {"GroupNorm": 3, "Dropout": 2}.get(known.type, 1))
    given = [0] if known.type in ("GroupNorm", "RMSNorm") else range(outputs)
    demanded = {"Cast": {"to": 1}, "Pow": {"exponent": 2.0}}.get(known.type, {})
    op = call(known.type, known.inputs.least, outputs, **demanded)
    gpu = Device("cuda", 1)
    made, _ = ask(Operator(op.type, op.inputs, op.outputs, op.args, gpu), *given)
    assert all(op.device == gpu and op.is_gradient for op in made)
