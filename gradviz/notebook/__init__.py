"""Jupyter: the widget, what a session leaves in an output, and the channel to the JupyterLab plugin.

Importing this package is cheap and works anywhere: what needs Jupyter is imported when a kernel is there to use it.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from ..program.code_line import name_files
from ..program.events import Event

if TYPE_CHECKING:
    from .session_protocol import Shown

__all__ = ["ANSWERS", "BUDGET", "announce", "enable", "kernel_shell", "request", "user_shell"]

BUDGET = 6_000_000
"""Bytes of JSON that the values in a page may take, before compression."""

ANSWERS = 2_000_000
"""Bytes of JSON that the answers in a page may take, before compression."""


def user_shell() -> Any:
    """The IPython shell of this process, in a Jupyter kernel or a terminal, else None (a script, no IPython)."""
    ipython = sys.modules.get("IPython")
    get_ipython = getattr(ipython, "get_ipython", None)
    return get_ipython() if get_ipython is not None else None


def kernel_shell() -> Any:
    """The IPython shell when this process is a Jupyter kernel, else None (a script, a terminal, no IPython)."""
    shell = user_shell()
    return shell if getattr(shell, "kernel", None) is not None else None


def enable() -> None:
    """Let a JupyterLab panel find the sessions of this kernel; in IPython name its cells. Never raises."""
    try:
        if (shell := user_shell()) is not None:
            name_files(partial(_cell, shell))
        if (shell := kernel_shell()) is not None:
            from .channel import kernel_channel

            kernel_channel().listen(shell)
            shell.display_formatter.mimebundle_formatter.for_type(Event, _bundle)
    except Exception:
        import logging  # takes its time to import

        logging.getLogger(__name__).warning("The side panel will not find the sessions of this kernel.", exc_info=True)


def _bundle(event: Event) -> dict[str, Any] | None:
    """What a verb of a session leaves in an output: the session at the event that this led to.

    None: no session stands there any more, so that the event shows itself.
    """
    from .channel import kernel_channel
    from .still import forms

    session = kernel_channel().session_at(event)
    return None if session is None else forms(session)


def _cell(shell: Any, path: str) -> str | None:
    """``cell 4`` for the path that the cell of a shell was compiled as."""
    label = shell.compile.format_code_name(path)
    return None if label is None else f"cell {label[1].removeprefix('In[').removesuffix(']')}"


def announce(session: Shown) -> None:
    """Let magics find `session`, and panels list it once the running cell is done. Nothing outside of IPython."""
    shell = user_shell()
    if shell is not None:
        from .channel import kernel_channel

        kernel_channel().announce(session, _running_cell(shell))


def request() -> dict[str, Any]:
    """The message that the kernel is at, mostly one that runs a cell; empty where there is none to be had."""
    get_parent = getattr(getattr(kernel_shell(), "kernel", None), "get_parent", None)
    message: dict[str, Any] = get_parent() if get_parent is not None else {}
    return message


def _running_cell(shell: Any) -> int | None:
    """The number of the cell that runs; None: something else does, such as a message of a widget."""
    is_kernel = getattr(shell, "kernel", None) is not None
    kind = request().get("header", {}).get("msg_type") if is_kernel else "execute_request"
    # Some releases of IPython count a cell before they run it, others after: what both do before is to keep its text.
    return len(shell.history_manager.input_hist_parsed) - 1 if kind == "execute_request" else None
