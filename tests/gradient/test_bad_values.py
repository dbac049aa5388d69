"""Bad input that values tell: gradients that do not fit their blobs, made by a rule or given."""

import re

import numpy as np
import pytest

from gradviz import GradientSlice, Net, Operator, RunError, debug, register_gradient, register_kernel
from tests.gradient.own_operator import X, failed, fed, own_gradient, own_net

MISFITS = {
    "shape": (lambda dy: dy.T.copy(), "float32 (3, 2)", "it must have the shape (2, 3)"),
    "less": (lambda dy: dy.sum(axis=0), "float32 (3,)", "it must have the shape (2, 3)"),
    "wider": (lambda dy: dy.astype(np.float64), "float64 (2, 3)", "it must be float32"),
    "integers": (lambda dy: dy.astype(np.int64), "int64 (2, 3)", "it must be float32"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_gradient_that_does_not_fit_its_blob_is_the_fault_of_the_rule(own_types, name):
    made, is_, must = MISFITS[name]
    own_gradient(made)
    event = failed(own_net(), ["z"], fed())
    assert (event.error, event.index, event.blobs) == ("rule_failed", 1, ["x_grad", "x"])
    assert f"x_grad@0 ({is_})" in event.message
    assert "x@0 (float32 (2, 3))" in event.message
    assert must in event.message
    assert "operator #1 y = Own(x)" in event.message
    assert "Operator #5 x_grad@0 = OwnGradient(y_grad@0) wrote it" in event.message
    assert re.search(r"own_operator.py:\d+", event.message)


def test_the_session_ends_where_the_misfit_was_made(own_types):
    own_gradient(lambda dy: dy.T.copy())
    session = debug(own_net(), ["z"], workspace=fed())
    session.finish()
    session.back()
    assert session.event.kind == "Ran"
    assert session.event.op.type == "OwnGradient"
    assert session.value("x_grad").shape == (3, 2)


def test_a_misfit_that_shapes_tell_beforehand_is_blamed_on_the_rule_and_nothing_runs(own_types):
    register_gradient("Sin")(lambda op, g: (Operator("Transpose", [g[0]], ["x_grad"]), ["x_grad"]))
    net = Net()
    net.Tanh("w", "x")
    net.Sin("x", "y")
    event = failed(net, ["y"], fed())
    assert (event.error, event.index) == ("rule_failed", 1)
    assert "Operator #3 x_grad@0 = Transpose(y_autogen_grad@0) wrote it" in event.message
    assert not [event for event in debug(net, ["y"], workspace=fed()).events if event.kind == "Ran"]


def test_a_gradient_passed_through_to_a_blob_of_another_shape_is_found(own_types):
    register_kernel("Own")(lambda op, x: x.T.copy())
    register_gradient("Own")(lambda op, g: ([], [g[0]]))
    event = failed(own_net(), ["z"], fed())
    assert (event.error, event.index) == ("rule_failed", 1)
    assert "y_grad@0 (float32 (3, 2))" in event.message


def test_rows_that_do_not_fit_are_found(own_types):
    register_kernel("Rows")(lambda op, table, i: table[i])
    register_gradient("Rows")(
        lambda op, g: (Operator("Copy", ["i"], ["places"]), [GradientSlice("places", g[0]), None])
    )
    net = Net()
    net.add("Rows", ["table", "i"], "y")
    event = failed(net, ["y"], fed(table=X, i=np.array([0, -1])))
    assert event.error == "rule_failed"
    assert "index -1 at position 1 is none of the 2 rows, 0 to 1" in event.message


def test_where_floating_point_types_meet_gradients_may_be_wider():
    net = Net()
    net.Tanh("x", "t")
    net.Mul(["t", "k"], "y")
    session = debug(net, ["y"], workspace=fed(x=X, k=np.ones((2, 3))))
    assert session.finish().kind == "Ran"
    assert session.value("x_grad").dtype == np.float64


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (Operator("Nope", ["y_grad"], ["x_grad"]), "unknown_operator"),
        (Operator("Tanh", ["y_grad", "y_grad"], ["x_grad"]), "bad_arity"),
        (Operator("Tanh", ["y_grad"], ["x_grad", "more"]), "bad_arity"),
        (Operator("Scale", ["y_grad"], ["x_grad"], {"scale": "much"}), "bad_argument"),
    ],
    ids=str,
)
def test_a_gradient_operator_that_cannot_run_is_told_with_its_rule(own_types, made, kind):
    own_gradient(np.copy)
    register_gradient("Own")(lambda op, g: (made, ["x_grad"]))
    event = failed(own_net(), ["z"], fed())
    assert (event.error, event.index) == (kind, 5)
    assert re.search(
        r"was made by the gradient rule \(.*test_bad_values.py:\d+\) of operator #1 y = Own\(x\)", event.message
    )
    net, ws = own_net(), fed()
    net.add_gradient_operators(["z"])
    with pytest.raises(RunError) as caught:
        ws.run(net)
    assert (caught.value.kind, caught.value.operator_index) == (kind, 5)
    assert set(ws) == {"w"}


# Given gradients


@pytest.mark.parametrize(
    ("seed", "says"),
    [
        (np.ones((3, 2), np.float32), "must have the shape (2, 3)"),
        (np.ones(3, np.float32), "must have the shape (2, 3)"),
        (np.ones((2, 3), np.int64), "must be float32"),
    ],
)
def test_a_given_gradient_that_does_not_fit_is_blamed_itself(seed, says):
    net = Net()
    net.Tanh("w", "y")
    event = failed(net, {"y": "seed"}, fed(seed=seed))
    assert (event.error, event.index, event.blobs) == ("shape_mismatch", None, ["seed", "y"])
    assert "given for y@0 (float32 (2, 3))" in event.message
    assert says in event.message


def table_net():
    net = Net()
    net.Gather(["table", "i"], "y")
    return net


def rows_fed(indices, values):
    return fed(table=np.ones((5, 2)), i=np.array([0, 4]), gi=np.array(indices), gv=np.ones(values))


ROWS = GradientSlice("gi", "gv")


@pytest.mark.parametrize("ys", [{"table": ROWS, "y": None}, {"y": ROWS}, {"y": {"indices": "gi", "values": "gv"}}])
@pytest.mark.parametrize(("indices", "values"), [([0, 1, 1], (2, 2)), ([0], (2, 2)), ([0.0, 1.0], (2, 2))])
def test_a_given_slice_whose_halves_do_not_belong_together_is_refused_at_once(ys, indices, values):
    with pytest.raises(RunError) as caught:
        debug(table_net(), ys, workspace=rows_fed(indices, values))
    error = caught.value
    assert error.kind == "shape_mismatch"
    assert error.blobs[:2] == ("gi", "gv")
    assert error.ways_out


@pytest.mark.parametrize(
    ("indices", "values", "says"),
    [
        ([0, 5], (2, 2), "index 5 at position 1 is none of the 5 rows, 0 to 4"),
        ([-1, 0], (2, 2), "index -1 at position 0 is none of the 5 rows, 0 to 4"),
        ([0, 1], (2, 3), "its values must have the shape (2, 2)"),
    ],
)
def test_given_rows_that_the_blob_does_not_have_are_refused(indices, values, says):
    event = failed(table_net(), {"table": ROWS, "y": None}, rows_fed(indices, values))
    assert event.error == "shape_mismatch"
    assert event.blobs == ["gv", "gi", "table"]
    assert says in event.message


def test_running_a_net_on_a_slice_whose_halves_do_not_belong_together_is_refused():
    for ys, type in (({"y": ROWS}, "SparseToDense"), ({"table": ROWS, "y": None}, "UnsortedSegmentSum")):
        net, ws = table_net(), rows_fed([0, 1, 1], (2, 2))
        net.Tanh("y", "t")
        gradients = net.add_gradient_operators(ys | {"t": None})
        net.deduplicate_gradient_slices(gradients["table"])
        before = set(ws)
        with pytest.raises(RunError) as caught:
            ws.run(net)
        assert caught.value.kind == "shape_mismatch"
        assert net.ops[caught.value.operator_index].type == type
        assert set(ws) == before


def test_a_kernel_that_fails_on_the_way_back_is_told_with_its_rule_and_line(own_types):
    own_gradient(lambda dy: 1 / 0)
    event = failed(own_net(), ["z"], fed())
    assert (event.error, event.index) == ("kernel_failed", 5)
    assert "ZeroDivisionError" in event.message
    assert "operator #1 y = Own(x)" in event.message
    told = debug(own_net(), ["z"], workspace=fed()).trace().events[-1]
    assert (told.forward, told.lines) == (1, ["b2"])
