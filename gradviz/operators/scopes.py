"""Scopes: the stacks on which Do keeps its workspaces, one for each time it ran, until the backward pass takes them.

A stack is a value like an array: putting a workspace on it, or taking one off, makes a new stack.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from ..program import Operator, RunError
from .registry import Array, ArraySpec, operator

SCOPE = ArraySpec((), np.dtype(object))
"""What stands for the shape and dtype of a stack; no array has this dtype."""


class ScopeStack:
    """An immutable stack of workspaces, each a mapping from names to arrays and, in nested scopes, to stacks.

    A loop draws a line before its first iteration, so that its backward pass takes its own workspaces only.

    Attributes:
        top: the workspace put on last; None for the empty stack and for a line.
        below: the stack without it; None for the empty stack.
    """

    __slots__ = ("_count", "below", "top")
    shape, dtype = SCOPE
    size = 0

    def __init__(
        self, top: "Mapping[str, Array | ScopeStack] | None" = None, below: "ScopeStack | None" = None
    ) -> None:
        self.top = top
        self.below = below
        self._count = (0 if below is None else len(below)) + (top is not None)

    def push(self, workspace: "Mapping[str, Array | ScopeStack]") -> "ScopeStack":
        """The stack with `workspace` on top, which must not be changed any more."""
        return ScopeStack(workspace, self)

    def drawn(self) -> "ScopeStack":
        """The stack with a line on top."""
        return ScopeStack(None, self)

    def __bool__(self) -> bool:
        """Whether there is a workspace on top: neither is the stack empty, nor is there a line."""
        return self.top is not None

    def __iter__(self) -> "Iterator[Mapping[str, Array | ScopeStack]]":
        """Every workspace, the last one first; lines are passed over."""
        stack: ScopeStack | None = self
        while stack is not None:
            if stack.top is not None:
                yield stack.top
            stack = stack.below

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"<ScopeStack of {len(self)}>"


@operator("CreateScope", "-> scope", "scope = an empty stack of workspaces", infer=lambda op: SCOPE, constant=True)
def create_scope(op: Operator) -> ScopeStack:
    """A stack for the workspaces of Do."""
    return ScopeStack()


def has_scope_spec(op: Operator, scope: ArraySpec) -> ArraySpec:
    if scope != SCOPE:
        raise RunError(
            f"{op.inputs[0]} holds an array and no stack of workspaces.",
            kind="bad_value",
            ways_out=["Make it with CreateScope."],
        )
    return ArraySpec((), np.dtype(bool))


@operator(
    "HasScope", "scope -> y", "y = whether there is a workspace on top of scope", infer=has_scope_spec, constant=True
)
def has_scope(op: Operator, scope: ScopeStack) -> Array:
    """Whether a workspace is left, for a loop over those that another loop has kept. y: bool ()."""
    return np.array(bool(scope))
