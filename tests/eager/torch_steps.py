"""Steps of programs, by gradviz and by PyTorch: every function of gradviz, where its value and gradient are smooth.

A step may take less of its inputs than it could: numbers that no kink, tie or pole is near, where PyTorch's gradient of
a gradient is a number. What lies at kinks is told of by the edges.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from gradviz import functions as F
from tests.eager.differences import floats

T = torch.nn.functional
SHAPES = [(3, 4), (4,), (3, 1), (), (4, 3), (2, 3, 4)]


class Step(NamedTuple):
    """Functions `names` by gradviz and by PyTorch, on `count` arrays, where their shapes let them."""

    names: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    count: int = 1
    fits: Callable[..., bool] = lambda *shapes: True


def ndim(least: int, most: int = 9) -> Callable[..., bool]:
    """Whether all arrays have so many dimensions."""
    return lambda *shapes: all(least <= len(shape) <= most for shape in shapes)


def wide(*sizes: int) -> Callable[..., bool]:
    """Whether arrays have as many dimensions as `sizes`, each at least so large."""
    return lambda *shapes: all(
        len(shape) == len(sizes) and all(x >= least for x, least in zip(shape, sizes, strict=True)) for shape in shapes
    )


def broadcast(*shapes: tuple[int, ...]) -> bool:
    """Whether shapes broadcast."""
    try:
        return len(np.broadcast_shapes(*shapes)) < 4
    except ValueError:
        return False


def multiply(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether vectors, matrices, or batches of them, can be multiplied."""
    inner = b[-2] if len(b) > 1 else b[-1] if b else 0
    return len(a) > 0 and len(b) > 0 and a[-1] == inner and broadcast(a[:-2], b[:-2])


def alike(*shapes: tuple[int, ...]) -> bool:
    """Whether arrays have one shape, of at least one dimension."""
    return len(set(shapes)) == 1 and len(shapes[0]) > 0


def tensor(array: Any) -> Any:
    """A constant of PyTorch."""
    return torch.tensor(np.asarray(array))


def ramp(x: Any) -> Any:
    """Numbers in the shape of x that grow: added to x they part what is equal."""
    return (np.arange(np.prod(tuple(x.shape), dtype=int)) * 1.37).reshape(tuple(x.shape))


def parted(ours: Callable[..., Any], theirs: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Functions of x whose elements have been parted."""
    return lambda x: ours(x + ramp(x)), lambda x: theirs(x + tensor(ramp(x)))


def through(name: str, ours: Callable[..., Any], theirs: Callable[..., Any], called: Any = None) -> Step:
    """Function `name`, which PyTorch has as `called`, of what `ours` and `theirs` make of x."""
    outer, outer_of_theirs = getattr(F, name), called or getattr(torch, name)
    return Step(name, lambda x: outer(ours(x)), lambda x: outer_of_theirs(theirs(x)))


def times_constant(name: str) -> Step:
    """x times function `name` of x, which is a constant for the gradient."""
    ours, theirs = getattr(F, name), getattr(torch, name)
    return Step(name, lambda x: x * ours(x), lambda x: x * theirs(x.detach()))


def above_0(x: Any) -> Any:
    """Numbers of at least 0.5."""
    return x * x + 0.5


def kept(x: Any) -> Any:
    """What dropout makes of ones: which elements it keeps, and by how much they grow."""
    return F.dropout(np.ones(tuple(x.shape)), 0.5, seed=3).data


def as_image(x: Any) -> Any:
    """A matrix as an image."""
    return x.reshape((1, 1, *x.shape))


def as_channels(x: Any) -> Any:
    """A matrix as one image, of as many channels as it has rows."""
    return x.reshape((1, *x.shape, 1))


def affine(x: Any, at: int) -> tuple[Any, Any]:
    """A scale and an offset for each element of x along a dimension."""
    return floats(x.shape[at], seed=4), floats(x.shape[at], seed=5)


def statistics(x: Any) -> tuple[Any, Any]:
    """A mean and a variance for each channel of x."""
    return floats(x.shape[1], seed=6), floats(x.shape[1], seed=7) ** 2


def except_channels(x: Any) -> list[int]:
    """The dimensions of x but that of its channels."""
    return [at for at in range(x.ndim) if at != 1]


def per_channel(x: Any, numbers: Any) -> Any:
    """A number for each channel of x, shaped to broadcast with it."""
    return tensor(numbers).reshape([-1 if at == 1 else 1 for at in range(x.ndim)])


def batch_norm(x: Any, variance: Any, mean: Any) -> Any:
    """Batch normalization by its formula.

    The gradient of `torch.nn.functional.batch_norm` of 2.13 is wrong on a CPU where the strides of an array and of its
    gradient differ though both are contiguous, as with one example of a width of 1.
    """
    scale, offset = (per_channel(x, numbers) for numbers in affine(x, 1))
    return (x - mean) / torch.sqrt(variance + 0.1) * scale + offset


POINTWISE = [
    *[Step(name, getattr(F, name), getattr(torch, name)) for name in ("tanh", "sin", "cos", "sigmoid", "erf", "neg")],
    *[Step(name, getattr(F, name), getattr(torch, name)) for name in ("relu", "abs", "square")],
    Step("arctan", F.arctan, torch.atan),
    Step("softplus", F.softplus, lambda x: T.softplus(x, 1.0, 50.0)),
    Step("softplus", lambda x: F.softplus(x, 2.0), lambda x: T.softplus(x, 2.0, 50.0)),
    Step("gelu", F.gelu, T.gelu),
    Step("swish", F.swish, T.silu),
    Step("mish", F.mish, T.mish),
    Step("selu", F.selu, T.selu),
    Step("elu", F.elu, T.elu),
    Step("softsign", F.softsign, T.softsign),
    Step("relu6", F.relu6, T.relu6),
    Step("clipped_relu", lambda x: F.clipped_relu(x, 1.0), lambda x: T.hardtanh(x, 0, 1)),
    Step("leaky_relu", F.leaky_relu, lambda x: T.leaky_relu(x, 0.2)),
    Step("hard_sigmoid", F.hard_sigmoid, lambda x: T.hardtanh(0.2 * x + 0.5, 0, 1)),
    Step("log_sigmoid", F.log_sigmoid, T.logsigmoid),
    Step("exp tanh", lambda x: F.exp(F.tanh(x)), lambda x: torch.exp(torch.tanh(x))),
    *[through(name, above_0, above_0) for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal")],
    Step("cbrt", lambda x: F.cbrt(x * x + 0.5), lambda x: (x * x + 0.5) ** (1 / 3)),
    *[
        through(name, lambda x: 0.9 * F.sin(x), lambda x: 0.9 * torch.sin(x), theirs)
        for name, theirs in (("tan", torch.tan), ("arcsin", torch.asin), ("arccos", torch.acos), ("expm1", torch.expm1))
    ],
    *[through(name, F.tanh, torch.tanh) for name in ("sinh", "cosh")],
    Step("logit sigmoid", lambda x: F.logit(F.sigmoid(x / 2)), lambda x: torch.logit(torch.sigmoid(x / 2), 1e-6)),
    Step("pow", lambda x: (x**2 + 0.3) ** 1.7, lambda x: (x**2 + 0.3) ** 1.7),
    Step("pow", lambda x: F.pow(x, 3), lambda x: x**3),
    Step("pow", lambda x: x + F.pow(x, 0), lambda x: x + x**0),
    Step("scale mul sub div", lambda x: 1 - F.scale(x, 2.5) / 3, lambda x: 1 - 2.5 * x / 3),
    Step("div", lambda x: 2 / (1.5 + x * x), lambda x: 2 / (1.5 + x * x)),
    Step("clip", lambda x: F.clip(x, -0.8, 0.9), lambda x: T.hardtanh(x, -0.8, 0.9)),
    Step("clip", lambda x: F.clip(x, max=0.5), lambda x: T.hardtanh(x, -1e9, 0.5)),
    Step("stop_gradient", F.stop_gradient, lambda x: x.detach()),
    Step("identity", F.identity, torch.clone),
    Step("apply", lambda x: F.apply("Cube", x), lambda x: x**3),
    Step("cast", lambda x: x * F.cast(F.cast(F.floor(x), int), float), lambda x: x * torch.floor(x.detach())),
    Step("dropout", lambda x: F.dropout(x, 0.5, seed=3), lambda x: x * tensor(kept(x))),
    *[times_constant(name) for name in ("ceil", "floor", "sign")],
]

PAIRS = [
    *[
        Step(name, getattr(F, name), getattr(torch, name), 2, broadcast)
        for name in ("add", "sub", "mul", "maximum", "minimum")
    ],
    Step("div", lambda x, y: x / (y * y + 1), lambda x, y: x / (y * y + 1), 2, broadcast),
    Step("pow", lambda x, y: (x * x + 0.5) ** F.tanh(y), lambda x, y: (x * x + 0.5) ** torch.tanh(y), 2, broadcast),
    Step("where", lambda x, y: F.where(x > 0, x, y), lambda x, y: torch.where(x > 0, x, y), 2, broadcast),
    Step(
        "broadcast",
        lambda x, y: F.mul(*F.broadcast(x, y)),
        lambda x, y: torch.mul(*torch.broadcast_tensors(x, y)),
        2,
        broadcast,
    ),
    Step("prelu", lambda x, y: F.prelu(x, F.sum(y)), lambda x, y: torch.where(x > 0, x, x * y.sum()), 2),
    Step("matmul", F.matmul, torch.matmul, 2, multiply),
    Step(
        "linear", lambda x, y: F.linear(x, y), lambda x, y: x @ y.T, 2, lambda x, y: wide(1, 1)(x, y) and x[1] == y[1]
    ),
    Step(
        "stack",
        lambda x, y: F.stack([x, y], -1),
        lambda x, y: torch.stack([x, y], -1),
        2,
        lambda x, y: x == y and len(x) < 3,
    ),
    Step("mean_squared_error", F.mean_squared_error, T.mse_loss, 2, alike),
    Step("mean_absolute_error", F.mean_absolute_error, T.l1_loss, 2, alike),
    Step("huber_loss", lambda x, y: F.huber_loss(x, y, 0.7), lambda x, y: T.huber_loss(x, y, delta=0.7), 2, alike),
    Step(
        "cosine_similarity",
        lambda x, y: F.cosine_similarity(x + 3, y - 3),
        lambda x, y: torch.cosine_similarity(x + 3, y - 3),
        2,
        lambda x, y: wide(1, 1)(x, y) and x == y,
    ),
]

ROWS = [
    Step("sum", F.sum, torch.sum),
    Step("sum", lambda x: F.sum(x, 0, True), lambda x: torch.sum(x, 0, True), 1, ndim(1)),
    Step("mean", lambda x: F.mean(x, -1), lambda x: torch.mean(x, -1), 1, ndim(1)),
    Step("max", lambda x: F.max(x, 0), lambda x: torch.amax(x, 0), 1, ndim(1)),
    Step("min", lambda x: F.min(x, -1, True), lambda x: torch.amin(x, -1, True), 1, ndim(1)),
    Step("var", lambda x: F.var(x, -1), lambda x: torch.var(x, -1, correction=0), 1, ndim(1)),
    Step(
        "std",
        *parted(lambda x: F.std(x, -1), lambda x: torch.std(x, -1, correction=0)),
        1,
        lambda x: len(x) > 0 and x[-1] > 1,
    ),
    Step("logsumexp", lambda x: F.logsumexp(x, 0), lambda x: torch.logsumexp(x, 0), 1, ndim(1)),
    Step("prod", lambda x: F.prod(x, -1), lambda x: torch.prod(x, -1), 1, ndim(1)),
    Step("norm", lambda x: F.norm(x + 3), lambda x: torch.linalg.vector_norm(x + 3)),
    Step("cumsum", lambda x: F.cumsum(x, -1), lambda x: torch.cumsum(x, -1), 1, ndim(1)),
    *[
        Step(name, *parted(lambda x, n=name: F.take(x, getattr(F, n)(x)), lambda x, n=name: x.ravel()[getattr(x, n)()]))
        for name in ("argmax", "argmin")
    ],
    Step("softmax", lambda x: F.softmax(x, 0), lambda x: torch.softmax(x, 0), 1, ndim(1)),
    Step("log_softmax", lambda x: F.log_softmax(x, -1), lambda x: torch.log_softmax(x, -1), 1, ndim(1)),
    Step("normalize", lambda x: F.normalize(x + 3, -1), lambda x: T.normalize(x + 3, dim=-1), 1, ndim(1)),
    Step(
        "softmax_cross_entropy",
        lambda x: F.softmax_cross_entropy(x, [0] * x.shape[0]),
        lambda x: T.cross_entropy(x, torch.zeros(len(x), dtype=int)),
        1,
        ndim(2, 2),
    ),
    Step(
        "sigmoid_cross_entropy",
        lambda x: F.sigmoid_cross_entropy(x, np.full(x.shape, 0.3)),
        lambda x: T.binary_cross_entropy_with_logits(x, torch.full_like(x, 0.3)),
    ),
    Step(
        "layer_normalization",
        lambda x: F.layer_normalization(x, *affine(x, -1), 0.1),
        lambda x: T.layer_norm(x, x.shape[-1:], *map(tensor, affine(x, -1)), 0.1),
        1,
        ndim(1),
    ),
    Step(
        "batch_normalization",
        lambda x: F.batch_normalization(x, *affine(x, 1), 0.1),
        lambda x: batch_norm(x, *torch.var_mean(x, except_channels(x), correction=0, keepdim=True)),
        1,
        lambda x: len(x) > 1 and x[0] > 1,
    ),
    Step(
        "fixed_batch_normalization",
        lambda x: F.fixed_batch_normalization(x, *affine(x, 1), affine(x, 1)[0], affine(x, 1)[1] ** 2, 0.1),
        lambda x: batch_norm(x, per_channel(x, affine(x, 1)[1] ** 2), per_channel(x, affine(x, 1)[0])),
        1,
        ndim(2),
    ),
    Step(
        "group_normalization",
        lambda x: F.group_normalization(as_channels(x), 2, *affine(x, 0), 0.1),
        lambda x: T.group_norm(as_channels(x), 2, *map(tensor, affine(x, 0)), 0.1),
        1,
        lambda x: len(x) == 2 and x[0] % 2 == 0 and x[1] > 1,
    ),
    Step(
        "local_response_normalization",
        lambda x: F.local_response_normalization(as_channels(x), 3, 2.0, 0.1),
        lambda x: T.local_response_norm(as_channels(x), 3, 0.3, 0.75, 2.0),
        1,
        wide(1, 1),
    ),
]

SHAPING = [
    Step("reshape", lambda x: F.reshape(x, -1), lambda x: torch.reshape(x, (-1,))),
    Step("flatten", F.flatten, torch.ravel),
    Step("transpose", lambda x: x.T, lambda x: x.permute(tuple(reversed(range(x.ndim))))),
    Step("swapaxes", lambda x: F.swapaxes(x, 0, -1), lambda x: torch.swapaxes(x, 0, -1), 1, ndim(1)),
    Step("moveaxis", lambda x: F.moveaxis(x, 0, -1), lambda x: torch.movedim(x, 0, -1), 1, ndim(1)),
    Step("expand_dims", lambda x: F.expand_dims(x, 0), lambda x: x.unsqueeze(0), 1, ndim(0, 2)),
    Step("squeeze", F.squeeze, torch.squeeze),
    Step("broadcast_to", lambda x: F.broadcast_to(x, (2, *x.shape)), lambda x: x.expand(2, *x.shape), 1, ndim(0, 2)),
    Step("get_item", lambda x: x[-1], lambda x: x[-1], 1, ndim(1)),
    Step("get_item", lambda x: x[1:], lambda x: x[1:], 1, ndim(1)),
    Step("get_item", lambda x: x[..., ::-1], lambda x: torch.flip(x, (-1,)), 1, ndim(1)),
    Step("get_item", lambda x: x[[0, -1, 0]], lambda x: x[[0, -1, 0]], 1, ndim(1)),
    Step("take", lambda x: F.take(x, [[0, -1]], -1), lambda x: x[..., [[0, -1]]], 1, ndim(1, 2)),
    Step("embed_id", lambda x: F.embed_id([[0, 0]], x), lambda x: x[torch.tensor([[0, 0]])], 1, ndim(1, 2)),
    Step("embed_id", lambda x: F.embed_id([0, 0], x), lambda x: x[torch.tensor([0, 0])], 1, ndim(1)),
    Step("concat", lambda x: F.concat([x, x * x], 0), lambda x: torch.cat([x, x * x], 0), 1, ndim(1)),
    Step("split_axis", lambda x: F.split_axis(x, [1], -1)[0], lambda x: torch.tensor_split(x, (1,), -1)[0], 1, ndim(1)),
    Step("pad", lambda x: F.pad(x, 1), lambda x: T.pad(x, (1, 1) * x.ndim), 1, ndim(1, 2)),
    Step("tile", lambda x: F.tile(x, 2), lambda x: torch.tile(x, (2,)), 1, ndim(1, 2)),
    Step("repeat", lambda x: F.repeat(x, 2, 0), lambda x: torch.repeat_interleave(x, 2, 0), 1, ndim(1)),
    Step("matmul", lambda x: F.matmul(x, x.T), lambda x: x @ x.T, 1, ndim(2, 2)),
    Step(
        "einsum",
        lambda x: F.einsum("ij,kj,ij->ik", x, x, F.tanh(x)),
        lambda x: torch.einsum("ij,kj,ij->ik", x, x, torch.tanh(x)),
        1,
        ndim(2, 2),
    ),
    Step(
        "convolution_2d",
        lambda x: F.convolution_2d(as_image(x), as_image(x[:2, :1]), pad=1),
        lambda x: T.conv2d(as_image(x), as_image(x[:2, :1]), padding=1),
        1,
        wide(2, 1),
    ),
    Step(
        "deconvolution_2d",
        lambda x: F.deconvolution_2d(as_image(x), as_image(x[:2, :1]), stride=2),
        lambda x: T.conv_transpose2d(as_image(x), as_image(x[:2, :1]), stride=2),
        1,
        wide(2, 1),
    ),
    Step(
        "max_pooling_2d",
        *parted(
            lambda x: F.max_pooling_2d(as_image(x), 2, 1, cover_all=False), lambda x: T.max_pool2d(as_image(x), 2, 1)
        ),
        1,
        wide(2, 2),
    ),
    Step(
        "average_pooling_2d",
        lambda x: F.average_pooling_2d(as_image(x), 2, 1),
        lambda x: T.avg_pool2d(as_image(x), 2, 1),
        1,
        wide(2, 2),
    ),
]

STEPS: list[Step] = [*POINTWISE, *PAIRS, *ROWS, *SHAPING]
