"""Activations: what layers apply to each element or row."""

from ..call import Call
from ..variable import Operand, Variable
from .arithmetic import scale
from .calling import call, unary, variable
from .shaping import moveaxis

relu = unary("relu", "Relu")
sigmoid = unary("sigmoid", "Sigmoid")
hard_sigmoid = unary("hard_sigmoid", "HardSigmoid")
selu = unary("selu", "Selu")
softsign = unary("softsign", "Softsign")
gelu = unary("gelu", "Gelu")
swish = unary("swish", "Swish")
mish = unary("mish", "Mish")
logit = unary("logit", "Logit")

_softplus, _prelu = Call("softplus", "Softplus"), Call("prelu", "PRelu")


def leaky_relu(x: Operand, slope: float = 0.2) -> Variable:
    """x where it is positive, else `slope` · x; the slope must not be negative."""
    return call("leaky_relu", "LeakyRelu", alpha=float(slope))(x)


def prelu(x: Operand, slope: Operand) -> Variable:
    """x where it is positive, else slope · x; slope: one number, or one a channel. x: (n, c, ...)."""
    return _prelu(x, slope)


def elu(x: Operand, alpha: float = 1.0) -> Variable:
    """x where it is positive, else alpha · (eˣ - 1)."""
    return call("elu", "Elu", alpha=float(alpha))(x)


def relu6(x: Operand) -> Variable:
    """min(max(x, 0), 6)."""
    return clipped_relu(x, 6.0)


def clipped_relu(x: Operand, most: float = 20.0) -> Variable:
    """min(max(x, 0), most)."""
    return call("clipped_relu", "ReluN", n=float(most))(x)


def softplus(x: Operand, beta: float = 1.0) -> Variable:
    """ln(1 + exp(beta · x)) / beta, without overflow."""
    return _softplus(x) if beta == 1 else scale(_softplus(scale(x, beta)), 1 / beta)


def log_sigmoid(x: Operand) -> Variable:
    """ln σ(x) = -ln(1 + e⁻ˣ), without overflow."""
    return scale(_softplus(scale(x, -1.0)), -1.0)


def softmax(x: Operand, axis: int = 1) -> Variable:
    """exp x / Σ exp x along `axis`, without overflow."""
    return _along_last("softmax", "Softmax", x, axis)


def log_softmax(x: Operand, axis: int = 1) -> Variable:
    """ln softmax x = x - ln Σ exp x along `axis`, without overflow."""
    return _along_last("log_softmax", "LogSoftmax", x, axis)


def _along_last(name: str, type: str, x: Operand, axis: int) -> Variable:
    """The table's functions of rows work on all dimensions from an axis on: that is one dimension where it is last."""
    x = variable(x)
    last = x.ndim - 1
    if axis in (last, -1) or not -x.ndim <= axis < x.ndim:
        return call(name, type, axis=axis)(x)
    return moveaxis(call(name, type, axis=last)(moveaxis(x, axis, last)), last, axis)
