"""Running programs: workspaces of named arrays and the executor that checks before it runs."""

from .devices import device
from .workspace import Workspace, immediate, immediate_workspace

__all__ = ["Workspace", "device", "immediate", "immediate_workspace"]
