"""Calls at the edges of every function, PyTorch's beside ours: zeros, infinities, nan, ties, and nothing at all."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from gradviz import functions as F
from tests.eager.differences import Array

T = torch.nn.functional
INF, NAN = np.inf, np.nan
GREATEST, LEAST = float(np.finfo(float).max), 5e-324
NUMBERS = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 800.0, -800.0, 1e17, -1e17, LEAST, -LEAST, 1e-310)
EDGES_OF_FLOATS = (*NUMBERS, GREATEST, -GREATEST, INF, -INF, NAN)


class Edge(NamedTuple):
    """A call of function `name` at an edge; `about`: which. `is_pointwise`: each element is a call of its own."""

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    arrays: tuple[Array, ...]
    about: str = ""
    is_pointwise: bool = False

    def __str__(self) -> str:
        return f"{self.name}-{self.about}" if self.about else self.name


def edge(name: str, theirs: Callable[..., Any], *arrays: Any, about: str = "", **options: Any) -> Edge:
    """A call with arrays and options; PyTorch's gets the arrays alone."""
    told = about or str(tuple(np.shape(a) for a in arrays))
    made = tuple(np.array(a, dtype=float) for a in arrays)
    return Edge(name, lambda *xs: getattr(F, name)(*xs, **options), theirs, made, told)


def pointwise(name: str, theirs: Callable[..., Any], without: Sequence[float] = (), **options: Any) -> list[Edge]:
    """A function of each element at all edges of floats but those `without`, which are told of as conventions."""
    kept = [x for x in EDGES_OF_FLOATS if not any(same(x, other) for other in without)]
    told = ",".join(f"{key}={value}" for key, value in options.items())
    shapes = {
        "vector": np.array(kept),
        "no dims": np.array(kept[0]),
        "empty": np.zeros(0),
        "empty matrix": np.zeros((0, 3)),
    }
    made = [edge(name, theirs, x, about=f"{told} {shape}".strip(), **options) for shape, x in shapes.items()]
    return [each._replace(is_pointwise=True) for each in made]


def same(x: float, y: float) -> bool:
    """Whether two numbers are one, also in their sign, or both nan."""
    return (np.isnan(x) and np.isnan(y)) or (x == y and np.signbit(x) == np.signbit(y))


def pairs(name: str, theirs: Callable[..., Any], agree: Callable[[Array, Array], Array] | None = None) -> Edge:
    """A function of two arrays at all pairs of edges at which it and PyTorch agree."""
    numbers = (*NUMBERS, 1e200, -1e200, INF, -INF, NAN)
    x, y = np.array([(x, y) for x in numbers for y in numbers]).T
    kept = np.ones(x.shape, bool) if agree is None else agree(x, y)
    return edge(name, theirs, x[kept], y[kept], about="all pairs")._replace(is_pointwise=True)


def no_powers_of_0(x: Array, y: Array) -> Array:
    """Where powers are not those of an infinite or a negative number that have become 0: see the conventions."""
    with np.errstate(all="ignore"):
        return np.asarray((x**y != 0) | (np.isfinite(x) & (x >= 0)))


def no_nan(x: Array, y: Array) -> Array:
    """Where neither is nan."""
    return np.asarray(~(np.isnan(x) | np.isnan(y)))


def plus_itself(name: str, theirs: Callable[..., Any]) -> list[Edge]:
    """A constant, with x added to it, so that there is a gradient."""
    x = np.array(EDGES_OF_FLOATS)
    return [Edge(name, lambda v: v + getattr(F, name)(v), lambda v: v + theirs(v).detach(), (x,), "plus x")]


OF_TORCH = (
    *(
        "exp",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sqrt",
        "rsqrt",
        "square",
        "reciprocal",
        "neg",
        "erf",
        "sigmoid",
    ),
    *("sin", "cos", "tan", "sinh", "cosh", "tanh"),
)
"""Functions of each element that PyTorch calls the same."""

POINTWISE = [
    *[each for name in OF_TORCH for each in pointwise(name, getattr(torch, name))],
    *pointwise("arcsin", torch.asin),
    *pointwise("arccos", torch.acos),
    *pointwise("arctan", torch.atan),
    *pointwise("abs", torch.abs, [NAN]),
    *pointwise("identity", torch.clone),
    *pointwise("scale", lambda x: x * 2.5, factor=2.5),
    *pointwise("scale", lambda x: x * 0.0, factor=0.0),
    *pointwise("cast", lambda x: x.float(), dtype="float32"),
    Edge("apply", lambda x: F.apply("Tanh", x), torch.tanh, (np.array(EDGES_OF_FLOATS),), "Tanh"),
    *pointwise("cbrt", lambda x: torch.sign(x) * torch.abs(x) ** (1 / 3), [0.0, -0.0]),
    *pointwise("relu", torch.relu, [NAN]),
    *pointwise("relu6", T.relu6, [NAN]),
    *pointwise("clipped_relu", lambda x: T.hardtanh(x, 0, 2), [NAN], most=2.0),
    *pointwise("clip", lambda x: torch.clamp(x, -1, 2), [-1.0, 2.0], min=-1, max=2),
    *pointwise("clip", lambda x: torch.clamp(x, min=-1), [-1.0], min=-1),
    *pointwise("clip", lambda x: torch.clamp(x, max=2), [2.0], max=2),
    *pointwise("clip", torch.clone, [NAN]),
    *pointwise("leaky_relu", lambda x: T.leaky_relu(x, 0.2)),
    *pointwise("leaky_relu", lambda x: T.leaky_relu(x, 0.0), slope=0.0),
    *pointwise("elu", T.elu, [NAN]),
    *pointwise("selu", T.selu, [NAN]),
    *pointwise("hard_sigmoid", lambda x: T.relu6(1.2 * x + 3) / 6, [NAN]),
    *pointwise("log_sigmoid", T.logsigmoid),
    *pointwise("softplus", T.softplus),
    *pointwise("softplus", lambda x: T.softplus(x, 2.0), [GREATEST, -GREATEST], beta=2.0),
    *pointwise("softsign", T.softsign, [INF, -INF]),
    *pointwise("gelu", T.gelu, [INF, -INF]),
    *pointwise("swish", T.silu, [INF, -INF]),
    *pointwise("mish", T.mish, [INF, -INF]),
    *pointwise("logit", lambda x: torch.logit(x, 1e-6), [NAN]),
    *[
        each
        for exponent in (0, 1, 2, 3, -1, 1.5)
        for each in pointwise("pow", lambda x, e=exponent: torch.pow(x, e), y=exponent)
    ],
    *pointwise("pow", lambda x: torch.pow(x, 0.5), [-0.0, -INF], y=0.5),
    *[
        each
        for name in ("ceil", "floor", "sign", "stop_gradient")
        for each in plus_itself(name, getattr(torch, name, torch.clone))
    ],
    edge("prelu", torch.prelu, [[0.0, -0.0, -1.0, 2.0, -INF, INF]], [0.5], about="all signs"),
    edge("prelu", torch.prelu, np.zeros((0, 2)), [0.5, 0.0], about="empty"),
    edge("dropout", lambda x: x * 1, EDGES_OF_FLOATS, about="keeps all", ratio=0.0, seed=1),
]

PAIRS = [
    pairs("add", torch.add),
    pairs("sub", torch.sub),
    pairs("mul", torch.mul),
    pairs("div", torch.div),
    pairs("pow", torch.pow, no_powers_of_0),
    pairs("maximum", torch.maximum, no_nan),
    pairs("minimum", torch.minimum, no_nan),
    Edge(
        "where",
        lambda x, y: F.where(x > y, x, y),
        lambda x, y: torch.where(x > y, x, y),
        (np.array(EDGES_OF_FLOATS), np.array(EDGES_OF_FLOATS[::-1])),
        "not chosen",
    ),
    *[
        edge(name, getattr(torch, name), x, y)
        for name in ("add", "sub", "mul", "div", "pow", "maximum", "minimum")
        for x, y in ((np.zeros((0, 3)), np.ones(3)), (np.ones((1, 3)), np.ones((0, 3))), (np.ones(()), np.zeros(0)))
    ],
]

EDGES: list[Edge] = [*POINTWISE, *PAIRS]
