"""What nets are made of: operators, devices, gradient slices, and the versions of blobs.

Static single assignment says which version of a blob each operator reads and writes:

    a blob that was never written is version 0
    an output is version 0 where its name is new, else one more than before

Inputs are read before outputs are written, so an in-place operator reads x@0 and writes x@1.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np

from .errors import NetError, has_half_character, repr_of, shorten

MAX_NAME_LENGTH = 500
MAX_DIGITS = 9
"""Of the number of a version or an operator that a text names."""
_NAME = re.compile(r"[\w/.:+\-*#$%()\[\]]+")
_CUDA = re.compile(r"cuda(?::(\d+))?")


class Device(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where an operator runs. `id` counts GPUs from 0; `node_name` and `extra_info` are notes that travel along.

    Devices are equal where they are one and the same, whatever is noted on them.
    """

    type: str = "cpu"
    id: int = 0
    node_name: str = ""
    extra_info: list[str] = []

    def __str__(self) -> str:
        return "cpu" if self.type == "cpu" else f"{self.type}:{self.id}"

    def __eq__(self, other: object) -> bool:
        return other is self or (type(other) is Device and str(other) == str(self))

    def __hash__(self) -> int:
        return hash(str(self))

    @classmethod
    def parse(cls, device: "Device | str | Mapping[str, Any] | None") -> "Device | None":
        """A device from ``"cpu"``, ``"cuda:0"``, its JSON form, or None (not said)."""
        if device is None or isinstance(device, Device):
            return device
        if isinstance(device, str):
            if device == "cpu":
                return cls()
            if match := _CUDA.fullmatch(device):
                return cls("cuda", int(match[1] or 0))
        elif isinstance(device, Mapping):
            try:
                parsed = msgspec.convert(device, cls)
            except msgspec.ValidationError as error:
                raise NetError(f"{repr_of(device)} is not a device: {error}.", kind="bad_device") from error
            if parsed.type in ("cpu", "cuda"):
                return parsed
        raise NetError(
            f"{repr_of(device)} is not a device.",
            kind="bad_device",
            ways_out=['Write "cpu", "cuda:0", or {"type": "cuda", "id": 0}.'],
        )


class GradientSlice(msgspec.Struct, frozen=True):
    """A sparse gradient: row ``indices[i]`` of the blob gets ``values[i]``; repeated rows add.

    Attributes:
        indices: name of an integer blob of shape (n,).
        values: name of a blob of shape (n, ...).
    """

    indices: str
    values: str


Gradient = str | GradientSlice
"""The name of a dense gradient, or the two names of a sparse one."""


def parts_of(gradient: Gradient | None) -> tuple[str, ...]:
    """The blobs that a gradient consists of: one, two for a slice, none for None."""
    if gradient is None:
        return ()
    return (gradient.indices, gradient.values) if isinstance(gradient, GradientSlice) else (gradient,)


class Operator(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """One call of an operator type on named blobs. A value: gradviz never changes one.

    Attributes:
        type: name of the operator type, e.g. ``"FC"``.
        inputs, outputs: blob names in the order of the operator's definition.
        args: argument name -> number, string, list or nested net.
        device: where it runs; None: where its inputs are.
        name: free text for people.
        is_gradient: whether a gradient rule marked it as part of a backward pass.
    """

    type: str
    inputs: list[str]
    outputs: list[str]
    args: dict[str, Any] = {}
    device: Device | None = None
    name: str = ""
    is_gradient: bool = False
    engine: str = ""
    control_inputs: list[str] = []

    def __post_init__(self) -> None:
        if type(self.inputs) is not list:
            msgspec.structs.force_setattr(self, "inputs", as_names(self.inputs))
        if type(self.outputs) is not list:
            msgspec.structs.force_setattr(self, "outputs", as_names(self.outputs))
        for value in self.args.values():
            if type(value) not in _PLAIN and _plain(value) is not value:
                args = {name: _plain(value) for name, value in self.args.items()}
                msgspec.structs.force_setattr(self, "args", args)
                break
        if self.device is not None and type(self.device) is not Device:
            msgspec.structs.force_setattr(self, "device", Device.parse(self.device))

    def arg(self, name: str, default: Any = None) -> Any:
        """The argument `name`, or `default` where the operator does not carry it."""
        return self.args.get(name, default)

    def __str__(self) -> str:
        return f"{', '.join(self.outputs)} = {self.type}({', '.join(self.inputs)})"


_PLAIN = frozenset((bool, int, float, str))
"""Of these types arguments are mostly: they stay as they are."""


def _plain(value: Any) -> Any:
    """An argument, numbers of numpy in it as those of Python."""
    if isinstance(value, np.generic):
        return value.item()
    if type(value) in (list, tuple) and not _PLAIN.issuperset(map(type, value)):
        return type(value)([_plain(item) for item in value])
    return value


def check_name(name: object, what: str, operator_index: int | None = None) -> None:
    """Raise NetError unless `name` can name a blob.

    Letters, digits, ``_ / . : + - * # $ % ( ) [ ]``, at most 500 of them. Names travel into HTML, SVG, DOT and
    file formats; this alphabet means the same in all of them.
    """
    if isinstance(name, str) and len(name) <= MAX_NAME_LENGTH and _NAME.fullmatch(name):
        return
    shown = shorten(name) if isinstance(name, str) else repr_of(name)
    where = "" if operator_index is None else f" of operator #{operator_index}"
    raise NetError(
        f"{shown or 'The empty string'} cannot be a name ({what}{where}).",
        kind="bad_name",
        operator_index=operator_index,
        blobs=[name] if isinstance(name, str) else [],
        ways_out=[
            f"Use letters, digits and _ / . : + - * # $ % ( ) [ ], at most {MAX_NAME_LENGTH} characters, no spaces."
        ],
    )


def check_text(text: object, what: str, operator_index: int | None = None) -> None:
    """Raise NetError unless `text`, which people choose freely, is text of whole characters, as files hold it."""
    if not isinstance(text, str) or has_half_character(text):
        raise NetError(
            f"{shorten(repr_of(text))} cannot be {what}.",
            kind="bad_name",
            operator_index=operator_index,
            ways_out=['Write it as text, of whole characters: "first".'],
        )


def check_operator(op: Operator, index: int | None = None) -> None:
    """Raise NetError unless `op` is an operator whose type and blob names are legal names, and its own name is text."""
    if not isinstance(op, Operator):
        raise NetError(
            f"{repr_of(op)} is no operator.",
            kind="bad_net",
            operator_index=index,
            ways_out=['Write gradviz.Operator("Tanh", ["x"], ["y"]), or net.Tanh("x", "y").'],
        )
    if op.name != "":
        check_text(op.name, "the name of an operator", index)
    check_name(op.type, "type", index)
    for name in op.inputs:
        check_name(name, "input", index)
    for name in op.outputs:
        check_name(name, "output", index)


def numbered_name(name: str, is_taken: Callable[[str], bool], first: int = 1) -> str:
    """``<name>_<number>`` with the lowest number from `first` on that is not taken."""
    number = first
    while is_taken(f"{name}_{number}"):
        number += 1
    return f"{name}_{number}"


def free_name(name: str, is_taken: Callable[[str], bool]) -> str:
    """`name`, with a number where it is taken."""
    return numbered_name(name, is_taken) if is_taken(name) else name


def as_names(names: "str | Iterable[str]", index: int | None = None) -> list[str]:
    """One name or several, as a list. Raises NetError ``bad_name``, for operator `index`, for what is neither."""
    if isinstance(names, str):
        return [names]
    if isinstance(names, Iterable):
        return list(names)
    raise NetError(
        f"{repr_of(names)} is neither a blob name nor several.",
        kind="bad_name",
        operator_index=index,
        ways_out=['Write "x" or ["x", "y"].'],
    )


class BlobVersion(msgspec.Struct, eq=False, gc=False):
    """What a name stands for between two writings. There is one of them for each version: compare by identity."""

    name: str
    version: int

    @property
    def key(self) -> tuple[str, int]:
        """Name and version."""
        return self.name, self.version

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


def version_in(text: str) -> tuple[str, int] | None:
    """The name and the number of a blob version, ``x@1``; None: a text is none."""
    name, _, number = text.rpartition("@")
    is_version = name and number.isascii() and number.isdecimal() and len(number) <= MAX_DIGITS
    return (name, int(number)) if is_version else None


def key_of(version: str) -> tuple[str, int]:
    """A blob version as name and number."""
    name, _, number = version.rpartition("@")
    return name, int(number)


def bare(blob: str) -> str:
    """A blob without its version."""
    key = version_in(blob)
    return blob if key is None else key[0]


V = TypeVar("V", bound=BlobVersion)


class Ssa(msgspec.Struct, Generic[V], eq=False, gc=False):
    """An operator with the blob versions that it reads and writes, in the order of its inputs and outputs."""

    op: Operator
    reads: list[V]
    writes: list[V]

    @property
    def in_versions(self) -> tuple[int, ...]:
        return tuple([blob.version for blob in self.reads])

    @property
    def out_versions(self) -> tuple[int, ...]:
        return tuple([blob.version for blob in self.writes])

    @property
    def written(self) -> list[tuple[str, int]]:
        """Name and version of what it writes."""
        return [blob.key for blob in self.writes]

    @property
    def inputs(self) -> list[str]:
        """The inputs as ``name@version``."""
        return list(map(str, self.reads))

    @property
    def outputs(self) -> list[str]:
        """The outputs as ``name@version``."""
        return list(map(str, self.writes))

    def __str__(self) -> str:
        args = [f"{name}={repr_of(getattr(value, 'name', value))}" for name, value in self.op.args.items()]
        call = f"{self.op.type}({', '.join([*self.inputs, *args])})"
        return f"{', '.join(self.outputs)} = {call}" if self.op.outputs else call


def play(op: Operator, blobs: dict[str, list[V]], make: Callable[[str, int], V]) -> Ssa[V]:
    """Number what `op` reads and writes; new versions, made by `make`, join `blobs` (name -> its versions so far)."""
    reads = []
    for name in op.inputs:
        versions = blobs.get(name)
        if versions is None:
            versions = blobs[name] = [make(name, 0)]
        reads.append(versions[-1])
    writes = []
    for name in op.outputs:
        versions = blobs.get(name)
        if versions is None:
            versions = blobs[name] = [make(name, 0)]
        else:
            versions.append(make(name, len(versions)))
        writes.append(versions[-1])
    return Ssa(op, reads, writes)
