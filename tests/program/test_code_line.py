"""The lines that made operators: which call is kept, and what it says of itself when somebody looks."""

import copy
import functools
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import gradviz.functions as F
from gradviz import Function, Net, Variable
from gradviz.eager.layer import Linear
from gradviz.program import code_line
from gradviz.program.code_line import Calls, CodeLine
from gradviz.program.control_flow import operators_in


def lines(net):
    """The types of the operators of a net, those in nested nets right behind, each with the text of its line."""
    every = [one for op in net.ops for one in (op, *operators_in(op))]
    return [(op.type, str(getattr(net.calls.line_of(op), "text", None))) for op in every]


def line_of(y):
    """The line that called the function that returned y."""
    return code_line.line_of(y.creator.called_at)


def branches():
    net = Net("branches")
    with net.While("go") as loop:
        with loop.condition():
            net.LT(["i", "n"], "go")
        with net.If("small"):
            net.Add(["i", "one"], "i")
        with net.Else():
            net.Add(["i", "two"], "i")
    with net.Do(outputs=["y"]):
        net.Tanh("x", "y")
    return net


def test_an_operator_knows_the_line_that_added_it():
    net = Net()
    net.FC(["x", "w", "b"], "y")
    net.add("Relu", "y", "z")
    assert lines(net) == [("FC", 'net.FC(["x", "w", "b"], "y")'), ("Relu", 'net.add("Relu", "y", "z")')]
    line = net.calls.line_of(net.ops[1])
    assert line.file == "test_code_line.py"
    assert line.number == net.calls.line_of(net.ops[0]).number + 1


def test_a_call_over_several_lines_is_that_on_which_it_begins():
    net = Net()
    net.FC(
        ["x", "w", "b"],
        "y",
    )
    assert lines(net) == [("FC", "net.FC(")]


def test_blocks_are_those_of_their_with_and_what_is_inside_of_its_own_lines():
    assert lines(branches()) == [
        ("ConstantFill", 'with net.While("go") as loop:'),
        ("CreateScope", 'with net.While("go") as loop:'),
        ("While", 'with net.While("go") as loop:'),
        ("LT", 'net.LT(["i", "n"], "go")'),
        ("Do", 'with net.While("go") as loop:'),
        ("CreateScope", 'with net.If("small"):'),
        ("CreateScope", 'with net.If("small"):'),
        ("If", 'with net.If("small"):'),
        ("Do", 'with net.If("small"):'),
        ("Add", 'net.Add(["i", "one"], "i")'),
        ("Do", "with net.Else():"),
        ("Add", 'net.Add(["i", "two"], "i")'),
        ("CreateScope", 'with net.Do(outputs=["y"]):'),
        ("Do", 'with net.Do(outputs=["y"]):'),
        ("Tanh", 'net.Tanh("x", "y")'),
    ]


def test_gradient_operators_are_those_of_the_line_that_asked_for_them():
    net = Net()
    net.Tanh("x", "y")
    net.add_gradient_operators(["y"])
    assert {text for _, text in lines(net)[1:]} == {'net.add_gradient_operators(["y"])'}


def test_equal_nets_of_other_lines_stay_equal():
    first, second = Net(), Net()
    first.Tanh("x", "y")
    second.Tanh("x", "y")
    assert lines(first) != lines(second)
    assert first.ops == second.ops
    assert first.to_dict() == second.to_dict()
    assert branches().to_dict() == branches().to_dict()


def test_what_is_read_from_json_has_no_lines():
    assert {text for _, text in lines(Net.from_dict(branches().to_dict()))} == {"None"}


def test_copies_and_nets_that_are_handed_on_keep_their_lines():
    body = Net("body")
    body.Tanh("x", "x")
    net = Net()
    net.add("If", ["c", "x"], "x", then_net=body)
    expected = [("If", 'net.add("If", ["c", "x"], "x", then_net=body)'), ("Tanh", 'body.Tanh("x", "x")')]
    assert lines(net) == lines(net.copy()) == expected


def test_the_ssa_form_keeps_the_lines_and_its_copies_are_those_of_what_needs_them():
    net = branches()
    of_ssa = lines(net.to_ssa())
    assert set(lines(net)) <= set(of_ssa)
    assert {text for type, text in of_ssa if type == "Copy"} == {'with net.While("go") as loop:'}


def test_calls_neither_travel_nor_outlive_their_operators():
    net = branches()
    assert {text for _, text in lines(copy.deepcopy(net))} == {"None"}
    assert pickle.loads(pickle.dumps(net.calls)) == Calls()


def test_functions_of_variables_know_the_line_that_called_them():
    x = Variable(np.ones((2, 3)))
    y = F.tanh(x) * 2
    assert line_of(y).text == line_of(y.creator.inputs[0]).text == "y = F.tanh(x) * 2"
    made = [x.T, -x, x[0], 1 - x, x.sum(axis=0), x.reshape(3, 2), F.softmax(x, axis=0), F.stack([x, x])]
    assert {line_of(one).text[:15] for one in made} == {"made = [x.T, -x"}


def test_layers_and_functions_of_ones_own_are_those_of_their_calls():
    class Cube(Function):
        def forward(self, xs):
            return xs[0] ** 3

    layer, cube = Linear(3, 2), Cube()
    h = layer(Variable(np.ones((1, 3), np.float32)))
    y = cube(h)
    assert line_of(h).text == "h = layer(Variable(np.ones((1, 3), np.float32)))"
    assert line_of(y).text == "y = cube(h)"


def test_of_a_chain_over_several_lines_each_call_has_its_own():
    x = Variable(np.ones(3))
    y = (
        F.exp(x)
        .reshape(3, 1)
        .sum()
    )  # fmt: skip
    texts = [line_of(y).text, line_of(y.creator.inputs[0]).text, line_of(y.creator.inputs[0].creator.inputs[0]).text]
    assert texts == [".sum()", ".reshape(3, 1)", "F.exp(x)"]


def test_lambdas_comprehensions_and_decorated_functions_are_lines_like_others():
    def twice(function):
        @functools.wraps(function)
        def called(x):
            return function(function(x))

        return called

    @twice
    def halved(x):
        return x / 2

    x = Variable(np.ones(3))
    double = lambda x: x * 2  # noqa: E731
    each = [F.exp(row) for row in (x, x)]
    assert line_of(double(x)).text == "double = lambda x: x * 2  # noqa: E731"
    assert {line_of(one).text for one in each} == {"each = [F.exp(row) for row in (x, x)]"}
    assert line_of(halved(x)).text == "return x / 2"
    assert line_of(next(map(F.tanh, [x]))).text.startswith("assert line_of(next(map(F.tanh, [x])))")


def test_code_without_a_source_says_file_and_number_alone():
    net = Net()
    exec(compile("\nnet.Tanh('x', 'y')", "<made up>", "exec"), {"net": net})
    assert net.calls.line_of(net.ops[0]) == CodeLine("<made up>", 2, "")


def test_threads_have_lines_of_their_own():
    def built(number):
        net = Net()
        for _ in range(number):
            net.Tanh("x", "x")
        net.Relu("x", "y")
        return lines(net)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(built, range(8)))
    assert found == [
        [("Tanh", 'net.Tanh("x", "x")')] * number + [("Relu", 'net.Relu("x", "y")')] for number in range(8)
    ]
