"""Immediate mode: while it lasts, an operator added to a net runs at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .workspace import Workspace

_current: ContextVar[Workspace | None] = ContextVar("gradviz_immediate", default=None)


@contextmanager
def immediate(workspace: Workspace) -> Iterator[Workspace]:
    """Run every operator that is added to a net inside this block on `workspace`, as it is added.

    An operator that fails to run is not added.

    Example:
        >>> with immediate(ws):
        ...     y = net.Tanh("x", "y")
        >>> ws["y"]
    """
    token = _current.set(workspace)
    try:
        yield workspace
    finally:
        _current.reset(token)


def immediate_workspace() -> Workspace | None:
    """The workspace of the innermost `immediate` block, None outside of one."""
    return _current.get()
