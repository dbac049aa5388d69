"""gradviz: an interactive debugger for gradients in Jupyter."""

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
    "GradientError",
    "GradientSlice",
    "GradvizError",
    "Net",
    "NetError",
    "Operator",
    "RunError",
    "Session",
    "Workspace",
    "__version__",
    "debug",
    "immediate",
    "load",
    "register_gradient",
    "register_kernel",
]

_enable()
