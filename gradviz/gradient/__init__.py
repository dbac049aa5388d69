"""Symbolic gradients: the IR that turns a forward program into the program of its gradients."""

from . import control_flow
from .forward import Ys
from .ir import IR

__all__ = ["IR", "Ys", "control_flow"]
