"""Why a blob has no gradient."""

import pytest

from gradviz import IR, GradientError, Net


def reasons(net, ys, blob, skip=0):
    ir = IR(net.ops, skip)
    ir.get_backward_pass(ys)
    return [cut.reason for cut in ir.why_none(blob).cuts]


def test_a_stop_gradient_cuts():
    net = Net()
    net.StopGradient("x", "s")
    net.Tanh("s", "y")
    assert reasons(net, ["y"], "x") == ["stop"]


def test_an_operator_without_gradient_cuts():
    net = Net()
    net.ConstantFill("x", "k", value=1.0)
    net.Mul(["k", "w"], "y")
    assert reasons(net, ["y"], "x") == ["no_gradient_operator"]


def test_a_rule_that_gives_an_input_none_cuts():
    net = Net()
    net.SoftmaxWithLoss(["z", "label"], ["p", "loss"])
    assert reasons(net, ["loss"], "label") == ["no_gradient_for_input"]


def test_a_blob_that_leads_nowhere_is_followed_to_its_end():
    net = Net()
    net.Tanh("x", "y")
    net.Sigmoid("side", "a")
    net.Tanh("a", "b")
    ir = IR(net.ops)
    ir.get_backward_pass(["y"])
    proof = ir.why_none("side")
    assert [cut.way for cut in proof.cuts] == [["side@0", "a@0", "b@0"]]
    assert "nobody reads b@0" in str(proof)
    assert "<li>" in proof._repr_html_()


def test_an_output_overwritten_before_it_is_read_cuts():
    net = Net()
    net.Tanh("x", "t")
    net.Sigmoid("w", "t")
    net.Exp("t", "y")
    ir = IR(net.ops)
    ir.get_backward_pass(["y"])
    (cut,) = ir.why_none("x").cuts
    assert cut.reason == "unused_output"
    assert "overwritten" in cut.text


def test_a_skipped_operator_cuts():
    net = Net()
    net.Tanh("raw", "x")
    net.Sigmoid("x", "y")
    assert reasons(net, ["y"], "raw", skip=1) == ["skipped"]


def test_all_ways_are_told():
    net = Net()
    net.StopGradient("x", "s")
    net.Tanh("x", "unused")
    net.Tanh("s", "y")
    assert reasons(net, ["y"], "x") == ["stop", "unused_output"]


@pytest.mark.parametrize("blob", ["nowhere", "x"])
def test_asking_for_what_is_not_there_or_has_a_gradient_is_an_error(blob):
    net = Net()
    net.Tanh("x", "y")
    ir = IR(net.ops)
    ir.get_backward_pass(["y"])
    with pytest.raises(GradientError) as caught:
        ir.why_none(blob)
    assert caught.value.kind == "bad_blob"
