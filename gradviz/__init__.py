"""gradviz: an interactive debugger for gradients in Jupyter."""

from . import events, functions
from .debugger import register_engine
from .eager import (
    Function,
    FunctionHook,
    NaNGuard,
    OperatorPool,
    Parameter,
    PrintHook,
    TensorPool,
    TimerHook,
    Variable,
    compare,
    grad,
    no_grad,
    register_buffers,
    run_gradient_flow,
)
from .gradient import IR
from .net import Net
from .notebook import enable as _enable
from .operators import register_gradient, register_kernel
from .program import Device, GradientError, GradientSlice, GradvizError, NetError, Operator, RunError
from .runtime import Workspace, immediate
from .session import Session, debug, load
from .version import __version__

__all__ = [
    "IR", "Device", "Function", "FunctionHook", "GradientError", "GradientSlice", "GradvizError", "NaNGuard", "Net",
    "NetError", "Operator", "OperatorPool", "Parameter", "PrintHook", "RunError", "Session", "TensorPool",
    "TimerHook", "Variable", "Workspace", "__version__", "compare", "debug", "events", "functions", "grad",
    "immediate", "load", "no_grad", "register_buffers", "register_engine", "register_gradient", "register_kernel",
    "run_gradient_flow",
]  # fmt: skip

_enable()
