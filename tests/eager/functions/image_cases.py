"""Calls of the functions of images, and the same written as loops over every element."""

from typing import Any

import numpy as np

from tests.eager.differences import Array, floats
from tests.eager.functions.function_cases import case


def two(size: int | tuple[int, int]) -> tuple[int, int]:
    """A size of height and of width."""
    return (size, size) if isinstance(size, int) else size


def correlated(
    x: Array, w: Array, b: Any = 0.0, stride: Any = 1, pad: Any = 0, dilate: Any = 1, groups: int = 1
) -> Array:
    """Convolution, one output element after the other."""
    (s, t), (p, q), (d, e), (k, m) = two(stride), two(pad), two(dilate), w.shape[2:]
    x = np.pad(x, [(0, 0), (0, 0), (p, p), (q, q)])
    high, wide = (x.shape[2] - d * (k - 1) - 1) // s + 1, (x.shape[3] - e * (m - 1) - 1) // t + 1
    y = np.zeros((len(x), len(w), high, wide))
    for n, o, i, j in np.ndindex(y.shape):
        first = o // (len(w) // groups) * w.shape[1]
        under = x[n, first : first + w.shape[1], i * s : i * s + d * k : d, j * t : j * t + e * m : e]
        y[n, o, i, j] = (under[:, :k, :m] * w[o]).sum()
    return y + np.reshape(b, (-1, 1, 1))


def laid_out(x: Array, w: Array, b: Any = 0.0, stride: Any = 1, pad: Any = 0) -> Array:
    """The transpose of a convolution, one input element after the other."""
    (s, t), (p, q), (k, m) = two(stride), two(pad), w.shape[2:]
    y = np.zeros((len(x), w.shape[1], (x.shape[2] - 1) * s + k, (x.shape[3] - 1) * t + m))
    for n, o, i, j in np.ndindex(x.shape):
        y[n, :, i * s : i * s + k, j * t : j * t + m] += x[n, o, i, j] * w[o]
    return y[:, :, p : y.shape[2] - p, q : y.shape[3] - q] + np.reshape(b, (-1, 1, 1))


def pooled(
    reduce: Any, x: Array, fill: float, ksize: Any, stride: Any = None, pad: Any = 0, cover_all: bool = True
) -> Array:
    """Pooling, one window after the other."""
    (k, m), (p, q) = two(ksize), two(pad)
    s, t = (k, m) if stride is None else two(stride)
    counts = [
        (size + 2 * b - e + (o - 1) * cover_all) // o + 1
        for size, b, e, o in zip(x.shape[2:], (p, q), (k, m), (s, t), strict=True)
    ]
    x = np.pad(x, [(0, 0), (0, 0), (p, p + s), (q, q + t)], constant_values=fill)
    y = np.zeros((*x.shape[:2], *counts))
    for n, c, i, j in np.ndindex(y.shape):
        y[n, c, i, j] = reduce(x[n, c, i * s : i * s + k, j * t : j * t + m])
    return y


CASES = [
    *[
        case("convolution_2d", lambda x, w, *b, o=o: correlated(x, w, *b, **o), floats(2, 4, 5, 6), *filters, **o)
        for filters, o in [
            ((floats(3, 4, 2, 3, seed=1), floats(3)), {}),
            ((floats(3, 4, 2, 3, seed=1),), {"stride": 2, "pad": (1, 0)}),
            ((floats(4, 2, 3, 2, seed=1), floats(4)), {"dilate": (1, 2), "groups": 2, "pad": 1}),
        ]
    ],
    *[
        case("deconvolution_2d", lambda x, w, *b, o=o: laid_out(x, w, *b, **o), floats(2, 3, 3, 2), *filters, **o)
        for filters, o in [
            ((floats(3, 4, 2, 3, seed=1), floats(4)), {}),
            ((floats(3, 2, 3, 2, seed=1),), {"stride": (2, 3), "pad": 1}),
        ]
    ],
    *[
        case("max_pooling_2d", lambda x, o=o: pooled(np.max, x, -np.inf, **o), floats(2, 3, 5, 6), **o)
        for o in ({"ksize": 2}, {"ksize": (3, 2), "stride": 2, "pad": 1}, {"ksize": 2, "cover_all": False})
    ],
    *[
        case(
            "average_pooling_2d", lambda x, o=o: pooled(np.mean, x, 0.0, cover_all=False, **o), floats(2, 3, 5, 6), **o
        )
        for o in ({"ksize": 2}, {"ksize": (3, 2), "stride": 2, "pad": 1})
    ],
]
