"""Formulas of operators that treat each element for itself: functions, arithmetic, questions, and constants."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from gradviz.program import Operator

from .formula import Formula, flag, sizes, whole

POINTWISE = {
    "Abs": torch.abs,
    "Acos": torch.acos,
    "Asin": torch.asin,
    "Atan": torch.atan,
    "Cbrt": lambda x: x.sign() * x.abs() ** (1 / 3),
    "Cos": torch.cos,
    "Cosh": torch.cosh,
    "Cube": lambda x: x**3,
    "Erf": torch.erf,
    "Exp": torch.exp,
    "Log": torch.log,
    "Mish": F.mish,
    "Negative": torch.neg,
    "Reciprocal": torch.reciprocal,
    "Relu": torch.relu,
    "Rsqrt": torch.rsqrt,
    "Sigmoid": torch.sigmoid,
    "Sin": torch.sin,
    "Sinh": torch.sinh,
    "Softplus": lambda x: torch.logaddexp(x, torch.zeros_like(x)),
    "Softsign": F.softsign,
    "Sqr": torch.square,
    "Sqrt": torch.sqrt,
    "Swish": F.silu,
    "Tan": torch.tan,
    "Tanh": torch.tanh,
    # Without a rule, or with one that the value does not tell.
    "Ceil": torch.ceil,
    "Floor": torch.floor,
    "Sign": torch.sign,
    "IsNaN": torch.isnan,
    "Not": lambda x: 1 - x,
    "NegateGradient": lambda x: 2 * x.detach() - x,
}

PASSED = ("Alias", "Copy", "CopyOnDeviceLike", "EnsureDense", "NanCheck", "StopGradient")
QUESTIONS = {
    "EQ": torch.eq,
    "GE": torch.ge,
    "GT": torch.gt,
    "LE": torch.le,
    "LT": torch.lt,
    "NE": torch.ne,
    "And": lambda x, y: x * y,
    "Or": lambda x, y: x + y - x * y,
    "Xor": lambda x, y: (x - y).abs(),
}
ARITHMETIC = {"Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div}


def laid(op: Operator, x: Tensor, y: Tensor) -> Tensor:
    """`y` where it broadcasts against `x`; with the argument `broadcast` along the dimensions from `axis` on."""
    if not flag(op, "broadcast"):
        return y
    if y.numel() == 1:
        return y.reshape(())
    axis = op.args.get("axis", -1)
    if op.args.get("axis_str"):
        axis = "NCHW".index(op.args["axis_str"])
    elif axis == -1:
        axis = x.ndim - y.ndim
    return y.reshape(*y.shape, *[1] * (x.ndim - axis - y.ndim))


def power(op: Operator, x: Tensor, *exponents: Tensor) -> Tensor:
    return x ** laid(op, x, exponents[0]) if exponents else x ** float(op.args["exponent"])


def elu(op: Operator, x: Tensor, alpha: float) -> Tensor:
    return torch.where(x > 0, x, op.args.get("alpha", alpha) * torch.expm1(x.clamp(max=0)))


def prelu(op: Operator, x: Tensor, slope: Tensor) -> Tensor:
    if slope.numel() > 1:
        behind = 0 if op.args.get("order") == "NHWC" else x.ndim - 2
        slope = slope.reshape(-1, *[1] * behind)
    else:
        slope = slope.reshape(())
    return torch.where(x > 0, x, slope * x)


def logit(op: Operator, x: Tensor) -> Tensor:
    eps = op.args.get("eps", 1e-6)
    p = x.clamp(eps, 1 - eps)
    return torch.log(p) - torch.log1p(-p)


def cast(op: Operator, x: Tensor) -> Tensor:
    to = str(op.args["to"])
    if to.startswith("float"):
        return x
    return (x.detach() != 0) if to == "bool" else x.detach().trunc()


def where(op: Operator, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    by_rows = op.type == "Conditional" or flag(op, "broadcast_on_rows")
    return torch.where((condition.reshape(-1, *[1] * (x.ndim - 1)) if by_rows else condition) != 0, x, y)


def weighted_sum(op: Operator, *arrays: Tensor) -> Tensor:
    weights = arrays[1::2] if flag(op, "grad_on_w") else [w.detach() for w in arrays[1::2]]
    return torch.stack([x * w.reshape(()) for x, w in zip(arrays[::2], weights, strict=True)]).sum(0)


def filled_shape(op: Operator, like: tuple[Tensor, ...]) -> list[int]:
    if not like:
        return list(op.args.get("shape", ()))
    if flag(op, "input_as_shape"):
        return [*sizes(like[0]), *op.args.get("extra_shape", ())]
    return [*like[0].shape, *op.args.get("extra_shape", ())]


def constant_fill(op: Operator, *like: Tensor) -> Tensor:
    value = float(like[1].detach()) if len(like) > 1 else op.args.get("value", 0.0)
    return torch.full(filled_shape(op, like), value, dtype=torch.float64)


def range_fill(op: Operator, *like: Tensor) -> Tensor:
    shape = filled_shape(op, like)
    return torch.arange(math.prod(shape)).reshape(shape)


def diagonal_fill(op: Operator, *like: Tensor) -> Tensor:
    rows, columns = filled_shape(op, like)
    return op.args.get("value", 0.0) * torch.eye(rows, columns)


def modulo(op: Operator, x: Tensor) -> Tensor:
    function = torch.remainder if flag(op, "sign_follow_divisor") else torch.fmod
    return function(x, op.args["divisor"])


def arg_extreme(op: Operator, x: Tensor) -> Tensor:
    sign = 1 if op.type == "ArgMax" else -1
    return (sign * x).argmax(dim=op.args.get("axis", -1), keepdim=flag(op, "keepdims", 1))


def one_hot(op: Operator, indices: Tensor, size: Tensor) -> Tensor:
    return F.one_hot(whole(indices), int(size.reshape(())))


def batch_one_hot(op: Operator, x: Tensor, lengths: Tensor, values: Tensor) -> Tensor:
    columns = torch.repeat_interleave(torch.arange(x.shape[1]), whole(lengths))
    return x[:, columns] == values


def gelu(op: Operator, x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh" if flag(op, "fast_gelu") else "none")


def hard_sigmoid(op: Operator, x: Tensor) -> Tensor:
    return (x * op.args.get("alpha", 0.2) + op.args.get("beta", 0.5)).clamp(0, 1)


FORMULAS: dict[str, Formula] = {
    **{type: lambda op, x, f=function: f(x) for type, function in POINTWISE.items()},
    **{type: lambda op, x, *others: x for type in PASSED},
    **{type: lambda op, x, y, f=function: f(x, laid(op, x, y)) for type, function in ARITHMETIC.items()},
    **{type: lambda op, x, y, f=function: f(x, laid(op, x, y)) for type, function in QUESTIONS.items()},
    "Pow": power,
    "Scale": lambda op, x: x * op.args.get("scale", 1.0),
    "Clip": lambda op, x: x.clamp(op.args.get("min", -math.inf), op.args.get("max", math.inf)),
    "Elu": lambda op, x: elu(op, x, 1.0),
    "Selu": lambda op, x: elu(op, x, 1.6732632423543772) * op.args.get("scale", 1.0507009873554805),
    "LeakyRelu": lambda op, x: torch.where(x > 0, x, op.args.get("alpha", 0.01) * x),
    "ThresholdedRelu": lambda op, x: torch.where(x > op.args.get("alpha", 1.0), x, 0),
    "ReluN": lambda op, x: x.clamp(0, op.args.get("n", 6.0)),
    "HardSigmoid": hard_sigmoid,
    "Gelu": gelu,
    "Logit": logit,
    "PRelu": prelu,
    "Cast": cast,
    "Dropout": lambda op, x: (x, torch.ones_like(x))[: len(op.outputs)],
    "Sum": lambda op, *xs: torch.stack(xs).sum(0),
    "Mean": lambda op, *xs: torch.stack(xs).mean(0),
    # amax and amin share the gradient evenly between those that tie.
    "Max": lambda op, *xs: torch.stack(xs).amax(0),
    "Min": lambda op, *xs: torch.stack(xs).amin(0),
    "WeightedSum": weighted_sum,
    "Where": where,
    "Conditional": where,
    "ConstantFill": constant_fill,
    "RangeFill": range_fill,
    "DiagonalFill": diagonal_fill,
    "Range": lambda op, *bounds: torch.arange(*(float(bound.detach()) for bound in bounds), dtype=torch.float64),
    "Shape": lambda op, x: torch.tensor([x.shape[axis] for axis in op.args.get("axes") or range(x.ndim)]),
    "Size": lambda op, x: torch.tensor(x.numel()),
    "ArgMax": arg_extreme,
    "ArgMin": arg_extreme,
    "OneHot": one_hot,
    "BatchOneHot": batch_one_hot,
    "Mod": modulo,
    "ZeroGradient": lambda op, x: (),
    "Print": lambda op, x: (),
}
