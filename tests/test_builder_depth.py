"""Nets nested in each other: one limit, told where a net too many is written, and what depth costs below it."""

import json
import sys
from contextlib import ExitStack

import numpy as np
import pytest

from gradviz import Net, NetError, Operator, Workspace
from gradviz.program import NetDef
from gradviz.program.net import MAX_DEPTH

DEEPEST = {"Do": MAX_DEPTH, "If": MAX_DEPTH // 2, "While": MAX_DEPTH // 2}
"""How many blocks of a kind fit into each other: an If and a While are two nets each."""

REFUSED = f"nests nets more than {MAX_DEPTH} deep"


def enter(blocks, net, kind, number):
    """Open a block inside of those that are open; one of While runs once."""
    if kind == "Do":
        blocks.enter_context(net.Do())
    elif kind == "If":
        blocks.enter_context(net.If("c"))
    else:
        loop = blocks.enter_context(net.While(f"go{number}"))
        with loop.condition():
            net.LT([f"i{number}", "one"], f"go{number}")
        net.Add([f"i{number}", "one"], f"i{number}")


def nested(kind, depth):
    """`x = x * w`, in so many blocks."""
    net = Net()
    with ExitStack() as blocks:
        for number in range(depth):
            enter(blocks, net, kind, number)
        net.Mul(["x", "w"], "x")
    return net


def fed():
    ws = Workspace()
    for name, value in {"x": 2.0, "w": 3.0, "c": True, "one": 1}.items():
        ws.feed(name, value)
    for number in range(MAX_DEPTH):
        ws.feed(f"i{number}", 0)
    return ws


def described(depth):
    """Plain data of an If in an If, and so on."""
    net = {"name": "innermost", "ops": [{"type": "Copy", "inputs": ["x"], "outputs": ["y"]}]}
    for _ in range(depth):
        ops = [{"type": "If", "inputs": ["c", "x"], "outputs": ["y"], "args": {"then_net": net}}]
        net = {"name": "around", "ops": ops}
    return net


def refusal(write, *args):
    with pytest.raises(NetError) as caught:
        write(*args)
    assert caught.value.kind == "control_flow_structure"
    assert caught.value.ways_out
    return caught.value.message


@pytest.mark.parametrize("kind", DEEPEST)
def test_blocks_nested_to_the_limit_are_written_read_run_and_differentiated(kind):
    net = Net.from_json(nested(kind, DEEPEST[kind]).to_json())
    gradients = net.add_gradient_operators(["x"])
    net = Net.from_json(net.to_json())
    assert str(net)
    ws = fed()
    ws.run(net)
    assert (ws["x"], ws[gradients["w"]], ws[gradients["x"]]) == (6.0, 2.0, 3.0)


@pytest.mark.parametrize("kind", DEEPEST)
def test_one_block_too_many_is_refused_when_it_is_entered(kind):
    net = nested(kind, DEEPEST[kind] - 1)
    with ExitStack() as blocks:
        for number in range(DEEPEST[kind]):
            enter(blocks, net, kind, number)
        message = refusal(enter, blocks, net, kind, DEEPEST[kind])
        net.Mul(["x", "w"], "x")
    assert f"A block of net.{kind}" in message
    assert REFUSED in message
    ws = fed()
    ws.run(net)
    assert ws["x"] == (18.0 if kind != "While" else 6.0)  # i counts on from where it was


def test_an_operator_that_nests_too_deep_is_refused_where_it_is_added():
    inside = NetDef.from_dict(described(MAX_DEPTH - 3))
    net = Net()
    with net.If("c"):
        net.add("If", ["c", "x"], "y", then_net=inside)
        with net.Do():
            before = list(net._level.ops)
            assert REFUSED in refusal(lambda: net.add("If", ["c", "x"], "y", then_net=inside))
            assert net._level.ops == before
            net.Copy("x", "z")


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 4 * MAX_DEPTH, 1000])
def test_plain_data_that_nests_too_deep_is_refused(depth):
    assert REFUSED in refusal(Net.from_dict, described(depth))
    assert REFUSED in refusal(NetDef.from_dict, described(depth))


def test_a_file_that_nests_too_deep_is_refused():
    assert REFUSED in refusal(Net.from_json, json.dumps(described(2 * MAX_DEPTH)))
    opening = '{"ops": [{"type": "If", "inputs": ["c"], "outputs": [], "args": {"then_net": '
    assert "nested too deep" in refusal(Net.from_json, opening * 100_000 + '{"ops": []}' + "}}]}" * 100_000)


def test_a_net_of_operators_that_nest_too_deep_is_refused():
    deepest = Net.from_dict(described(MAX_DEPTH))
    around = Operator("If", ["c", "x"], ["y"], {"then_net": deepest})
    assert REFUSED in refusal(Net, "n", [around])


def test_nets_that_are_nested_several_times_are_gone_through_once():
    net = NetDef("innermost", [Operator("Copy", ["x"], ["y"])])
    for _ in range(MAX_DEPTH):
        net = NetDef("around", [Operator("If", ["c", "x"], ["y"], {"then_net": net, "else_net": net})])
    assert REFUSED in refusal(Net, "n", [Operator("If", ["c", "x"], ["y"], {"then_net": net})])


def calls_in(function):
    """How many Python functions it calls."""
    calls = 0

    def count(frame, event, arg):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def doings(kind, depth):
    """What can be done with nested blocks."""
    net, ws = nested(kind, depth), fed()
    text = net.to_json()
    both = nested(kind, depth)
    both.add_gradient_operators(["x"])
    return {
        "build": lambda: nested(kind, depth),
        "print": lambda: str(net),
        "write": net.to_json,
        "read": lambda: Net.from_json(text),
        "run": lambda: ws.fork().run(net),
        "generate": lambda: Net("n", net.ops).add_gradient_operators(["x"]),
        "run both ways": lambda: ws.fork().run(both),
    }


@pytest.mark.parametrize("kind", ["If", "Do"])
def test_what_nested_blocks_take_grows_no_faster_than_the_square_of_their_depth(kind):
    calls = {depth: {what: calls_in(do) for what, do in doings(kind, depth).items()} for depth in (12, 24)}
    growth = {what: calls[24][what] / calls[12][what] for what in calls[12]}
    assert {what: times for what, times in growth.items() if times > 4.2} == {}


def test_a_nested_net_that_changes_is_looked_at_anew():
    net = nested("Do", 3)
    ws = fed()
    ws.run(net)
    innermost = net.ops[-1]
    while (inside := innermost.args["net"].ops[-1]).type == "Do":
        innermost = inside
    innermost.args["net"].ops.append(Operator("Mul", ["x", "x"], ["x"]))
    ws.run(net)
    np.testing.assert_equal(ws["x"], (6.0 * 3.0) ** 2)
