"""The magics of `%load_ext gradviz`: a session stepped and asked by lines of IPython, nets and code run by cells."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from .cell_magic import CellMagic
from .completion import IDENTIFIER, matcher
from .session_magics import SessionMagics
from .usage import answered

NAMES = {method.rstrip("_"): method for method in vars(SessionMagics) if not method.startswith("_")}
"""The line magics, and the methods of `SessionMagics` that they are."""


def load(shell: Any, package: ModuleType) -> None:
    """Let the IPython `shell` know the magics.

    Args:
        package: gradviz itself, for what stands above this room.
    """
    magics = SessionMagics(shell.user_ns)
    for name, method in NAMES.items():
        shell.register_magic_function(answered(getattr(magics, method)), "line", name)
    shell.register_magic_function(answered(CellMagic(shell, package).gradviz), "cell", "gradviz")
    shell.Completer.custom_matchers.append(matcher(shell.user_ns))


def unload(shell: Any) -> None:
    """Take the magics out of the IPython `shell`."""
    matchers = shell.Completer.custom_matchers
    matchers[:] = [one for one in matchers if getattr(one, "matcher_identifier", "") != IDENTIFIER]
    for name in NAMES:
        shell.magics_manager.magics["line"].pop(name, None)
    shell.magics_manager.magics["cell"].pop("gradviz", None)
