"""Running programs: workspaces of named arrays and the executor that checks before it runs."""

from .workspace import Workspace, immediate, immediate_workspace

__all__ = ["Workspace", "immediate", "immediate_workspace"]
