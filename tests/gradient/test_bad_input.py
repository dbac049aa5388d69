"""Bad input of the symbolic pass: every fault says what, where and the way out, and the net stays as it was."""

import re

import numpy as np
import pytest

from gradviz import (
    GradientError,
    GradientSlice,
    Net,
    Operator,
    RunError,
    debug,
    immediate,
    register_gradient,
    register_kernel,
)
from tests.gradient.own_operator import X, failed, fed, own_gradient, own_net


def own_in_place():
    net = Net("in place")
    net.Copy("x", "t")
    net.Own("t", "t")
    return net


def test_a_rule_of_an_operator_in_place_that_reads_a_plain_name_is_refused(own_types):
    own_gradient(np.negative)

    def rule(read):
        return lambda op, g: (Operator("Mul", [read(op), g[0]], [f"{op.inputs[0]}_grad"]), [f"{op.inputs[0]}_grad"])

    for forgetting in (lambda op: str(op.inputs[0]), lambda op: f"{op.outputs[0]}"):
        register_gradient("Own")(rule(forgetting))
        error = refused(own_in_place(), ["t"])
        assert (error.kind, error.operator_index, error.blobs) == ("rule_failed", 1, ("t",))
        assert "op.inputs, op.outputs or g_output as it is" in error.ways_out[0]
        apart = own_in_place().to_ssa()
        assert "x" in apart.add_gradient_operators(["t"])
    register_gradient("Own")(rule(lambda op: op.outputs[0]))
    assert "x" in own_in_place().add_gradient_operators(["t"])
    register_gradient("Own")(rule(lambda op: op.inputs[0]))
    assert refused(own_in_place(), ["t"]).kind == "version_overwritten"


def refused(net, ys, error=GradientError):
    """The error that asking for gradients raises; the net is as it was before."""
    before = net.to_dict()
    with pytest.raises(error) as caught:
        net.add_gradient_operators(ys)
    assert net.to_dict() == before
    assert caught.value.ways_out
    return caught.value


# What a rule answers


def writing(output, type="Copy"):
    """A rule whose one operator writes `output`."""
    return lambda op, g: (Operator(type, [g[0]], [output]), [output])


RULES = {
    "raises": (lambda op, g: 1 / 0, "ZeroDivisionError"),
    "makes no operator": (lambda op, g: (Operator("Copy", None, ["x_grad"]), ["x_grad"]), "neither a blob name"),
    "returns a number for operators": (lambda op, g: (3, ["x_grad"]), "returned 3 as its operators"),
    "returns a number for gradients": (lambda op, g: ([], 3), "returned 3 as the gradients"),
    "returns a mapping of gradients": (lambda op, g: ([], {"x": "x_grad"}), "as the gradients"),
    "writes markup": (writing("x grad<b>"), "'x grad<b>' cannot be a name"),
    "writes a line break": (writing("x_grad\n"), "cannot be a name"),
    "writes an endless name": (writing("x" * 600), "(600 characters)"),
    "writes a number": (writing(3), "3 cannot be a name"),
    "writes nothing": (writing(None), "None cannot be a name"),
    "has an odd type": (writing("x_grad", type="Co py"), "'Co py' cannot be a name"),
    "has no type": (writing("x_grad", type=None), "None cannot be a name"),
    "returns no pair": (lambda op, g: "x_grad", "instead of"),
    "returns nothing": (lambda op, g: None, "instead of"),
    "returns too many gradients": (lambda op, g: ([], [g[0], g[0]]), "2 gradients for 1 inputs"),
    "returns too few gradients": (lambda op, g: ([], []), "0 gradients for 1 inputs"),
    "returns an odd gradient": (lambda op, g: ([], [3]), "as a gradient"),
    "returns an odd operator": (lambda op, g: (["Tanh"], [None]), "among its operators"),
    "reads what is not there": (lambda op, g: (Operator("Copy", ["nowhere"], ["x_grad"]), ["x_grad"]), "nowhere"),
    "reads what is no name": (lambda op, g: (Operator("Copy", [3], ["x_grad"]), ["x_grad"]), "speaks of 3"),
    "names what is not there": (lambda op, g: ([], ["nowhere"]), "nowhere"),
    "names its input": (lambda op, g: ([], ["x"]), "speaks of 'x'"),
    "names rows that are not there": (lambda op, g: ([], [GradientSlice("nowhere", g[0])]), "nowhere"),
    "names no rows": (lambda op, g: ([], [GradientSlice(None, g[0])]), "speaks of None"),
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_that_fails_is_named_with_its_operator_and_line(own_types, name):
    rule, says = RULES[name]
    register_gradient("Own")(rule)
    error = refused(own_net(), ["z"])
    assert (error.kind, error.operator_index) == ("rule_failed", 1)
    assert says in error.message
    assert "operator #1 y = Own(x)" in error.message
    assert re.search(r"\(tests/gradient/test_bad_input.py:\d+\)", error.message)
    assert "Ways out" in debug(own_net(), ["z"]).finish().explanation


def test_an_error_of_ours_that_a_rule_raises_keeps_what_it_says(own_types):
    def rule(op, g):
        raise GradientError("No.", kind="missing_output_gradient", blobs=["b"], ways_out=["Do so."])

    register_gradient("Own")(rule)
    error = refused(own_net(), ["z"])
    assert (error.kind, error.operator_index) == ("missing_output_gradient", 1)
    assert (error.blobs, error.ways_out) == (("b",), ("Do so.",))
    assert "refused (No.)" in error.message


def test_a_rule_that_fails_in_immediate_mode_leaves_the_net_as_it_was(own_types):
    register_kernel("Own")(lambda op, x: 2 * x)
    register_gradient("Own")(lambda op, g: 1 / 0)
    with immediate(fed()):
        refused(own_net(), ["z"])


# Names in cycles


def run_with_gradient(build, y, x=X):
    """The gradient of the sum of `y` with respect to x, and the true one by central differences."""

    def forward(value):
        net, ws = Net(), fed(x=value)
        build(net)
        ws.run(net)
        return ws[y].astype(np.float64).sum()

    x = x.astype(np.float64)
    net, ws = Net(), fed(x=x)
    build(net)
    gradients = net.add_gradient_operators([y])
    ws.run(net)
    truth = np.empty_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-6
        truth[place] = (forward(x + step) - forward(x - step)) / 2e-6
    return ws[gradients["x"]], truth


def cycle_of_aliases(net):
    net.Alias("x", "b")
    net.Alias("b", "x")
    net.Alias("x", "b")
    net.Mul(["b", "b"], "y")


def alias_of_itself(net):
    net.Alias("x", "x")
    net.Alias("x", "x")
    net.Sum(["x", "x"], "y")


def names_of_gradients(net):
    net.Tanh("x", "x_grad")
    net.Sigmoid("x_grad", "x_grad_grad")
    net.Tanh("x_grad_grad", "y")


def names_of_gradients_in_a_cycle(net):
    net.Tanh("x", "y_grad")
    net.Sigmoid("y_grad", "x_grad")
    net.Tanh("x_grad", "y")


def names_of_seeds(net):
    net.Tanh("x", "y_grad")
    net.Sigmoid("y_grad", "y_autogen_grad")
    net.Mul(["y_autogen_grad", "y_grad"], "y")


@pytest.mark.parametrize(
    "build", [cycle_of_aliases, alias_of_itself, names_of_gradients, names_of_gradients_in_a_cycle, names_of_seeds]
)
def test_names_in_cycles_have_right_gradients(build):
    computed, truth = run_with_gradient(build, "y")
    np.testing.assert_allclose(computed, truth, atol=1e-6)


def test_gradients_that_a_rule_passes_in_a_cycle_come_out_right(own_types):
    register_kernel("Swap")(lambda op, a, b: (b.copy(), a.copy()))
    register_gradient("Swap")(lambda op, g: ([], [g[1], g[0]]))
    net = Net()
    net.Scale("x", "a", scale=2.0)
    net.Scale("x", "a_grad", scale=3.0)
    for _ in range(3):
        net.add("Swap", ["a", "a_grad"], ["a", "a_grad"])
    gradients = net.add_gradient_operators({"a": None, "a_grad": "a"})
    ws = fed(x=X)
    ws.run(net)
    np.testing.assert_allclose(ws["a"], 3 * X)
    np.testing.assert_allclose(ws[gradients["x"]], 3 + 2 * ws["a"])


def test_given_gradients_whose_names_are_crossed_come_out_right():
    net = Net()
    net.Tanh("x", "a")
    net.Sigmoid("x", "b")
    gradients = net.add_gradient_operators({"a": "b_grad", "b": "a_grad"})
    ws = fed(x=X, b_grad=np.full_like(X, 2), a_grad=np.full_like(X, 3))
    ws.run(net)
    a, b = np.tanh(X), 1 / (1 + np.exp(-X))
    np.testing.assert_allclose(ws[gradients["x"]], 2 * (1 - a * a) + 3 * b * (1 - b), rtol=1e-6)


# Numbers that name no row


def table(rows):
    return np.arange(2.0 * rows).reshape(rows, 2)


INDEXED = {
    "Gather": ["table", "at"],
    "BatchGather": ["wide", "at"],
    "OneHot": ["at", "size"],
    "ScatterAssign": ["table", "at", "rows"],
    "SparseToDense": ["at", "rows", "table"],
    "SparseLengthsSum": ["table", "at", "lengths"],
    "SparseLengthsMean": ["table", "at", "lengths"],
    "SparseLengthsWeightedSum": ["table", "weights", "at", "lengths"],
    "UnsortedSegmentSum": ["rows", "at"],
    "UnsortedSegmentMean": ["rows", "at"],
    "SparseUnsortedSegmentMean": ["table", "at", "zeros"],
    "SparseSortedSegmentSum": ["table", "at", "zeros"],
}


@pytest.mark.parametrize("index", [4, -1])
@pytest.mark.parametrize("type", INDEXED)
def test_an_index_out_of_range_is_named_with_its_blob_position_and_range(type, index):
    blobs = {"table": table(4), "wide": table(2).reshape(1, 4), "rows": table(3), "weights": np.ones(3), "size": 4}
    ws = fed(at=[3, index, 0], lengths=[3], zeros=[0, 0, 0], **blobs)
    net = Net()
    net.Tanh("w", "x")
    net.add(type, INDEXED[type], "y", **({"num_segments": 4} if type.startswith("Unsorted") else {}))
    before = set(ws)
    with pytest.raises(RunError) as caught:
        ws.run(net)
    error = caught.value
    assert (error.kind, error.operator_index) == ("bad_value", 1)
    assert "at" in error.blobs
    assert f"Operator #1 y = {type}(" in error.message
    what = "segment id" if type.startswith("Unsorted") else "index"
    assert f"in at, {what} {index} at position 1 is none of the 4 rows, 0 to 3" in error.message
    assert "Count rows from 0 to 3." in error.ways_out
    assert set(ws) == before


def test_the_position_of_an_index_counts_every_dimension():
    net, ws = Net(), fed(table=table(4), at=np.array([[0, 1], [9, 2]]))
    net.Gather(["table", "at"], "y")
    with pytest.raises(RunError, match=r"index 9 at position \(1, 0\) is none of the 4 rows"):
        ws.run(net)


def test_an_index_out_of_range_ends_a_session_where_it_is_read():
    net = Net()
    net.Gather(["table", "at"], "y")
    event = failed(net, ["y"], fed(table=table(4), at=[0, 4]))
    assert (event.error, event.index) == ("bad_value", 0)
    assert "index 4 at position 1" in event.message


# Arity and types on the way of a gradient


def loaded(type, inputs, outputs):
    """A net as a file may hold it, which nobody checked."""
    return Net.from_dict({"name": "n", "ops": [{"type": type, "inputs": inputs, "outputs": outputs}]})


def test_an_operator_with_too_few_inputs_is_refused():
    error = refused(loaded("FC", ["x"], ["y"]), ["y"])
    assert (error.kind, error.operator_index) == ("bad_net", 0)
    assert "x, w, b" in error.message


def test_a_missing_rule_is_refused_with_how_to_add_it():
    error = refused(loaded("Sigmiod", ["x"], ["y"]), ["y"])
    assert (error.kind, error.operator_index) == ("no_gradient_rule", 0)
    assert "register_gradient" in str(error)
    assert "Did you mean Sigmoid" in str(error)


# What is differentiated


@pytest.mark.parametrize(
    ("ys", "says"),
    [
        ("z", "list of blob names or a dict"),
        (("z",), "list of blob names or a dict"),
        ({"z"}, "list of blob names or a dict"),
        (b"z", "list of blob names or a dict"),
        (3, "list of blob names or a dict"),
        (None, "list of blob names or a dict"),
        ([3], "not a blob name"),
        ([["z"]], "not a blob name"),
        ({3: "seed"}, "not a blob name"),
        (["nowhere"], "no blob nowhere"),
        (["zz"], "Did you mean z"),
        ({"z": float("nan")}, "must be the name of a blob"),
        ({"z": 1.0}, "must be the name of a blob"),
        ({"z": ["i", "v"]}, "must be the name of a blob"),
        ({"z": {"indices": "i"}}, "must be the name of a blob"),
        ({"z": ""}, "name"),
        ({"z": "a b"}, "'a b' cannot be a name"),
        ({"z": "<b>"}, "<b> cannot be a name"),
        ({"z": GradientSlice(3, "v")}, "3 cannot be a name"),
        ({"z": GradientSlice("i", "a b")}, "'a b' cannot be a name"),
        ({"z": {"indices": "i", "values": None}}, "None cannot be a name"),
    ],
    ids=str,
)
def test_bad_ys_are_refused(own_types, ys, says):
    own_gradient(np.copy)
    error = refused(own_net(), ys)
    assert error.kind == "bad_ys"
    assert says in str(error)
    with pytest.raises(GradientError):
        debug(own_net(), ys)
