"""What a session leaves in an output: the widget, and forms of it that can be read where no widget lives."""

from __future__ import annotations

import weakref
from typing import Any

from . import kernel_shell, request, user_shell
from .channel import kernel_channel
from .session_protocol import Shown
from .still import forms, text

_widgets: weakref.WeakKeyDictionary[Shown, Any] = weakref.WeakKeyDictionary()
"""One widget for each session that is shown: showing it again must not copy its trace."""

_runs: weakref.WeakKeyDictionary[Shown, str] = weakref.WeakKeyDictionary()
"""The run of a cell that showed a session last."""

_paused: dict[str, Any] = {}
"""The widget that the run of a cell pauses at; of the last run that did."""


def mimebundle(session: Shown) -> tuple[dict[str, Any], dict[str, Any]]:
    """The forms of `session` for an output, by MIME type, and their metadata; for `_repr_mimebundle_`.

    In IPython `session` becomes the active one, that magics move and a side panel shows. In a kernel there are the
    widget and the forms that need none, elsewhere text alone.
    """
    if user_shell() is not None:
        kernel_channel().activate(session)
    if kernel_shell() is None:
        return {"text/plain": text(session.view(), session.position)}, {}
    _runs[session] = _run()
    live, metadata = _widget(session)._repr_mimebundle_()
    return live | forms(session), metadata


def show_in_cell(session: Shown) -> None:
    """Show `session` in the output of the cell that runs, where it does not show it yet; in a kernel.

    A loop that pauses shows one session after the other in one widget; those at which the cell waits at once have each
    their own.
    """
    run = _run()
    shown = _widgets.get(session)  # which another session may have got since
    if _runs.get(session) == run and shown is not None and shown.comm is not None:
        kernel_channel().activate(session)
        return
    widget = _paused.pop(run, None)
    if widget is not None and widget.comm is not None and not widget.waits:
        _give(widget, session)
    else:
        from IPython.display import display

        display(session)  # type: ignore[no-untyped-call]
    _runs[session] = run
    _paused.clear()
    _paused[run] = _widget(session)


def hand_over(before: Shown, after: Shown) -> None:
    """Let the widget that shows `before` show `after` from now on, and the panels, if they show that."""
    kernel_channel().replace(before, after)
    widget = _widgets.get(before)
    if widget is not None and widget.comm is not None:
        _give(widget, after)
        if before in _runs:
            _runs[after] = _runs[before]
    elif kernel_channel().is_active(before):
        kernel_channel().activate(after)


def _give(widget: Any, session: Shown) -> None:
    for before in [one for one, its in _widgets.items() if its is widget]:
        del _widgets[before]
    _widgets[session] = widget
    widget.show(session)
    kernel_channel().activate(session)


def _run() -> str:
    """The run of a cell, by the message that asked for it."""
    return str(request().get("header", {}).get("msg_id"))


def _widget(session: Shown) -> Any:
    from .widget import DebuggerWidget

    widget = _widgets.get(session)
    if widget is None or widget.comm is None:
        widget = _widgets[session] = DebuggerWidget(session)
    widget.show(session)
    return widget
