"""The forms of a session in an output that need no kernel, and stay readable wherever the notebook is read."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ..drawing import DARK, LIGHT, svg
from .session_protocol import Shown
from .still import html, text

SESSION_TYPE = "application/vnd.gradviz.session+json"
"""By this type the JupyterLab plugin knows an output of ours; it then uses the other forms in the bundle."""

MOST_PICTURE = 500_000
"""Characters of SVG that an output may carry; it is saved with the notebook."""


def forms(session: Shown) -> dict[str, Any]:
    """Our own type, SVG, HTML without scripts, and text, by MIME type."""
    trace, position = session.view(), session.position
    picture = svg(trace, position)
    if len(picture) > MOST_PICTURE:
        picture = ""
    return {
        SESSION_TYPE: {
            "version": 1,
            "id": session.id,
            "name": trace.name,
            "position": position,
            "dark": dark_colours(),
        },
        **({"image/svg+xml": picture} if picture else {}),
        "text/html": html(trace, position, picture),
        "text/plain": text(trace, position),
    }


def dark_colours() -> dict[str, str]:
    """The colours of a light picture and what they are in a dark one."""
    colours = [field.name for field in fields(LIGHT) if str(field.default).startswith("#")]
    return {getattr(LIGHT, name): getattr(DARK, name) for name in colours}
