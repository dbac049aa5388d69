"""NetDef: a named list of operators, its JSON form both ways, and its text in SSA."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np

from .code_line import Calls
from .errors import GradvizError, NetError, count_of, repr_of, shorten
from .files import about, read_whole, write_whole
from .operator import Operator, check_operator, check_text

VERSION = 1
"""Version of the net file format that this gradviz writes and reads."""

MAX_DEPTH = 50
"""How deep nets may be nested: Python's stack must hold the way to the innermost one."""

FEWER_NETS = (
    "Nest fewer nets in each other: a block of net.Do is one net, one of net.If or net.While two, itself and its Do."
)

_NO_NETS = frozenset((bool, float, int, list, str, tuple))
"""Of these types arguments are mostly: they neither are nets nor describe them."""


class _Document(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    ops: list[Operator]
    name: str = ""
    version: int = VERSION
    external_inputs: list[str] = []
    external_outputs: list[str] = []
    copies: bool = False


class NetDef:
    """A net as data: operators in execution order.

    Attributes:
        name: title for people.
        ops: the operators, first to run first.
        calls: which call in the user's code made each of them, and of those in nested nets, as far as that is known.
        external_inputs, external_outputs: what a nested net declares; unused at the top level.
        copies: whether gradients may be added that were computed on different devices: operators copy what crosses from
            one to another, and each gradient is added where its blob lies, see `gradviz.program.crossing`. False to
            begin with: such a sum is refused.

    Raises:
        NetError: a name is not a name, or the title no text that a file can hold; ``control_flow_structure`` where nets
            are nested deeper than `MAX_DEPTH`.
    """

    def __init__(
        self,
        name: str = "net",
        ops: Iterable[Operator] = (),
        *,
        external_inputs: Iterable[str] = (),
        external_outputs: Iterable[str] = (),
    ) -> None:
        check_text(name, "the name of a net")
        self.name = name
        self.ops: list[Operator] = list(ops)
        self.calls = Calls()
        self.external_inputs = list(external_inputs)
        self.external_outputs = list(external_outputs)
        self.copies = False
        for index, op in enumerate(self.ops):
            check_operator(op, index)
            if op.args:
                self.ops[index] = with_nets(op, index)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The net that `to_dict` described: ``{"name": ..., "ops": [{"type", "inputs", "outputs", ...}]}``.

        Raises:
            NetError: a field is missing, unknown or of the wrong type; a name is not a name; the version is another;
                nets are nested deeper than `MAX_DEPTH`.
        """
        if isinstance(data, Mapping):
            _check_head(data)
        try:
            document = msgspec.convert(data, _Document)
        except (msgspec.ValidationError, UnicodeError) as error:
            raise _bad_document(error) from error
        return cls._of(document)

    @classmethod
    def _of(cls, document: _Document) -> Self:
        net = cls(
            document.name,
            document.ops,
            external_inputs=document.external_inputs,
            external_outputs=document.external_outputs,
        )
        net.copies = document.copies
        return net

    def to_dict(self, write: Callable[[object], Any] | None = None) -> dict[str, Any]:
        """The net as plain dicts, lists, strings and numbers; fields at their default are left out.

        Args:
            write: what makes plain data of an argument that is none; None: `plain_argument`.

        Raises:
            NetError: ``bad_argument``, an argument that a net cannot be written down with.
        """
        document = _Document(
            self.ops, external_inputs=self.external_inputs, external_outputs=self.external_outputs, copies=self.copies
        )
        data: dict[str, Any] = msgspec.to_builtins(document, enc_hook=write or self._written)
        return {"name": self.name, **data}

    def _written(self, value: object) -> Any:
        """`plain_argument`; of what cannot be written down the error names the operator."""
        try:
            return plain_argument(value)
        except NetError as error:
            if error.operator_index is not None:
                raise
            at = next(at for at, op in enumerate(self.ops) if any(_holds(own, value) for own in op.args.values()))
            message = f"Operator #{at} {self.ops[at]}: {error.message}"
            raise error.retold(message, operator_index=at, blobs=self.ops[at].outputs) from None

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The net in a JSON text. Raises NetError like `from_dict`, also where the text is cut off."""
        with suppress(msgspec.MsgspecError, RecursionError, UnicodeError):
            document = msgspec.json.decode(text, type=_Document)
            if document.version == VERSION:
                return cls._of(document)
        # The slower way tells what is wrong, and reads NaN, which Python's JSON writes.
        import json

        try:
            data = json.loads(text)
        except RecursionError as error:
            raise NetError(
                f"This JSON text is nested too deep to be read: nets may be nested {MAX_DEPTH} deep.",
                kind="control_flow_structure",
                ways_out=[FEWER_NETS],
            ) from error
        except ValueError as error:
            raise NetError(
                f"This is not a whole JSON text: {error}.",
                kind="bad_file",
                ways_out=["The file may be truncated: save it again with net.save(path)."],
            ) from error
        return cls.from_dict(data)

    def to_json(self) -> str:
        """The net as JSON text with the version of the format."""
        import json  # takes its time to import

        return json.dumps({"version": VERSION, **self.to_dict()}, indent=1)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The net in the file at `path`, as `save` wrote it; raises NetError, and FileError where it cannot be read."""
        data = read_whole(path)
        with about(path):
            return cls.from_json(data)

    def save(self, path: str | Path) -> None:
        """Write the net as JSON to `path`, whole or not at all; raises FileError where it cannot be written."""
        write_whole(path, self.to_json().encode())

    def copy(self) -> "NetDef":
        """The same net as plain data, with a list of operators of its own."""
        net = NetDef(self.name, external_inputs=self.external_inputs, external_outputs=self.external_outputs)
        net.ops, net.calls, net.copies = self.ops.copy(), self.calls, self.copies
        return net

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}, {count_of(len(self.ops), 'operator')}>"


def with_nets(op: Operator, index: int, around: int = 0) -> Operator:
    """`op` with those of its arguments that describe a nested net, ``{"name": ..., "ops": [...]}``, as that net.

    Args:
        index, around: as for `check_depth`.

    Raises:
        NetError: a nested net is malformed; ``control_flow_structure`` where nets are nested too deep.
    """
    if _NO_NETS.issuperset(map(type, op.args.values())):
        return op
    check_depth(op, index, around=around)
    described = {name: NetDef.from_dict(value) for name, value in op.args.items() if _describes(value)}
    return msgspec.structs.replace(op, args=op.args | described) if described else op


def check_depth(op: Operator, index: int, error: type[GradvizError] = NetError, around: int = 0) -> None:
    """Raise `error` where nets are nested in `op` deeper than `MAX_DEPTH`, described ones too.

    Args:
        index: its place in its net.
        around: how many nets are around it.
    """
    nets = _nets_among(op.args)
    for _ in range(around, MAX_DEPTH):
        if not nets:
            return
        inside = [_nets_among(args) for net in nets.values() for args in _arguments_in(net)]
        nets = {key: net for nested in inside for key, net in nested.items()}
    if nets:
        raise error(
            f"Operator #{index} {op} nests nets more than {MAX_DEPTH} deep.",
            kind="control_flow_structure",
            operator_index=index,
            ways_out=[FEWER_NETS],
        )


def _nets_among(args: Mapping[str, Any]) -> dict[int, Any]:
    """The nets and descriptions of nets among arguments, by identity."""
    return {id(value): value for value in args.values() if isinstance(value, NetDef) or _describes(value)}


def _arguments_in(net: Any) -> Iterator[Mapping[str, Any]]:
    """The arguments of each operator of a net, or of its description as far as it is one."""
    if isinstance(net, NetDef):
        yield from (op.args for op in net.ops if op.args)
    elif isinstance(net["ops"], list):
        described = (op.get("args") for op in net["ops"] if isinstance(op, Mapping))
        yield from (args for args in described if isinstance(args, Mapping))


def _describes(value: object) -> bool:
    """Whether an argument describes a nested net."""
    return isinstance(value, Mapping) and "ops" in value


def plain_argument(value: object) -> Any:
    """An operator's argument, or a part of one, as plain data: what msgspec asks for where it does not know itself.

    Nested nets, and numbers and arrays of numpy; anything else raises NetError ``bad_argument``.
    """
    if isinstance(value, NetDef):
        return value.to_dict()
    if isinstance(value, np.generic | np.ndarray) and value.dtype.kind in "biuf":
        return value.tolist()
    raise NetError(
        f"The argument {shorten(repr_of(value))} cannot be written down.",
        kind="bad_argument",
        ways_out=["Arguments are numbers, text, lists of these, and nets."],
    )


def shown_argument(value: object) -> Any:
    """The same to look at: what cannot be written down is told as text."""
    if isinstance(value, NetDef):
        return value.to_dict(shown_argument)
    try:
        return plain_argument(value)
    except NetError:
        return shorten(repr_of(value))


def _holds(own: object, value: object) -> bool:
    """Whether an argument is `value`, or has it somewhere in its lists."""
    parts = own.values() if isinstance(own, Mapping) else own if isinstance(own, list | tuple) else ()
    return own is value or any(_holds(part, value) for part in parts)


def _check_head(data: Mapping[str, Any]) -> None:
    if "format" in data:
        raise NetError(
            f"This is no net: its format is {shorten(repr_of(data['format']))}.",
            kind="bad_file",
            ways_out=["gradviz.load(path) reads a recording; session.net.save(path) writes its net."],
        )
    if (version := data.get("version", VERSION)) != VERSION:
        raise NetError(
            f"This net is of format version {version!r}; this gradviz reads version {VERSION}.",
            kind="bad_file",
            ways_out=["Open it with the gradviz that wrote it, or save it again from there."],
        )


def _bad_document(error: Exception) -> NetError:
    text = str(error)
    index = None
    if "`$.ops[" in text:
        digits = text.partition("`$.ops[")[2].partition("]")[0]
        index = int(digits) if digits.isdigit() else None
    return NetError(
        f"This is not a net: {text}.",
        kind="bad_file",
        operator_index=index,
        ways_out=['A net reads {"name": "n", "ops": [{"type": "Relu", "inputs": ["x"], "outputs": ["y"]}]}.'],
    )
