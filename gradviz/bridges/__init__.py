"""Bridges: engines over what other frameworks have computed, each imported when something of theirs is given."""

from importlib import import_module
from typing import Any

BRIDGES = ("torch",)
"""Packages that have one; it lies in the room of the same name."""


def cross(given: Any) -> None:
    """Let the engines of the frameworks be known that an object, or those in a list or tuple, come from."""
    for one in given if isinstance(given, list | tuple) else [given]:
        for base in type(one).__mro__:
            package = base.__module__.partition(".")[0]
            if package in BRIDGES:
                import_module(f"{__name__}.{package}")
