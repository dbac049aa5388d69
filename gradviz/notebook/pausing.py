"""Pauses: a cell waits at a session, which the widget and the side panel steer, until a person lets it go on."""

from __future__ import annotations

import sys
import warnings

from ..program import GradvizError
from . import kernel_shell, request
from .session_protocol import Shown

HEARS_WIDGETS = (7, 4)
"""The first version of ipykernel that handles what a widget says while a cell awaits something."""


async def pause(session: Shown) -> None:
    """Let the cell that runs wait at `session`, which it shows, until a person lets it go on.

    Where no person can do that it does not wait: a training loop that was looked at in a notebook runs on in a script.

    Raises:
        GradvizError: ``is_paused``: a cell waits there already. ``old_kernel``: the kernel would hear no widget.
    """
    if (nobody := _nobody()) is not None:
        warnings.warn(f"pause() does not wait: {nobody}.", stacklevel=3)
        return
    _check_kernel()
    if session.wait.is_on:
        raise GradvizError(
            f"A cell waits at {session.name or 'this session'} already.",
            kind="is_paused",
            ways_out=["Let that one go on first: press Continue cell in the widget."],
        )
    from .display import show_in_cell

    show_in_cell(session)
    await session.wait.until_ended()


def _nobody() -> str | None:
    """Why no person can let a cell go on; None: one can."""
    if kernel_shell() is None:
        return "this is no Jupyter kernel, so there is no widget to go on from. In a notebook the cell waits"
    # By this, programs that run a notebook without a person at it say so.
    if request().get("content", {}).get("allow_stdin", True):
        return None
    return "no person is at this notebook, which a program runs. Run it in JupyterLab to look at the session"


def _check_kernel() -> None:
    # Kernels of other makers, which do not load it, may hear them.
    version = getattr(sys.modules.get("ipykernel"), "version_info", HEARS_WIDGETS)
    if tuple(version[:2]) < HEARS_WIDGETS:
        is_, wanted = (".".join(map(str, numbers)) for numbers in (version[:3], HEARS_WIDGETS))
        raise GradvizError(
            f"ipykernel {is_} hears no widget while a cell waits, so nothing could let it go on.",
            kind="old_kernel",
            ways_out=[
                f"pip install -U 'ipykernel>={wanted}', and restart the kernel.",
                "End the cell there, and go on in the next one: between cells the widget steers.",
            ],
        )
