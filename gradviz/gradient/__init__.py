"""Symbolic gradients: the IR that turns a forward program into the program of its gradients."""

from . import control_flow, why_none
from .forward import Ys
from .ir import IR

__all__ = ["IR", "Ys", "control_flow"]

# The proof asks the rules of control flow, which make IRs of nested nets.
IR.why_none = why_none.why_none  # type: ignore[assignment, method-assign]
