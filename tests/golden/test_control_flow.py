"""Do, If and While of the real Caffe2: the same gradient nets where it is right, the true gradients everywhere."""

import numpy as np
import pytest

from gradviz import GradientError, Net, Workspace
from tests.golden.suite import array, cases_of


def selected(*expect):
    chosen = [case for case in cases_of("caffe2-control") if case["expect"] in expect]
    return pytest.mark.parametrize("case", chosen, ids=[case["name"] for case in chosen])


def structure(op):
    """An operator with its nested nets, whose names do not matter."""
    args = {
        name: [structure(nested) for nested in value["ops"]] if isinstance(value, dict) and "ops" in value else value
        for name, value in op.get("args", {}).items()
    }
    return op["type"], op["inputs"], op["outputs"], args, op.get("is_gradient", False)


def assert_true_gradients(case, net, gradients):
    ws = Workspace()
    for name, data in {**case["inputs"], **case.get("given_gradients", {})}.items():
        value = array(data)
        ws.feed(name, value.astype(np.float64) if value.dtype.kind == "f" else value)
    ws.run(net)
    for blob, data in case["true_gradients"].items():
        truth = array(data)
        if blob in gradients:
            np.testing.assert_allclose(ws.fetch(gradients[blob]), truth, 1e-6, 1e-7, err_msg=blob)
        else:
            assert not truth.any(), f"{blob} has no gradient, and its true one is not zero"


@selected("match")
def test_generates_what_caffe2_generates(case):
    net = Net.from_dict(case["net"])
    forward = len(net.ops)
    gradients = net.add_gradient_operators(case["ys"])
    made = [structure(op) for op in net.to_dict()["ops"][forward:]]
    assert made == [structure(op) for op in case["reference"]["gradient_ops"]]
    assert gradients == case["reference"]["grad_map"]
    assert_true_gradients(case, net, gradients)


@selected("right", "values")
def test_gives_the_true_gradient_or_refuses_where_to_ssa_gives_it(case):
    net = Net.from_dict(case["net"])
    if (refused := refusal(net, case["ys"])) is not None:
        assert case.get("also_accept") == "error"
        assert refused.kind == "version_overwritten"
        net = net.to_ssa()
        assert_true_gradients(case, net, net.add_gradient_operators(case["ys"]))
        return
    net = Net.from_dict(case["net"])
    assert_true_gradients(case, net, net.add_gradient_operators(case["ys"]))


@selected("error")
def test_gives_the_true_gradient_where_there_is_one_and_else_refuses_with_the_right_kind(case):
    net = Net.from_dict(case["net"])
    before = net.to_dict()
    refused = refusal(net, case["ys"])
    if refused is None:
        assert case.get("also_accept") == "right", "accepted"
        net = Net.from_dict(case["net"])
        assert_true_gradients(case, net, net.add_gradient_operators(case["ys"]))
        return
    assert refused.kind in case.get("error_kinds", [case["error_kind"]])
    assert refused.ways_out
    assert net.to_dict() == before


def refusal(net, ys):
    """The error that asking `net` for its gradients raises, None where it raises none."""
    try:
        net.add_gradient_operators(ys)
    except GradientError as error:
        return error
    return None
