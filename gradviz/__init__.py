"""gradviz: an interactive debugger for gradients in Jupyter."""

from .eager import (
    Function,
    FunctionHook,
    NaNGuard,
    Parameter,
    PrintHook,
    TimerHook,
    Variable,
    functions,
    grad,
    no_grad,
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
    "IR",
    "Device",
    "Function",
    "FunctionHook",
    "GradientError",
    "GradientSlice",
    "GradvizError",
    "NaNGuard",
    "Net",
    "NetError",
    "Operator",
    "Parameter",
    "PrintHook",
    "RunError",
    "Session",
    "TimerHook",
    "Variable",
    "Workspace",
    "__version__",
    "debug",
    "functions",
    "grad",
    "immediate",
    "load",
    "no_grad",
    "register_gradient",
    "register_kernel",
]

_enable()
