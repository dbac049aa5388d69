"""Where operators run, and the operators that copy to there what lies on another device.

An operator with a device runs there. One without a device runs where its inputs lie; where these lie on several
devices, or there are none, it runs on the workspace's device. `CopyOnDeviceLike` runs where its second input lies,
whatever device it carries, and `CopyGPUToCPU` on the host: its device says from which GPU.

What an operator reads and lies elsewhere is copied to the device it runs on; the blobs that it reads stay where they
are. In a net that is differentiated these copies are operators, and go back by their own gradients: so a gradient is
added where its blob lies. From one GPU to another they go through the host.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from .code_line import Calls
from .control_flow import NETS
from .net import NetDef
from .operator import Device, Operator, free_name

CPU = Device()
TO_GPU, TO_CPU = "CopyCPUToGPU", "CopyGPUToCPU"
COPIES = (TO_GPU, TO_CPU, "Copy", "CopyOnDeviceLike")
"""Types of operators that may write on another device than that on which they read, and go back by each other."""

Copies = Mapping[tuple[str, Device], str]


def place(op: Operator, lying: Sequence[Device], default: Device) -> Device:
    """Where `op` runs when its inputs lie on the devices `lying`, in a workspace on `default`."""
    if op.type == "CopyOnDeviceLike" and len(lying) == 2:
        return lying[1]
    if op.type in (TO_CPU, TO_GPU):
        return CPU if op.type == TO_CPU else op.device or Device("cuda")
    if op.device is not None:
        return op.device
    if lying and lying.count(lying[0]) == len(lying):
        return lying[0]
    return default


def output_device(op: Operator) -> Device | None:
    """Where the outputs of `op` lie, as far as it says so itself; None: where its inputs do."""
    return CPU if op.type == TO_CPU else None if op.type == "CopyOnDeviceLike" else op.device


class Crossing:
    """What lies where at one point of a net, and what has been copied to other devices.

    Args:
        lying: where the blobs lie that are there from the start; one that is not named lies where it is read first.
        default: where an operator runs for which nothing else says it.
        is_taken: whether no copy may have a name.
        copies: by blob and device, what its copy there is called; those that are there from the start.

    Attributes:
        copies: those that are there by now.
    """

    def __init__(
        self,
        lying: Mapping[str, Device],
        default: Device,
        is_taken: Callable[[str], bool],
        copies: Copies | None = None,
    ) -> None:
        self._lying = dict(lying)
        self._default = default
        self._is_taken = is_taken
        self.copies = dict(copies or {})

    def join(self, op: Operator) -> list[Operator]:
        """An operator that comes next, behind those that copy what it reads; it reads the copies.

        What one runs nested nets with is copied by the kernels there.
        """
        where = place(op, [self._lying[name] for name in op.inputs if name in self._lying], self._default)
        copying: list[Operator] = []
        if op.type not in (*NETS, *COPIES):
            inputs = [self._there(name, where, copying) for name in op.inputs]
            op = replace(op, inputs=inputs) if copying or inputs != op.inputs else op
        for name in op.outputs:
            self._lying[name] = where
        if self.copies:
            self.copies = {key: copy for key, copy in self.copies.items() if key[0] not in op.outputs}
        return [*copying, op]

    def forget(self) -> None:
        """Copy anew from here on: what is behind takes no part in the backward pass, and its copies neither."""
        self.copies.clear()

    def _there(self, name: str, where: Device, copying: list[Operator]) -> str:
        """What a blob is called on a device; `copying` gets the operators that copy it."""
        here = self._lying.setdefault(name, where)
        if here == where:
            return name
        if (name, where) not in self.copies:
            on_host = self._there(name, CPU, copying) if CPU not in (here, where) else name
            type, gpu = (TO_CPU, here) if where == CPU else (TO_GPU, where)
            copy = free_name(
                f"{name}_{str(where).replace(':', '_')}", lambda name: name in self._lying or self._is_taken(name)
            )
            copying.append(Operator(type, [on_host], [copy], device=gpu))
            self._lying[copy] = where
            self.copies[name, where] = copy
        return self.copies[name, where]


def with_copies(net: NetDef, skip: int, lying: Mapping[str, Device], default: Device = CPU) -> tuple[NetDef, int]:
    """A net in which what crosses from one device to another is copied by operators; the same net where nothing does.

    In nested nets nothing is inserted: what is read there on another device its reader's kernel copies.

    Args:
        skip: how many operators at its beginning take no part in its backward pass.
        lying, default: as of `Crossing`.

    Returns:
        The net, and how many operators are now skipped.
    """
    named = {op.device for op in net.ops} - {None, default}
    if not named and {op.type for op in net.ops}.isdisjoint((TO_GPU, TO_CPU)) and set(lying.values()) <= {default}:
        return net, skip
    taken = {name for op in net.ops for name in (*op.inputs, *op.outputs)}
    crossing = Crossing(lying, default, taken.__contains__)
    ops: list[Operator] = []
    calls = Calls(net.calls)
    begin = skip
    for index, op in enumerate(net.ops):
        if index == skip:
            begin = len(ops)
            crossing.forget()
        joined = crossing.join(op)
        if (call := net.calls.of(op)) is not None:
            calls.update((id(one), (one, call)) for one in joined)
        ops += joined
    if len(ops) == len(net.ops):
        return net, skip
    extended = net.copy()
    extended.ops, extended.calls = ops, calls
    return extended, begin
