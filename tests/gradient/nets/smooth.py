"""Which calls can be compared: those whose values keep away from kinks, jumps and poles.

There both engines are on the same side whatever the last digit is, and the gradient is one number.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from gradviz.program import Operator
from tests.gradient.reference.elementwise import QUESTIONS, laid
from tests.gradient.reference.formula import flag, matrix
from tests.gradient.reference.layers import channels_first

MARGIN = 1e-3
"""How far values stay from the corner of a function and from each other where the greatest is asked for."""

FAR = 0.1
"""How far values stay from what a function divides by when it is 0."""

Guard = Callable[..., bool]
"""``guard(op, *inputs)``: whether the call can be compared."""


def apart(x: Tensor, *corners: float, by: float = MARGIN) -> bool:
    return all(bool(((x - corner).abs() > by).all()) for corner in corners)


def unequal(x: Tensor) -> bool:
    """Whether no two elements are near each other."""
    ordered = x.reshape(-1).sort().values
    return apart(ordered.diff(), 0.0)


def one_extreme(op: Operator, *xs: Tensor) -> bool:
    """Max and Min of different blobs that tie nowhere; the same blob may come several times."""
    different = torch.stack(list(dict(zip(op.inputs, xs, strict=True)).values()))
    return apart(different.sort(0).values.diff(dim=0), 0.0)


def asked(op: Operator, x: Tensor, y: Tensor) -> bool:
    return op.type in ("And", "Or", "Xor") or apart(x - laid(op, x, y), 0.0)


def cut_to_integers(op: Operator, x: Tensor) -> bool:
    """Cast of numbers with a fraction; integers and truth values are exact anyhow."""
    if op.args["to"] == "bool":
        return apart(x, 0.0)
    return op.args["to"] == "float64" or apart(x - x.round(), 0.0)


def between(corners: Callable[[Operator], tuple[float, ...]]) -> Guard:
    return lambda op, x, *_: apart(x, *corners(op))


def spread_out(x: Tensor, dim: int | tuple[int, ...]) -> bool:
    return bool((x.var(dim, correction=0) > FAR**2).all())


def rows_spread_out(op: Operator, x: Tensor, *_: Tensor) -> bool:
    return spread_out(matrix(x, op.args.get("axis", 1)), 1)


def groups_spread_out(op: Operator, x: Tensor, *_: Tensor) -> bool:
    x3 = channels_first(op, x)
    groups = op.args.get("group", x3.shape[1])
    return spread_out(x3.reshape(x3.shape[0], groups, -1), 2)


def channels_spread_out(op: Operator, x: Tensor, *_: Tensor) -> bool:
    return flag(op, "is_test") or spread_out(channels_first(op, x), (0, 2))


def no_short_rows(op: Operator, *xs: Tensor) -> bool:
    return all(apart(x.reshape(max(x.shape[:1], default=1), -1).norm(dim=1), 0.0, by=FAR) for x in xs)


def no_short_lines(op: Operator, x: Tensor) -> bool:
    """Normalize along `axis`, ReduceL2 over `axes`."""
    dims = (op.args.get("axis", -1),) if op.type == "Normalize" else op.args.get("axes") or tuple(range(x.ndim))
    return apart(x.square().sum(dims).sqrt() if x.ndim else x, 0.0, by=FAR)


def margin_kept(op: Operator, x1: Tensor, x2: Tensor, labels: Tensor) -> bool:
    return apart(op.args.get("margin", 1.0) - labels * (x1 - x2), 0.0)


GUARDS: dict[str, Guard] = {
    **dict.fromkeys(("Abs", "Relu", "Sign", "LeakyRelu", "Elu", "Selu", "PRelu"), between(lambda op: (0.0,))),
    "ThresholdedRelu": between(lambda op: (op.args.get("alpha", 1.0),)),
    "ReluN": between(lambda op: (0.0, op.args.get("n", 6.0))),
    "Clip": between(lambda op: (op.args.get("min", -1e9), op.args.get("max", 1e9))),
    "HardSigmoid": lambda op, x: apart(x * op.args.get("alpha", 0.2) + op.args.get("beta", 0.5), 0.0, 1.0),
    "CosineEmbeddingCriterion": lambda op, s, labels: apart(s, op.args.get("margin", 0.0)),
    "MarginRankingCriterion": margin_kept,
    "PairWiseLoss": lambda op, x, labels, *lengths: unequal(labels),
    "BatchOneHot": lambda op, x, lengths, values: apart(x[..., None] - values, 0.0),
    **dict.fromkeys(("Floor", "Ceil"), lambda op, x: apart(x - x.round(), 0.0)),
    "Cast": cut_to_integers,
    **dict.fromkeys(QUESTIONS, asked),
    **dict.fromkeys(("Max", "Min"), one_extreme),
    **dict.fromkeys(
        ("ReduceMax", "ReduceMin", "RowwiseMax", "ColwiseMax", "ReduceFrontMax", "ReduceBackMax", "LengthsMax"),
        lambda op, x, *_: unequal(x),
    ),
    **dict.fromkeys(("ArgMax", "ArgMin", "TopK", "Accuracy"), lambda op, x, *_: unequal(x)),
    "ReduceL1": lambda op, x: apart(x, 0.0),
    "LpNorm": lambda op, x: op.args.get("p", 2) == 2 or apart(x, 0.0),
    "L1Distance": lambda op, x, y: apart(x - y, 0.0),
    **dict.fromkeys(("Cbrt", "Reciprocal"), lambda op, x: apart(x, 0.0, by=FAR)),
    "Div": lambda op, x, y: apart(y, 0.0, by=FAR),
    "Tan": lambda op, x: apart(x.cos(), 0.0, by=FAR),
    "CosineSimilarity": no_short_rows,
    **dict.fromkeys(("Normalize", "ReduceL2"), no_short_lines),
    "RMSNorm": lambda op, x, *_: apart(matrix(x, op.args.get("axis", 1)).square().mean(1), 0.0, by=FAR**2),
    "LayerNorm": rows_spread_out,
    **dict.fromkeys(("GroupNorm", "InstanceNorm"), groups_spread_out),
    "SpatialBN": channels_spread_out,
}


def can_be_compared(op: Operator, inputs: list[Tensor]) -> bool:
    """Whether the call keeps away from where its type is not smooth."""
    guard = GUARDS.get(op.type)
    return guard is None or guard(op, *inputs)
