"""Random nets written in blocks: parts of a flat program go into Do, If, Else and While, and what runs stays the same.

A part may be repeated by a loop, and beside it stands what is not run: a branch that would overwrite blobs with other
shapes, or with shapes that do not fit.
"""

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from gradviz import Net, Operator, RunError
from gradviz.program.control_flow import reads_from_outside
from tests.gradient.nets.call import WIDE, Value
from tests.gradient.nets.draft import MOST_ELEMENTS
from tests.gradient.nets.smooth import can_be_compared
from tests.gradient.nets.strategy import RandomNet
from tests.gradient.reference.run import Run
from tests.handwritten import ran

DEEPEST = 3
FEEDS = {"_yes": np.array(True), "_no": np.array(False), "_one": np.array(1), "_float": np.ones((2, 5))}
"""What blocks read; no blob of a random net begins like this."""


class Block(NamedTuple):
    """A part of a program in a block.

    Attributes:
        kind: ``Do``, ``If`` (the part is run), ``Else`` (the part is the else, which is run), ``While``, or what is not
            run at all: ``Not``, an If, and ``Never``, a While without rounds.
        nodes: what is in it.
        rounds: how often a loop runs.
        other: the branch that is not run.
        new: what it hands out that is not there before.
    """

    kind: str
    nodes: "list[Operator | Block]"
    rounds: int = 1
    other: "Sequence[Operator | Block]" = ()
    new: Sequence[str] = ()


def executed(nodes: "Iterable[Operator | Block]") -> list[Operator]:
    """The operators that run, in order."""
    ops: list[Operator] = []
    for node in nodes:
        if isinstance(node, Operator):
            ops.append(node)
        else:
            ops += executed(node.nodes) * node.rounds
    return ops


def written(nodes: "Iterable[Operator | Block]") -> set[str]:
    """What the operators that run write."""
    return {name for op in executed(nodes) for name in op.outputs}


class Wrapping:
    """A random net with parts of it in blocks.

    Attributes:
        nodes: the program.
        ops: what of it runs, in order.

    Args:
        case: the net; its first `skip` operators are not skipped.
        seed: of all that is left to chance.
    """

    def __init__(self, case: RandomNet, seed: int) -> None:
        self._rng = random.Random(seed)
        self._feeds = case.feeds
        wanted = {*case.starts, *(start for start in case.starts.values() if isinstance(start, str))}
        self.nodes = self._wrapped(list(case.net.ops), (), wanted, 0)
        self.ops = executed(self.nodes)
        if not is_comparable(self.ops, case):
            self.nodes = [unrepeated(node) for node in self.nodes]
            self.ops = executed(self.nodes)

    def _wrapped(
        self, ops: Sequence[Operator], there: Collection[str], later: Collection[str], depth: int
    ) -> "list[Operator | Block]":
        """`ops`, parts of them in blocks.

        Args:
            there: the blobs that operators before it read or write.
            later: the blobs that are read behind.
        """
        rng, at, there = self._rng, 0, set(there)
        nodes: list[Operator | Block] = []
        while at < len(ops):
            is_block = depth < DEEPEST and rng.random() < 0.5
            size = rng.randint(1, 4) if is_block else 1
            part, at = ops[at : at + size], at + size
            needed = {name for op in ops[at:] for name in op.inputs} | {*later}
            nodes += [self._block(part, there, needed, depth)] if is_block else part
            there |= {name for op in part for name in op.inputs} if not is_block else set(reads_from_outside(part))
            there |= written(part) & needed if is_block else written(part)
            if there and depth < DEEPEST and rng.random() < 0.12:
                nodes.append(Block(rng.choice(("Not", "Never")), self._decoys(there), rounds=0))
        return nodes

    def _block(self, part: Sequence[Operator], there: set[str], needed: set[str], depth: int) -> Block:
        """A block of `part`; what is needed behind it and not there before it hands out whatever happens."""
        rng, inside = self._rng, self._wrapped(part, there, needed, depth + 1)
        new = sorted((written(part) & needed) - there)
        kinds = ["Do", "If", "Else", "While", "While"]
        if new:  # an If hands out what both branches write, and one may not read what is local to the other
            kinds = ["Do"] if {*new} & {*reads_from_outside(part)} else ["Do", "Else"]
        kind = rng.choice(kinds)
        if kind == "While":
            return Block(kind, inside, rng.choice((1, 2, 3)))
        other = [] if kind == "Do" else [*map(self._decoy, new), *self._decoys(there)]
        return Block(kind, inside, other=other, new=new)

    def _decoys(self, there: Collection[str]) -> "list[Operator | Block]":
        """Operators that are not run and would overwrite blobs."""
        return [self._decoy(self._rng.choice(sorted(there))) for _ in range(self._rng.randint(1, 2)) if there]

    def _decoy(self, name: str) -> Operator:
        """An operator that would overwrite `name`, as a rule with another shape, and may not fit what it reads."""
        type = self._rng.choice(("Copy", "Sqr", "SumElements", "FlattenToVec", "Mul"))
        sources = ["_float", *(name for name, array in self._feeds.items() if array.dtype == np.float64)]
        return Operator(type, [self._rng.choice(sources) for _ in range(1 + (type == "Mul"))], [name])


def unrepeated(node: "Operator | Block") -> "Operator | Block":
    """The same without repetition."""
    if isinstance(node, Operator):
        return node
    return node._replace(rounds=min(node.rounds, 1), nodes=[unrepeated(inner) for inner in node.nodes])


def is_comparable(ops: Sequence[Operator], case: RandomNet) -> bool:
    """Whether the operators, parts of which may be repeated, fit each other and what the pass starts from, and stay
    away from kinks and poles."""
    try:
        run, once = Run(ops, case.feeds), Run(case.net.ops, case.feeds)
        ran(list(ops), case.feeds)
    except (RuntimeError, IndexError, ValueError, RunError):
        return False
    if any(run.values[run.latest[y]].shape != once.values[once.latest[y]].shape for y in case.starts):
        return False
    for op, reads, writes in zip(ops, run.reads, run.writes, strict=True):
        if not can_be_compared(op, [run.values[blob].detach() for blob in reads]):
            return False
        for blob in writes:
            value = run.values[blob].detach()
            if not (0 < value.numel() <= MOST_ELEMENTS and Value.of(value, "float64").within(WIDE)):
                return False
    return True


def lowered(nodes: "Iterable[Operator | Block]") -> Net:
    """The program as a net, written in blocks."""
    net = Net("blocks")
    _write(net, nodes, iter(range(1000)))
    return net


def _write(net: Net, nodes: "Iterable[Operator | Block]", numbers: Iterator[int]) -> None:
    for node in nodes:
        if isinstance(node, Operator):
            net.add(node.type, node.inputs, node.outputs, **node.args)
        elif node.kind == "Do":
            with net.Do(outputs=node.new):
                _write(net, node.nodes, numbers)
        elif node.kind in ("While", "Never"):
            _write_loop(net, node, numbers)
        else:
            then, otherwise = (node.other, node.nodes) if node.kind == "Else" else (node.nodes, node.other)
            with net.If("_yes" if node.kind == "If" else "_no"):
                _write(net, then, numbers)
            if otherwise:
                with net.Else():
                    _write(net, otherwise, numbers)


def _write_loop(net: Net, node: Block, numbers: Iterator[int]) -> None:
    number = next(numbers)
    done, rounds, go = f"_done{number}", f"_rounds{number}", f"_go{number}"
    net.ConstantFill([], done, value=0, dtype="int64")
    net.ConstantFill([], rounds, value=node.rounds, dtype="int64")
    with net.While(go) as loop:
        with loop.condition():
            net.LT([done, rounds], go)
        _write(net, node.nodes, numbers)
        net.Add([done, "_one"], done)
