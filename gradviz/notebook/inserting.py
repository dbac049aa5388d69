"""Cells for the notebook of a session: an operator, what one of the net brings, or the whole pass, run again beside it.

They take what they start from out of the session, by the name that it has in the kernel: no number is copied. What they
call their own has names that are free there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from ..debugger import Recording
from ..debugger.document import Line, Trace
from ..gradient import Ys
from ..program import Operator
from ..program.control_flow import NETS
from ..program.errors import repr_of
from ..program.events import Visited
from ..program.operator import free_name, key_of, parts_of
from ..runtime.devices import is_on_gpu
from . import kernel_shell
from .cell_code import quoted
from .cells import Cell, Cells, NotebookError, array_of, code_cell, operators_of, text_cell, title_of, with_values

Of = Literal["operator", "group", "pass"]
"""Of what: the operator at a position, the operator of the net with all that it brings, or the whole pass."""

MOST = 200
"""Operators; more cells than these bring are no use in a notebook that a person reads."""

Halves = tuple[Sequence[Line], Sequence[Line]]


def cells_beside(
    trace: Trace, recording: Recording | None, position: int, of: Of, ways: Mapping[str, object], is_plain: bool
) -> list[Cell]:
    """The cells, first to last.

    Args:
        ways: what leads to the session: code behind the name of a thing -> that thing.
        is_plain: whether the pass starts with ones and goes to all that there is.

    Raises:
        NotebookError: ``no_values``; ``no_name``, ``no_operator``, ``too_large``, ``bad_argument``.
    """
    if of not in get_args(Of):
        words = ", ".join(map(repr, get_args(Of)))
        raise NotebookError(
            f"{repr_of(of)} is nothing to make cells of.", kind="bad_argument", ways_out=[f"One of {words}."]
        )
    recording = with_values(recording, "cells")
    shell = kernel_shell()
    names: Mapping[str, object] = {} if shell is None else shell.user_ns
    session = _called(names, ways)
    is_named = all(getattr(names.get(y), "grad_fn", None) is not None for y in recording.ys)
    if of == "pass" and trace.engine == "torch" and is_named and is_plain:
        return _steps_of_tensors(session, trace, recording, names)
    ys, skip = recording.ys, recording.skip
    halves: Halves = (trace.forward, trace.backward)
    if of != "pass":
        line = _line_at(trace, position)
        index = line.number if line.role == "forward" else line.of
        halves = _halves(trace, line, None if of == "operator" else index)
        ys, skip = _ys(recording, index, halves), 0
    operators = operators_of([*halves[0], *halves[1]])
    if len(operators) > MOST:
        raise NotebookError(
            f"These would be cells of {len(operators):,} operators: a notebook of its own is the place for them.",
            kind="too_large",
            ways_out=['session.to_notebook("lesson.ipynb")', "Insert the group of one operator."],
        )
    if of != "pass" and (waiting := next((line for line in operators if line.ran is None), None)):
        raise NotebookError(f"{waiting.type} has not run, so there is nothing to run it on.", kind="no_values")
    return _Inserted(session, trace, recording, halves, ys, skip, names).all_cells()


class _Inserted(Cells):
    what = "cells"

    def __init__(self, session: str, trace: Trace, *args: Any) -> None:
        self._session = session
        # Lines have the names of the end. Where that is in a nested net, a colon alone means the outermost one.
        last = trace.event_at(trace.length)
        self._around = ":" if last is not None and last.subnet is not None else ""
        super().__init__(trace, *args)

    def all_cells(self) -> list[Cell]:
        """Every cell, first to last."""
        written = operators_of(self._backward) or operators_of(self._forward)
        last = dict(key_of(version) for line in written for version in line.outputs if self._is_array(version))
        versions = {name: f"{self._around}{name}@{number}" for name, number in last.items()}
        now = f"{self.live}.workspace" if self.is_live else self.ws
        return [
            text_cell(
                f"## Steps of {self._trace.name}",
                f"What they start from is taken out of `{self._session}`, which stays as it is.",
            ),
            code_cell("import numpy as np\n\nimport gradviz\n", f"{self.ws} = gradviz.Workspace()", *self.start()),
            *self.steps(),
            *_comparison(versions, f"{now}[name]", f"{self._session}.value(version, at={self._trace.length})"),
        ]

    def _has(self, module: str) -> bool:
        """The kernels of the user's are there too, but for a function in Python: it ran once."""
        return super()._has(module) or not module.startswith("gradviz.")

    def _operator_code(self, op: Operator, line: Line) -> str:
        """One with nested nets would fill the cell: it is taken out of the session."""
        if op.type not in NETS:
            return super()._operator_code(op, line)
        return f"{self._session}.net.ops[{list(self._operators).index(line.id)}]"

    def _code_of(self, version: str) -> str:
        array = array_of(self._recording.values[key_of(version)], self.what)
        to_host = ".get()" * is_on_gpu(array)
        named = quoted(self._around + version)
        return f"{self._session}.value({named}, at={self._trace.length}){to_host}"


def _steps_of_tensors(session: str, trace: Trace, recording: Recording, names: Mapping[str, object]) -> list[Cell]:
    """Steps of the engine of the tensors that a pass starts from: each runs one node of their graph once more."""
    live = free_name("live", names.__contains__)
    begins = [at for at, one in enumerate(recording.events, 1) if isinstance(one, Visited) and not one.path]
    cells = [
        text_cell(
            f"## Steps of {trace.name}",
            f"Its engine goes backward once more, one node a cell, and `{session}` stays as it is. The graph has to be "
            "there still: backward() frees it.",
        ),
        code_cell(
            "import numpy as np\n\nimport gradviz\n", f"{live} = gradviz.live([{', '.join(recording.ys)}])", live
        ),
    ]
    lines = operators_of(trace.backward)
    for at, end in zip(begins, [*begins[1:], trace.length], strict=False):
        made = [line for line in lines if at <= line.made <= end]
        said = [trace.narration(one) for one in dict.fromkeys([at, *(line.made for line in made)])]
        cells += [text_cell(*map(title_of, made), *said), code_cell(f"{live}.step()")]
    last = dict(key_of(one) for line in lines for one in line.outputs if one in trace.values)
    versions = {name: f"{name}@{number}" for name, number in last.items()}
    recorded = f"{session}.value(version, at={trace.length})"
    return [*cells, *_comparison(versions, f"{live}.session.value(version)", recorded)]


def _comparison(versions: Mapping[str, str], computed: str, recorded: str) -> list[Cell]:
    """What was computed beside what was recorded; each is code about a `name` and its `version`."""
    pairs = ", ".join(f"{quoted(name)}: {quoted(version)}" for name, version in versions.items())
    return [
        text_cell("Whether this is what was recorded:"),
        code_cell(
            "{",
            f"    name: np.allclose({computed}, {recorded}, equal_nan=True)",
            f"    for name, version in {{{pairs}}}.items()",
            "}",
        ),
    ]


def _called(names: Mapping[str, object], ways: Mapping[str, object]) -> str:
    """What a session is called in a kernel that has these names."""
    for pattern in (r"[^_]\w*", r"_\d+"):  # then that of an output
        for code, thing in ways.items():
            for name, value in list(names.items()):
                if value is thing and re.fullmatch(pattern, name):
                    return name + code
    raise NotebookError(
        "The cells take their values out of the session, and it has no name in the kernel.",
        kind="no_name",
        ways_out=["Give it one in a cell: session = gradviz.debug(net, ys, workspace=ws)."],
    )


def _line_at(trace: Trace, position: int) -> Line:
    """The operator of the outermost net that a position is about."""
    event = trace.event_at(position)
    ids = [] if event is None else [one for one in event.lines if "." not in one]
    if not ids and event is not None and event.forward is not None and event.subnet is None:
        ids = [f"f{event.forward}"]
    line = next((line for line in (*trace.forward, *trace.backward) if ids and line.id == ids[-1]), None)
    if line is not None and line.kind == "passed":
        line = next(one for one in trace.forward if one.number == line.of)
    if line is None:
        is_inside = event is not None and event.subnet is not None
        raise NotebookError(
            f"Event {position} is in a nested net, whose operators run where their net does."
            if is_inside
            else f"Event {position} is about no operator of the net or of its backward pass.",
            kind="no_operator",
            ways_out=["Step out of it." if is_inside else "Step to one.", "Insert the whole pass."],
        )
    return line


def _halves(trace: Trace, line: Line, group: int | None) -> Halves:
    """A line alone, or all that belong to an operator of the net."""
    if group is None:
        return ([line], []) if line.role == "forward" else ([], [line])
    return [one for one in trace.forward if one.number == group], [one for one in trace.backward if one.of == group]


def _ys(recording: Recording, index: int | None, halves: Halves) -> Ys:
    """The gradients of the outputs of an operator of the net that its backward operators read."""
    read = {key_of(version)[0] for line in operators_of(halves[1]) for version in line.inputs}
    for event in recording.events:
        if isinstance(event, Visited) and event.index == index and not event.path:
            named = zip(recording.operators[event.index].outputs, event.g_output, strict=False)
            return {y: one for y, one in named if one is not None and read.issuperset(parts_of(one))}
    return []
