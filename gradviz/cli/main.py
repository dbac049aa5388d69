"""Running a command: its exit status, and what is said where it cannot be done."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from ..program import GradvizError
from ..runtime.watched import INTERRUPTED
from .output import say
from .parser import parser

REFUSED = 2
"""The exit status where what was asked for cannot be done."""

STOPPED = 130
"""The exit status, as of every program that Ctrl+C ends."""

UNHEARD = 141
"""The exit status, as of every program whose reader, such as ``head``, has gone."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line `argv` (default: this process's own) and returns its exit status.

    Raises:
        SystemExit: ``--help`` or ``--version`` was answered, or `argv` is no command.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # where its encoding lacks a character
    try:
        try:
            return _run(argv)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        # What is left to be written is written at the exit: to nowhere, so that nobody complains.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNHEARD


def _run(argv: Sequence[str] | None) -> int:
    root = parser()
    arguments, rest = root.parse_known_args(argv)
    if rest and arguments.command != "lab":
        root.error(f"unrecognized arguments: {' '.join(rest)}")
    arguments.rest = rest
    try:
        status: int = arguments.function(arguments)
    except KeyboardInterrupt:
        return _ended(arguments.command, "interrupted", STOPPED)
    except GradvizError as error:
        return _ended(arguments.command, str(error), STOPPED if error.kind == INTERRUPTED else REFUSED)
    except BrokenPipeError:
        raise
    except (OSError, MemoryError) as error:
        return _ended(arguments.command, str(error) or "there is not enough memory for it.", REFUSED)
    return status


def _ended(command: str, why: str, status: int) -> int:
    if sys.stderr is not None:  # of None print makes stdout
        with suppress(OSError):  # the status tells it, too
            say(f"gradviz {command}: {why}", sys.stderr)
    return status
