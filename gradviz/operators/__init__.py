"""The one table of operators: importing this package defines every family in it."""

from . import activation, arithmetic, broadcasting, fill, linear, loss, shaping, softmax_loss
from .registry import (
    ArraySpec,
    OperatorType,
    lookup,
    register_gradient,
    register_kernel,
    similar,
    types,
)

__all__ = [
    "ArraySpec",
    "OperatorType",
    "activation",
    "arithmetic",
    "broadcasting",
    "fill",
    "linear",
    "lookup",
    "loss",
    "register_gradient",
    "register_kernel",
    "shaping",
    "similar",
    "softmax_loss",
    "types",
]
