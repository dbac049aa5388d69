"""Symbolic gradients: the IR that turns a forward program into the program of its gradients."""

from . import control_flow
from .ir import IR
from .ys import Ys

__all__ = ["IR", "Ys", "control_flow"]
