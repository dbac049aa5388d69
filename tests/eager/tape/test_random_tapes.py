"""Random programs of everything that a tape can meet: both schedules give the same gradients, twice in a row, and a
tape runs the operators that the IR makes.

Functions of one's own that return None, data that are replaced, leaves that are frozen or cut off on the way, rows of
tables, dtypes that meet, several outputs; and any function of each element. Some programs are the same every time, some
are drawn anew by each run, and a failure prints the seed, with which GRADVIZ_SEED draws them again.
"""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from gradviz import (
    Function,
    GradvizError,
    Operator,
    OperatorPool,
    TensorPool,
    Variable,
    Workspace,
    functions,
    run_gradient_flow,
)
from gradviz.eager.expression import expression, recorded
from gradviz.eager.gradients import Rows, dense
from gradviz.eager.plan import Step
from gradviz.eager.tape import TapePass
from gradviz.program.operator import parts_of
from tests.eager.differences import Array
from tests.eager.functions.function_cases import POINTWISE
from tests.random_cases import fresh_seed

SHAPE = (4, 3)
OF_EACH = [case for case in POINTWISE if len(case.arrays) == 1]
ROWS = range(0, 400, 40)


class Scaled(Function):
    """Each input times a number; `without`: the inputs, as bits, for which there is no gradient."""

    def __init__(self, without: int) -> None:
        self.without = without

    def forward(self, xs: tuple[Array, ...]) -> Any:
        return tuple(x * (at + 2) for at, x in enumerate(xs))

    def backward(self, xs: tuple[Array, ...], gys: tuple[Array | None, ...]) -> Any:
        return tuple([None if gy is None or self.without >> at & 1 else gy * (at + 2) for at, gy in enumerate(gys)])


class Draft:
    """A program that is written at random; the same seed gives the same one.

    Args:
        weights: how often leaves are of double and of single precision.
    """

    def __init__(self, seed: int, weights: Sequence[int] = (3, 1)) -> None:
        self.choose = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        dtypes = self.choose.choices([np.float64, np.float32], weights, k=3)
        self.known = [Variable(self.array(dtype), self.choose.random() < 0.8) for dtype in dtypes]
        for _ in range(self.choose.randint(3, 14)):
            self.step()
        ends = [self.choose.choice(self.known).mean(), *[x.sum() for x in self.known[-3:]]]
        self.root = sum(ends[1:], ends[0])
        self.retain, self.create_graph = self.choose.random() < 0.5, self.choose.random() < 0.3

    def array(self, dtype: Any) -> Array:
        """Numbers of the shape that all Variables have."""
        return self.numbers.normal(size=SHAPE).astype(dtype)

    def rows(self, *shape: int) -> Array:
        """Numbers of rows."""
        return self.numbers.integers(0, SHAPE[0], size=shape)

    def step(self) -> None:
        """One more function, or something that is done to a Variable."""
        a, b = self.choose.choice(self.known), self.choose.choice(self.known)
        match self.choose.randint(0, 15):
            case 0:
                self.known.append(a * b)
            case 1:
                self.known.append(a + b)
            case 2:
                self.known.append(functions.tanh(a))
            case 3:
                self.known.append(functions.concat(functions.split_axis(a, [2], 0)[::-1], 0))
            case 4:
                self.known.append(functions.embed_id(self.rows(4), a))
            case 5:
                self.known.append(functions.embed_id(self.rows(4, 1), a).reshape(SHAPE))
            case 6 | 7:
                self.known += Scaled(self.choose.randint(0, 3))(a, b)
            case 8 if self.choose.random() < 0.5:
                a.data = self.array(a.dtype)
            case 9 if self.choose.random() < 0.3:
                a.requires_grad = not a.requires_grad
            case 10:
                self.known.append(functions.dropout(a, 0.5, seed=3))
            case 13 | 14 | 15:  # from 0.1 to 0.9, where each of them is smooth
                self.known.append(self.choose.choice(OF_EACH).function(functions.tanh(a) * 0.4 + 0.5))
            case 11 if self.choose.random() < 0.3:
                a.unchain()
            case _:
                self.known.append(a[[1, 0, 0, 2]] - b * 0.5)


def gradients(seed: int, schedule: str) -> tuple[list[Array | None], str | None]:
    """The gradients of all Variables of a program after two passes, and the kind of the error that ended them."""
    draft, kind = Draft(seed), None
    try:
        for _ in range(2):
            draft.root.backward(retain_grad=draft.retain, schedule=schedule, create_graph=draft.create_graph)
    except GradvizError as error:
        kind = error.kind
    return [None if x.grad is None else np.asarray(x.grad) for x in draft.known], kind


@pytest.mark.filterwarnings("ignore:.*requires no gradient")
@pytest.mark.filterwarnings("ignore:.*has been cut off")
@pytest.mark.parametrize("first", ROWS)
def test_both_schedules_give_the_same(first: int) -> None:
    assert_the_same(range(first, first + ROWS.step))


@pytest.mark.filterwarnings("ignore:.*requires no gradient")
@pytest.mark.filterwarnings("ignore:.*has been cut off")
def test_both_schedules_give_the_same_for_programs_that_no_run_has_met_before() -> None:
    first = fresh_seed()
    assert_the_same(range(first, first + 100))


def assert_the_same(seeds: range) -> None:
    """Both schedules bring every Variable of these programs the same gradient."""
    for seed in seeds:
        (expected, kind), (found, other_kind) = gradients(seed, "rank"), gradients(seed, "tape")
        assert kind == other_kind, f"GRADVIZ_SEED={seed}"
        for x, y in zip(found, expected, strict=True):
            assert (x is None) == (y is None), f"GRADVIZ_SEED={seed}"
            if x is not None and y is not None:
                assert x.dtype == y.dtype, f"GRADVIZ_SEED={seed}"
                tolerance = 1e-4 if x.dtype == np.float32 else 1e-9
                np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance, err_msg=f"GRADVIZ_SEED={seed}")


class Noted(TapePass):
    """A pass that notes the types of the operators that it runs, and whether a gradient was not there after all."""

    is_watched = True

    def __init__(self, functions: Sequence[Function], seeds: Sequence[tuple[Variable, Any]]) -> None:
        super().__init__(functions, seeds, create_graph=False)
        self.types: list[str] = []
        self.lacks = False

    def _input_gradients(self, function: Function, gys: Sequence[Any], wanted: int) -> Sequence[Any]:
        if isinstance(function, Scaled):
            self.types.append("PythonFunctionGradient")
        gxs = super()._input_gradients(function, gys, wanted)
        self.lacks |= any(gx is None and wanted >> at & 1 for at, gx in enumerate(gxs))
        return gxs

    def _run_steps(self, steps: Sequence[Step], values: list[Any]) -> None:
        self.types += [step.op.type for step in steps]
        super()._run_steps(steps, values)

    def _combined(self, op: Operator, arrays: Sequence[Any]) -> Any:
        self.types.append(op.type)
        return super()._combined(op, arrays)


def assert_as_the_ir_makes_it(seed: int) -> None:
    """A pass runs the operators that the IR makes of a program, in their order, and brings the same numbers."""
    draft = Draft(seed, weights=(1, 0))  # operators do not mix precisions
    seeds = [(draft.root, np.ones_like(draft.root.data))]
    noted = Noted(recorded([draft.root]), seeds if draft.root.creator is not None else [])
    leaves = noted.run().leaves
    if noted.lacks or not leaves:
        return  # an operator gives zeros where a backward method gives None, and goes on with them
    made, workspace = expression([draft.root]), Workspace()
    for name, value in {**made.values, "seed": np.ones_like(draft.root.data)}.items():
        workspace.feed(name, value)
    ignored = [f"{name}_grad" for name in made.leaves if name not in made.wanted]
    operators, found = run_gradient_flow(made.operators, made.roots, {made.roots[0]: "seed"}, ignored, workspace)
    assert noted.types == [op.type for op in operators], f"GRADVIZ_SEED={seed}"
    assert {made.leaves[name] for name in found if name in made.leaves} == leaves.keys(), f"GRADVIZ_SEED={seed}"
    for x, gradient in leaves.items():
        parts = [workspace.fetch(name) for name in parts_of(found[str(made.name_of(x))])]
        expected = dense(Rows(*parts) if len(parts) == 2 else parts[0], x.shape)
        np.testing.assert_array_equal(dense(gradient, x.shape), expected, f"GRADVIZ_SEED={seed}")


@pytest.mark.parametrize("first", ROWS)
def test_a_pass_runs_what_the_ir_makes(first: int) -> None:
    for seed in range(first, first + ROWS.step):
        assert_as_the_ir_makes_it(seed)


def test_a_pass_runs_what_the_ir_makes_of_programs_that_no_run_has_met_before() -> None:
    first = fresh_seed()
    for seed in range(first, first + 100):
        assert_as_the_ir_makes_it(seed)


@pytest.mark.filterwarnings("ignore:.*requires no gradient")
@pytest.mark.filterwarnings("ignore:.*has been cut off")
def test_no_name_stays_in_use_after_any_of_them() -> None:
    for seed in range(40):
        gradients(seed, "tape")
    assert len(OperatorPool.current()) == 0
    assert all(scope.in_use == 0 for name, scope in TensorPool.current().occupancy().items() if name == "join")
