"""Gradients of Do, If and While: true where nets share names, shapes and stacks, or refused with a way out."""

import numpy as np
import pytest

from gradviz import IR, GradientError, Net, Operator, Workspace
from gradviz.program.net import MAX_DEPTH
from tests.handwritten import assert_true_gradients, counted, do, if_, net, op, ran, scope

X, W, A = np.array([0.3, 0.7, -0.4]), np.array([0.5, -0.2, 0.9]), np.array([-0.6, 0.1, 0.8])
BOTH = pytest.mark.parametrize("yes", [True, False])
ROUNDS = pytest.mark.parametrize("n", [0, 1, 3])


def refusal(operators, ys):
    net = Net("refused", operators)
    before = net.to_dict()
    with pytest.raises(GradientError) as caught:
        net.add_gradient_operators(ys)
    assert net.to_dict() == before
    assert caught.value.ways_out
    return caught.value


# Names


@BOTH
def test_a_sum_around_a_branch_takes_no_name_that_a_sum_in_it_uses(yes):
    branch = if_(
        "yes x",
        "t z",
        [op("Tanh", "x", "t"), op("Mul", "t x", "z")],
        [op("Copy", "x", "t"), op("Sin", "x", "z")],
    )
    assert_true_gradients([branch, op("Mul", "z x", "y")], ["y"], x=X, yes=yes)


@BOTH
def test_gradients_that_have_each_others_names_leave_a_branch_as_if_all_at_once(yes):
    branch = if_(
        "yes u x w",
        "p u z",
        [op("Scale", "u", "p", scale=3.0), op("Sum", "x w", "u"), op("Add", "u p", "z")],
        [op("Scale", "u", "p", scale=2.0), op("Sum", "x w", "u"), op("Add", "u p", "z")],
    )
    assert_true_gradients([op("Scale", "a", "u", scale=5.0), branch], ["z"], x=X, w=W, a=A, yes=yes)


@BOTH
def test_a_given_gradient_may_have_the_name_of_a_result(yes):
    branch = if_("yes x w", "z", [op("Mul", "x w", "z")], [op("Tanh", "x", "z")])
    assert_true_gradients([branch], {"z": "x_grad"}, x=X, w=W, x_grad=A, yes=yes)


@ROUNDS
def test_blobs_of_the_user_may_have_the_names_of_gradients(n):
    loop = counted("x_grad x", "x", op("Mul", "x x_grad", "x"), op("Tanh", "x", "x"))
    assert_true_gradients([op("Scale", "x", "x_grad", scale=2.0), *loop], ["x"], x=X, n=n)


def test_a_blob_of_a_do_may_be_given_as_a_gradient():
    assert_true_gradients([scope(), do("x w", "y", op("Mul", "x w", "y"))], {"y": "x"}, x=X, w=W)


@BOTH
def test_one_gradient_at_two_outputs_is_copied(yes):
    branch = [op("Tanh", "x", "p"), op("Sin", "x", "q")]
    operators = [scope(), if_("yes x ws", "p q ws", [do("x", "p q", *branch)], branch), op("Sum", "p q", "y")]
    assert_true_gradients(operators, ["y"], x=X, yes=yes)
    net = Net("n", operators)
    net.add_gradient_operators(["y"])
    assert [str(made) for made in net.ops if made.type == "Copy"] == ["q_y_autogen_grad_DEDUP = Copy(y_autogen_grad)"]


# What is read without being listed, and what may stay as it is


def test_a_do_reads_an_output_that_it_does_not_list_as_an_input():
    double = do("", "z", op("Scale", "z", "z", scale=2.0))
    assert_true_gradients([op("Negative", "x", "z"), scope(), double], ["z"], x=X)


def test_a_do_in_a_do_does_so_too():
    inner = do("x", "z", op("Mul", "x z", "z"), scope="inner")
    assert_true_gradients([scope(), do("x", "z", scope("inner"), inner)], ["z"], x=X, z=W)


@BOTH
def test_an_if_does_so_too(yes):
    branch = if_("yes", "z", [op("Scale", "z", "z", scale=2.0)], [op("Negative", "z", "z")])
    assert_true_gradients([branch], ["z"], z=X, yes=yes)


@BOTH
def test_what_a_branch_leaves_as_it_is_comes_from_outside(yes):
    assert_true_gradients([if_("yes x", "z", [op("Scale", "x", "z", scale=2.0)])], ["z"], x=X, z=W, yes=yes)


@BOTH
def test_a_do_in_a_branch_keeps_what_is_overwritten_behind_the_if(yes):
    then, otherwise = do("x w", "z", op("Mul", "x w", "z")), do("x", "z", op("Sin", "x", "z"))
    operators = [scope(), if_("yes x w ws", "z ws", [then], [otherwise]), op("Tanh", "w", "x"), op("Mul", "z x", "y")]
    assert_true_gradients(operators, ["y"], x=X, w=W, yes=yes)


def test_an_overwritten_condition_is_refused():
    branch = if_("yes x", "z", [op("Scale", "x", "z", scale=2.0)])
    error = refusal([branch, op("Not", "yes", "yes")], ["z"])
    assert (error.kind, error.operator_index, error.blobs) == ("version_overwritten", 0, ("yes",))


# In place


IN_PLACE = {
    "Swish": ("h", {"x": [1.0]}, [0.92767051]),
    "Div": ("one h", {"x": [2.0], "one": [1.0]}, [-0.25]),
    "Max": ("h w", {"x": [1.0, 5.0], "w": [2.0, 2.0]}, [0.0, 1.0]),
    "LayerNorm": ("h", {"x": [[1.0, 2.0, 4.0]]}, [[0.0, 0.0, 0.0]]),
}


@pytest.mark.parametrize("type", IN_PLACE)
@pytest.mark.parametrize("block", ["Do", "If", "While"])
def test_a_gradient_in_a_block_reads_what_was_overwritten_and_what_overwrote_it(type, block):
    reads, feeds, expected = IN_PLACE[type]
    forward = Net(type)
    forward.Copy("x", "h")
    forward.ConstantFill([], "go", value=True, dtype="bool")
    with {"Do": forward.Do, "If": lambda: forward.If("go"), "While": lambda: forward.While("go")}[block]():
        forward.add(type, reads.split(), ["h", "mean", "std"] if type == "LayerNorm" else "h")
        forward.Not("go", "go")
    for form in (forward, forward.to_ssa()):
        if form is forward and block == "If":
            continue  # its condition is overwritten
        gradients = form.add_gradient_operators(["h"])
        np.testing.assert_allclose(ran(form.ops, feeds)[gradients["x"]], expected, atol=1e-8)


def test_a_condition_that_its_own_branch_overwrites_is_refused_and_to_ssa_is_a_way_out():
    forward = [
        op("Copy", "given", "c"),
        if_("c x", "c y", [op("Sqr", "x", "y"), op("Not", "c", "c")], [op("Sin", "x", "y")]),
    ]
    error = refusal(forward, ["y"])
    assert (error.kind, error.blobs) == ("version_overwritten", ("c",))
    assert_true_gradients(Net("apart", forward).to_ssa().ops, ["y"], x=X, given=True)


def test_a_shape_that_only_a_bare_branch_overwrites_is_refused_and_to_ssa_is_a_way_out():
    forward = [op("Scale", "x", "h", scale=2.0), if_("yes h z", "h", [op("SumElements", "z", "h")])]
    error = refusal(forward, ["h"])
    assert (error.kind, error.blobs) == ("version_overwritten", ("h",))
    assert "to_ssa" in error.ways_out[-1]
    for yes in (True, False):
        assert_true_gradients(Net("apart", forward).to_ssa().ops, ["h"], x=X, z=W, yes=yes)


# Shapes


@BOTH
@pytest.mark.parametrize("kind", ["SumElements", "ConstantFill"])
def test_zeros_for_what_a_block_overwrites_with_another_shape_have_its_old_shape(yes, kind):
    forward = Net("other shape")
    forward.Scale("x", "h", scale=2.0)
    with forward.If("yes"):
        if kind == "SumElements":
            forward.SumElements("z", "h")
        else:
            forward.ConstantFill([], "h", shape=[2, 5], value=3.0, dtype="float64")
    assert_true_gradients(forward.ops, ["h"], x=X, z=np.ones((2, 2)), yes=yes)


@BOTH
def test_a_branch_that_is_not_taken_need_not_fit_the_gradient_that_arrives(yes):
    forward = Net("sizes")
    forward.Copy("x", "h")
    with forward.If("yes"):
        forward.Sqr("z", "h")
    given = np.arange(6.0).reshape(2, 3) if yes else np.arange(4.0)
    assert_true_gradients(forward.ops, {"h": "given"}, x=np.ones(4), z=np.ones((2, 3)), given=given, yes=yes)


@BOTH
def test_zeros_for_what_a_branch_overwrites_have_its_old_shape(yes):
    inside = [op("Copy", "a", "z"), if_("yes x", "z", [op("Copy", "x", "z")]), op("SumElements", "z", "y")]
    assert_true_gradients([scope(), do("a x yes", "y", *inside)], ["y"], a=np.ones(5), x=X, yes=yes)


@ROUNDS
def test_shapes_may_grow_from_round_to_round(n):
    body = [op("Concat", "x x", "twice sizes", axis=0), op("Tanh", "twice", "x"), op("Sin", "x", "z")]
    operators = [op("Copy", "a", "z"), *counted("x", "x z", *body), op("SumElements", "z", "y")]
    assert_true_gradients(operators, ["y"], x=X, a=A, n=n)


# Loops


@ROUNDS
def test_gradients_are_added_up_before_they_are_handed_on(n):
    loop = counted("x k w", "x", op("Mul", "x k", "t"), op("Sum", "t w", "x"))
    assert_true_gradients(loop, ["x"], x=X, k=A, w=W, n=n)


@ROUNDS
def test_carried_blobs_may_change_places(n):
    loop = counted("x w", "x w", op("Copy", "x", "t"), op("Sum", "w w", "x"), op("Sum", "t", "w"))
    assert_true_gradients([*loop, op("Mul", "x w", "y")], ["y"], x=X, w=W, n=n)


@ROUNDS
def test_a_carried_blob_may_only_be_written(n):
    loop = counted("x k", "x z", op("Tanh", "x", "z"), op("Mul", "x k", "x"))
    assert_true_gradients([op("Sin", "a", "z"), *loop, op("Mul", "x z", "y")], ["y"], x=X, k=W, a=A, n=n)


@ROUNDS
def test_integers_that_every_round_reads_have_no_part_in_the_sums(n):
    loop = counted("x k", "x", op("Cast", "k", "float", to="float64"), op("Mul", "x float", "x"))
    assert_true_gradients(loop, ["x"], x=X, k=np.array([2, 3, 4]), n=n)


@ROUNDS
def test_loops_in_branches_in_loops(n):
    inner = counted("x w", "x", op("Mul", "x w", "t"), op("Sin", "t", "x"), scope="inner")
    body = [
        op("SumElements", "x", "total"),
        op("LT", "total half", "small"),
        scope("outer"),
        if_("small x w two outer", "x outer", [do("x w n=two", "x", *inner, scope="outer")], [op("Tanh", "x", "x")]),
    ]
    assert_true_gradients(counted("x w half two", "x", *body), ["x"], x=X, w=W, half=0.5, two=2, n=n)


def test_what_the_net_of_a_condition_computes_has_no_way_back():
    ask = [op("Sqr", "x", "square"), op("LT", "i n", "go")]
    operators = counted("x square", "x", op("Mul", "x square", "x"))
    loop = operators.pop()
    loop = Operator("While", loop.inputs, [*loop.outputs, "square"], {**loop.args, "cond_net": net(*ask)})
    for ys in (["x"], ["square"]):
        error = refusal([op("Copy", "x", "square"), *operators, loop], ys)
        assert error.kind == "control_flow_structure"
        assert error.blobs == ("square",)
        assert "computes square in the net of its condition" in error.message


def test_a_body_that_keeps_nothing_is_refused():
    error = refusal([op("While", "go x", "x", loop_net=net(op("Tanh", "x", "x")))], ["x"])
    assert error.kind == "control_flow_structure"
    assert "no single Do" in error.message


# Stacks of workspaces


def test_a_stack_may_be_bound_into_a_do():
    inner = do("x", "a", op("Tanh", "x", "u"), op("Mul", "u x", "a"), scope="stack")
    first = do("x", "b", op("Sin", "x", "v"), op("Mul", "v x", "b"), scope="kept")
    assert_true_gradients([scope(), scope("kept"), first, do("x=b stack=kept", "a stack=kept", inner)], ["a"], x=X)


@ROUNDS
def test_a_stack_may_be_bound_into_a_loop(n):
    inner = do("x", "x", op("Tanh", "x", "u"), op("Mul", "u x", "x"), scope="stack")
    first = do("a", "b", op("Sin", "a", "v"), op("Mul", "v a", "b"), scope="kept")
    loop = counted("x=b stack=kept", "x=b stack=kept", inner)
    assert_true_gradients([scope("kept"), first, *loop], ["b"], a=X, n=n)


@ROUNDS
def test_a_condition_may_use_the_stack_of_its_loop(n):
    *before, loop = counted("x", "x", op("Tanh", "x", "x"))
    ask = do("i n", "go", op("LT", "i n", "go"))
    loop = Operator("While", loop.inputs, loop.outputs, {**loop.args, "cond_net": net(ask)})
    first = do("a", "x", op("Sin", "a", "v"), op("Mul", "v a", "x"))
    assert_true_gradients([*before[:3], first, before[3], loop], ["x"], a=X, n=n)


def test_a_workspace_above_that_no_gradient_takes_is_refused():
    first = do("x", "a", op("Tanh", "x", "u"), op("Mul", "u x", "a"))
    constant = do("x", "b", op("ConstantFill", "x", "b", value=2.0))
    for later in (constant, if_("yes x ws", "b ws", [constant], [op("Copy", "x", "b")])):
        error = refusal([scope(), first, later, op("Mul", "a b", "y")], ["y"])
        assert (error.kind, error.operator_index, error.blobs) == ("control_flow_structure", 1, ("ws",))
        assert "operator #2 puts its own on the same stack" in error.message


def test_a_workspace_that_a_round_leaves_above_that_of_the_one_before_is_refused():
    taken = do("x", "x", op("Tanh", "x", "u"), op("Mul", "u x", "x"), scope="stack")
    left = do("x", "c", op("ConstantFill", "x", "c"), scope="stack")
    branch = if_("yes x stack", "x c stack", [taken], [left])
    error = refusal([scope("kept"), *counted("x yes stack=kept", "x stack=kept", branch)], ["x"])
    assert (error.kind, error.blobs) == ("control_flow_structure", ("kept",))


def test_a_stack_that_is_made_anew_is_refused():
    first = do("x", "a", op("Tanh", "x", "u"), op("Mul", "u x", "a"))
    second = do("a", "b", op("Sin", "a", "b"))
    error = refusal([scope(), first, scope(), second], ["b"])
    assert (error.kind, error.operator_index, error.blobs) == ("version_overwritten", 1, ("ws",))


def test_a_gradient_that_ends_in_a_workspace_at_a_constant_needs_no_way_through_it():
    fill = do("", "", op("ConstantFill", "", "c", shape=[3], value=2.0, dtype="float64"))
    use = do("x", "y", op("Mul", "x c", "y"), reuse_workspace=1)
    assert_true_gradients([scope(), fill, use], ["y"], x=X)
    again = do("", "", op("Sqr", "c", "c"), reuse_workspace=1)
    assert refusal([scope(), fill, again, use], ["y"]).blobs == ("c",)


def test_a_gradient_finds_its_way_through_a_workspace_only_where_it_is_bound():
    first = do("x", "a", op("Tanh", "x", "u"), op("Mul", "u x", "a"))
    error = refusal([scope(), first, do("", "b", op("Sin", "u", "b"), reuse_workspace=1)], ["b"])
    assert (error.kind, error.operator_index, error.blobs) == ("control_flow_structure", 2, ("u",))
    assert_true_gradients([scope(), first, do("a", "b", op("Mul", "a a", "b"), reuse_workspace=1)], ["b"], x=X)


# Sparse gradients, and where gradients end


@BOTH
def test_sparse_gradients_become_dense_inside(yes):
    read = op("Gather", "table rows", "y")
    table, rows = np.arange(15.0).reshape(5, 3), np.array([4, 1, 4])
    assert_true_gradients([scope(), do("table rows", "y", read)], ["y"], table=table, rows=rows)
    branch = if_("yes table rows x", "y", [read], [op("Mul", "x x", "y")])
    assert_true_gradients([branch], ["y"], table=table, rows=rows, x=np.ones((3, 3)), yes=yes)
    loop = counted("table rows s", "s", op("Gather", "table rows", "y"), op("Mul", "s y", "s"))
    assert_true_gradients(loop, ["s"], table=table, rows=rows, s=np.ones((3, 3)), n=2)


def test_a_sparse_gradient_has_the_shape_of_the_version_it_is_of():
    inside = [
        scope("inner"),
        do("x", "z", op("Mul", "x x", "z"), scope="inner"),
        op("Gather", "z rows", "few"),
        op("Copy", "few", "z"),
        op("SumElements", "z", "y"),
    ]
    x, rows = np.arange(6.0).reshape(3, 2), [0, 2, 2, 1]
    assert_true_gradients([scope(), do("x rows", "y", *inside)], ["y"], x=x, rows=rows)


def test_a_sparse_gradient_of_an_in_place_operator_can_be_written_to_json():
    net = Net("n", [op("Gather", "t rows", "t"), op("Tanh", "t", "y")])
    gradients = net.add_gradient_operators(["y"])
    assert Net.from_json(net.to_json()).ops == net.ops
    assert type(gradients["t"].values) is str


@BOTH
def test_stops_and_constants_inside_end_gradients(yes):
    branch = if_(
        "yes x w",
        "s z",
        [op("StopGradient", "x", "s"), op("Mul", "s w", "z")],
        [op("ConstantFill", "x", "s", value=2.0), op("Mul", "s w", "z")],
    )
    ir = IR([branch])
    _, gradients = ir.get_backward_pass(["z"])
    assert "x" not in gradients
    workspace = ran([branch, *ir.gradient_ops], {"x": X, "w": W, "yes": yes})
    np.testing.assert_array_equal(workspace[gradients["w"]], X if yes else np.full(3, 2.0, "f4"))


def test_a_missing_rule_inside_is_told_with_the_way_there():
    branch = if_("yes x ws", "y ws", [do("x", "y", op("Floor", "x", "f"), op("Tanh", "f", "y"))])
    error = refusal([scope(), branch], ["y"])
    assert error.kind == "no_gradient_rule"
    assert error.message.startswith("In the then_net of operator #1 If: In the net of operator #0 Do: There is no")


# Requests that cannot be met


def test_a_second_pass_finds_the_workspace_taken():
    net = Net("n", [scope(), do("x", "a", op("Mul", "x x", "a"))])
    net.add_gradient_operators(["a"])
    error = refusal(net.ops, ["a"])
    assert "is part of a backward pass made before" in error.message
    error = refusal(net.ops, ["x_grad"])
    assert "is part of a backward pass" in error.message
    loop = Net("n", counted("x", "x", op("Mul", "x x", "x")))
    loop.add_gradient_operators(["x"])
    assert refusal(loop.ops, ["x_grad"]).kind == "control_flow_structure"


def test_a_blob_that_is_local_to_a_do_is_no_y():
    error = refusal([scope(), do("x", "y", op("Tanh", "x", "t"), op("Mul", "t t", "y"))], ["t"])
    assert error.kind == "bad_ys"
    assert error.ways_out[0].startswith("t is local to the net 1.net")


def test_a_scope_is_no_y():
    assert refusal([scope(), do("x", "y", op("Tanh", "x", "y"))], ["ws"]).kind == "bad_ys"


def test_nets_nested_too_deep_are_refused():
    inside = op("Tanh", "x", "y")
    for _ in range(MAX_DEPTH + 1):
        inside = if_("yes x", "y", [inside], [op("Copy", "x", "y")])
    with pytest.raises(GradientError, match=f"nests nets more than {MAX_DEPTH} deep"):
        IR([inside])
    (deepest,) = inside.args["then_net"].ops
    assert_true_gradients([deepest], ["y"], x=X, yes=True)
    endless = net()
    endless.ops.append(op("If", "yes x", "y", then_net=endless))
    assert refusal_of_itself(endless).kind == "control_flow_structure"


def refusal_of_itself(endless):
    with pytest.raises(GradientError) as caught:
        IR(endless.ops)
    return caught.value


# What is made


@ROUNDS
def test_the_backward_net_runs_from_json_and_apart_from_the_forward_net(n):
    forward = counted("x w", "x", op("Mul", "x w", "t"), op("Tanh", "t", "x"))
    net = Net("both", forward)
    gradients = net.add_gradient_operators(["x"])
    at_once = ran(net.ops, {"x": X, "w": W, "n": n})
    apart = Workspace()
    for name, value in {"x": X, "w": W, "n": n}.items():
        apart.feed(name, value)
    for part in (net.ops[: len(forward)], net.ops[len(forward) :]):
        apart.run(Net.from_json(Net("part", part).to_json()))
    for name in ("x", "w"):
        np.testing.assert_array_equal(apart[gradients[name]], at_once[gradients[name]])


def test_gradients_of_control_flow_are_marked_and_stay_on_the_device():
    forward = [op("CreateScope", "", "ws"), do("x", "y", op("Tanh", "x", "y"))]
    net = Net("n")
    net.CreateScope([], "ws")
    net.add("Do", forward[1].inputs, forward[1].outputs, device="cuda:0", **forward[1].args)
    net.add_gradient_operators(["y"])
    assert net.ops[-1].is_gradient
    assert net.ops[-1].device == net.ops[1].device


def test_a_fault_inside_is_told_after_what_happened_there():
    events = IR([scope(), do("x", "y", op("Floor", "x", "f"), op("Tanh", "f", "y"))]).backward_events(["y"])
    told = []
    with pytest.raises(GradientError):
        told.extend((event.kind, event.path) for event in events)
    assert ("EnteredSubnet", ()) in told
    assert told[-1] == ("Visited", ("1.net",))
