"""Construction: where operators go that are added to a net, and which operators blocks of control flow become.

What is added inside a block is the net of a Do, in which each blob has the name that it has outside. Of what the
block writes, these are its outputs:

    what was there before the block, or is read in it before it is written
    what both branches of an If write
    what the block is to hand out

Anything else is local: it lives in the workspace of the Do.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from .program import GradvizError, NetDef, NetError, Operator
from .program.code_line import Instruction, caller
from .program.control_flow import (
    NETS,
    check_structure,
    implicit_inputs,
    nested_nets,
    reads_from_outside,
    surely_written,
)
from .program.net import FEWER_NETS, MAX_DEPTH
from .program.operator import numbered_name
from .runtime import Workspace, immediate_workspace

if TYPE_CHECKING:
    from .blocks import Branch


class Level:
    """A net under construction: the outermost one, or what is inside a block.

    Attributes:
        name: of the net.
        ops: its operators so far.
        around: the names in use around it before its first operator.
        outputs: what its block is to hand out.
        depth: how many nets are around its operators.
        call: what opened its block.
        local: name -> the closed block in it that has a blob of this name for itself.
        latest_if: the If closed last in it, which an Else may follow.
    """

    def __init__(self, name: str, around: Iterable[str] = (), outputs: Iterable[str] = (), depth: int = 0) -> None:
        self.name = name
        self.ops: list[Operator] = []
        self.around = set(around)
        self.outputs = list(outputs)
        self.depth = depth
        self.call = caller(3)
        self.local: dict[str, str] = {}
        self.latest_if: Branch | None = None

    @property
    def reads(self) -> list[str]:
        """The blobs that were there before it, as far as its operators read them."""
        return reads_from_outside(self.ops)

    @property
    def writes(self) -> list[str]:
        """The blobs that its operators write."""
        return list(dict.fromkeys(name for op in self.ops for name in op.outputs))

    @property
    def scope(self) -> str:
        """The name of the blob that keeps its workspaces."""
        return f"{self.name}/scope"


def outputs_of(levels: Sequence[Level], *, are_branches: bool = False) -> set[str]:
    """The outputs of a block, as the first lines of this module define them.

    Args:
        levels: its nets.
        are_branches: whether exactly one of them runs.

    Raises:
        NetError: ``control_flow_structure`` where it shall hand out what it does not write.
    """
    writes = [set(level.writes) for level in levels]
    there = levels[0].around.union(*(level.reads for level in levels))
    everywhere = set.intersection(*writes) if are_branches else set()
    named = [name for level in levels for name in level.outputs]
    written = set.union(*writes)
    for name in named:
        if name not in written:
            owner = next((level.local[name] for level in levels if name in level.local), None)
            way_out = f"Write {name} in it, or leave it out of its outputs."
            if owner is not None:
                way_out = f'It is local to {owner}: hand it out there, too, with outputs=["{name}"].'
            raise NetError(
                f"The block shall hand out {name}, which no operator in it writes.",
                kind="control_flow_structure",
                blobs=[name],
                ways_out=[way_out],
            )
    return written & (there | everywhere | set(named))


def do_operator(level: Level, outputs: Container[str], scope: str) -> Operator:
    """A Do of the operators of `level`.

    Args:
        outputs: what is an output of it, if `level` writes it.
        scope: the blob that keeps its workspaces.
    """
    writes = [name for name in level.writes if name in outputs]
    sure = set().union(*map(surely_written, level.ops))
    reads = list(dict.fromkeys([*level.reads, *(name for name in writes if name not in sure)]))
    outer = [*reads, *writes]
    inner = list(dict.fromkeys(outer))
    args = {
        "net": NetDef(level.name, level.ops),
        "inner_blobs": inner,
        "outer_blobs_idx": [outer.index(name) for name in inner],
    }
    return Operator("Do", [*reads, scope], [*writes, scope], args)


def if_operators(block: str, condition: str, levels: Sequence[Level], outputs: Container[str]) -> list[Operator]:
    """An If, after the operators that make the scopes of its branches.

    Args:
        levels: its branches: one, or two.
        outputs: see `do_operator`.
    """
    nets = {
        argument: NetDef(f"{block}/{argument}", [do_operator(level, outputs, level.scope)])
        for argument, level in zip(NETS["If"], levels, strict=False)
    }
    scopes = [level.scope for level in levels]
    return [*map(new_scope, scopes), _over_nets("If", condition, nets, scopes)]


def while_operators(
    block: str, condition: str, test: Level | None, body: Level, outputs: Container[str], args: Mapping[str, Any]
) -> list[Operator]:
    """A While, after the operators that make its scopes.

    Args:
        test: what computes the condition. It is in a Do where it writes what is local.
        outputs: see `do_operator`.
        args: further arguments.
    """
    nets, scopes = {}, [body.scope]
    if test is not None:
        nets["cond_net"] = NetDef(test.name, test.ops)
        if any(name not in outputs for name in test.writes):
            scopes.append(test.scope)
            nets["cond_net"] = NetDef(f"{block}/cond_net", [do_operator(test, outputs, test.scope)])
    nets["loop_net"] = NetDef(f"{block}/loop_net", [do_operator(body, outputs, body.scope)])
    return [*map(new_scope, scopes), _over_nets("While", condition, nets, scopes, args)]


def new_scope(name: str) -> Operator:
    """Makes a blob that keeps workspaces."""
    return Operator("CreateScope", [], [name])


def _over_nets(
    type: str,
    condition: str,
    nets: Mapping[str, NetDef],
    scopes: Sequence[str],
    args: Mapping[str, Any] | None = None,
) -> Operator:
    """An If or While of `nets`, which reads what they read and what they may leave as it is.

    Args:
        scopes: blobs to name last.
    """

    def in_order(names: Iterable[str]) -> list[str]:
        return sorted(dict.fromkeys(names), key=scopes.__contains__)

    ops = [net.ops for net in nets.values()]
    runs = ops if type == "If" else [chain(*ops)]  # one branch or the other, but the condition and then the body
    reads = [condition, *(name for run in runs for name in reads_from_outside(run))]
    writes = [name for net in nets.values() for op in net.ops for name in op.outputs]
    op = Operator(type, in_order(reads), in_order(writes), {**nets, **(args or {})})
    return msgspec.structs.replace(op, inputs=in_order([*op.inputs, *implicit_inputs(op)]))


class Construction(NetDef):
    """A net under construction.

    While blocks are open, operators gather in the innermost one; `ops` gets what the outermost one becomes when it
    closes. An exception inside a block leaves no trace of it.
    """

    def __init__(self, name: str = "net", ops: Iterable[Operator] = (), **external: Iterable[str]) -> None:
        super().__init__(name, ops, **external)
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

    def _put(
        self, operators: Sequence[Operator], instead_of: Sequence[Operator] = (), levels: Sequence[Level] = ()
    ) -> None:
        """Append operators to what is being built, after they ran where they run at once.

        Args:
            instead_of: its last operators, which they replace.
            levels: the nets of the block that they are, that of the block itself first.
        """
        workspace = self._runs_on
        if workspace is not None:
            workspace.run(NetDef(self.name, operators))
        self._note(operators, levels[0].call if levels else caller(3), levels)
        ops = self._level.ops
        ops[len(ops) - len(instead_of) :] = operators

    def _note(self, operators: Iterable[Operator], call: Instruction, levels: Sequence[Level] = ()) -> None:
        """Keep the call that added operators, and those in their nets that were not added one by one.

        Args:
            levels: the nets of the block that they are: each of them was opened by a call of its own.
        """
        calls = self.calls
        for op in operators:
            own = call
            if op.type in NETS:
                of_block = (level.call for level in levels if op.type == "Do" and level.name == op.args["net"].name)
                own = calls.of(op) or next(of_block, call)
                for net in nested_nets(op).values():
                    calls.update(net.calls)
                    self._note(net.ops, own, levels)
            calls.setdefault(id(op), (op, own))

    def _around(self) -> set[str]:
        """The names in use where the net is being built."""
        level = self._level
        return level.around.union(*[op.inputs for op in level.ops], *[op.outputs for op in level.ops])

    def _block_name(self, kind: str) -> str:
        """A name for a block: its kind and the next free number. Each closed block is looked at once."""
        self._closed_names |= _first_parts(self.ops[self._looked_at :])
        self._looked_at = len(self.ops)
        inside = self._open_names.union(*(_first_parts(level.ops) for level in self._open))
        name = numbered_name(kind, lambda name: name in inside or name in self._closed_names, 0)
        self._open_names.add(name)  # a block in the condition of a loop is nowhere else until the loop closes
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
        self,
        operators: Sequence[Operator],
        levels: Sequence[Level],
        seen: set[str],
        instead_of: Sequence[Operator] = (),
    ) -> None:
        """Put the operators that a block became into the net around it.

        Args:
            levels: the nets of the block, that of the block itself first.
            seen: what of them is seen outside.
            instead_of: as for `_put`.
        """
        around = self._level
        for index, op in enumerate(operators, len(around.ops) - len(instead_of)):
            if op.type in NETS:
                check_structure(op, index)
        self._put(operators, instead_of, levels)
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
        """The closed block that has `name` for itself, None where the name is in use where the net is being built."""
        levels = [self._outermost, *self._open]
        if not any(name in level.local for level in levels):
            return None
        for level in reversed(levels):
            if any(name in op.outputs for op in reversed(level.ops)):
                return None
            if name in level.local:
                return level.local[name]
        return None

    def _located_in(self, *block: str) -> AbstractContextManager[None]:
        """Errors met inside tell the way there: the open blocks, and `block`."""
        way = [*(level.name for level in self._open), *block]
        return _located(way) if way else nullcontext()


@contextmanager
def _located(way: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except GradvizError as error:
        raise error.retold(f"In {', '.join(way)}: {error.message}") from error


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
