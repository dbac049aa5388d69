"""How functions are applied at the moment: whether they are recorded for backward passes, and who watches them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .hooks import FunctionHook


class Mode(NamedTuple):
    """Whether functions are recorded, and the hooks in force, the outermost first."""

    records: bool = True
    hooks: tuple["FunctionHook", ...] = ()


DEFAULT = Mode()
mode: ContextVar[Mode] = ContextVar("gradviz_eager_mode", default=DEFAULT)
"""The mode of this thread, or of this asynchronous task."""

current_mode = mode.get


@contextmanager
def no_grad() -> Iterator[None]:
    """While it lasts, what functions return requires no gradient and remembers nothing. Also a decorator.

    Example:
        >>> with no_grad():
        ...     accuracy = evaluate(model, images)
    """
    token = mode.set(current_mode()._replace(records=False))
    try:
        yield
    finally:
        mode.reset(token)


@contextmanager
def recorded() -> Iterator[None]:
    """While it lasts, functions are recorded, also inside `no_grad`."""
    token = mode.set(current_mode()._replace(records=True))
    try:
        yield
    finally:
        mode.reset(token)
