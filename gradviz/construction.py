"""Construction: where operators go that are added to a net, while blocks of control flow are open in it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from .bindings import Level
from .program import GradvizError, NetDef, NetError, Operator
from .program.control_flow import NETS, check_structure, nested_nets
from .program.net import FEWER_NETS, MAX_DEPTH
from .program.operator import numbered_name
from .runtime import Workspace, immediate_workspace


class Construction(NetDef):
    """A net under construction.

    While blocks are open, operators gather in the innermost one; `ops` gets what the outermost one becomes when it
    closes. An exception inside a block leaves no trace of it.
    """

    def __init__(
        self,
        name: str = "net",
        ops: Iterable[Operator] = (),
        *,
        external_inputs: Iterable[str] = (),
        external_outputs: Iterable[str] = (),
    ) -> None:
        super().__init__(name, ops, external_inputs=external_inputs, external_outputs=external_outputs)
        self._outermost = Level(name)
        self._open: list[Level] = []
        self._open_names: set[str] = set()
        self._closed_names: set[str] = set()
        self._looked_at = 0

    @property
    def _level(self) -> Level:
        """What is being built: the innermost open block, or the net itself."""
        if self._open:
            return self._open[-1]
        self._outermost.ops = self.ops
        return self._outermost

    @property
    def _runs_on(self) -> Workspace | None:
        """Where what is added runs at once: in immediate mode, but for what is in a block."""
        return None if self._open else immediate_workspace()

    def _put(self, made: Sequence[Operator], instead_of: Sequence[Operator] = ()) -> None:
        """Append operators to what is being built, after they ran where they run at once.

        Args:
            instead_of: its last operators, which they replace.
        """
        workspace = self._runs_on
        if workspace is not None:
            workspace.run(NetDef(self.name, made))
        ops = self._level.ops
        ops[len(ops) - len(instead_of) :] = made

    def _around(self) -> set[str]:
        """The blobs known where the net is being built."""
        level = self._level
        return level.around.union(*[op.inputs for op in level.ops], *[op.outputs for op in level.ops])

    def _block_name(self, kind: str) -> str:
        """A name for a block: its kind and the next free number. Each closed block is looked at once."""
        self._closed_names |= _first_parts(self.ops[self._looked_at :])
        self._looked_at = len(self.ops)
        inside = self._open_names.union(*(_first_parts(level.ops) for level in self._open))
        name = numbered_name(kind, lambda name: name in inside or name in self._closed_names, 0)
        self._open_names.add(name)
        return name

    def _depth_in(self, kind: str, nets: int) -> int:
        """How many nets are around an operator in a block that becomes so many `nets` in each other.

        Raises:
            NetError: ``control_flow_structure`` where they are too many.
        """
        depth = self._level.depth + nets
        if depth > MAX_DEPTH:
            raise NetError(
                f"A block of net.{kind} in {self._level.name} nests nets more than {MAX_DEPTH} deep.",
                kind="control_flow_structure",
                ways_out=[FEWER_NETS],
            )
        return depth

    @contextmanager
    def _inside(self, level: Level) -> Iterator[None]:
        """Build `level`, the net of a block."""
        self._open.append(level)
        try:
            yield
        finally:
            self._open.pop()
            if not self._open:
                self._open_names.clear()

    def _close(
        self, made: Sequence[Operator], levels: Sequence[Level], seen: set[str], instead_of: Sequence[Operator] = ()
    ) -> None:
        """Put the operators that a block became into the net around it.

        Args:
            levels: the nets of the block.
            seen: what of them is seen outside.
            instead_of: as for `_put`.
        """
        around = self._level
        for index, op in enumerate(made, len(around.ops) - len(instead_of)):
            if op.type in NETS:
                check_structure(op, index)
        self._put(made, instead_of)
        for level in levels:
            around.local.update(level.local)
            around.local.update({name: level.name for name in level.writes if name not in seen})

    def _check_not_local(self, op: Operator, index: int) -> None:
        """Raise NetError where `op` reads a blob that only a closed block knows."""
        if not (self._open or self._outermost.local):
            return
        for name in op.inputs:
            block = self._local_to(name)
            if block is not None:
                raise local_blob(name, block, f"Operator #{index} {op}", index)

    def _local_to(self, name: str) -> str | None:
        """The closed block that has `name` for itself, None where the name is known where the net is being built."""
        levels = [self._outermost, *self._open]
        if not any(name in level.local for level in levels):
            return None
        for level in reversed(levels):
            if any(name in op.outputs for op in reversed(level.ops)):
                return None
            if name in level.local:
                return level.local[name]
        return None

    def _told_in(self, *block: str) -> AbstractContextManager[None]:
        """Errors met inside tell the way there: the open blocks, and `block`."""
        way = [*(level.name for level in self._open), *block]
        return _telling(way) if way else nullcontext()


@contextmanager
def _telling(way: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except GradvizError as error:
        raise type(error)(
            f"In {', '.join(way)}: {error.message}",
            kind=error.kind,
            operator_index=error.operator_index,
            blobs=error.blobs,
            ways_out=error.ways_out,
        ) from error


def _names_in(operators: Iterable[Operator]) -> Iterator[str]:
    """The blobs and nested nets in `operators`, at every depth."""
    for op in operators:
        yield from op.inputs
        yield from op.outputs
        for net in nested_nets(op).values():
            yield net.name
            yield from _names_in(net.ops)


def _first_parts(operators: Iterable[Operator]) -> set[str]:
    """The names in `operators`, each up to its first slash."""
    return {name.partition("/")[0] for name in _names_in(operators)}


def local_blob(name: str, block: str, reader: str, index: int | None = None) -> NetError:
    """A blob that lives in the workspace of a closed block is read outside of it."""
    return NetError(
        f"{reader} reads {name}, which is local to {block}.",
        kind="local_blob",
        operator_index=index,
        blobs=[name],
        ways_out=[
            f"Write {name} before that block, or in both branches of an If: then the block hands it out.",
            f'Let the block hand it out: outputs=["{name}"].',
        ],
    )
