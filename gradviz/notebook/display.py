"""What a session leaves in an output: the widget, and forms of it that can be read where no widget lives."""

from __future__ import annotations

import weakref
from typing import Any

from . import kernel_shell, user_shell
from .output import forms
from .session_protocol import Shown
from .still import text

_widgets: weakref.WeakKeyDictionary[Shown, Any] = weakref.WeakKeyDictionary()
"""One widget for each session that is shown: showing it again must not copy its trace."""


def mimebundle(session: Shown) -> tuple[dict[str, Any], dict[str, Any]]:
    """The forms of `session` for an output, by MIME type, and their metadata; for `_repr_mimebundle_`.

    In IPython `session` becomes the active one, that magics move and a side panel shows. In a kernel there are the
    widget and the forms that need none, elsewhere text alone.
    """
    if user_shell() is not None:
        from .channel import kernel_channel

        kernel_channel().activate(session)
    if kernel_shell() is None:
        return {"text/plain": text(session.view(), session.position)}, {}
    live, metadata = _widget(session)._repr_mimebundle_()
    return live | forms(session), metadata


def hand_over(before: Shown, after: Shown) -> None:
    """Let the widget that shows `before` show `after` from now on, and the panels, if they show that."""
    from .channel import kernel_channel

    widget = _widgets.pop(before, None)
    if widget is not None and widget.comm is not None:
        _widgets[after] = widget
        widget.show(after)
    if kernel_channel().is_active(before):
        kernel_channel().activate(after)


def _widget(session: Shown) -> Any:
    from .widget import DebuggerWidget

    widget = _widgets.get(session)
    if widget is None or widget.comm is None:
        widget = _widgets[session] = DebuggerWidget(session)
    widget.show(session)
    return widget
