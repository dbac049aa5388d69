"""The define-by-run engine: Variables that record what is computed with them, and their backward passes."""

# Variables and functions need each other; whoever loads this package loads them in this order.
from .variable import Parameter, Variable

# isort: split
from . import functions
from .function import Function
from .hooks import FunctionHook, NaNGuard, PrintHook, TimerHook
from .layer import Layer, Linear
from .mode import no_grad
from .passes import grad

__all__ = [
    "Function",
    "FunctionHook",
    "Layer",
    "Linear",
    "NaNGuard",
    "Parameter",
    "PrintHook",
    "TimerHook",
    "Variable",
    "functions",
    "grad",
    "no_grad",
]
