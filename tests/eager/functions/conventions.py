"""Where PyTorch's value or gradient at an edge is another one than ours, what ours is, and why."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from gradviz import functions as F
from tests.eager.functions.edge_cases import GREATEST, INF, NAN, Edge, edge
from tests.eager.functions.edge_rows import ONE, ZERO, first_class, images

T = torch.nn.functional
IS_BEFORE_2_14 = tuple(map(int, torch.__version__.split(".")[:2])) < (2, 14)


class Convention(NamedTuple):
    """A call whose value and gradients, of ones, differ from PyTorch's; `why` is what speaks for ours."""

    edge: Edge
    value: Any
    gradients: tuple[Any, ...]
    why: str

    def __str__(self) -> str:
        return f"{self.edge.name}-{self.why}"


def at(
    name: str, theirs: Callable[..., Any], x: Any, value: Any, gradient: Any, why: str, **options: Any
) -> Convention:
    """A function of one array."""
    return Convention(edge(name, theirs, x, **options), value, (gradient,), why)


NO_SLOPE_AT_NAN = "where y tells the piece, nan lies in none that is inclined"
LIMIT = "the limit: what falls to 0 wins over what grows"
BOUND = "a bound belongs to the piece that is constant, as for Relu"
MEAN_OF_NONE = "the mean of nothing is 0, as everywhere here"
NO_LARGEST = "nothing equals nan, so that no element is the largest or smallest"
ZERO_WEIGHT = "a logarithm of 0 without weight does not count: 0 · ln 0 = 0"
OVERFLOW = "what is divided by an overflow is 0"

AT_NAN = [
    at("abs", torch.abs, [NAN], [NAN], [NAN], "the sign of nan is nan, as numpy's"),
    at("relu", torch.relu, [NAN], [NAN], [0], NO_SLOPE_AT_NAN),
    at("relu6", T.relu6, [NAN], [NAN], [0], NO_SLOPE_AT_NAN),
    at("clipped_relu", lambda x: T.relu6(3 * x) / 3, [NAN], [NAN], [0], NO_SLOPE_AT_NAN, most=2.0),
    at("hard_sigmoid", lambda x: T.relu6(1.2 * x + 3) / 6, [NAN], [NAN], [0], NO_SLOPE_AT_NAN),
    at("logit", lambda x: torch.logit(x, 1e-6), [NAN], [NAN], [0], NO_SLOPE_AT_NAN),
    at("elu", T.elu, [NAN], [NAN], [NAN], "its slope there is y + 1"),
    at("selu", T.selu, [NAN], [NAN], [NAN], "its slope there is y + a number"),
    at("mean_absolute_error", lambda x: T.l1_loss(x, x * 0), [NAN], NAN, [NAN], "the sign of nan is nan", y=ZERO),
    at("max", torch.amax, [1.0, NAN], NAN, [0, 0], NO_LARGEST),
    at("min", torch.amin, [1.0, NAN], NAN, [0, 0], NO_LARGEST),
    *[
        Convention(
            edge(name, getattr(torch, name), [1.0, NAN, NAN], [NAN, 1.0, NAN]), [NAN] * 3, ([0] * 3,) * 2, NO_LARGEST
        )
        for name in ("maximum", "minimum")
    ],
]

AT_INFINITY = [
    at("gelu", T.gelu, [-INF, INF], [0, INF], [0, 1], LIMIT),
    at("swish", T.silu, [-INF, INF], [0, INF], [0, 1], LIMIT),
    at("mish", T.mish, [-INF, INF], [0, INF], [0, 1], LIMIT),
    at("softsign", T.softsign, [-INF, INF], [-1, 1], [0, 0], LIMIT),
    at("softplus", lambda x: T.softplus(x, 2.0), [GREATEST], [INF], [1], "beta · x overflows", beta=2.0),
    Convention(
        edge("pow", torch.pow, [INF, -INF], [-1.0, -1.0]),
        [0, 0],
        ([0, 0], [0, 0]),
        LIMIT,
    ),
    Convention(
        edge("pow", torch.pow, [-2.0, -0.5], [-1e200, 1e200]), [0, 0], ([0, 0], [0, 0]), "what is 0 all around stays 0"
    ),
    *[
        Convention(
            Edge(
                "sigmoid_cross_entropy",
                lambda x, t=target: F.sigmoid_cross_entropy(x, np.full(x.shape, t)),
                lambda x, t=target: T.binary_cross_entropy_with_logits(x, torch.full_like(x, t)),
                (np.array([x]),),
            ),
            value,
            ([gradient],),
            ZERO_WEIGHT,
        )
        for target, x, value, gradient in ((0.0, -INF, 0, 0), (1.0, INF, 0, 0), (1.0, -INF, INF, -1))
    ],
    Convention(
        Edge(
            "softmax_cross_entropy",
            lambda x: F.softmax_cross_entropy(x, np.eye(3)[0]),
            lambda x: T.cross_entropy(x[None], first_class(x)),
            (np.array([1.0, -INF, 1.0]),),
        ),
        np.log(2),
        ([-0.5, 0, 0.5],),
        ZERO_WEIGHT,
    ),
]

AT_CORNERS = [
    # Of PyTorch, too, since 2.14.
    *[at("clip", lambda x: torch.clamp(x, -1, 2), [-1.0, 2.0], [-1, 2], [0, 0], BOUND, min=-1, max=2)] * IS_BEFORE_2_14,
    at("cbrt", lambda x: x.sign() * x.abs() ** (1 / 3), [0.0, -0.0], [0, 0], [INF, INF], "the slope of the root at 0"),
    at("pow", lambda x: torch.pow(x, 0.5), [-0.0], [0], [INF], "numpy's powers of -0 are those of 0", y=0.5),
    Convention(
        Edge(
            "max_pooling_2d",
            lambda x: F.max_pooling_2d(images(x), (2, 1)),
            lambda x: T.max_pool2d(images(x), (2, 1)),
            (np.array([3.0, 3.0]),),
        ),
        [[[[3]]]],
        ([0.5, 0.5],),
        "equal elements share the gradient, as for max",
    ),
    Convention(
        edge("cosine_similarity", torch.cosine_similarity, [[0.0, 0.0]], [[3.0, 4.0]]),
        [0],
        ([[6e5, 8e5]], [[0, 0]]),
        "the least length is 10⁻⁶, PyTorch's 10⁻⁸",
    ),
    Convention(
        edge("cosine_similarity", torch.cosine_similarity, [[3e-7, 4e-7]], [[3.0, 4.0]]),
        [0.5],
        ([[6e5, 8e5]], [[0, 0]]),
        "a length below 10⁻⁶ counts as that",
    ),
]

AT_NOTHING = [
    at("mean", torch.mean, [], 0, [], MEAN_OF_NONE),
    at("var", lambda x: torch.var(x, correction=0), [], 0, [], MEAN_OF_NONE),
    at("std", lambda x: torch.std(x, correction=0), [], 0, [], MEAN_OF_NONE),
    *[
        Convention(edge(name, theirs, [], []), 0, ([], []), MEAN_OF_NONE)
        for name, theirs in (
            ("mean_squared_error", T.mse_loss),
            ("mean_absolute_error", T.l1_loss),
            ("huber_loss", T.huber_loss),
        )
    ],
    at(
        "sigmoid_cross_entropy",
        lambda x: T.binary_cross_entropy_with_logits(x, x.detach()),
        [],
        0,
        [],
        MEAN_OF_NONE,
        targets=np.zeros(0),
    ),
]

AT_OVERFLOW = [
    at(
        "layer_normalization",
        lambda x: T.layer_norm(x, x.shape),
        [1e200, 2e200],
        [0, 0],
        [0, 0],
        OVERFLOW,
        gamma=np.ones(2),
        beta=np.zeros(2),
    ),
    Convention(
        Edge(
            "group_normalization",
            lambda x: F.group_normalization(images(x), 1, ONE, ZERO),
            lambda x: T.group_norm(images(x), 1),
            (np.array([1e200, 2e200]),),
        ),
        [[[[0], [0]]]],
        ([0, 0],),
        OVERFLOW,
    ),
]

CONVENTIONS: list[Convention] = [*AT_NAN, *AT_INFINITY, *AT_CORNERS, *AT_NOTHING, *AT_OVERFLOW]
