"""Blocks that fail or are built wrong leave the net as it was and say why; control operators by hand are checked."""

import numpy as np
import pytest

from gradviz import GradvizError, Net, NetError, Operator, RunError, immediate
from gradviz.program import NetDef
from gradviz.program.control_flow import nested_nets
from tests.built_nets import W, X, chosen, fed, ran


def fail_in_an_if_in(block, net):
    with block:
        net.Copy("x", "go")
        with net.If("c"):
            net.Copy("x", "y")
        with net.If("c"):
            raise KeyError


@pytest.mark.parametrize("open_block", [lambda net: net.If("c"), lambda net: net.While("go"), lambda net: net.Do()])
def test_an_exception_leaves_the_net_as_it_was_before_the_block(open_block):
    net = chosen()
    before = net.to_dict()
    with pytest.raises(KeyError):
        fail_in_an_if_in(open_block(net), net)
    assert net.to_dict() == before
    net.Copy("y", "z")
    assert net.ops[-1].outputs == ["z"]


def test_an_exception_in_an_inner_block_leaves_the_outer_one():
    net = Net()
    with net.Do(outputs="z"):
        with pytest.raises(KeyError):
            fail_in_an_if_in(net.Do(), net)
        net.Copy("x", "z")
    (copy,) = nested_nets(net.ops[-1])["net"].ops
    assert copy.type == "Copy"


def test_an_exception_in_an_else_leaves_the_if():
    net = Net()
    with net.If("c"):
        net.Tanh("x", "x")
    before = net.to_dict()
    with pytest.raises(KeyError):
        fail_in_an_if_in(net.Else(), net)
    assert net.to_dict() == before
    with net.Else():
        net.Sin("x", "x")
    np.testing.assert_allclose(ran(net, c=False)["x"], np.sin(X))


def test_an_else_may_follow_after_a_block_that_failed():
    net = Net()
    with net.If("c"):
        net.Tanh("x", "y")
    with pytest.raises(KeyError):
        fail_in_an_if_in(net.Do(), net)
    with net.Else():
        net.Sin("x", "y")
    np.testing.assert_allclose(ran(net, c=False)["y"], np.sin(X))


def else_without_if(net):
    with net.Else():
        net.Copy("x", "y")


def else_after_another_operator(net):
    with net.If("c"):
        net.Copy("x", "y")
    net.Copy("x", "z")
    with net.Else():
        net.Copy("x", "y")


def otherwise_after_another_if(net):
    with net.If("c") as branch:
        net.Copy("x", "y")
    with net.If("c"):
        net.Copy("x", "y")
    with branch.otherwise():
        net.Copy("x", "y")


def else_of_an_if_around_it(net):
    with net.If("c"), net.Else():
        net.Copy("x", "y")


def second_else(net):
    with net.If("c"):
        net.Copy("x", "y")
    for _ in range(2):
        with net.Else():
            net.Copy("x", "y")


def condition_after_the_body(net):
    with net.While("go") as loop:
        net.Copy("x", "y")
        with loop.condition():
            net.LT(["i", "n"], "go")


def condition_of_a_closed_loop(net):
    with net.While("go") as loop:
        net.LT(["i", "n"], "go")
    with loop.condition():
        net.LT(["i", "n"], "go")


def condition_nobody_writes(net):
    with net.While("go"):
        net.Add(["i", "one"], "i")


def outputs_nobody_writes(net):
    with net.If("c", outputs=["y", "z"]):
        net.Copy("x", "y")


def outputs_local_to_a_block_inside(net):
    with net.Do(outputs="y"), net.If("c"):
        net.Copy("x", "y")


def scope_that_is_read(net):
    with net.Do(scope="x"):
        net.Copy("x", "y")


def reader_of_a_local_blob_in_a_block(net):
    with net.If("c"):
        net.Copy("x", "y")
    with net.Do():
        net.Copy("y", "z")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (else_without_if, "no If right before this Else, but nothing"),
        (else_after_another_operator, "no If right before this Else, but operator #2 z = Copy"),
        (otherwise_after_another_if, "no If right before"),
        (else_of_an_if_around_it, "no If right before"),
        (second_else, "if_0 has an Else already"),
        (condition_after_the_body, "condition of while_0 must be the first thing"),
        (condition_of_a_closed_loop, "condition of while_0 must be the first thing"),
        (condition_nobody_writes, "In while_0: The block never writes its condition go"),
        (outputs_nobody_writes, "In if_0: The block shall hand out z"),
        (outputs_local_to_a_block_inside, 'local to if_0/then: hand it out there, too, with outputs=\\["y"\\]'),
        (scope_that_is_read, "In do_0: Operator #1 .* names x twice"),
        (reader_of_a_local_blob_in_a_block, "In do_0: Operator #0 .* reads y, which is local to if_0/then"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_blocks_that_are_built_wrong_are_refused(wrong, says):
    net = Net()
    with pytest.raises(NetError, match=says) as caught:
        wrong(net)
    assert caught.value.kind in ("control_flow_structure", "local_blob")
    assert caught.value.ways_out
    net.Copy("x", "later")
    assert net.ops[-1].outputs == ["later"], "no block is left open"


@pytest.mark.parametrize("name", ["two words", "", 3, None])
def test_bad_names_are_refused(name):
    net = Net()
    for block in (net.If(name), net.While(name), net.If("c", outputs=[name]), net.Do(scope=name or "")):
        with pytest.raises(NetError) as caught, block:
            net.Copy("x", "y")
        assert caught.value.kind == "bad_name"
    assert net.ops == []


def test_an_operator_that_is_refused_inside_tells_the_way_to_it():
    net = Net()
    with net.While("go"):
        net.LT(["i", "n"], "go")
        with net.If("c"):
            net.Copy("x", "y")
            with pytest.raises(RunError, match="In while_0/body, if_0/then: Operator #1 z = Mul") as caught:
                net.Mul("x", "z")
    assert (caught.value.kind, caught.value.operator_index) == ("bad_arity", 1)


def test_what_needs_the_whole_net_is_refused_while_a_block_is_open():
    net = chosen()
    with net.If("c"):
        for call in (lambda: net.add_gradient_operators(["y"]), net.to_ssa):
            with pytest.raises(NetError, match="if_1/then is open") as caught:
                call()
            assert caught.value.kind == "open_block"
    assert net.add_gradient_operators(["y"])["x"] == "x_grad"


def test_in_immediate_mode_a_block_that_fails_leaves_net_and_workspace():
    net = Net()
    with immediate(fed(c=True)) as ws:
        with net.If("c"):
            net.Mul(["x", "w"], "x")
        before = net.to_dict()
        with pytest.raises(RunError, match="In if_0: "), net.Else():
            net.Copy("nowhere", "x")
        with pytest.raises(RunError, match="In do_0: "), net.Do():
            net.Mul(["x", "nowhere"], "x")
    assert net.to_dict() == before
    np.testing.assert_allclose(ws["x"], X * W)


def branches(make):
    return {"then_net": make("then", [Operator("Tanh", ["x"], ["y"])]), "else_net": make("else", [])}


@pytest.mark.parametrize("make", [NetDef, Net, lambda name, ops: NetDef(name, ops).to_dict()])
def test_a_control_operator_by_hand_takes_nets_in_every_form(make):
    net = Net()
    net.Copy("w", "y")
    assert net.add("If", ["c", "x", "y"], "y", **branches(make)) == "y"
    assert [type(nested) for nested in nested_nets(net.ops[1]).values()] == [NetDef, NetDef]
    np.testing.assert_allclose(ran(net, c=True)["y"], np.tanh(X))
    np.testing.assert_allclose(ran(net, c=False)["y"], W)


def test_a_net_given_as_an_argument_is_taken_as_it_is_then():
    net, inner = Net(), Net("inner")
    inner.Tanh("x", "y")
    net.add("If", ["c", "x", "y"], "y", then_net=inner)
    inner.Sin("nowhere", "y")
    assert [op.type for op in nested_nets(net.ops[0])["then_net"].ops] == ["Tanh"]


@pytest.mark.parametrize(
    ("kind", "inputs", "args"),
    [
        ("control_flow_structure", ["c"], {}),
        ("control_flow_structure", ["c"], branches(NetDef)),
        ("bad_arity", [], branches(NetDef)),
        ("bad_argument", ["c", "x"], {**branches(NetDef), "loop_net": NetDef()}),
        ("unknown_operator", ["c", "x"], {"then_net": {"ops": [{"type": "Tahn", "inputs": ["x"], "outputs": ["y"]}]}}),
        ("bad_arity", ["c", "x"], {"then_net": {"ops": [{"type": "Mul", "inputs": ["x"], "outputs": ["y"]}]}}),
        ("bad_name", ["c", "x"], {"then_net": {"ops": [{"type": "Tanh", "inputs": [""], "outputs": ["y"]}]}}),
        ("bad_file", ["c", "x"], {"then_net": {"ops": [{"type": "Tanh"}]}}),
    ],
)
def test_a_control_operator_by_hand_is_checked(kind, inputs, args):
    net = Net()
    with pytest.raises(GradvizError) as caught:
        net.add("If", inputs, "y", **args)
    assert caught.value.kind == kind
    assert caught.value.ways_out
    assert net.ops == []
