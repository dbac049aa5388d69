"""One table of calls for every function: what it is called with, and what numpy gives for the same."""

from collections.abc import Callable
from dataclasses import dataclass
from math import erf
from typing import Any

import numpy as np

from gradviz import functions as F
from tests.eager.differences import Array, floats, inside, positive

A, B, ROW, CUBE = floats(3, 4), floats(3, 4, seed=1), floats(4, seed=2), floats(2, 3, 4)
APART = np.random.default_rng(3).permutation(24).reshape(2, 3, 4) / 8 - 1.41
LABELS = np.array([2, 0, 3])
MASK = np.array([[True, False, True, True], [False] * 4, [True, True, False, True]])


@dataclass(frozen=True)
class Case:
    """A call of a function of `arrays`, the same by numpy, and what it shows; `name` is the function's."""

    name: str
    arrays: tuple[Array, ...]
    numpy: Callable[..., Any]
    function: Callable[..., Any]
    about: str = ""

    def __str__(self) -> str:
        return f"{self.name}-{self.about}" if self.about else self.name


def case(name: str, numpy: Callable[..., Any], *arrays: Array, about: str = "", **options: Any) -> Case:
    """The function `name` called with arrays and options; numpy's gets the arrays alone."""
    said = about or ",".join(f"{key}={value}" for key, value in options.items())
    return Case(name, arrays, numpy, lambda *xs: getattr(F, name)(*xs, **options), said)


def alike(name: str, numpy: Callable[..., Any], *arrays: Array, **options: Any) -> Case:
    """A function that takes the options that numpy's takes."""
    return case(name, lambda *xs: numpy(*xs, **options), *arrays, **options)


def listed(name: str, numpy: Callable[..., Any], *arrays: Array, **options: Any) -> Case:
    """A function of a list of arrays."""
    said = ",".join(f"{key}={value}" for key, value in options.items())
    return Case(name, arrays, lambda *xs: numpy(xs, **options), lambda *xs: getattr(F, name)(xs, **options), said)


def chosen(index: Any, x: Array = CUBE) -> Case:
    """``x[index]``."""
    return Case("get_item", (x,), lambda a: a[index], lambda v: v[index], str(index).replace("\n", ""))


def softmax(x: Array, axis: int = 1) -> Array:
    """exp x / Σ exp x."""
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(e / e.sum(axis=axis, keepdims=True))


def sigmoid(x: Array) -> Array:
    """1 / (1 + e⁻ˣ)."""
    return np.asarray(1 / (1 + np.exp(-x)))


def normal_cdf(x: Array) -> Array:
    """Probability that a standard normal variable is below each element."""
    return np.asarray((1 + np.vectorize(erf)(x / np.sqrt(2))) / 2)


def standard(x: Array, axes: Any, eps: float) -> Array:
    """x less its mean, divided by its standard deviation."""
    return np.asarray((x - x.mean(axis=axes, keepdims=True)) / np.sqrt(x.var(axis=axes, keepdims=True) + eps))


def by_channel(vector: Array, like: Array) -> Array:
    """(c,) where it broadcasts against (n, c, ...)."""
    return vector.reshape(-1, *[1] * (like.ndim - 2))


def in_groups(x: Array, groups: int, eps: float) -> Array:
    """x standardized by image and group of channels."""
    return standard(x.reshape(x.shape[0], groups, -1), 2, eps).reshape(x.shape)


def by_responses(x: Array) -> Array:
    """Local response normalization over 3 channels with k=2, alpha=0.1, beta=0.75."""
    squares = np.pad(x * x, [(0, 0), (1, 1), (0, 0), (0, 0)])
    around = squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]
    return np.asarray(x / (2 + 0.1 * around) ** 0.75)


def huber(x: Array, y: Array, delta: float) -> Any:
    """Mean of Huber's loss."""
    off = np.abs(x - y)
    return np.where(off <= delta, off * off / 2, delta * (off - delta / 2)).mean()


def entropy_of_labels(x: Array, labels: Array) -> Any:
    """Mean of -ln softmax at the labels; classes along axis 1."""
    return -np.take_along_axis(np.log(softmax(x)), labels[:, None], 1).mean()


def unary(names: str, x: Array) -> list[Case]:
    """Functions of each element that have numpy's names."""
    return [case(name, getattr(np, name), x) for name in names.split()]


POINTWISE = [
    *unary("exp expm1 sin cos arctan sinh cosh tanh square cbrt reciprocal abs", A),
    *unary("log log2 log10 log1p sqrt", positive(3, 4)),
    *unary("tan arcsin arccos", inside(3, 4)),
    *[case("tanh", np.tanh, floats(*shape), about=str(shape)) for shape in ((), (5,), (0, 3), (2, 3, 4))],
    case("neg", np.negative, A),
    case("rsqrt", lambda x: x**-0.5, positive(3, 4)),
    case("erf", np.vectorize(erf), A),
    case("identity", np.array, A),
    case("scale", lambda x: x * 2.5, A, factor=2.5),
    case("clip", lambda x: np.clip(x, -0.9, 0.8), A, min=-0.9, max=0.8),
    case("clip", lambda x: np.minimum(x, 0.8), A, max=0.8),
    case("relu", lambda x: np.maximum(x, 0), A),
    case("relu6", lambda x: np.clip(x, 0, 6), A * 5),
    case("clipped_relu", lambda x: np.clip(x, 0, 1), A, most=1.0),
    case("leaky_relu", lambda x: np.where(x > 0, x, 0.2 * x), A),
    case("leaky_relu", lambda x: np.where(x > 0, x, 0.1 * x), A, slope=0.1),
    case("elu", lambda x: np.where(x > 0, x, 1.5 * np.expm1(x)), A, alpha=1.5),
    case("selu", lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)), A),
    case("prelu", lambda x, slope: np.where(x > 0, x, x * slope), A, floats(4, seed=3)),
    case("sigmoid", sigmoid, A),
    case("hard_sigmoid", lambda x: np.clip(0.2 * x + 0.5, 0, 1), A * 3),
    case("log_sigmoid", lambda x: np.log(sigmoid(x)), A),
    case("softplus", lambda x: np.log1p(np.exp(x)), A),
    case("softplus", lambda x: np.log1p(np.exp(2 * x)) / 2, A, beta=2.0),
    case("softsign", lambda x: x / (1 + np.abs(x)), A),
    case("gelu", lambda x: x * normal_cdf(x), A),
    case("swish", lambda x: x * sigmoid(x), A),
    case("mish", lambda x: x * np.tanh(np.log1p(np.exp(x))), A),
    case("logit", lambda x: np.log(x / (1 - x)), np.abs(inside(3, 4))),
]

PAIRS = [
    *[
        case(name, numpy, x, y, about=about)
        for name, numpy in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide))
        for about, x, y in (("", A, B), ("row", A, ROW), ("column", A, floats(3, 1)), ("scalar", floats(), A))
    ],
    case("pow", np.power, positive(3, 4), B),
    case("pow", np.power, positive(3, 4), ROW, about="row"),
    *[case("pow", lambda x, y=y: x**y, positive(3, 4), y=y) for y in (2, 3, 0.5, -1, 1.7)],
    case("maximum", np.maximum, A, B),
    case("maximum", lambda x: np.maximum(x, 0.5), A, y=0.5),
    case("minimum", np.minimum, A, ROW),
    Case("where", (A, ROW), lambda x, y: np.where(MASK, x, y), lambda x, y: F.where(MASK, x, y), "row"),
    Case("where", (A,), lambda x: np.where(MASK, x, 0.5), lambda x: F.where(MASK, x, 0.5), "number"),
]


def reductions() -> list[Case]:
    """Each reduction over all axes, one, two, none, and with what was reduced kept."""
    functions: dict[str, Callable[..., Any]] = {
        **{name: getattr(np, name) for name in ("sum", "mean", "max", "min", "prod", "var", "std")},
        "norm": lambda x, **options: np.sqrt(np.sum(x * x, **options)),
        "logsumexp": lambda x, **options: np.log(np.sum(np.exp(x), **options)),
    }
    options: list[dict[str, Any]] = [{}, {"axis": 1}, {"axis": (0, -1)}, {"axis": 2, "keepdims": True}]
    made = [alike(name, numpy, APART, **chosen) for name, numpy in functions.items() for chosen in options]
    return [*made, *[alike(name, functions[name], APART, axis=()) for name in ("sum", "mean", "prod", "max")]]


REDUCTIONS = [
    *reductions(),
    case("prod", lambda x: x.prod(axis=1), np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 5.0], [2.0, 3.0, 4.0]]), axis=1),
    *[alike("cumsum", np.cumsum, CUBE, axis=axis) for axis in (None, 0, 1, -1)],
]

SHAPING = [
    *[alike("reshape", np.reshape, CUBE, shape=shape) for shape in ((4, 6), (2, -1), -1, (2, 3, 4))],
    alike("reshape", np.reshape, floats(0, 3), shape=(3, 0, 2)),
    *[alike("transpose", np.transpose, CUBE, axes=axes) for axes in (None, (1, 2, 0), (0, -1, 1))],
    alike("swapaxes", np.swapaxes, CUBE, axis1=0, axis2=-1),
    alike("moveaxis", np.moveaxis, CUBE, source=0, destination=2),
    case("flatten", np.ravel, CUBE),
    *[alike("squeeze", np.squeeze, floats(1, 3, 1), axis=axis) for axis in (None, 0, -1, (0, 2))],
    *[alike("expand_dims", np.expand_dims, A, axis=axis) for axis in (0, 1, -1)],
    *[alike("broadcast_to", np.broadcast_to, floats(3, 1), shape=shape) for shape in ((3, 4), (2, 3, 4), (3, 1))],
    Case(
        "broadcast",
        (floats(3, 1), ROW),
        lambda x, y: np.add(*np.broadcast_arrays(x, y)),
        lambda x, y: F.add(*F.broadcast(x, y)),
    ),
    *[alike("tile", np.tile, A, reps=reps) for reps in (2, (2, 3), (2, 1, 2))],
    *[alike("repeat", np.repeat, A, repeats=3, axis=axis) for axis in (None, 0, -1)],
    *[listed("concat", np.concatenate, A, floats(3, 2), axis=axis) for axis in (1, -1)],
    listed("concat", np.concatenate, A, floats(1, 4), B, axis=0),
    *[listed("stack", np.stack, A, B, axis=axis) for axis in (0, 1, -1)],
    *[
        Case(
            "split_axis",
            (CUBE,),
            lambda x, s=s, p=p: np.split(x, s, 2)[p],
            lambda x, s=s, p=p: F.split_axis(x, s, 2)[p],
            f"{s}[{p}]",
        )
        for s, p in ((2, 0), (4, 3), ([1, 3], 1), ([1], 0), ([1, 3, 6], 3))
    ],
    alike("pad", np.pad, A, pad_width=2),
    alike("pad", np.pad, A, pad_width=((1, 0), (2, 3)), mode="constant", constant_values=1.5),
    *[alike("pad", np.pad, A, pad_width=((1, 2), (0, 3)), mode=mode) for mode in ("edge", "reflect")],
]

INDEXING = [
    *[chosen(index) for index in (0, -1, slice(1, None), slice(None, None, -1), slice(None, None, 2), ..., None)],
    *[
        chosen(index)
        for index in ((0, 1), (0, 1, 2), (slice(None), 1), (), (..., 0), (None, 1, ..., None), (1, slice(0, 2)))
    ],
    *[
        chosen(index)
        for index in ([0, 1, 1], [], (slice(None), [2, 0, 2]), ([0, 1], [2, 2]), ([0, 1, 0], 1, [3, 3, 3]))
    ],
    chosen((slice(None), np.array([[0, 1], [1, 1]]))),
    chosen(CUBE > 0.5),
    chosen((slice(None), np.array([True, False, True]))),
    chosen(MASK, A),
    chosen(slice(5, 9), A),
    *[alike("take", np.take, CUBE, indices=[[0, 1], [1, -1]], axis=axis) for axis in (None, 0, 1, -1)],
    Case("embed_id", (A,), lambda w: w[[[2, 0], [2, 2]]], lambda w: F.embed_id([[2, 0], [2, 2]], w)),
]

LINEAR = [
    *[
        case("matmul", np.matmul, floats(*a), floats(*b, seed=1), about=f"{a}·{b}")
        for a, b in [
            *[((3, 4), (4, 2)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2))],
            *[((2, 3, 4), (2, 4, 2)), ((2, 3, 4), (4, 2)), ((3, 4), (2, 4, 2)), ((5, 1, 3, 4), (2, 4, 2))],
            *[((4,), (2, 4, 3)), ((2, 3, 4), (4,))],
        ]
    ],
    case("matmul", lambda a, b: a.T @ b, A, floats(3, 2), transa=True),
    case("matmul", lambda a, b: a @ b.T, A, B, transb=True),
    case("matmul", lambda a, b: a.swapaxes(1, 2) @ b.swapaxes(1, 2), CUBE, floats(2, 5, 3), transa=True, transb=True),
    case("linear", lambda x, w, b: x @ w.T + b, A, floats(5, 4), floats(5)),
    case("linear", lambda x, w: x @ w.T, A, floats(5, 4), about="without bias"),
    case("linear", lambda x, w, b: x.reshape(2, 12) @ w.T + b, CUBE, floats(5, 12), floats(5), about="flattened"),
    *[
        Case("einsum", xs, lambda *a, e=e: np.einsum(e, *a), lambda *v, e=e: F.einsum(e, *v), e)
        for e, xs in [
            *[
                ("ij,jk->ik", (A, floats(4, 2))),
                ("ij,ij->", (A, B)),
                ("ij->ji", (A,)),
                ("ij->j", (A,)),
                ("ij,kj", (A, B)),
            ],
            *[("ii->i", (floats(3, 3),)), ("ii", (floats(3, 3),)), ("iij,jk->ik", (floats(3, 3, 4), floats(4, 2)))],
            *[
                ("...i,i->...", (CUBE, ROW)),
                ("...ij,...jk->...ik", (CUBE, floats(1, 4, 2))),
                ("i,j,k->kij", (ROW, ROW, ROW)),
            ],
        ]
    ],
]

LOSSES = [
    case("softmax", softmax, A),
    *[case("softmax", lambda x, axis=axis: softmax(x, axis), CUBE, axis=axis) for axis in (0, 1, -1)],
    *[case("log_softmax", lambda x, axis=axis: np.log(softmax(x, axis)), CUBE, axis=axis) for axis in (0, 1, -1)],
    case("softmax_cross_entropy", lambda x: entropy_of_labels(x, LABELS), A, labels=LABELS),
    case(
        "softmax_cross_entropy",
        lambda x: entropy_of_labels(x, np.array([[0, 2, 1, 1], [2, 2, 0, 1]])),
        CUBE,
        labels=np.array([[0, 2, 1, 1], [2, 2, 0, 1]]),
        about="of places",
    ),
    case("softmax_cross_entropy", lambda x: -np.log(softmax(x, 0)[2]), ROW, labels=2),
    case(
        "softmax_cross_entropy",
        lambda x: -(softmax(B) * np.log(softmax(x))).sum(axis=1).mean(),
        A,
        labels=softmax(B),
        about="of probabilities",
    ),
    case(
        "sigmoid_cross_entropy",
        lambda x: -np.where(MASK, np.log(sigmoid(x)), np.log(sigmoid(-x))).mean(),
        A,
        targets=MASK.astype(int),
        about="of truth values",
    ),
    case("mean_squared_error", lambda x, y: ((x - y) ** 2).mean(), A, B),
    case("mean_absolute_error", lambda x, y: np.abs(x - y).mean(), A, B),
    *[case("huber_loss", lambda x, y, d=d: huber(x, y, d), A, B, delta=d) for d in (0.5, 1.0)],
    case(
        "cosine_similarity",
        lambda x, y: (x * y).sum(axis=1) / np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1)),
        A,
        B,
    ),
]

NORMALIZATION = [
    case("layer_normalization", lambda x, g, b: standard(x, -1, 1e-5) * g + b, A, ROW, floats(4, seed=9)),
    case("layer_normalization", lambda x, g, b: standard(x, -1, 0.1) * g + b, CUBE, ROW, floats(4, seed=9), eps=0.1),
    *[
        case(
            "batch_normalization",
            lambda x, g, b, axes=axes: standard(x, axes, 2e-5) * by_channel(g, x) + by_channel(b, x),
            x,
            floats(x.shape[1]),
            floats(x.shape[1], seed=9),
            about=str(x.shape),
        )
        for x, axes in ((A, 0), (CUBE, (0, 2)), (floats(2, 3, 2, 2), (0, 2, 3)))
    ],
    case(
        "fixed_batch_normalization",
        lambda x, g, b: (x - LABELS[:, None]) / np.sqrt(LABELS[:, None] + 1 + 2e-5) * g[:, None] + b[:, None],
        CUBE,
        floats(3),
        floats(3, seed=9),
        mean=LABELS.astype(float),
        var=LABELS + 1.0,
        about="plain",
    ),
    Case(
        "group_normalization",
        (floats(2, 4, 3), floats(4), floats(4, seed=9)),
        lambda x, g, b: in_groups(x, 2, 1e-5) * by_channel(g, x) + by_channel(b, x),
        lambda x, g, b: F.group_normalization(x, 2, g, b),
    ),
    *[
        case("normalize", lambda x, axis=axis: x / np.sqrt((x * x).sum(axis=axis, keepdims=True)), A, axis=axis)
        for axis in (0, 1)
    ],
    case("local_response_normalization", by_responses, floats(2, 4, 2, 2), n=3, alpha=0.1),
]

CASES: list[Case] = [*POINTWISE, *PAIRS, *REDUCTIONS, *SHAPING, *INDEXING, *LINEAR, *LOSSES, *NORMALIZATION]
