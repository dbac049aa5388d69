"""Running Do, If and While: what they do to blobs and stacks, and how they answer nets and values that do not fit."""

import numpy as np
import pytest

from gradviz import Net, Operator, RunError, Workspace, register_kernel
from gradviz.operators.scopes import ScopeStack
from gradviz.program import NetDef
from gradviz.program.net import MAX_DEPTH
from gradviz.runtime.devices import device_of
from tests.handwritten import counted, do, if_, net, op, ran, scope

X = np.array([0.3, 0.7, -0.4])


def fed(device="cpu", **feeds):
    workspace = Workspace(device)
    for name, value in feeds.items():
        workspace.feed(name, np.asarray(value))
    return workspace


def fault(operators, **feeds):
    """The error of a run, which leaves the workspace as it was."""
    workspace = fed(**feeds)
    with pytest.raises(RunError) as caught:
        workspace.run(Net("wrong", operators))
    assert caught.value.ways_out
    assert set(workspace) == set(feeds)
    for name, value in feeds.items():
        np.testing.assert_array_equal(workspace[name], value)
    return caught.value


# What they do


@pytest.mark.parametrize("n", [0, 1, 6])
def test_a_loop_runs_its_body_as_often_as_its_condition_holds(n):
    workspace = ran(counted("x", "x", op("Scale", "x", "x", scale=2.0)), {"x": X, "n": n})
    np.testing.assert_array_equal(workspace["x"], X * 2.0**n)
    assert workspace["i"] == n
    assert not workspace["go"]


@pytest.mark.parametrize("yes", [True, False])
def test_one_branch_runs_and_what_no_branch_writes_stays(yes):
    branch = if_("yes x", "y", [op("Scale", "x", "y", scale=2.0)])
    np.testing.assert_array_equal(ran([branch], {"x": X, "y": -X, "yes": yes})["y"], X * 2 if yes else -X)


def test_the_workspaces_of_a_loop_are_kept_until_its_backward_pass_takes_them():
    forward = counted("x", "x", op("Tanh", "x", "t"), op("Mul", "t x", "x"))
    workspace = ran(forward, {"x": X, "n": 3})
    kept = list(workspace["ws"])
    assert len(kept) == 3
    np.testing.assert_array_equal(kept[-1]["t"], np.tanh(X))
    np.testing.assert_array_equal(kept[0]["x"], workspace["x"])
    both = Net("both", forward)
    both.add_gradient_operators(["x"])
    workspace.run(both)
    assert len(workspace["ws"]) == 0


def test_the_net_of_a_condition_leaves_no_workspace():
    *before, loop = counted("x", "x", op("Tanh", "x", "x"))
    ask = do("i n", "go", op("LT", "i n", "go"), scope="asked")
    args = {**loop.args, "cond_net": net(ask)}
    loop = Operator("While", [*loop.inputs, "asked"], [*loop.outputs, "asked"], args)
    workspace = ran([scope("asked"), *before, loop], {"x": X, "n": 3})
    assert len(workspace["asked"]) == 0
    assert len(workspace["ws"]) == 3


def test_a_do_that_reuses_a_workspace_finds_what_the_last_one_left():
    count = do("one", "n", op("Add", "n one", "n"), reuse_workspace=1)
    workspace = ran([scope(), do("zero", "n", op("Copy", "zero", "n")), count, count], {"one": 1, "zero": 0})
    assert workspace["n"] == 2
    assert [int(kept["n"]) for kept in workspace["ws"]] == [2, 1, 0]
    first = do("x", "y", op("Copy", "x", "y"), reuse_workspace=1)
    assert len(ran([scope(), first], {"x": X})["ws"]) == 1


def test_a_nested_net_that_was_changed_runs_as_it_is_now():
    body = net(op("Copy", "x", "y"))
    whole = Net("whole", [op("If", "yes x", "y", then_net=body)])
    workspace = fed(x=X, yes=True)
    workspace.run(whole)
    body.ops[0] = op("Scale", "x", "y", scale=3.0)
    workspace.run(whole)
    np.testing.assert_array_equal(workspace["y"], 3 * X)


def test_a_branch_that_was_not_taken_leaves_nothing_that_the_backward_net_needs():
    forward = [if_("yes x", "t y", [op("Tanh", "x", "t"), op("Mul", "t x", "y")], [op("Copy", "x", "y")])]
    both = Net("both", forward)
    gradients = both.add_gradient_operators(["y"])
    workspace = fed(x=X, yes=False)
    workspace.run(Net("forward", forward))
    workspace.run(Net("backward", both.ops[1:]))
    np.testing.assert_array_equal(workspace[gradients["x"]], np.ones(3))


def test_a_backward_net_takes_each_workspace_once():
    for forward, feeds in (
        ([scope(), do("x", "x", op("Mul", "x x", "x"))], {"x": X}),
        (counted("x", "x", op("Mul", "x x", "x")), {"x": X, "n": 2}),
        (counted("x", "x", op("Mul", "x x", "x")), {"x": X, "n": 0}),
    ):
        both = Net("both", forward)
        both.add_gradient_operators(["x"])
        backward = Net("backward", both.ops[len(forward) :])
        workspace = ran(forward, feeds)
        workspace.run(backward)
        before = {name: workspace.fetch(name) for name in workspace}
        with pytest.raises(RunError, match="finds no workspace left in ws") as caught:
            workspace.run(backward)
        assert "run the forward net before" in caught.value.ways_out[0]
        stack, arrays = before.pop("ws"), before
        assert workspace.fetch("ws") is stack
        assert all(np.shares_memory(workspace.fetch(name), array) for name, array in arrays.items())


def test_a_stack_may_be_high():
    stack = ScopeStack()
    for _ in range(200_000):
        stack = stack.push({})
    assert len(stack) == 200_000
    del stack


# Loops and conditions that do not fit


def endless(**args):
    body = do("x", "x", op("Copy", "x", "x"))
    return [scope(), op("While", "yes x ws", "x ws", loop_net=net(body), **args)]


def test_a_loop_that_never_ends_is_stopped():
    error = fault(endless(max_iterations=7), x=X, yes=True)
    assert (error.kind, error.operator_index, error.blobs) == ("too_many_iterations", 1, ("yes",))
    assert "still runs after 7 iterations: yes holds" in error.message
    assert "max_iterations=70" in error.ways_out[1]
    inside = do("x yes", "x", *endless(max_iterations=7), scope="outer")
    assert fault([scope("outer"), inside], x=X, yes=True).message.startswith("In the net of operator #1 Do: ")


def test_the_limit_is_the_number_of_rounds_that_may_run():
    *before, loop = counted("x", "x", op("Scale", "x", "x", scale=2.0))
    loop.args["max_iterations"] = 3
    assert ran([*before, loop], {"x": X, "n": 3})["i"] == 3
    assert fault([*before, loop], x=X, n=4).kind == "too_many_iterations"


@pytest.mark.parametrize("limit", [0, -1, "7", 2.5, True, None])
def test_a_limit_is_a_positive_integer(limit):
    error = fault(endless(max_iterations=limit), x=X, yes=True)
    assert (error.kind, error.operator_index) == ("bad_argument", 1)


WRONG = {"float": 1.0, "integer": 1, "two": np.array([True, False]), "none": np.zeros(0, bool)}


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG)
def test_a_condition_is_one_boolean(value):
    for operators in ([if_("yes x", "y", [op("Copy", "x", "y")])], endless()):
        error = fault(operators, x=X, yes=value)
        assert (error.kind, error.blobs) == ("bad_value", ("yes",))
        assert "must be one boolean" in error.message


def test_a_condition_must_be_there():
    error = fault([if_("yes x", "y", [op("Copy", "x", "y")])], x=X)
    assert (error.kind, error.blobs) == ("undefined_blob", ("yes",))
    decide = if_("no x", "yes", [op("LT", "x x", "yes")])
    error = fault([decide, if_("yes x", "y", [op("Copy", "x", "y")])], x=X, no=False)
    assert (error.kind, error.operator_index) == ("bad_value", 1)
    assert "it is nothing" in error.message


# Operators that are built wrong


def misbuilt(**args):
    good = {"net": net(op("Copy", "x", "y")), "inner_blobs": ["x", "y"], "outer_blobs_idx": [0, 1]}
    return Operator("Do", ["x", "ws"], ["y", "ws"], {**good, **args})


DO = {
    "a net that is a number": (misbuilt(net=3), "no nested net"),
    "a net that is a dict of something": (misbuilt(net={"a": 1}), "no nested net"),
    "inner_blobs as a string": (misbuilt(inner_blobs="xy"), "no list of names as inner_blobs"),
    "inner_blobs as numbers": (misbuilt(inner_blobs=[1, 2]), "no list of names as inner_blobs"),
    "inner_blobs as lists": (misbuilt(inner_blobs=[["x"], ["y"]]), "no list of names as inner_blobs"),
    "places as floats": (misbuilt(outer_blobs_idx=[0.0, 1.0]), "no list of integers as outer_blobs_idx"),
    "places as booleans": (misbuilt(outer_blobs_idx=[False, True]), "no list of integers as outer_blobs_idx"),
    "no places": (misbuilt(outer_blobs_idx=None), "no list of integers as outer_blobs_idx"),
    "a place too few": (misbuilt(outer_blobs_idx=[0]), "binds 2 inner blobs to 1 outer ones"),
    "a place before the first": (misbuilt(outer_blobs_idx=[0, -1]), "binds y to outer blob number -1 of 2"),
    "an inner name twice": (misbuilt(inner_blobs=["x", "x"]), "names x twice among its inner_blobs"),
    "an outer blob twice": (misbuilt(outer_blobs_idx=[0, 0]), "binds x to x and to y"),
    "saved_fwd_blobs as a string": (misbuilt(saved_fwd_blobs="x"), "no list of names as saved_fwd_blobs"),
    "reuse_workspace as a word": (misbuilt(reuse_workspace="no"), "reuse_workspace='no'"),
    "an unbound name": (do("x", "y", op("Mul", "x w", "y")), "reads w, which is neither bound nor written there"),
    "a written input": (do("x", "y", op("Copy", "x", "y"), op("Copy", "y", "x")), "writes x, in its net x"),
    "no scope": (Operator("Do", ["x"], ["y"], misbuilt().args), "has no scope blob"),
    "an input twice": (do("x x", "y", op("Copy", "x", "y")), "names x twice among its inputs"),
}


@pytest.mark.parametrize(("wrong", "message"), DO.values(), ids=DO)
def test_a_misbuilt_do_is_refused_before_anything_runs(wrong, message):
    error = fault([scope(), wrong], x=X)
    assert (error.kind, error.operator_index) == ("control_flow_structure", 1)
    assert message in error.message
    error = fault([scope(), op("While", "yes x ws", "x y ws", loop_net=net(wrong))], x=X, yes=True)
    assert error.message.startswith("In the loop_net of operator #1 While: Operator #0")


COPY = net(op("Copy", "x", "y"))
BRANCHES = {
    "no then_net": (op("If", "yes x", "y"), "has no then_net"),
    "a then_net that is a number": (op("If", "yes x", "y", then_net=3), "then_net that is no net"),
    "an else_net that is a number": (op("If", "yes x", "y", then_net=COPY, else_net=3), "else_net that is no net"),
    "no loop_net": (op("While", "yes x", "y"), "has no loop_net"),
    "a cond_net that is a list": (op("While", "yes x", "y", loop_net=COPY, cond_net=[]), "cond_net that is no net"),
    "a read that is not declared": (op("If", "yes", "y", then_net=COPY), "reads x, which is not among its inputs"),
    "a write that is not declared": (op("If", "yes x", "z", then_net=COPY), "writes y, which is not among its outputs"),
}


@pytest.mark.parametrize(("wrong", "message"), BRANCHES.values(), ids=BRANCHES)
def test_a_misbuilt_if_or_while_is_refused_before_anything_runs(wrong, message):
    error = fault([wrong], x=X, yes=True)
    assert (error.kind, error.operator_index) == ("control_flow_structure", 0)
    assert message in error.message


def nested(depth):
    inside = op("Copy", "x", "y")
    for _ in range(depth):
        inside = if_("yes x", "y", [inside])
    return inside


def test_nets_are_nested_to_a_depth_that_python_can_follow():
    np.testing.assert_array_equal(ran([nested(MAX_DEPTH)], {"x": X, "yes": True})["y"], X)
    endless = NetDef("endless")
    endless.ops.append(op("If", "yes x", "y", then_net=endless))
    for too_deep in (nested(MAX_DEPTH + 1), *endless.ops):
        with pytest.raises(RunError, match=f"nests nets more than {MAX_DEPTH} deep") as caught:
            fed(x=X, yes=True).run_operator(too_deep)
        assert caught.value.kind == "control_flow_structure"


# Blobs that are not there


def test_what_a_nested_net_lacks_is_told_with_the_way_there():
    error = fault([if_("yes", "y", [op("Tanh", "y", "y")])], yes=True)
    assert (error.kind, error.operator_index, error.blobs) == ("undefined_blob", 0, ("y",))
    assert error.message.startswith("In the then_net of operator #0 If: Operator #0 y = Tanh(y) reads y")
    error = fault([scope(), do("", "y", op("Tanh", "y", "y"))])
    assert error.message.startswith("In the net of operator #1 Do: Operator #0")


def test_what_a_do_keeps_to_itself_is_not_there_around_it():
    hidden = do("x", "y", op("Tanh", "x", "t"), op("Copy", "t", "y"))
    error = fault([scope(), hidden, op("Tanh", "t", "z")], x=X)
    assert (error.kind, error.operator_index, error.blobs) == ("undefined_blob", 2, ("t",))
    assert error.ways_out == ("t is local to the net 1.net: make it an output of the Do that runs this.",)
    branch = if_("yes x ws", "y ws", [hidden])
    error = fault([scope(), branch, op("Tanh", "t", "z")], x=X, yes=True)
    assert error.ways_out[0].startswith("t is local to the net 1.then_net/0.net")


def test_what_no_branch_wrote_is_not_there_behind_it(own_types):
    @register_kernel("Mine")
    def mine(op, x):
        return x.copy()

    branch = if_("yes x", "y", [op("Copy", "x", "y")])
    for reader in ("Tanh", "Mine"):
        error = fault([branch, op(reader, "y", "z")], x=X, yes=False)
        assert (error.kind, error.operator_index, error.blobs) == ("undefined_blob", 1, ("y",))


def test_an_error_in_a_round_names_it():
    body = [op("Concat", "x x", "y sizes", axis=0), op("Mul", "y k", "z"), op("Copy", "y", "x")]
    for size, round_ in ((1, 0), (2, 1)):
        error = fault(counted("x k", "x", *body), x=np.ones(size), k=np.ones(4), n=3)
        way = f"In the loop_net of operator #4 While, iteration {round_}: In the net of operator #0 Do: Operator #1"
        assert error.message.startswith(way)
        assert error.kind == "shape_mismatch"


def test_shapes_of_what_is_not_run_need_not_fit():
    misfit = op("Mul", "x k", "z")
    feeds = {"x": np.ones(2), "k": np.ones(3), "z": np.zeros(2)}
    for operators in ([if_("yes x k z", "z", [misfit])], counted("x k z", "z", misfit)):
        np.testing.assert_array_equal(ran(operators, {**feeds, "yes": False, "n": 0})["z"], feeds["z"])
        error = fault(operators, **feeds, yes=True, n=1)
        assert error.kind == "shape_mismatch"
        assert "Mul(x, k): shapes (2,) and (3,) do not broadcast" in error.message


# Stacks


def test_a_stack_is_made_by_create_scope():
    use = do("x", "y", op("Copy", "x", "y"))
    error = fault([use], x=X)
    assert (error.kind, error.blobs) == ("undefined_blob", ("ws",))
    assert error.ways_out[-1] == 'Make the stack of workspaces first: net.CreateScope([], "ws").'
    for operators in ([use], [if_("yes x ws", "y ws", [use])], [op("While", "yes x ws", "y ws", loop_net=net(use))]):
        error = fault(operators, x=X, yes=True, ws=np.ones(3))
        assert (error.kind, error.blobs) == ("control_flow_structure", ("ws",))
        assert "finds no stack of workspaces in ws" in error.message
    error = fault([if_("yes", "ws", [scope()]), use], x=X, yes=False)
    assert (error.kind, error.operator_index) == ("control_flow_structure", 1)


def test_numbers_are_wanted_where_a_stack_is_given():
    error = fault([scope(), op("Tanh", "ws", "y")])
    assert (error.kind, error.operator_index, error.blobs) == ("shape_mismatch", 1, ("ws",))


# Devices


def test_control_flow_runs_where_its_blobs_lie(cupy):
    forward = counted("x w", "x", op("Mul", "x w", "t"), op("Tanh", "t", "x"))
    both = Net("both", [*forward, if_("yes x", "y", [op("Sin", "x", "y")], [op("Copy", "x", "y")])])
    gradients = both.add_gradient_operators(["y"])
    feeds = {"x": X, "w": -X, "n": 3, "yes": True}
    there, here = fed("cuda:0", **feeds), fed(**feeds)
    there.run(both)
    here.run(both)
    for name in ("y", *gradients.values()):
        assert str(device_of(there.fetch(name, device=None))) == "cuda:0"
        np.testing.assert_allclose(there[name], here[name], rtol=1e-12)


@pytest.mark.parametrize("yes", [True, False])
def test_what_a_branch_put_on_a_gpu_is_found_there(cupy, yes):
    on_gpu = Operator("Scale", ["x"], ["y"], {"scale": 2.0}, "cuda:0")
    branch = if_("yes x", "y", [on_gpu], [op("Copy", "x", "y")])
    workspace = ran([branch, op("Add", "y x", "z")], {"x": X, "yes": yes})
    np.testing.assert_array_equal(workspace["z"], 3 * X if yes else 2 * X)
