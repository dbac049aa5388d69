"""gradviz: an interactive debugger for gradients in Jupyter."""

import sys as _sys
from functools import partial as _partial
from functools import update_wrapper as _update_wrapper
from typing import Any as _Any

from . import events, functions
from .bridges import BRIDGES as _BRIDGES
from .bridges import bridge as _bridge
from .comparison import compare
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
    grad,
    no_grad,
    register_buffers,
    run_gradient_flow,
)
from .gradient import IR
from .live import Live, live
from .net import Net
from .notebook import enable as _enable
from .operators import register_gradient, register_kernel
from .program import Device, GradientError, GradientSlice, GradvizError, NetError, Operator, RunError
from .ranks import Ranks, ranks
from .runtime import Workspace, device, immediate
from .session import Session, debug, load
from .sweep import Sweep, sweep
from .version import __version__

__all__ = [
    "IR", "Device", "Function", "FunctionHook", "GradientError", "GradientSlice", "GradvizError", "Live", "NaNGuard",
    "Net", "NetError", "Operator", "OperatorPool", "Parameter", "PrintHook", "Ranks", "RunError", "Session",
    "Sweep", "TensorPool", "TimerHook", "Variable", "Workspace", "__version__", "compare", "debug", "device", "events",
    "functions", "grad", "immediate", "live", "load", "no_grad", "ranks", "register_buffers", "register_engine",
    "register_gradient", "register_kernel", "run_gradient_flow", "sweep",
]  # fmt: skip

_enable()


def load_ipython_extension(shell: _Any) -> None:
    """``%load_ext gradviz``: the magics; ``%step?`` and ``%%gradviz?`` tell more."""
    from .notebook.magics import load as load_magics

    load_magics(shell, _sys.modules[__name__])


def unload_ipython_extension(shell: _Any) -> None:
    """``%unload_ext gradviz``: without them."""
    from .notebook.magics import unload as unload_magics

    unload_magics(shell)


def __getattr__(name: str) -> _Any:
    """The bridges, such as `gradviz.torch`, are imported when they are used."""
    if name in _BRIDGES:
        return _bridge(name)
    if name == "diagnose":
        diagnose = _bridge("torch").diagnose
        return _update_wrapper(_partial(diagnose, debug=debug), diagnose)
    if name == "explain":
        return _bridge("torch").explain
    raise AttributeError(f"module 'gradviz' has no attribute {name!r}")
