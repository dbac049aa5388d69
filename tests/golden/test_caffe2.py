"""Symbolic passes of the real Caffe2 and their runs: its own unit tests, edge cases, and random nets.

Equal to it where it is right, the true gradient where it is wrong, an error of the right kind where there is none.
Cases run here that use operator types that gradviz has.
"""

import msgspec
import numpy as np
import pytest

from gradviz import GradientError, GradientSlice, Net, Workspace
from gradviz.operators import types
from tests.golden.suite import array, cases, cases_of, form, operator_types

MODEL_TYPES = {
    *("Direct", "UseInput", "UseOutput", "TwoStep", "PassThrough", "Nogradient", "NeedNone", "BadScope", "Raises"),
    *("SparseValues", "SparseBoth", "SparseTwoOps", "SparseFunHash"),
}
UNKNOWN_TYPES = {"NoSuchOp", "Nonesuch"}


SUITES = ("caffe2-core", "caffe2-run")


def selected(*expect):
    has = {known.type for known in types()} | MODEL_TYPES | UNKNOWN_TYPES
    chosen = [c for c in cases_of(*SUITES) if c["expect"] in expect and operator_types(c) <= has]
    return pytest.mark.parametrize("case", chosen, ids=[f"{c['suite']}:{c['name']}" for c in chosen])


def ys_of(case):
    ys = case["ys"]
    return 3 if isinstance(ys, dict) and "invalid" in ys else ys


def generate(case):
    net = Net.from_dict(case["net"])
    forward = len(net.ops)
    gradients = net.add_gradient_operators(ys_of(case), skip=case.get("skip", 0))
    return net, forward, gradients


def assert_true_gradients(case, net, gradients):
    """Run `net`, wherever its devices are, on the CPU."""
    net = Net(net.name, [msgspec.structs.replace(op, device=None) for op in net.ops])
    ws = Workspace()
    for name, data in {**case["inputs"], **case.get("given_gradients", {})}.items():
        ws.feed(name, array(data))
    ws.run(net)
    statistics = {name for op in net.ops if op.type == "LayerNorm" for name in op.outputs[1:]}
    for blob, data in case["true_gradients"].items():
        truth = array(data)
        if blob in statistics:
            continue  # the recorded truth counts LayerNorm's own use of them; here a gradient is what readers send back
        if blob in gradients:
            rtol, atol = (1e-8, 1e-8) if case["suite"] == "caffe2-core" else (2e-3, 1e-4)  # recorded in float32
            np.testing.assert_allclose(dense(ws, gradients[blob], truth), truth, rtol, atol, err_msg=blob)
        else:
            assert not truth.any(), f"{blob} has no gradient, and its true one is not zero"


def dense(ws, gradient, like):
    """The gradient in `ws` as one array; rows of a slice are added into zeros like `like`."""
    if not isinstance(gradient, GradientSlice):
        return ws.fetch(gradient)
    array = np.zeros_like(like)
    np.add.at(array, ws.fetch(gradient.indices), ws.fetch(gradient.values))
    return array


def as_json(gradients):
    """A gradient map in the recordings' form."""
    return {
        blob: {"indices": g.indices, "values": g.values} if isinstance(g, GradientSlice) else g
        for blob, g in gradients.items()
    }


@selected("match")
def test_generates_what_caffe2_generates(case):
    net, forward, gradients = generate(case)
    expected = [form(op) for op in case["reference"]["gradient_ops"]]
    assert [form(op) for op in net.to_dict()["ops"][forward:]] == expected
    assert as_json(gradients) == case["reference"]["grad_map"]
    if case.get("true_gradients"):
        assert_true_gradients(case, net, gradients)


@selected("right", "values")
def test_gives_the_true_gradient(case):
    if case.get("also_accept") == "error" and refusal(Net.from_dict(case["net"]), case):
        return
    net, _, gradients = generate(case)
    assert_true_gradients(case, net, gradients)


@selected("error")
def test_refuses_with_the_right_kind(case):
    net = Net.from_dict(case["net"])
    before = net.to_dict()
    refused = refusal(net, case)
    if refused is None:
        assert case.get("also_accept") == "right", "accepted"
        assert_true_gradients(case, *generate(case)[::2])
        return
    assert refused.kind in case.get("error_kinds", [case["error_kind"]])
    assert refused.explain().startswith(refused.message)
    assert net.to_dict() == before


def refusal(net, case):
    """The error that asking `net` for its gradients raises, None where it raises none."""
    try:
        net.add_gradient_operators(ys_of(case), skip=case.get("skip", 0))
    except GradientError as error:
        return error
    return None


def named(name):
    (case,) = [case for case in cases("caffe2-run") if case["name"] == name]
    return case


def test_a_shape_that_was_overwritten_is_refused_and_to_ssa_gives_the_true_gradient():
    case = named("random.157")
    net = Net.from_dict(case["net"])
    with pytest.raises(GradientError, match="to_ssa") as caught:
        net.add_gradient_operators(case["ys"])
    assert caught.value.kind == "version_overwritten"
    apart = net.to_ssa()
    assert_true_gradients(case, apart, apart.add_gradient_operators(case["ys"]))


def test_zeros_for_y_let_the_mean_of_layer_norm_be_differentiated_alone():
    net, ws = Net(), Workspace()
    net.LayerNorm("x", ["y", "mean", "std"])
    with pytest.raises(GradientError, match="needs the gradient of y") as caught:
        net.add_gradient_operators({"mean": "dmean"})
    assert "zeros" in caught.value.explain()
    gradients = net.add_gradient_operators({"mean": "dmean", "y": "zeros"})
    ws.feed("x", np.arange(6.0).reshape(2, 3))
    ws.feed("dmean", np.array([[3.0], [6.0]]))
    ws.feed("zeros", np.zeros((2, 3)))
    ws.run(net)
    np.testing.assert_allclose(ws.fetch(gradients["x"]), [[1, 1, 1], [2, 2, 2]])


def test_the_selection_covers_most_of_the_suites():
    counts = {expect: len(selected(expect).args[1]) for expect in ("match", "error", "right")}
    assert counts["match"] >= 300
    assert counts["error"] >= 90
    assert counts["right"] >= 20
