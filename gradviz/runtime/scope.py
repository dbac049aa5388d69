"""A device for all that is made in a ``with`` block."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..program import Device
from .devices import CPU, available

_current: ContextVar[Device | None] = ContextVar("gradviz_device", default=None)


@contextmanager
def device(where: str | Device) -> Iterator[Device]:
    """Let what is made in this block lie and run on a device, where it does not say otherwise itself.

    Operators that are added to a net run there; a `Workspace`, and a Variable of an array of the host, lie there. Nets
    may be built for a device that is not there.

    Args:
        where: ``"cuda:0"``, ``"cpu"``, or a `Device`. Of blocks in each other the innermost one counts.

    Raises:
        NetError: ``bad_device`` for what is no device.

    Example:
        >>> with device("cuda:0"):
        ...     net.Tanh("x", "y")
        ...     net.Relu("y", "z", device="cpu")
    """
    parsed = Device.parse(where) or CPU
    token = _current.set(parsed)
    try:
        yield parsed
    finally:
        _current.reset(token)


def device_of_block() -> Device | None:
    """The device of the innermost `device` block; None outside of one."""
    return _current.get()


def device_here() -> Device:
    """Where arrays are put: on the device of the block, else on the host.

    Raises:
        RunError: ``bad_device``: it is not there.
    """
    block = _current.get()
    return CPU if block is None else available(block)
