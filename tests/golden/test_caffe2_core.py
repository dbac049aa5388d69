"""Symbolic passes of the real Caffe2: its own unit tests, edge cases, and random nets.

Equal to it where it is right, the true gradient where it is wrong, an error of the right kind where there is none.
Cases run here that use dense gradients of operator types that gradviz has.
"""

import numpy as np
import pytest

from gradviz import GradientError, Net, Workspace
from gradviz.operators import types
from tests.golden.suite import array, cases, form, operator_types

MODEL_TYPES = {
    "Direct",
    "UseInput",
    "UseOutput",
    "TwoStep",
    "PassThrough",
    "Nogradient",
    "NeedNone",
    "BadScope",
    "Raises",
}
UNKNOWN_TYPES = {"NoSuchOp", "Nonesuch"}


def dense(case):
    """Whether no gradient of the case is sparse."""
    ys = case["ys"]
    return not (isinstance(ys, dict) and any(isinstance(gradient, dict) for gradient in ys.values()))


def selected(*expect):
    has = {known.type for known in types()} | MODEL_TYPES | UNKNOWN_TYPES
    chosen = [c for c in cases("caffe2-core") if c["expect"] in expect and operator_types(c) <= has and dense(c)]
    return pytest.mark.parametrize("case", chosen, ids=[c["name"] for c in chosen])


def ys_of(case):
    ys = case["ys"]
    return 3 if isinstance(ys, dict) and "invalid" in ys else ys


def generate(case):
    net = Net.from_dict(case["net"])
    forward = len(net.ops)
    gradients = net.add_gradient_operators(ys_of(case), skip=case.get("skip", 0))
    return net, forward, gradients


def assert_true_gradients(case, net, gradients):
    ws = Workspace()
    for name, data in {**case["inputs"], **case.get("given_gradients", {})}.items():
        ws.feed(name, array(data))
    ws.run(net)
    for blob, data in case["true_gradients"].items():
        truth = array(data)
        if blob in gradients:
            np.testing.assert_allclose(ws.fetch(gradients[blob]), truth, rtol=1e-8, atol=1e-8, err_msg=blob)
        else:
            assert not truth.any(), f"{blob} has no gradient, and its true one is not zero"


@selected("match")
def test_generates_what_caffe2_generates(case):
    net, forward, gradients = generate(case)
    expected = [form(op) for op in case["reference"]["gradient_ops"]]
    assert [form(op) for op in net.to_dict()["ops"][forward:]] == expected
    assert gradients == case["reference"]["grad_map"]
    if case.get("true_gradients"):
        assert_true_gradients(case, net, gradients)


@selected("right", "values")
def test_gives_the_true_gradient(case):
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


def test_the_selection_covers_most_of_the_suite():
    counts = {expect: len(selected(expect).args[1]) for expect in ("match", "error", "right")}
    assert counts["match"] >= 187
    assert counts["error"] >= 65
    assert counts["right"] >= 13
