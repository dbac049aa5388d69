"""Define-by-run passes of the real Chainer: gradients are the true ones, functions run backward in the recorded order.

The order is that of 7.8.1, the last version. Older ones make a mean of two functions; 1.1 splits what is read twice.
"""

from itertools import combinations, product

import numpy as np
import pytest

from gradviz import FunctionHook, GradientError, Variable, functions, grad
from tests.golden.suite import cases

CASES = cases("chainer")
EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])

CALLS = {
    "get_item": lambda x, start, stop: x[start:stop],
    "concat": lambda *xs, axis: functions.concat(xs, axis),
}
"""Operations that are called otherwise than the function of their name."""


class Calls(FunctionHook):
    """The functions in the order of their calls, and the numbers of those that ran backward, in order."""

    def __init__(self):
        self.functions = []
        self.order = []

    def forward_postprocess(self, function, in_data):
        self.functions.append(function)

    def backward_preprocess(self, function, in_data, out_grad):
        self.order.append(next(seq for seq, known in enumerate(self.functions) if known is function))


class Run:
    """A case that runs step by step: its Variables by name, and the calls that were made."""

    def __init__(self, case):
        constants = case.get("no_requires_grad", ())
        self.variables = {
            name: Variable(np.array(data), name not in constants, name) for name, data in case["leaves"].items()
        }
        self.calls = Calls()
        with self.calls:
            for step in case["program"]:
                self.call(step)
        for name in case.get("dead_before_backward", ()):
            del self.variables[name]

    def call(self, step):
        """Run one operation of the program."""
        function = CALLS.get(step["op"]) or getattr(functions, step["op"])
        made = function(*[self.variables[name] for name in step["in"]], **step["params"])
        self.variables.update(zip(step["out"], made if isinstance(made, tuple) else [made], strict=True))

    def do(self, step):
        """Run one step of the script."""
        x = self.variables[step["var"]]
        if step["do"] == "set_grad":
            x.grad = np.array(step["grad"])
        elif step["do"] == "clear_grad":
            x.cleargrad()
        elif step["do"] == "unchain_backward":
            x.unchain_backward()
        else:
            self.backward(x, step)

    def backward(self, x, step):
        """Run backward from x; `calls` knows the order afterwards."""
        seed = np.full(x.shape, step["loss_scale"]) if "loss_scale" in step else None
        self.calls.order = []
        with self.calls:
            x.backward(seed, step["retain_grad"], create_graph=step.get("enable_double_backprop", False))

    def gradient(self, name):
        """The gradient of a Variable as an array, None where there is none."""
        gradient = self.variables[name].grad
        return None if gradient is None else np.asarray(gradient)


def recorded(case):
    return case["results"]["v7.8.1"]


def assert_gradients(run, case, step, truth):
    """Every Variable has the gradient that it should have after a backward pass."""
    first_names = {id(x): name for name, x in reversed(run.variables.items())}
    for name, x in run.variables.items():
        if name in truth["gradients"]:
            expected = truth["gradients"][name]
        elif first_names[id(x)] != name:
            continue  # a reshape to the shape that x has is x itself
        elif name == step["var"] and x.creator is not None:
            continue  # the root keeps what the pass started with
        elif x.creator is not None and step["retain_grad"]:
            expected = truth.get("intermediate", {}).get(name)
        else:
            expected = None
        if expected is None:
            assert x.grad is None, name
        else:
            np.testing.assert_allclose(run.gradient(name), expected, rtol=1e-7, atol=1e-8, err_msg=name)


def assert_nothing_is_shared(run):
    """No two gradients, and no gradient and data, lie in the same memory."""
    data = {id(x): x.data for x in run.variables.values()}
    gradients = {id(x): np.asarray(x.grad) for x in run.variables.values() if x.grad is not None}
    for one, other in [*combinations(gradients.values(), 2), *product(gradients.values(), data.values())]:
        assert not np.shares_memory(one, other)


@EVERY_CASE
def test_values_ranks_and_the_order_of_calls(case):
    run = Run(case)
    for name, value in case["values"].items():
        if name in run.variables:
            np.testing.assert_allclose(run.variables[name].data, value, rtol=1e-9, atol=1e-9, err_msg=name)
    assert [function.rank for function in run.calls.functions] == [f["rank"] for f in recorded(case)["functions"]]


@pytest.mark.filterwarnings("ignore:.*requires no gradient")
@EVERY_CASE
def test_gradients_are_true_and_functions_run_in_the_recorded_order(case):
    run = Run(case)
    for step, truth, record in zip(case["script"], case["true_gradients"], recorded(case)["steps"], strict=False):
        if "error" in truth:
            before = {name: x.grad for name, x in run.variables.items()}
            with pytest.raises(GradientError) as caught:
                run.do(step)
            assert caught.value.kind == case["error_kind"]
            assert {name: x.grad for name, x in run.variables.items()} == before
        elif step["do"] == "backward":
            run.do(step)
            order = record["order"]
            assert run.calls.order == (order[: order.index(-1)] if -1 in order else order)
            assert_gradients(run, case, step, truth)
            assert_nothing_is_shared(run)
        else:
            run.do(step)


def test_the_gradient_of_a_cubic_is_differentiated_again():
    (case,) = [case for case in CASES if case["name"] == "double_backward_cubic"]
    run = Run(case)
    for step in case["script"]:
        run.do(step)
    second = recorded(case)["steps"][-1]
    np.testing.assert_allclose(run.variables["x"].grad.data, second["gx"])
    np.testing.assert_allclose(grad(run.variables["x"].grad, run.variables["x"]), second["grads"]["x"])


def test_all_cases_are_read():
    assert len(CASES) == 125
    assert sum(step["do"] == "backward" for case in CASES for step in case["script"]) == 134
