"""What a session leaves in an output: the widget, and forms of it that can be read where no widget lives."""

from __future__ import annotations

import weakref
from dataclasses import fields
from typing import Any

from ..drawing import DARK, LIGHT, svg
from . import kernel_shell, still
from .session_protocol import Shown

SESSION_TYPE = "application/vnd.gradviz.session+json"
"""By this type the JupyterLab plugin knows an output of ours; it then uses the other forms in the bundle."""

MOST_PICTURE = 500_000
"""Characters of SVG that an output may carry; it is saved with the notebook."""

_widgets: weakref.WeakKeyDictionary[Shown, Any] = weakref.WeakKeyDictionary()
"""One widget for each session that is shown: showing it again must not copy its trace."""


def mimebundle(session: Shown) -> tuple[dict[str, Any], dict[str, Any]]:
    """The forms of `session` for an output, by MIME type, and their metadata; for `_repr_mimebundle_`.

    In a kernel: the widget, our own type, SVG, HTML without scripts, text; and `session` becomes the active one, that
    a side panel shows. Elsewhere: text alone.
    """
    trace, position = session.view(), session.position
    plain = {"text/plain": still.text(trace, position)}
    if kernel_shell() is None:
        return plain, {}
    from .channel import kernel_channel

    kernel_channel().activate(session)
    live, metadata = _widget(session)._repr_mimebundle_()
    picture = svg(trace, position)
    if len(picture) > MOST_PICTURE:
        picture = ""
    own = {
        SESSION_TYPE: {
            "version": 1,
            "id": session.id,
            "name": session.name,
            "position": position,
            "dark": _dark_colours(),
        }
    }
    pictures = {"image/svg+xml": picture} if picture else {}
    return live | own | pictures | {"text/html": still.html(trace, position, picture)} | plain, metadata


def _dark_colours() -> dict[str, str]:
    """The colours of a light picture and what they are in a dark one."""
    colours = [field.name for field in fields(LIGHT) if str(field.default).startswith("#")]
    return {getattr(LIGHT, name): getattr(DARK, name) for name in colours}


def _widget(session: Shown) -> Any:
    from .widget import DebuggerWidget

    widget = _widgets.get(session)
    if widget is None or widget.comm is None:
        widget = _widgets[session] = DebuggerWidget(session)
    widget.show(session)
    return widget
