"""Bindings: the operators that blocks of control flow become, with what they read and write.

What is added inside a block is the net of a Do, in which each blob has the name that it has outside. Of what the
block writes, these are its outputs:

    what was there before the block, or is read in it before it is written
    what both branches of an If write
    what the block was told to hand out

Anything else is local: it lives in the workspace of the Do.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from .program import NetDef, NetError, Operator
from .program.control_flow import kept_inputs, reads_from_outside, surely_written

if TYPE_CHECKING:
    from .blocks import Branch


class Level:
    """A net under construction: the outermost one, or what is inside a block.

    Attributes:
        name: of the net.
        ops: its operators so far.
        around: the names in use around it before its first operator.
        outputs: what its block was told to hand out.
        depth: how many nets are around its operators.
        local: name -> the closed block in it that has a blob of this name for itself.
        latest_if: the If closed last in it, which an Else may follow.
    """

    def __init__(self, name: str, around: Iterable[str] = (), outputs: Iterable[str] = (), depth: int = 0) -> None:
        self.name = name
        self.ops: list[Operator] = []
        self.around = set(around)
        self.outputs = list(outputs)
        self.depth = depth
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
    told = [name for level in levels for name in level.outputs]
    written = set.union(*writes)
    for name in told:
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
    return written & (there | everywhere | set(told))


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
    branches = [do_operator(level, outputs, level.scope) for level in levels]
    nets = {
        argument: NetDef(f"{block}/{argument}", [branch])
        for argument, branch in zip(("then_net", "else_net"), branches, strict=False)
    }
    scopes = [level.scope for level in levels]
    runs = [[branch] for branch in branches]
    return [*map(new_scope, scopes), _over_nets("If", condition, nets, runs, scopes)]


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
    runs = [[op for net in nets.values() for op in net.ops]]
    return [*map(new_scope, scopes), _over_nets("While", condition, nets, runs, scopes, args)]


def new_scope(name: str) -> Operator:
    """Makes a blob that keeps workspaces."""
    return Operator("CreateScope", [], [name])


def _over_nets(
    type: str,
    condition: str,
    nets: Mapping[str, NetDef],
    runs: Sequence[Sequence[Operator]],
    scopes: Sequence[str],
    args: Mapping[str, Any] | None = None,
) -> Operator:
    """An If or While of `nets`, which reads what they read and what they may leave as it is.

    Args:
        runs: what may run one after the other.
        scopes: blobs to name last.
    """

    def in_order(names: Iterable[str]) -> list[str]:
        return sorted(dict.fromkeys(names), key=scopes.__contains__)

    reads = [condition, *(name for run in runs for name in reads_from_outside(run))]
    writes = [name for net in nets.values() for op in net.ops for name in op.outputs]
    op = Operator(type, in_order(reads), in_order(writes), {**nets, **(args or {})})
    return msgspec.structs.replace(op, inputs=in_order([*op.inputs, *kept_inputs(op)]))
