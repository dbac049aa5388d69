"""The define-by-run engine: Variables that record what is computed with them, and their backward passes."""

from . import functions, methods
from .function import Function, no_grad
from .hooks import FunctionHook, NaNGuard, PrintHook, TimerHook
from .layer import Layer, Linear
from .passes import grad
from .tape import OperatorPool, TensorPool, register_buffers, run_gradient_flow
from .variable import Parameter, Variable

__all__ = [
    "Function", "FunctionHook", "Layer", "Linear", "NaNGuard", "OperatorPool", "Parameter", "PrintHook",
    "TensorPool", "TimerHook", "Variable", "functions", "grad", "no_grad", "register_buffers",
    "run_gradient_flow",
]  # fmt: skip

methods.install()
