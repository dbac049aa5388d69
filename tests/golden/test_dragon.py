"""Define-by-run programs of the real Dragon: the same expression and the same flow, and the gradients that are true.

Dragon's names come from its pools; what is compared is which blob each name stands for. Where Dragon computes a wrong
gradient, reads an old tensor under a name that is used again, or refuses, the gradients are true all the same.
"""

import numpy as np
import pytest

from gradviz import GradientError, RunError, TensorPool, Variable, Workspace, functions, run_gradient_flow
from gradviz.eager.expression import expression
from gradviz.program import NetDef
from tests.golden.suite import cases, facts

CASES = cases("dragon")
EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])

RECORDED = [case for case in CASES if not any("error" in result for result in case["results"])]
EVERY_RECORDED_CASE = pytest.mark.parametrize("case", RECORDED, ids=[case["name"] for case in RECORDED])

CALLS = {"view": lambda x, shape: functions.reshape(x, shape), "cat": lambda *xs, dim: functions.concat(xs, dim)}
"""Operations that are called otherwise than the function of their name."""

OURS = {"GradientGenerate": "ConstantFill", "GradientGather": "Sum", "ConcatGradient": "Split"}
"""Dragon's types of gradient operators that are called otherwise here."""


def type_of(op):
    """The type of an operator; Dragon has one for all reductions."""
    return op.type.replace("ReduceSum", "Reduce").replace("ReduceMean", "Reduce")


class Run:
    """A case: its Variables by name, and the expression of its target."""

    def __init__(self, case):
        constants = case.get("no_grad", ())
        self.variables = {
            name: Variable(np.array(data), name not in constants, name) for name, data in case["leaves"].items()
        }
        for step in case["program"]:
            call = CALLS.get(step["op"]) or getattr(functions, step["op"])
            made = call(*[self.variables[name] for name in step["in"]], **step["params"])
            if made.name is None:  # a view of the shape that x has is x itself
                made.name = step["out"][0]
            self.variables[step["out"][0]] = made
        self.target = self.variables[case["target"]]
        self.expression = expression([self.target])

    def flow(self, case, share_grads=False):
        """The operators of the gradient flow."""
        root = self.expression.roots[0]
        given = [f"{root}_grad"] if "gradient" in case else []
        ignored = [f"{name}_grad" for name in self.expression.leaves if name not in self.expression.wanted]
        operators, _ = run_gradient_flow(self.expression.operators, [root], given, ignored, share_grads=share_grads)
        return operators


def recordings(case, share_grads):
    """The recordings of a case that went through."""
    return [r for r in case["results"] if "error" not in r and r["share_grads"] == share_grads]


def blobs(result):
    """Dragon's name -> the name in the program, of the Variables and of their gradients."""
    names = {tensor: name for name, tensor in result["names"].items()}
    for op in result["gradient_flow"]:
        for gradient in op["out"]:
            tensor, grad, rest = gradient.partition("_grad")
            if grad:
                names[gradient] = f"{names[tensor]}_grad{rest}"
    return names


def ours(case, run):
    """The types of the operators of our flow, each with what it writes."""
    start = f"{case['target']}_autogen_grad"
    for op in run.flow(case):
        yield type_of(op), [f"{case['target']}_grad" if name == start else name for name in op.outputs]


@EVERY_RECORDED_CASE
def test_the_expression_is_the_recorded_one(case):
    run = Run(case)
    made = [(type_of(op), op.inputs, op.outputs[:1]) for op in run.expression.operators]
    for result in (*recordings(case, False), *recordings(case, True)):
        names = blobs(result)
        assert made == [
            (op["type"], [names[x] for x in op["in"]], [names[y] for y in op["out"]]) for op in result["expression"]
        ]


@EVERY_RECORDED_CASE
def test_the_gradient_flow_is_the_recorded_one(case):
    """But for what Dragon computes although nobody wants it, and for gathers that it loses."""
    (result,) = recordings(case, False)
    names, ignored = blobs(result), set(result["ignored_grads"])
    recorded = [
        (OURS.get(op["type"], op["type"]), [names[gradient] for gradient in op["out"]])
        for op in result["gradient_flow"]
        if not ignored.issuperset(op["out"])
    ]
    made = list(ours(case, Run(case)))
    lost = [] if result["flow_ok"] else [op for op in made if op not in recorded]
    assert [op for op in made if op not in lost] == recorded
    assert {type for type, _ in lost} <= {"Sum"}


@EVERY_RECORDED_CASE
def test_with_shared_gradients_the_leaves_keep_names_of_their_own(case):
    for result in recordings(case, True):
        names, run, ignored = blobs(result), Run(case), {"ignore", *result["ignored_grads"]}
        wanted = {f"{name}_grad" for name in run.expression.wanted}
        recorded = [
            (OURS.get(op["type"], op["type"]), [names.get(g) if names.get(g) in wanted else None for g in op["out"]])
            for op in result["gradient_flow"]
            if not ignored.issuperset(op["out"])
        ]
        operators = run.flow(case, share_grads=True)
        made = [(type_of(op), [g if g in wanted else None for g in op.outputs]) for op in operators]
        lost = [] if result["flow_ok"] else [op for op in made if op not in recorded]
        assert [op for op in made if op not in lost] == recorded
        assert {type for type, _ in lost} <= {"Sum"}
        assert all(g in wanted or g.startswith("share/buffer/grads:") for op in operators for g in op.outputs)


@pytest.mark.parametrize("schedule", ["rank", "tape"])
@EVERY_CASE
def test_gradients_are_true(case, schedule):
    run = Run(case)
    seed = np.array(case["gradient"]) if "gradient" in case else np.ones(run.target.shape)
    run.target.backward(gradient=seed, schedule=schedule)
    for name, value in case["true_gradients"].items():
        x = run.variables[name]
        if value is None:
            assert x.grad is None, name
        else:
            np.testing.assert_allclose(x.grad, value, rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("share_grads", [False, True])
@EVERY_CASE
def test_the_flow_run_in_a_workspace_gives_true_gradients(case, share_grads):
    run, workspace = Run(case), Workspace()
    for name in run.expression.leaves:
        workspace.feed(name, run.expression.values[name])
    workspace.run(run.expression.net())
    if "gradient" in case:
        workspace.feed(f"{run.expression.roots[0]}_grad", case["gradient"])
    workspace.run(NetDef("flow", run.flow(case, share_grads)))
    for name, value in case["true_gradients"].items():
        if name in run.expression.wanted:
            np.testing.assert_allclose(workspace.fetch(f"{name}_grad"), value, rtol=1e-4, atol=1e-6, err_msg=name)
        else:
            assert value is None or not np.any(value)


@EVERY_RECORDED_CASE
def test_values_are_the_recorded_ones(case):
    run = Run(case)
    for result in (*recordings(case, False), *recordings(case, True)):
        for name, value in result["values"].items():
            np.testing.assert_allclose(run.variables[name].data, value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_all_cases_are_read():
    assert len(CASES) == 42
    assert sum("true_gradients" in case for case in CASES) == 42


class TestFacts:
    """Single facts: those in which we agree, and those in which we are right on purpose."""

    FACTS = facts("dragon_edge")

    @pytest.fixture(autouse=True)
    def pool(self, monkeypatch):
        """A pool that nothing has taken names from."""
        pool = TensorPool()
        monkeypatch.setattr(TensorPool, "_current", pool)
        return pool

    def names(self, fact):
        """A fact about names, without the prefix that all of Dragon's have."""
        return [name.removeprefix("[TPool]") for name in self.FACTS[fact] if isinstance(name, str)]

    def program(self):
        """x, y, x · y and x · y + x."""
        x, y = Variable([1.0, 2.0, 3.0]), Variable([0.5, -2.0, 1.5])
        m = x * y
        return x, y, m, m + x

    def test_names_come_from_arrays_and_outputs(self, pool):
        variables = self.program()
        assert [pool.name(v) for v in variables] == self.names("names_before")
        variables[-1].backward(gradient=np.ones(3), schedule="tape")
        assert pool.free("join") == [f"join/tensor:{k}" for k in self.FACTS["free_join_after_1"]]

    def test_two_passes_give_no_name_back_twice_and_gradients_accumulate(self, pool):
        x, _, _, n = self.program()
        first = self.FACTS["second_backward_same_graph"]
        for times in (1, 2):
            n.backward(gradient=np.ones(3), schedule="tape")
            np.testing.assert_allclose(x.grad, times * np.array(first))
        assert len(pool.free("join")) == len(set(pool.free("join")))
        assert len(self.FACTS["free_join_after_2"]) > len(set(self.FACTS["free_join_after_2"]))

    def test_no_two_tensors_have_one_name_and_each_keeps_its_data(self, pool):
        x, y, m, n = self.program()
        for _ in range(2):
            n.backward(gradient=np.ones(3), schedule="tape")
        a, b, c, d = x * y, x + y, x * x * y, y + y
        names = [pool.name(v) for v in (a, b, c, d)]
        assert len(set(names)) == 4
        assert len(set(self.FACTS["duplicate_names"].values())) == 2
        np.testing.assert_array_equal(m.data, [0.5, -4, 4.5])
        for v, name in zip((a, b, c, d), names, strict=True):
            assert pool[name] is v.data

    def test_a_released_name_leads_nowhere(self, pool):
        _, _, m, n = self.program()
        name = pool.name(m)
        n.backward(gradient=np.ones(3), schedule="tape")
        with pytest.raises(RunError, match="it was released"):
            pool[name]

    def test_what_requires_no_gradient_is_detached_and_gives_its_name_back_when_it_is_deleted(self, pool):
        x = Variable([1.0], requires_grad=False)
        y = x * x
        assert [pool.name(y), y.requires_grad, y.grad] == ["detach/tensor:0", *self.FACTS["no_grad_name"][1:]]
        del y
        assert pool.free("detach") == [f"detach/tensor:{k}" for k in self.FACTS["detach_free"]]

    def test_an_output_that_is_deleted_before_any_pass_gives_its_name_back_too(self, pool):
        x = Variable([1.0])
        y = x * x
        name = pool.name(y)
        assert name == self.names("join_free_after_del_without_backward (leak)")[0]
        del y
        assert pool.free("join") == [name]

    def test_tensors_from_shapes_have_a_scope_of_their_own(self, pool):
        name = pool.take("leaf")
        assert [name] == self.names("leaf_shape")
        pool.release(name)
        assert pool.free("leaf") == [f"leaf/tensor:{k}" for k in self.FACTS["leaf_free"]]

    def test_a_leaf_without_gradient_has_a_name_like_any_other(self, pool):
        pool.name(kept := Variable([1.0]))
        x = Variable([1.0], requires_grad=False)
        assert [pool.name(x), x.requires_grad] == ["numpy/tensor:1", self.FACTS["leaf_norg"][1]]
        assert pool.name(kept) == "numpy/tensor:0"

    def test_a_pass_from_what_requires_no_gradient_is_told(self):
        with pytest.warns(UserWarning, match="requires no gradient"):
            Variable(1.0, requires_grad=False).backward(schedule="tape")

    def test_a_pass_from_a_leaf_gives_it_what_it_starts_with(self):
        x = Variable(2.0)
        x.backward(schedule="tape")
        assert x.grad == 1

    def test_a_gradient_that_is_no_array_is_refused(self):
        assert self.FACTS["err_gradient_type"].startswith("TypeError")
        *_, n = self.program()
        with pytest.raises(GradientError, match="must be an array, not float"):
            n.backward(gradient=1.0, schedule="tape")

    def test_what_is_written_in_place_is_another_variable(self):
        x = Variable([1.0, 2.0, 3.0])
        y = z = x * x
        y += x
        assert y is not z
        y.backward(gradient=np.ones(3), schedule="tape")
        np.testing.assert_allclose(x.grad, self.FACTS["inplace_grad_expected_2x+1"])

    def test_slices_with_steps_have_gradients(self):
        assert self.FACTS["err_getitem_step"].startswith("NotImplementedError")
        x = Variable([1.0, 2.0, 3.0])
        x[::2].backward(gradient=np.array([5.0, 7.0]), schedule="tape")
        np.testing.assert_array_equal(x.grad, [5, 0, 7])

    def test_numbers_are_constants(self):
        x = Variable([1.0, 2.0])
        program = expression([x + 2.0])
        (constant,) = set(program.leaves) - program.wanted
        np.testing.assert_array_equal(program.values[constant], 2.0)
