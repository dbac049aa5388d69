"""Calls at the edges of functions of rows: reductions, normalizations, losses; PyTorch's beside ours."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from gradviz import functions as F
from tests.eager.functions.edge_cases import INF, LEAST, NAN, Edge, edge

T = torch.nn.functional

ROWS = {
    "zeros": [0.0, -0.0, 0.0],
    "equal": [2.0, 2.0, 2.0],
    "one": [3.0],
    "one zero": [0.0, 2.0, 3.0],
    "two zeros": [0.0, 0.0, 3.0],
    "nan": [1.0, NAN, 2.0],
    "inf": [1.0, INF, 2.0],
    "-inf": [1.0, -INF, 2.0],
    "only -inf": [-INF, -INF],
    "both infinities": [INF, -INF, 1.0],
    "subnormal": [LEAST, 0.0, 1e-310],
    "small": [1e-200, 2e-200],
    "large": [1e200, 2e200, 1.0],
    "empty": [],
}


def of_rows(name: str, theirs: Callable[..., Any], *without: str, **options: Any) -> list[Edge]:
    """A function of a row at all edges of rows but those `without`."""
    return [edge(name, theirs, x, about=about, **options) for about, x in ROWS.items() if about not in without]


def axis_0(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of PyTorch along axis 0."""
    return lambda x: function(x, 0)


REDUCTIONS = [
    *of_rows("sum", torch.sum),
    *of_rows("mean", torch.mean, "empty"),
    *of_rows("max", torch.amax, "nan", "empty"),
    *of_rows("min", torch.amin, "nan", "empty"),
    *of_rows("prod", torch.prod),
    *of_rows("norm", torch.linalg.vector_norm),
    *of_rows("var", lambda x: torch.var(x, correction=0), "empty"),
    *of_rows("std", lambda x: torch.std(x, correction=0), "empty"),
    edge("std", lambda x: torch.std(x, 1, correction=0), [[1.0, 1.0], [1.0, 3.0]], about="of rows", axis=1),
    *of_rows("logsumexp", axis_0(torch.logsumexp), "empty"),
    *of_rows("cumsum", axis_0(torch.cumsum)),
    *of_rows("softmax", axis_0(torch.softmax), axis=0),
    *of_rows("log_softmax", axis_0(torch.log_softmax), axis=0),
    *of_rows("normalize", lambda x: T.normalize(x, dim=0), axis=0),
    *[
        Edge(
            name,
            lambda v, n=name: F.take(v, getattr(F, n)(v)),
            lambda v, n=name: v[getattr(torch, n)(v)],
            (np.array(x),),
            about,
        )
        for name in ("argmax", "argmin")
        for about, x in ROWS.items()
        if about != "empty"
    ],
    *[
        edge(name, lambda x, n=name: getattr(torch, n)(x, 1), np.zeros((0, 3)), axis=1)
        for name in ("sum", "mean", "prod", "amax", "amin")
        if hasattr(F, name)
    ],
    *[edge(name, torch.clone, 2.0, about="no dims") for name in ("sum", "mean", "max", "min", "prod")],
]


def images(x: Any) -> Any:
    """A row as one image of one channel."""
    return x.reshape(1, 1, -1, 1)


def of_images(name: str, ours: Callable[..., Any], theirs: Callable[..., Any], *without: str) -> list[Edge]:
    """A function of images at the edges of rows."""
    return [
        Edge(name, lambda x: ours(images(x)), lambda x: theirs(images(x)), (np.array(x),), about)
        for about, x in ROWS.items()
        if about not in without
    ]


ONE, ZERO = np.ones(1), np.zeros(1)
IMAGE = np.array([[[[1.0, 0.0, -INF], [0.5, -0.0, 2.0], [-INF, -INF, INF]]]])
NORMALIZATION = [
    *[
        Edge(
            "layer_normalization",
            lambda x: F.layer_normalization(x, np.ones(x.shape), np.zeros(x.shape)),
            lambda x: T.layer_norm(x, x.shape),
            (np.array(x),),
            about,
        )
        for about, x in ROWS.items()
        if about not in ("large", "empty")
    ],
    *of_images(
        "group_normalization",
        lambda x: F.group_normalization(x, 1, ONE, ZERO),
        lambda x: T.group_norm(x, 1),
        *("large", "one", "empty"),
    ),
    *of_images(
        "batch_normalization",
        lambda x: F.batch_normalization(x, ONE, ZERO),
        lambda x: T.batch_norm(x, None, None, training=True, eps=2e-5),
        *("one", "empty"),
    ),
    *of_images(
        "fixed_batch_normalization",
        lambda x: F.fixed_batch_normalization(x, ONE, ZERO, ZERO, ZERO),
        lambda x: T.batch_norm(x, torch.zeros(1, dtype=x.dtype), torch.zeros(1, dtype=x.dtype), eps=2e-5),
        "empty",
    ),
    *of_images(
        "local_response_normalization",
        lambda x: F.local_response_normalization(x, 3, 2.0, 0.1),
        lambda x: T.local_response_norm(x, 3, 0.3, 0.75, 2.0),
        "empty",
    ),
    edge("batch_normalization", lambda x, g, b: x * g + b, np.zeros((0, 1)), ONE, ZERO, about="no images"),
    Edge(
        "max_pooling_2d",
        lambda x: F.max_pooling_2d(x, 2, 1, cover_all=False),
        lambda x: T.max_pool2d(x, 2, 1),
        (IMAGE,),
        "infinities",
    ),
    Edge(
        "average_pooling_2d",
        lambda x: F.average_pooling_2d(x, 2, 1),
        lambda x: T.avg_pool2d(x, 2, 1),
        (IMAGE,),
        "infinities",
    ),
    *[
        Edge(name, ours, theirs, (np.zeros((0, 1, 3, 3)), np.ones((1, 1, 2, 2))), "no images")
        for name, ours, theirs in (
            ("convolution_2d", F.convolution_2d, T.conv2d),
            ("deconvolution_2d", F.deconvolution_2d, T.conv_transpose2d),
        )
    ],
    *[
        Edge(name, ours, theirs, (np.zeros((1, 1, 3, 3)), np.zeros((1, 1, 2, 2))), "zeros")
        for name, ours, theirs in (
            ("convolution_2d", F.convolution_2d, T.conv2d),
            ("deconvolution_2d", F.deconvolution_2d, T.conv_transpose2d),
        )
    ],
]


def first_class(x: Any) -> Any:
    """All probability on the first class."""
    return torch.nn.functional.one_hot(torch.tensor([0]), x.shape[0]).to(x.dtype)


PIXELS = np.eye(3)[[[1, 2, 0], [2, 0, 1]]]
"""Probabilities of three classes, along axis 1, at three places in each of two images."""

LOSSES = [
    Edge(
        "softmax_cross_entropy",
        lambda x: F.softmax_cross_entropy(x, PIXELS),
        lambda x: T.cross_entropy(x, torch.tensor(PIXELS)),
        (np.arange(18.0).reshape(2, 3, 3) % 5,),
        "of probabilities at places",
    ),
    *[
        Edge(
            "softmax_cross_entropy",
            lambda x: F.softmax_cross_entropy(x, 0),
            lambda x: T.cross_entropy(x[None], torch.tensor([0])),
            (np.array(x),),
            about,
        )
        for about, x in ROWS.items()
        if about != "empty"
    ],
    *[
        Edge(
            "softmax_cross_entropy",
            lambda x: F.softmax_cross_entropy(x, np.eye(len(x.data))[0]),
            lambda x: T.cross_entropy(x[None], first_class(x)),
            (np.array(x),),
            f"of probabilities, {about}",
        )
        for about, x in ROWS.items()
        if about not in ("-inf", "empty")
    ],
    *[
        Edge(
            "sigmoid_cross_entropy",
            lambda x, t=target: F.sigmoid_cross_entropy(x, np.full(x.shape, t)),
            lambda x, t=target: T.binary_cross_entropy_with_logits(x, torch.full_like(x, t)),
            (np.array(x),),
            f"target {target}, {about}",
        )
        for target in (0.0, 1.0, 0.5)
        for about, x in ROWS.items()
        if not np.isinf(x).any() and about != "empty"
    ],
    *[
        edge(name, theirs, ROWS[one], ROWS[other], about=f"{one}, {other}")
        for name, theirs in (("mean_squared_error", T.mse_loss), ("huber_loss", T.huber_loss))
        for one in ROWS
        for other in ROWS
        if len(ROWS[one]) == len(ROWS[other]) > 0
    ],
    *[
        edge("mean_absolute_error", T.l1_loss, ROWS[one], ROWS[other], about=f"{one}, {other}")
        for one, other in (("zeros", "zeros"), ("zeros", "subnormal"), ("equal", "inf"), ("one", "one"))
    ],
    *[
        edge("cosine_similarity", T.cosine_similarity, [ROWS[one]], [ROWS[other]], about=f"{one}, {other}")
        for one, other in (("equal", "equal"), ("one zero", "two zeros"), ("zeros", "zeros"), ("nan", "equal"))
    ],
    edge("cosine_similarity", lambda x, y: T.cosine_similarity(x, y, 1), np.zeros((0, 3)), np.zeros((0, 3))),
]

EDGES: list[Edge] = [*REDUCTIONS, *NORMALIZATION, *LOSSES]
