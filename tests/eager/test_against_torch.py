"""Random programs of all functions against PyTorch: values, gradients, retained ones, and gradients of gradients.

Some programs are the same every time, and a failure prints the shortest of them; some are drawn anew by each run, and a
failure prints the seed, with which GRADVIZ_SEED draws them again.
"""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradviz import Variable, grad
from gradviz import functions as F
from gradviz.eager.passes import SCHEDULES
from tests.eager.differences import floats

pytest.importorskip("torch", reason="the reference is PyTorch's autograd: pip install torch")

import torch

from tests.eager.torch_steps import SHAPES, STEPS
from tests.random_cases import counts, fresh_seed

MOST = 30.0
"""Values beyond this take no further part, so that differences of rounding stay small."""
MOST_ELEMENTS = 400
"""Arrays of more elements do not either."""

choices = st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 7), st.integers(0, 7))
programs = st.tuples(st.lists(st.integers(0, len(SHAPES) - 1), min_size=1, max_size=3), st.lists(choices, max_size=8))


def drawn(seed: int) -> Any:
    """A program of up to 14 steps; the same seed gives the same one."""
    choose = random.Random(seed)
    steps = [
        (choose.randrange(len(STEPS)), choose.randrange(8), choose.randrange(8)) for _ in range(choose.randint(1, 14))
    ]
    return [choose.randrange(len(SHAPES)) for _ in range(choose.randint(1, 3))], steps


def written(program: Any) -> str:
    """The functions that a program tries, in order."""
    return ", ".join(STEPS[kind].names for kind, *_ in program[1])


def run(program: Any) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """The leaves and all values of a program, ours and theirs."""
    shapes, chosen = program
    arrays = [floats(*SHAPES[at], seed=seed) for seed, at in enumerate(shapes)]
    ours, theirs = [Variable(a) for a in arrays], [torch.tensor(a, requires_grad=True) for a in arrays]
    leaves = ours.copy(), theirs.copy()
    for kind, *places in chosen:
        step = STEPS[kind]
        at = [place % len(ours) for place in places[: step.count]]
        if step.fits(*[ours[place].shape for place in at]):
            x, y = step.ours(*[ours[place] for place in at]), step.theirs(*[theirs[place] for place in at])
            is_new = all(x is not known for known in ours)
            if is_new and 0 < x.size <= MOST_ELEMENTS and np.abs(x.data).max() < MOST:
                ours.append(x)
                theirs.append(y)
    return *leaves, ours, theirs


def assert_close(ours: Any, theirs: Any) -> None:
    """The same numbers; where one has no gradient the other has none, or zeros."""
    if ours is None or theirs is None:
        assert ours is None or not np.asarray(ours).any()
        assert theirs is None or not theirs.detach().numpy(force=True).any()
        return
    expected = theirs.detach().numpy(force=True)
    assert ours.shape == expected.shape
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(np.asarray(ours), expected, rtol=1e-8, atol=1e-9 * scale)


def total(values: list[Any], weights: list[Any]) -> Any:
    """Σ weight · value over all values that require a gradient."""
    terms = [(value * weight).sum() for value, weight in zip(values, weights, strict=True) if value.requires_grad]
    return sum(terms[1:], terms[0])


def assert_gradients(y: Variable, schedule: str, leaves: list[Variable], expected: Any, **options: Any) -> None:
    """A pass from y brings each leaf the gradient that is expected."""
    for leaf in leaves:
        leaf.cleargrad()
    y.backward(schedule=schedule, **options)
    for leaf, gradient in zip(leaves, expected, strict=True):
        assert_close(leaf.grad, gradient)


def graphs(y: Variable, leaves: list[Variable]) -> Iterator[list[Any]]:
    """The gradients of y as Variables that can be differentiated again: by `grad`, and by a pass of each schedule."""
    yield grad(y, leaves, create_graph=True)
    for schedule in SCHEDULES:
        for leaf in leaves:
            leaf.cleargrad()
        y.backward(schedule=schedule, create_graph=True)
        yield [leaf.grad for leaf in leaves]


def assert_retained(root: Variable, schedule: str, ours: list[Variable], leaves: list[Variable], theirs: Any) -> None:
    """Two passes that retain gradients bring every value its own, and the leaves those of both."""
    for leaf in leaves:
        leaf.cleargrad()
    for times in (1, 2):
        root.backward(schedule=schedule, retain_grad=True)
        for x, expected in zip(ours, theirs, strict=True):
            if expected is not None:
                assert_close(x.grad, expected * times if x.creator is None else expected)


def check(program: Any) -> None:
    """Raise unless a program gives what PyTorch's gives, by each schedule."""
    our_leaves, their_leaves, ours, theirs = run(program)
    for x, y in zip(ours, theirs, strict=True):
        assert_close(x.data, y)
    weights = [floats(*x.shape, seed=7) for x in ours]
    loss = total(theirs, [torch.tensor(weight) for weight in weights])
    expected = torch.autograd.grad(loss, their_leaves, create_graph=True, allow_unused=True)
    values = [y if y.requires_grad else torch.zeros((), requires_grad=True) for y in theirs]
    retained = torch.autograd.grad(loss, values, retain_graph=True, allow_unused=True)
    for schedule in SCHEDULES:
        assert_gradients(total(ours, weights), schedule, our_leaves, expected)
        assert_retained(total(ours, weights), schedule, ours, our_leaves, retained)
    assert_gradients(total(ours, weights), "tape", our_leaves, expected, share_grads=True)
    for first in graphs(total(ours, weights), our_leaves):
        for x, y in zip(first, expected, strict=True):
            assert_close(None if x is None else x.data, y)
        assert_second_order(first, expected, our_leaves, their_leaves)


@counts(120)
def test_values_and_gradients_of_first_and_second_order(count: int) -> None:
    @settings(max_examples=count, deadline=None, derandomize=True, database=None, suppress_health_check=[*HealthCheck])
    @given(programs)
    def agrees(program: Any) -> None:
        check(program)

    agrees()


@counts(300)
def test_programs_that_no_run_has_met_before(count: int) -> None:
    first = fresh_seed()
    for seed in range(first, first + count):
        try:
            check(drawn(seed))
        except Exception as error:
            error.add_note(f"GRADVIZ_SEED={seed} draws it again: {written(drawn(seed))}")
            raise


def test_programs_are_drawn_of_all_functions() -> None:
    assert {name for step in STEPS for name in step.names.split()} == set(F.__all__)


def assert_second_order(first: list[Any], expected: Any, our_leaves: list[Variable], their_leaves: Any) -> None:
    """Gradients of a sum over the gradients of first order."""
    slopes = [(x, y) for x, y in zip(first, expected, strict=True) if x is not None and y is not None]
    pairs = [(x, y) for x, y in slopes if x.requires_grad and y.requires_grad]
    if not pairs:
        return
    bend = total([y for _, y in pairs], [torch.tensor(floats(*y.shape, seed=8)) for _, y in pairs])
    curvature = torch.autograd.grad(bend, their_leaves, allow_unused=True, retain_graph=True)
    weights = [floats(*x.shape, seed=8) for x, _ in pairs]
    for schedule in SCHEDULES:
        assert_gradients(total([x for x, _ in pairs], weights), schedule, our_leaves, curvature)
