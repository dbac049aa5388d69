"""The command line: one function for each command, over what a person holds in Python."""

from .main import main

__all__ = ["main"]
