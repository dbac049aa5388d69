"""Devices: where arrays lie, how they are copied from one to another, and a ``with`` block that says it for all.

Where an operator runs `gradviz.program.crossing` says. What it reads or returns is copied to that device if it lies
elsewhere; the blobs that it reads stay where they are.

So a seed, which carries no device, is made where its y lies.

Arrays on a GPU are CuPy's. CuPy is imported when a device ``cuda`` is asked for, and here only.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

import numpy as np

from ..operators.registry import Array, Kernel
from ..program import Device, Operator, RunError
from ..program.crossing import CPU as CPU
from ..program.crossing import place

freeze: Any = np.ndarray.setflags
"""Called with False it makes an array read-only; by position, which numpy takes faster than by name."""


def available(device: Device) -> Device:
    """`device`, without what it carries unread, if operators can run on it.

    Raises:
        RunError: ``bad_device``, with what is missing: CuPy, a GPU, or a GPU of this number.
    """
    if device.type == "cpu":
        return CPU
    try:
        import cupy
    except ImportError as error:
        raise _unavailable(
            f"CuPy, which {device} needs, cannot be imported: {error}",
            "Install it: pip install gradviz[cuda12], or gradviz[cuda13] for CUDA 13.",
        ) from error
    if not cupy.cuda.is_available():
        raise _unavailable(
            f"There is no {device}: CuPy {cupy.__version__} finds no GPU",
            "nvidia-smi tells whether there is one, and which CUDA its driver supports.",
        )
    count = cupy.cuda.runtime.getDeviceCount()
    if not 0 <= device.id < count:
        gpus = "one GPU, cuda:0" if count == 1 else f"{count} GPUs, cuda:0 to cuda:{count - 1}"
        raise _unavailable(f"There is no {device}: CuPy finds {gpus}", "Use one that is there.")
    return Device("cuda", device.id)


def _unavailable(what: str, way_out: str) -> RunError:
    return RunError(f"{what}.", kind="bad_device", ways_out=[way_out, 'Use "cpu".'])


def placed(op: Operator, lying: Sequence[Device], default: Device) -> Device:
    """Where `op` runs when its inputs lie on the devices `lying`, in a workspace on `default`.

    Raises:
        RunError: ``bad_device``, as `available`.
    """
    device = place(op, lying, default)
    if device == CPU:
        return CPU
    return device if device is default or device in lying else available(device)


def is_on_gpu(value: Any) -> bool:
    """Whether `value` is a CuPy array; there can be none before CuPy is imported."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(value, cupy.ndarray)


def device_of(array: Array) -> Device:
    """Where a numpy or CuPy array lies."""
    if type(array) is np.ndarray or not is_on_gpu(array):
        return CPU
    return Device("cuda", array.device.id)


def as_array(value: Any) -> Array:
    """What somebody gives as an array, of CuPy where it is one; raises ValueError where elements of it are masked."""
    if np.ma.is_masked(value):
        raise ValueError("elements of it are masked: value.filled(0) gives them a number")
    return value if is_on_gpu(value) else np.asarray(value)


def copied(array: Array, device: Device | None = None) -> Array:
    """A copy of a numpy or CuPy array on `device`, None: where it lies; on the CPU a read-only one.

    Its bytes are in the order of this machine, as those of all that is computed from it.
    """
    device = device or device_of(array)
    if device == CPU:
        copy = array.get() if is_on_gpu(array) else np.array(array, array.dtype.newbyteorder("="), order="C")
        return guarded(copy)
    import cupy

    with current(device):
        return array.copy() if is_on_gpu(array) else cupy.asarray(array)


def guarded(array: Array) -> Array:
    """`array`, which people are given, as an array that they cannot make writeable, without a copy.

    numpy lets whoever holds an array set its flag again, but for a view of memory that is read-only itself: so this is
    a view, and what it is a view of is read-only from now on. What is no array of numpy is returned as it is.
    """
    if type(array) is not np.ndarray or is_guarded(array):
        return array
    freeze(array, False)
    owner = array.base
    while isinstance(owner, np.ndarray):
        freeze(owner, False)
        owner = owner.base
    return array.view()


def is_guarded(array: Array) -> bool:
    """Whether `array` is a view, and neither it nor what it is a view of is writeable."""
    base = array.base
    return isinstance(base, np.ndarray) and base.base is None and not (array.flags.writeable or base.flags.writeable)


def moved(array: Array, device: Device) -> Array:
    """`array` itself where it lies on `device`, else a copy there."""
    return array if device_of(array) == device else copied(array, device)


def running_on(kernel: Kernel, device: Device) -> Kernel:
    """`kernel` run on `device`: what it is given and what it returns is copied there where it lies elsewhere."""

    def run(op: Operator, *arrays: Array) -> Any:
        with current(device):
            result = kernel(op, *_there(arrays, device))
            if type(result) is tuple:
                return tuple([_array_on(value, device) for value in result])
            return _array_on(result, device)

    return run


def _there(arrays: Sequence[Array], device: Device) -> list[Array]:
    """`arrays` on `device`; one that is there twice is copied once."""
    different = {id(array): array for array in arrays}
    there = {key: _array_on(array, device) for key, array in different.items()}
    return [there[id(array)] for array in arrays]


def running_where_inputs_lie(kernel: Kernel, default: Device) -> Kernel:
    """`kernel` run on the device that `place` says once its inputs are there."""

    def run(op: Operator, *arrays: Array) -> Any:
        return running_on(kernel, placed(op, list(map(device_of, arrays)), default))(op, *arrays)

    return run


def _array_on(value: Any, device: Device) -> Any:
    """An array on `device`; what is none, as a stack of workspaces, stays what it is."""
    return moved(value, device) if isinstance(value, np.ndarray | np.generic) or is_on_gpu(value) else value


def finish(device: Device) -> None:
    """Wait until what was started on `device` is done; GPUs run behind Python."""
    if device.type == "cuda":
        import cupy

        cupy.cuda.Device(device.id).synchronize()


def current(device: Device) -> AbstractContextManager[Any]:
    """While it lasts, CuPy computes on `device`: it must be the one on which the arrays lie that are worked with."""
    if device == CPU:
        return nullcontext()
    import cupy

    gpu: AbstractContextManager[Any] = cupy.cuda.Device(device.id)
    return gpu


_of_block: ContextVar[Device | None] = ContextVar("gradviz_device", default=None)


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
    token = _of_block.set(parsed)
    try:
        yield parsed
    finally:
        _of_block.reset(token)


def device_of_block() -> Device | None:
    """The device of the innermost `device` block; None outside of one."""
    return _of_block.get()


def device_here() -> Device:
    """Where arrays are put: on the device of the block, else on the host.

    Raises:
        RunError: ``bad_device``: it is not there.
    """
    block = _of_block.get()
    return CPU if block is None else available(block)
