"""Symbolic gradients: the IR that turns a forward program into the program of its gradients."""

from . import control_flow, why_none
from .ir import IR
from .ys import Ys

__all__ = ["IR", "Ys", "control_flow"]

# The proof asks the rules of control flow, which make IRs of nested nets.
IR.why_none = why_none.why_none  # type: ignore[assignment, method-assign]
