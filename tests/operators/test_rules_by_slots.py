"""What the slots of an operator and of its gradient are called tells the rule."""

import numpy as np
import pytest

from gradviz.operators import lookup, registry
from gradviz.operators.registry import Gradients, Slots
from gradviz.program import Operator


def answer(op: Operator, *g_output: str | None) -> tuple[list[str], Gradients]:
    """The operators that the rule of `op` makes, as text, and the gradients of its inputs."""
    known = lookup(op.type)
    assert known is not None
    assert known.rule is not None
    made, g_input = known.rule(op, list(g_output))
    return [str(step) for step in ([made] if isinstance(made, Operator) else made or [])], [*g_input]


@pytest.mark.parametrize(
    ("slots", "count", "filled"),
    [
        ("x, w, b?", 2, ["x", "w"]),
        ("x, w, b?", 3, ["x", "w", "b"]),
        ("x, lengths?, timestep", 2, ["x", "timestep"]),
        ("x, lengths?, timestep", 3, ["x", "lengths", "timestep"]),
        ("x, xs...", 1, ["x"]),
        ("x, xs...", 3, ["x", "xs", "xs"]),
        ("x, w?, xs...", 3, ["x", "w", "xs"]),
    ],
)
def test_each_blob_fills_a_slot(slots: str, count: int, filled: list[str]) -> None:
    assert Slots.parse(slots).filled(count) == filled


def test_the_gradient_reads_and_makes_what_its_slots_name() -> None:
    """FC: "x, w, b -> y", FCGradient: "x, w, dy -> dw, db, dx?"."""
    made, g_input = answer(Operator("FC", ["in", "weights", "bias"], ["out"]), "g")
    assert made == ["weights_grad, bias_grad, in_grad = FCGradient(in, weights, g)"]
    assert g_input == ["in_grad", "weights_grad", "bias_grad"]


def test_an_optional_input_that_is_left_out_is_not_read() -> None:
    made, g_input = answer(Operator("GRUUnit", ["h", "gates", "t"], ["y"], {"sequence_lengths": 0}), "g")
    assert made == ["h_grad, gates_grad = GRUUnitGradient(h, gates, t, y, g)"]
    assert g_input == ["h_grad", "gates_grad", None]
    made, _ = answer(Operator("GRUUnit", ["h", "gates", "lengths", "t"], ["y"]), "g")
    assert made == ["h_grad, gates_grad = GRUUnitGradient(h, gates, lengths, t, y, g)"]


def test_zeros_stand_in_for_what_arrives_at_one_of_several_gradients() -> None:
    op = Operator("GRUUnitGradient", ["h", "gates", "t", "y", "dy"], ["dh", "dgates"], {"sequence_lengths": 0})
    made, g_input = answer(op, None, "g")
    zeros, second = made
    assert zeros.endswith("ConstantFill(h)")
    assert second.endswith(f"GRUUnitGradientGradient(h, gates, t, y, dy, {zeros.partition(' = ')[0]}, g)")
    assert [g is None for g in g_input] == [False, False, True, True, False]


def test_a_kernel_of_ones_own_keeps_the_rule_and_the_inference_of_its_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_TABLE", dict(registry._TABLE))
    for type in ("Exp", "FC", "ReduceSum"):
        registry.register_kernel(type)(lambda op, *xs: xs[0])
    assert answer(Operator("Exp", ["x"], ["y"]), "g") == (["x_grad = Mul(y, g)"], ["x_grad"])
    made, _ = answer(Operator("FC", ["x", "w", "b"], ["y"]), "g")
    assert made == ["w_grad, b_grad, x_grad = FCGradient(x, w, g)"]
    gradient = lookup("ReduceSumGradient")
    assert gradient is not None
    assert gradient.infer is not None
    x, one = registry.ArraySpec((2, 3), np.dtype(np.float32)), registry.ArraySpec((1, 1), np.dtype(np.float32))
    assert gradient.infer(Operator("ReduceSumGradient", ["g", "x", "y"], ["dx"]), one, x, one) == x
