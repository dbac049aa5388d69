"""Symbolic gradients: the IR that turns a forward program into the program of its gradients."""

from . import control_flow
from .forward import Ys, parse_ys
from .ir import IR

__all__ = ["IR", "Ys", "control_flow", "parse_ys"]
