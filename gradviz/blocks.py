"""Blocks: control flow written as `with` statements, which find the bindings of their nested nets by themselves.

`construction` tells which operators a block becomes, and which blobs are its outputs.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from .construction import (
    Construction,
    Level,
    do_operator,
    if_operators,
    local_blob,
    new_scope,
    outputs_of,
    while_operators,
)
from .operators.registry import Array
from .program import NetError, Operator
from .program.control_flow import scopes_of
from .program.operator import as_names, check_name
from .runtime import Workspace

Names = str | Iterable[str]


class BlockNet(Construction):
    """A net that can be written in blocks."""

    @contextmanager
    def If(self, condition: str, *, outputs: Names = ()) -> "Iterator[Branch]":
        """A block of operators that run where `condition` holds; an `Else` may follow.

        Its outputs are the blobs it writes that were there before, and those that the Else writes, too. Others that
        it writes are local.

        Args:
            condition: a blob with one boolean.
            outputs: blobs to hand out besides. One that a branch may leave as it is must be there before.

        Raises:
            NetError: a bad name; `outputs` names what the block does not write. RunError: it failed to run in
                immediate mode. The net is left as it was.

        Example:
            >>> with net.If("positive"):
            ...     net.Mul(["x", "w"], "y")
            >>> with net.Else():
            ...     net.Copy("x", "y")
        """
        branch = Branch(self, condition, outputs)
        with self._inside(branch.levels[0]):
            yield branch
        branch.close()

    def Else(self, *, outputs: Names = ()) -> AbstractContextManager[None]:
        """The block of operators that run where the condition of the If right before it does not hold.

        Args:
            outputs: blobs to hand out besides, as those of `If`.

        Raises:
            NetError: there is no If right before it, or it has an Else already; else as for `If`.
        """
        branch = self._level.latest_if
        if branch is None:
            raise _no_if(self._level)
        return branch.otherwise(outputs=outputs)

    @contextmanager
    def While(self, condition: str, *, outputs: Names = (), max_iterations: int | None = None) -> "Iterator[Loop]":
        """A block of operators that run again and again, as long as `condition` holds.

        Its outputs are the blobs it writes that were there before: each iteration finds them as the one before left
        them. Others that it writes are local to an iteration.

        Args:
            condition: a blob with one boolean, written in the block or in that of `Loop.condition`.
            outputs: blobs to hand out besides; they must be there before.
            max_iterations: how often the block may run before the loop counts as endless.

        Raises:
            NetError: a bad name; nothing in the block writes the condition; `outputs` names what the block does not
                write. RunError: it failed to run in immediate mode. The net is left as it was.

        Example:
            >>> with net.While("go") as loop:
            ...     with loop.condition():
            ...         net.LT(["i", "n"], "go")
            ...     net.Mul(["x", "w"], "x")
            ...     net.Add(["i", "one"], "i")
        """
        loop = Loop(self, condition, outputs, {} if max_iterations is None else {"max_iterations": max_iterations})
        with self._inside(loop.body):
            yield loop
        loop.close()

    @contextmanager
    def Do(self, *, outputs: Names = (), scope: str | None = None) -> Iterator[str]:
        """A block of operators in a workspace of its own: what it writes that was not there before is local.

        Args:
            outputs: blobs to hand out besides those that were there before.
            scope: the blob that keeps the workspace, which may keep those of other blocks, too; None: one of its own.

        Yields:
            The name of the scope blob.

        Raises:
            NetError: a bad name; `outputs` names what the block does not write. RunError: it failed to run in
                immediate mode. The net is left as it was.

        Example:
            >>> with net.Do(outputs=["y"]):
            ...     net.Tanh("x", "t")  # local
            ...     net.Mul(["t", "t"], "y")
        """
        depth = self._depth_in("Do", 1)
        level = Level(self._block_name("do"), self._around(), _checked(outputs), depth)
        keeps = level.scope if scope is None else scope
        check_name(keeps, "scope")
        with self._inside(level):
            yield keeps
        with self._located_in(level.name):
            seen = outputs_of([level])
            new_scopes = [] if keeps in level.around else [new_scope(keeps)]
            self._close([*new_scopes, do_operator(level, seen, keeps)], [level], seen)


class Branch:
    """An If, as ``with net.If(...) as branch`` gives it."""

    def __init__(self, net: BlockNet, condition: str, outputs: Names) -> None:
        check_name(condition, "condition")
        _check_not_local(net, condition, "The condition of an If")
        self._net = net
        self._condition = condition
        depth = net._depth_in("If", 2)
        self._name = net._block_name("if")
        self.levels = [Level(f"{self._name}/then", net._around() | {condition}, _checked(outputs), depth)]
        self._operators: list[Operator] = []
        self._ran_on: Workspace | None = None
        self._before: dict[str, Array] = {}

    @contextmanager
    def otherwise(self, *, outputs: Names = ()) -> Iterator[None]:
        """The block of operators that run where the condition does not hold; see `BlockNet.Else`.

        It follows the block of the If.
        """
        self._check_follows()
        level = Level(f"{self._name}/else", self._net._around(), _checked(outputs), self.levels[0].depth)
        with self._net._inside(level):
            yield
        self._finish([*self.levels, level])

    def close(self) -> None:
        """Put the If into the net."""
        self._finish(self.levels)

    def _finish(self, levels: list[Level]) -> None:
        net = self._net
        with net._located_in(self._name), self._undone():
            seen = outputs_of(levels, are_branches=len(levels) == 2)
            operators = if_operators(self._name, self._condition, levels, seen)
            ran_on = net._runs_on
            before = {} if ran_on is None else _arrays(ran_on, operators[-1])
            net._close(operators, levels, seen, self._operators)
        self.levels, self._operators, self._ran_on, self._before = levels, operators, ran_on, before
        net._level.latest_if = self

    @contextmanager
    def _undone(self) -> Iterator[None]:
        """In immediate mode, give blobs the values that they had before the If ran; on an error, give them back."""
        workspace = self._net._runs_on
        if workspace is None or workspace is not self._ran_on:
            yield
            return
        now = {name: workspace.fetch(name, None) for name in self._before}
        _feed(workspace, self._before)
        try:
            yield
        except BaseException:
            _feed(workspace, now)
            raise

    def _check_follows(self) -> None:
        level = self._net._level
        if level.latest_if is not self or not level.ops or level.ops[-1] is not self._operators[-1]:
            raise _no_if(level)
        if len(self.levels) == 2:
            raise NetError(
                f"{self._name} has an Else already.",
                kind="control_flow_structure",
                ways_out=["Put another If into the block of its Else."],
            )


class Loop:
    """A While, as ``with net.While(...) as loop`` gives it."""

    def __init__(self, net: BlockNet, condition: str, outputs: Names, args: Mapping[str, int]) -> None:
        check_name(condition, "condition")
        self._net = net
        self._condition = condition
        self._args = args
        depth = net._depth_in("While", 2)
        self._name = net._block_name("while")
        self.body = Level(f"{self._name}/body", net._around() | {condition}, _checked(outputs), depth)
        self._test: Level | None = None

    @contextmanager
    def condition(self) -> Iterator[None]:
        """The block of operators that compute the condition before each iteration.

        It comes first in the block of the While. What it writes is constant as far as gradients go.

        Raises:
            NetError: ``control_flow_structure`` when it is anywhere else.
        """
        if self._test is not None or self._net._level is not self.body or self.body.ops:
            raise NetError(
                f"The condition of {self._name} must be the first thing in its block, once.",
                kind="control_flow_structure",
                blobs=[self._condition],
                ways_out=["Open it right after the While: with net.While(...) as loop: with loop.condition(): ..."],
            )
        test = Level(f"{self._name}/condition", self.body.around, depth=self.body.depth)
        with self._net._inside(test):
            yield
        self._test = test
        self.body.around |= set(test.reads)

    def close(self) -> None:
        """Put the While into the net."""
        levels = [self.body, *([] if self._test is None else [self._test])]
        with self._net._located_in(self._name):
            if not any(self._condition in level.writes for level in levels):
                raise self._endless()
            seen = outputs_of(levels)
            operators = while_operators(self._name, self._condition, self._test, self.body, seen, self._args)
            self._net._close([*self._start(), *operators], levels, seen)

    def _start(self) -> list[Operator]:
        """A While reads its condition: one that is not there yet, and is computed before it is asked, starts false."""
        test, name = self._test, self._condition
        if test is None or name not in test.writes or name in test.reads:
            _check_not_local(self._net, name, "The block")
            return []
        is_there = name in self._net._around()
        return [] if is_there else [Operator("ConstantFill", [], [name], {"value": False, "dtype": "bool"})]

    def _endless(self) -> NetError:
        return NetError(
            f"The block never writes its condition {self._condition}: it would run never, or for ever.",
            kind="control_flow_structure",
            blobs=[self._condition],
            ways_out=[f"Compute {self._condition} in it, or in the block of its condition()."],
        )


def _check_not_local(net: BlockNet, name: str, what: str) -> None:
    block = net._local_to(name)
    if block is not None:
        raise local_blob(name, block, what)


def _checked(outputs: Names) -> list[str]:
    names = as_names(outputs)
    for name in names:
        check_name(name, "output")
    return names


def _arrays(workspace: Workspace, op: Operator) -> dict[str, Array]:
    """What `op` will overwrite, but for scopes."""
    return {name: workspace.fetch(name, None) for name in op.outputs if name in workspace and name not in scopes_of(op)}


def _feed(workspace: Workspace, values: Mapping[str, Array]) -> None:
    for name, value in values.items():
        workspace.feed(name, value)


def _no_if(level: Level) -> NetError:
    index = len(level.ops) - 1
    before = f"operator #{index} {level.ops[index]}" if level.ops else "nothing"
    return NetError(
        f"There is no If right before this Else, but {before}.",
        kind="control_flow_structure",
        ways_out=["Let the block of the Else follow that of its If, with no operator in between."],
    )
