"""Running programs: workspaces of named arrays and the executor that checks before it runs."""

from .immediate import immediate, immediate_workspace
from .workspace import Workspace

__all__ = ["Workspace", "immediate", "immediate_workspace"]
