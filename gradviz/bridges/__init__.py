"""Bridges: engines over what other frameworks have computed, each imported when something of theirs is given."""

import sys
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any

from ..program import GradvizError

BRIDGES = {"torch": (2, 10)}
"""Packages that have one, each with the oldest version that it goes with; it lies in the room of the same name."""


def bridge(package: str) -> ModuleType:
    """The bridge to a package.

    Raises:
        GradvizError: ``missing_package``: it is not installed, or too old.
    """
    try:
        version, oldest = import_module(package).__version__, BRIDGES[package]
        if tuple(map(int, version.split(".")[:2])) < oldest:
            raise ImportError(f"{package} {version} is older than {'.'.join(map(str, oldest))}")
        return import_module(f"{__name__}.{package}")
    except ImportError as error:
        raise GradvizError(
            f"gradviz.{package} needs the package {package}: {error}.",
            kind="missing_package",
            ways_out=[f"Install it: pip install 'gradviz[{package}]'."],
        ) from error


def cross(given: Any) -> None:
    """Register the engines of the frameworks that an object, or those in a list or tuple, come from."""
    for one in given if isinstance(given, list | tuple) else [given]:
        for base in type(one).__mro__:
            if (package := base.__module__.partition(".")[0]) in BRIDGES:
                bridge(package)


def bridge_in_use(package: str, *, is_wanted: bool = False) -> ModuleType | None:
    """The bridge to a package that is in use, or that is wanted; None: nobody has imported it, or it is too old."""
    with suppress(GradvizError):
        return bridge(package) if is_wanted or package in sys.modules else None
    return None
