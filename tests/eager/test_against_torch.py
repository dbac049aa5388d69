"""Random programs against PyTorch: values, gradients, and gradients of gradients."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradviz import Variable, grad
from gradviz import functions as F
from gradviz.eager.passes import SCHEDULES
from tests.eager.differences import floats

torch = pytest.importorskip("torch")
T = torch.nn.functional

SHAPES = [(3, 4), (4,), (3, 1), (), (4, 3), (2, 3, 4)]
MOST = 30.0
"""Values beyond this take no further part, so that differences of rounding stay small."""


class Step(NamedTuple):
    """An operation by gradviz and by PyTorch, on as many arrays as it names, where their shapes let it."""

    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    count: int = 1
    fits: Callable[..., bool] = lambda *shapes: True


def ndim(least: int, most: int = 9) -> Callable[..., bool]:
    """Whether all arrays have so many dimensions."""
    return lambda *shapes: all(least <= len(shape) <= most for shape in shapes)


def broadcast(*shapes: tuple[int, ...]) -> bool:
    """Whether shapes broadcast."""
    try:
        return len(np.broadcast_shapes(*shapes)) < 4
    except ValueError:
        return False


def multiply(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether matrices, or batches of them, can be multiplied."""
    return len(a) > 1 and len(b) > 1 and a[-1] == b[-2] and broadcast(a[:-2], b[:-2])


def alike(*shapes: tuple[int, ...]) -> bool:
    """Whether arrays have one shape, of at least one dimension."""
    return len(set(shapes)) == 1 and len(shapes[0]) > 0


STEPS = [
    Step(F.tanh, torch.tanh),
    Step(F.sin, torch.sin),
    Step(F.cos, torch.cos),
    Step(F.sigmoid, torch.sigmoid),
    Step(F.softplus, T.softplus),
    Step(F.gelu, T.gelu),
    Step(F.swish, T.silu),
    Step(F.arctan, torch.arctan),
    Step(F.erf, torch.erf),
    Step(F.log_sigmoid, T.logsigmoid),
    Step(lambda x: F.exp(F.tanh(x)), lambda x: torch.exp(torch.tanh(x))),
    Step(lambda x: F.log(x * x + 0.5), lambda x: torch.log(x * x + 0.5)),
    Step(lambda x: F.log1p(x * x), lambda x: torch.log1p(x * x)),
    Step(lambda x: F.expm1(F.sin(x)), lambda x: torch.expm1(torch.sin(x))),
    Step(lambda x: F.sqrt(x * x + 1), lambda x: torch.sqrt(x * x + 1)),
    Step(lambda x: (x**2 + 0.3) ** 1.7, lambda x: (x**2 + 0.3) ** 1.7),
    Step(lambda x: 1 - 2.5 * x / 3, lambda x: 1 - 2.5 * x / 3),
    Step(lambda x: 2 / (1.5 + x * x), lambda x: 2 / (1.5 + x * x)),
    Step(F.relu, torch.relu),
    Step(F.elu, T.elu),
    Step(lambda x: F.clip(x, -0.8, 0.9), lambda x: torch.clamp(x, -0.8, 0.9)),
    Step(abs, torch.abs),
    Step(F.stop_gradient, lambda x: x.detach()),
    Step(F.add, torch.add, 2, broadcast),
    Step(F.sub, torch.sub, 2, broadcast),
    Step(F.mul, torch.mul, 2, broadcast),
    Step(lambda x, y: x / (y * y + 1), lambda x, y: x / (y * y + 1), 2, broadcast),
    Step(lambda x, y: (x * x + 0.5) ** y, lambda x, y: (x * x + 0.5) ** y, 2, broadcast),
    Step(F.maximum, torch.maximum, 2, broadcast),
    Step(F.minimum, torch.minimum, 2, broadcast),
    Step(lambda x, y: F.where(x > 0, x, y), lambda x, y: torch.where(x > 0, x, y), 2, broadcast),
    Step(F.sum, torch.sum),
    Step(lambda x: F.sum(x, 0, True), lambda x: torch.sum(x, 0, True), 1, ndim(1)),
    Step(lambda x: F.mean(x, -1), lambda x: torch.mean(x, -1), 1, ndim(1)),
    Step(lambda x: F.max(x, 0), lambda x: torch.amax(x, 0), 1, ndim(1)),
    Step(lambda x: F.min(x, -1, True), lambda x: torch.amin(x, -1, True), 1, ndim(1)),
    Step(lambda x: F.var(x, -1), lambda x: torch.var(x, -1, correction=0), 1, ndim(1)),
    Step(lambda x: F.logsumexp(x, 0), lambda x: torch.logsumexp(x, 0), 1, ndim(1)),
    Step(lambda x: F.prod(x, -1), lambda x: torch.prod(x, -1), 1, ndim(1)),
    Step(lambda x: F.norm(x + 3), lambda x: torch.linalg.vector_norm(x + 3)),
    Step(lambda x: F.cumsum(x, -1), lambda x: torch.cumsum(x, -1), 1, ndim(1)),
    Step(lambda x: F.softmax(x, 0), lambda x: torch.softmax(x, 0), 1, ndim(1)),
    Step(lambda x: F.log_softmax(x, -1), lambda x: torch.log_softmax(x, -1), 1, ndim(1)),
    Step(lambda x: F.reshape(x, -1), lambda x: torch.reshape(x, (-1,))),
    Step(lambda x: x.T, lambda x: x.permute(tuple(reversed(range(x.ndim))))),
    Step(lambda x: F.expand_dims(x, 0), lambda x: x.unsqueeze(0), 1, ndim(0, 2)),
    Step(F.squeeze, torch.squeeze),
    Step(lambda x: x[-1], lambda x: x[-1], 1, ndim(1)),
    Step(lambda x: x[1:], lambda x: x[1:], 1, ndim(1)),
    Step(lambda x: x[..., ::-1], lambda x: torch.flip(x, (-1,)), 1, ndim(1)),
    Step(lambda x: x[[0, -1, 0]], lambda x: x[[0, -1, 0]], 1, ndim(1)),
    Step(lambda x: F.embed_id([[0, 0]], x), lambda x: x[torch.tensor([[0, 0]])], 1, ndim(1, 2)),
    Step(lambda x: F.concat([x, x * x], 0), lambda x: torch.cat([x, x * x], 0), 1, ndim(1)),
    Step(lambda x, y: F.stack([x, y], -1), lambda x, y: torch.stack([x, y], -1), 2, lambda x, y: x == y and len(x) < 3),
    Step(lambda x: F.split_axis(x, [1], -1)[0], lambda x: torch.tensor_split(x, (1,), -1)[0], 1, ndim(1)),
    Step(lambda x: F.pad(x, 1), lambda x: T.pad(x, (1, 1) * x.ndim), 1, ndim(1, 2)),
    Step(lambda x: F.tile(x, 2), lambda x: torch.tile(x, (2,)), 1, ndim(1, 2)),
    Step(F.matmul, torch.matmul, 2, multiply),
    Step(lambda x: F.matmul(x, x.T), lambda x: x @ x.T, 1, ndim(2, 2)),
    Step(
        lambda x: F.einsum("ij,kj,ij->ik", x, x, F.tanh(x)),
        lambda x: torch.einsum("ij,kj,ij->ik", x, x, torch.tanh(x)),
        1,
        ndim(2, 2),
    ),
    Step(F.mean_squared_error, T.mse_loss, 2, alike),
    Step(
        lambda x: F.softmax_cross_entropy(x, [0] * x.shape[0]),
        lambda x: T.cross_entropy(x, torch.zeros(len(x), dtype=int)),
        1,
        ndim(2, 2),
    ),
    Step(
        lambda x: F.layer_normalization(x, np.ones(x.shape[-1]), np.zeros(x.shape[-1]), 0.1),
        lambda x: T.layer_norm(x, x.shape[-1:], eps=0.1),
        1,
        ndim(1),
    ),
]

choices = st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 7), st.integers(0, 7))
programs = st.tuples(st.lists(st.integers(0, len(SHAPES) - 1), min_size=1, max_size=3), st.lists(choices, max_size=8))


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
            if x.size and np.abs(x.data).max() < MOST:
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


def assert_gradients(y: Variable, schedule: str, leaves: list[Variable], expected: Any) -> None:
    """A pass from y brings each leaf the gradient that is expected."""
    for leaf in leaves:
        leaf.cleargrad()
    y.backward(schedule=schedule)
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


@settings(max_examples=1000, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(programs)
def test_values_and_gradients_of_first_and_second_order(program: Any) -> None:
    our_leaves, their_leaves, ours, theirs = run(program)
    for x, y in zip(ours, theirs, strict=True):
        assert_close(x.data, y)
    weights = [floats(*x.shape, seed=7) for x in ours]
    loss = total(theirs, [torch.tensor(weight) for weight in weights])
    expected = torch.autograd.grad(loss, their_leaves, create_graph=True, allow_unused=True)
    for schedule in SCHEDULES:
        assert_gradients(total(ours, weights), schedule, our_leaves, expected)
    for first in graphs(total(ours, weights), our_leaves):
        for x, y in zip(first, expected, strict=True):
            assert_close(None if x is None else x.data, y)
        assert_second_order(first, expected, our_leaves, their_leaves)


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
