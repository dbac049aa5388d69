"""Gradient flows: the operators for the gradients of targets, with gradients that are given and that nobody wants."""

import numpy as np
import pytest

from gradviz import IR, GradientError, Net, Operator, Workspace, run_gradient_flow


def mul(x: str, y: str, z: str) -> Operator:
    """z = x · y."""
    return Operator("Mul", [x, y], [z])


SQUARE = [Operator("Tanh", ["x"], ["t"]), mul("t", "t", "s"), mul("s", "t", "y")]


def lines(operators: list[Operator]) -> list[str]:
    """The operators as text."""
    return [str(op) for op in operators]


def test_what_is_added_up_has_numbered_names() -> None:
    operators, gradients = run_gradient_flow(SQUARE, ["y"])
    assert lines(operators) == [
        "y_autogen_grad = ConstantFill(y)",
        "s_grad, t_grad_autosplit_0 = MulGradient(y_autogen_grad, s, t)",
        "t_grad_autosplit_1, t_grad_autosplit_2 = MulGradient(s_grad, t, t)",
        "t_grad = Sum(t_grad_autosplit_0, t_grad_autosplit_1, t_grad_autosplit_2)",
        "x_grad = TanhGradient(t, t_grad)",
    ]
    assert gradients == {"y": "y_autogen_grad", "s": "s_grad", "t": "t_grad", "x": "x_grad"}


def test_a_numbered_name_that_is_in_use_is_passed_over() -> None:
    x = "t_grad_autosplit_1"
    operators, gradients = run_gradient_flow([Operator("Tanh", [x], ["t"]), *SQUARE[1:]], ["y"])
    assert lines(operators)[1:4] == [
        "s_grad, t_grad_autosplit_0 = MulGradient(y_autogen_grad, s, t)",
        "t_grad_autosplit_2, t_grad_autosplit_3 = MulGradient(s_grad, t, t)",
        "t_grad = Sum(t_grad_autosplit_0, t_grad_autosplit_2, t_grad_autosplit_3)",
    ]
    assert gradients[x] == f"{x}_grad"


@pytest.mark.parametrize(("given", "name"), [(["y_grad"], "y_grad"), ({"y": "seed"}, "seed")])
def test_a_gradient_may_be_given(given: object, name: str) -> None:
    operators, gradients = run_gradient_flow([mul("x", "w", "y")], ["y"], given)  # type: ignore[arg-type]
    assert lines(operators) == [f"x_grad, w_grad = MulGradient({name}, x, w)"]
    assert gradients["y"] == name


def test_one_name_may_stand_for_a_list() -> None:
    operators, gradients = run_gradient_flow([mul("x", "w", "y")], "y", "y_grad", "w_grad")
    assert lines(operators) == ["x_grad, w_grad = MulGradient(y_grad, x, w)"]
    assert gradients.keys() == {"y", "x"}


def test_what_only_an_ignored_gradient_needs_is_left_out() -> None:
    forward = [Operator("Tanh", ["w"], ["t"]), mul("x", "t", "u"), mul("u", "x", "y")]
    operators, gradients = run_gradient_flow(forward, ["y"], ignored_grads={"w_grad", "x_grad"})
    assert [op.type for op in operators] == ["ConstantFill", "MulGradient", "MulGradient"]
    assert gradients.keys() == {"y", "u", "t"}


def test_it_runs_where_the_forward_operators_have_run() -> None:
    workspace = Workspace()
    workspace.feed("x", [0.5, 1.0])
    workspace.run(
        Net.from_dict(
            {"name": "n", "ops": [{"type": op.type, "inputs": op.inputs, "outputs": op.outputs} for op in SQUARE]}
        )
    )
    run_gradient_flow(SQUARE, ["y"], workspace=workspace)
    t = np.tanh([0.5, 1.0])
    np.testing.assert_allclose(workspace["x_grad"], 3 * t**2 * (1 - t**2))


def test_shared_buffers_give_the_same_with_fewer_names() -> None:
    def chain(length: int) -> list[Operator]:
        return [Operator("Tanh", [f"x{at}"], [f"x{at + 1}"]) for at in range(length)]

    operators, gradients = run_gradient_flow(chain(50), ["x50"], share_grads=True)
    assert gradients == {"x0": "x0_grad"}
    assert {name for op in operators for name in op.outputs} == {
        "share/buffer/grads:0", "share/buffer/grads:1", "x0_grad"
    }  # fmt: skip
    found = []
    for share in (True, False):
        workspace = Workspace()
        workspace.feed("x0", [0.5])
        for op in chain(50):
            workspace.run_operator(op)
        run_gradient_flow(chain(50), ["x50"], workspace=workspace, share_grads=share)
        found.append(workspace["x0_grad"])
    np.testing.assert_array_equal(*found)


def test_passes_of_given_and_generated_gradients_add_up() -> None:
    forward = [Operator("Tanh", ["x"], ["t"]), mul("t", "w", "y")]
    operators, _ = run_gradient_flow(forward, ["y", "t"], ["t_grad"])
    assert "Sum" in [op.type for op in operators]


def test_branches_and_loops_take_part() -> None:
    net = Net("n")
    net.Tanh("x", "t")
    with net.If("chosen"):
        net.Mul(["t", "w"], "y")
    with net.Else():
        net.Mul(["t", "t"], "y")
    net.Mul(["y", "x"], "z")
    expected, gradients = IR(net.ops).get_backward_pass(["z"])
    operators, found = run_gradient_flow(net.ops, ["z"])
    assert [op.type for op in operators] == [op.type for op in expected]
    assert found.keys() == gradients.keys()
    workspace = Workspace()
    for name, value in {"x": [0.5], "w": [3.0], "chosen": False}.items():
        workspace.feed(name, value)
    workspace.run(net)
    run_gradient_flow(net.ops, ["z"], workspace=workspace)
    t = np.tanh(0.5)
    np.testing.assert_allclose(workspace["x_grad"], [t**2 + 0.5 * 2 * t * (1 - t**2)])


@pytest.mark.parametrize("targets", [["nothing"], []])
def test_targets_that_there_are_not_are_refused_or_bring_nothing(targets: list[str]) -> None:
    if not targets:
        assert run_gradient_flow(SQUARE, targets) == ([], {})
        return
    with pytest.raises(GradientError) as caught:
        run_gradient_flow(SQUARE, targets)
    assert caught.value.kind == "bad_ys"


def test_a_gradient_given_for_what_is_no_target_is_refused() -> None:
    with pytest.raises(GradientError, match="that of none of the targets y") as caught:
        run_gradient_flow(SQUARE, ["y"], ["s_grad"])
    assert caught.value.kind == "bad_ys"
