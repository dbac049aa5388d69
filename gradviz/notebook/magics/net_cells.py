"""Cells of operators: those that a cell adds to a net run one by one, and a table says what each read and wrote."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...debugger.answers import Answer, Block, Bullets, Grid, digits, first_of
from ...debugger.document import Value
from ...debugger.telling import shape
from ...eager import Variable
from ...gradient import parse_ys
from ...operators.registry import Array
from ...program import GradvizError, NetDef, Operator, RunError
from ...program.control_flow import reads_from_outside
from ...program.errors import listed
from ...program.events import Ran
from ...runtime import Workspace
from ..session_protocol import Shown
from .glance import beside, small_picture
from .usage import show

FEW = 6
"""Numbers that a table shows one by one; of more it shows their range."""

MOST_ROWS = 40


class RanView(Answer, frozen=True):
    """What operators have read and written.

    Attributes:
        rows: of each the operator, what it read, what it wrote, and the numbers of that.
        fed: where blobs come from that no operator writes, and what else there is to say.
        picture: the last of them and its neighbours, as an SVG element.
    """

    answer = "ran"
    rows: list[tuple[str, str, str, str]]
    fed: list[str]
    picture: str

    def blocks(self) -> Iterator[Block]:
        rows = first_of(self.rows, MOST_ROWS, tuple)
        yield Grid("Operators that ran", ("operator", "read", "wrote", "numbers"), rows)
        if self.fed:
            yield Bullets(self.fed)

    def _repr_html_(self) -> str:
        return beside(super()._repr_html_(), self.picture)


def ran_view(session: Shown, since: int, fed: list[str]) -> RanView:
    """What ran since a position, nested nets aside, and where that was fed from."""
    ran = [event for event in session.events[since:] if isinstance(event, Ran) and not event.path]
    return RanView([_row(session, event) for event in ran], fed, small_picture(session.nearby(), session.position))


def _row(session: Shown, event: Ran) -> tuple[str, str, str, str]:
    op, end = event.op, len(session)
    named = [
        [f"{name}@{version}" for name, version in zip(names, versions, strict=True)]
        for names, versions in ((op.inputs, event.in_versions), (op.outputs, event.out_versions))
    ]
    read, wrote = ([latest for blob in blobs if (latest := session.latest(blob, end))] for blobs in named)
    values = ", ".join(filter(None, (_numbers(value) for _, value in wrote)))
    return f"#{event.position} {op.type}", _with_shapes(read), _with_shapes(wrote), values


def _with_shapes(blobs: list[tuple[str, Value]]) -> str:
    return ", ".join(f"{blob} {shape(value)}" for blob, value in blobs)


def _numbers(value: Value) -> str:
    if 0 < value.size <= FEW and value.preview:
        return " ".join(digits(number) for row in value.preview for number in row)
    counts = ("NaN", value.nan or None), ("infinite", value.inf or None)
    statistics = (("min", value.min), ("mean", value.mean), ("max", value.max), *counts)
    return ", ".join(f"{name} {digits(number)}" for name, number in statistics if number is not None)


def _has(before: Sequence[Operator], added: Sequence[Operator]) -> bool:
    """Whether a net has had these operators before, one behind the other, as where a cell is run twice."""
    old, new = [*map(str, before)], [*map(str, added)]
    return bool(new) and any(old[at : at + len(new)] == new for at in range(len(old)))


def _is_equal(value: Any, array: Array) -> bool:
    """Whether a value is this array, if it is fed."""
    one = Workspace()
    try:
        one.feed("value", value)
    except RunError:
        return False
    now = one.fetch("value")
    return now.dtype == array.dtype and np.array_equal(now, array, equal_nan=now.dtype.kind in "fc")


class NetCells:
    """The passes of nets that cells run; the one of the net NAME is the user's variable NAME_live.

    Args:
        names: the user's variables.
        package: gradviz itself.
    """

    def __init__(self, names: MutableMapping[str, Any], package: ModuleType) -> None:
        self._names = names
        self._package = package
        self._nets: WeakKeyDictionary[Any, NetDef] = WeakKeyDictionary()

    def run(self, name: str, net: NetDef, before: Sequence[Operator], ys: Sequence[str], device: str | None) -> Any:
        """Run the operators of the net NAME that have not run, and show what they did; returns its pass.

        Args:
            before: the operators that the net has had before the cell.
            ys: blobs that it is to have.

        Raises:
            GradvizError: one cannot run; of those of the cell, the net keeps what has run.
        """
        live = self._pass(name, net)
        if live is None:
            live = self._names[f"{name}_live"] = self._package.live(net, workspace=Workspace())
            self._nets[live] = net
        since, fed = len(live.session), list[str]()
        anew = f'write net = gradviz.Net("{name}") first.'
        try:
            parse_ys([*ys], {blob for op in net.ops for blob in (*op.inputs, *op.outputs)})
            ran = len(net.ops) - live.left
            fed = self._feed(live, net, ran)
            if changed := self._changed(live, net, ran):
                gives = f'{name}_live.feed("{changed[0]}", ...) in a cell before this one gives the new value.'
                fed.append(f"As the net has it, not as it is outside by now: {listed(changed)}. {gives}")
            if _has(before, net.ops[len(before) :]):
                fed.append(f"The net has had these operators before, and has them once more now. To begin anew, {anew}")
            while live.left:
                live.step(device=device)
        except BaseException as error:  # an interrupt, too
            ran = 0
            with suppress(GradvizError):  # the net was changed in what has run
                ran = len(net.ops) - live.left
            kept, outcome = before, "The net is as it was before the cell"
            if ran > len(before):
                kept, outcome = net.ops[:ran], "What has not run is taken out of the net"
            net.ops[:] = kept
            if isinstance(error, GradvizError):
                again = *error.ways_out, f"{outcome}: correct it, and run it again.", f"Or begin anew: {anew}"
                error.ways_out = (f"Begin anew: {anew}",) if error.kind == "not_live" else again
            raise
        finally:
            if len(live.session) > since:
                show(ran_view(live.session, since, fed))
        return live

    def _pass(self, name: str, net: NetDef) -> Any:
        """The pass of the net NAME; None: it has not begun, or another net was called so."""
        live = self._names.get(f"{name}_live")
        return live if isinstance(live, self._package.Live) and self._nets.get(live) is net else None

    def _feed(self, live: Any, net: NetDef, ran: int) -> list[str]:
        """Feed what operators of a net behind the first `ran` read and none writes; says where it comes from.

        Raises:
            GradvizError: ``undefined_blob``: the user has nothing for a blob. Nothing is fed.
        """
        earlier = {blob for op in net.ops[:ran] for blob in (*op.inputs, *op.outputs)}
        source_of = {blob: self._source(blob) for blob in reads_from_outside(net.ops[ran:]) if blob not in earlier}
        given = live.workspace
        missing = [blob for blob, source in source_of.items() if source is None and blob not in given]
        if missing:
            others = [f"{one} is a {type(self._names[one]).__name__}" for one in missing if one in self._names]
            variables = f"no Workspace, and the variable {listed(others)}" if others else "no variable and no Workspace"
            raise GradvizError(
                f"Nothing has a value for {listed(missing)}: no operator before, {variables}.",
                kind="undefined_blob",
                blobs=missing,
                ways_out=[f"{missing[0]} = ... in the cell, or in one before it."],
            )
        sources: dict[str, list[str]] = {}
        for blob, source in source_of.items():
            if source is not None:
                live.feed(blob, source[0])
                sources.setdefault(source[1], []).append(blob)
        return [f"Fed from {where}: {listed(blobs)}" for where, blobs in sources.items()]

    def _changed(self, live: Any, net: NetDef, ran: int) -> list[str]:
        """What operators of a net behind the first `ran` read as these have, and the user has otherwise by now."""
        before, given = net.ops[:ran], live.workspace
        written = {blob for op in before for blob in op.outputs}
        again = [blob for blob in reads_from_outside(net.ops[ran:]) if blob in given and blob not in written]
        sources = {blob: self._source(blob) for blob in again if blob in reads_from_outside(before)}
        return [blob for blob, source in sources.items() if source and not _is_equal(source[0], given.fetch(blob))]

    def _source(self, blob: str) -> tuple[Any, str] | None:
        """What the user has for a blob, and what that is: a variable, else what a workspace has."""
        value = self._names.get(blob)
        if isinstance(value, Variable):
            value = value.data
        is_array = any(hasattr(type(value), protocol) for protocol in ("__array__", "__cuda_array_interface__"))
        if is_array or isinstance(value, int | float | complex | list):
            return value, "variables"
        for name, one in list(self._names.items()):
            if isinstance(one, Workspace) and blob in one and not name.startswith("_"):
                return one.fetch(blob, device=None), f"the workspace {name}"
        return None
