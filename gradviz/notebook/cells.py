"""Cells that run what was recorded again, one operator a cell, with the story in between; and the notebook of them.

Where a live net makes the very gradient operators that were recorded, the cells are its steps; else each runs an
operator by `Workspace.run_operator`. The notebook feeds what the recording started from and ends by holding every
gradient against the recorded one. What is small stands in its cells, the rest in a file beside it.
"""

from __future__ import annotations

import io
import re
from abc import ABC, abstractmethod
from collections.abc import Container, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ..debugger import Recording
from ..debugger.answers import Answer, Block, Paragraph
from ..debugger.document import Line, Trace
from ..gradient import IR, Ys
from ..operators import lookup
from ..operators.registry import Array
from ..operators.scopes import ScopeStack
from ..program import GradvizError, NetDef, Operator
from ..program.control_flow import NETS, implicit_inputs, nested_nets, reads_from_outside
from ..program.errors import count_of
from ..program.files import path_of, write_together
from ..program.operator import free_name, key_of, parts_of
from ..runtime.devices import CPU, moved
from ..version import __version__
from .cell_code import array_code, call_code, device_code, operator_code, plain, quoted, ys_code

INLINE = 64
"""Elements of an array that stands in a cell; a larger one is kept in a file."""

OURS = "gradviz.operators."
"""Where kernels are that need nothing but arrays; that of a function in Python needs the very call."""

KEEP_ALL = "session.to_html and session.save keep all that was recorded."

NOT_FINITE = re.compile(r"(?<![\w\"])(nan|inf)\b")

Cell = dict[str, Any]
"""A cell as the file has it."""

CHECK = """\
for name, recorded in gradients.items():
    computed = ws.fetch(name)
    assert computed.shape == recorded.shape and computed.dtype == recorded.dtype, name
    exact = recorded.dtype.kind not in "fc"
    tolerance = 0 if exact else np.sqrt(np.finfo(recorded.dtype).eps)
    scale = 0 if exact else tolerance * np.abs(recorded[np.isfinite(recorded)]).max(initial=0)
    np.testing.assert_allclose(computed, recorded, rtol=tolerance, atol=scale, err_msg=name)
print(f"All {len(gradients)} are as recorded.")"""


class NotebookError(GradvizError):
    """A session that cannot be written as a notebook or as cells.

    ``kind`` is one of ``no_values``, ``bad_name``, ``no_name``, ``no_operator``, ``too_large``, ``bad_argument``.
    """


class Written(Answer, frozen=True):
    """What was written of a recording as a notebook.

    Attributes:
        file: the notebook's name.
        cells: how many it has.
        forward, backward: how many operators of the net and of its backward pass they run.
        arrays: how many lie in the file `beside`; of None there is no need.
    """

    answer = "notebook"
    file: str
    cells: int
    forward: int
    backward: int
    arrays: int
    beside: str | None

    def blocks(self) -> Iterator[Block]:
        parts = [f"{count_of(self.forward, 'operator')} of the net", f"{self.backward} of its backward pass"]
        if self.beside is not None:
            parts.append(f"{count_of(self.arrays, 'array')} in {self.beside}")
        yield Paragraph(f"{count_of(self.cells, 'cell')} in {self.file}: {', '.join(parts)}")


def write_notebook(path: str | Path, trace: Trace, recording: Recording | None) -> Written:
    """Write the notebook of a recording to `path`, and beside it, where arrays are large, an ``.npz`` file.

    Raises:
        NotebookError: nothing was run, or only the trace document is left.
        FileError: a file cannot be written.
    """
    target = path_of(path)
    beside = arrays_beside(target)
    if beside == target:
        raise NotebookError(
            f"{target} has the name of the file for the arrays beside the notebook.",
            kind="bad_name",
            ways_out=["Let the name end in .ipynb."],
        )
    writer = _Notebook(trace, with_values(recording, "notebook"), beside.name)
    cells = writer.all_cells()
    notebook = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    files: dict[str | PathLike[str], bytes] = {target: msgspec.json.format(msgspec.json.encode(notebook), indent=1)}
    if writer.large_arrays:
        packed = io.BytesIO()
        np.savez_compressed(packed, **writer.large_arrays)
        files[beside] = packed.getvalue()
    write_together(files)
    forward, backward = map(len, map(operators_of, (trace.forward, trace.backward)))
    file = beside.name if writer.large_arrays else None
    return Written(target.name, len(cells), forward, backward, len(writer.large_arrays), file)


def arrays_beside(notebook: Path) -> Path:
    """Where the large arrays of a notebook lie."""
    return notebook.with_suffix(".npz")


def with_values(recording: Recording | None, what: str) -> Recording:
    """The recording, for a `what` of it, if there is something to run."""
    if recording is not None and recording.values:
        return recording
    ways_out = ["Feed the net's inputs and give the workspace: gradviz.debug(net, ys, workspace=ws)."]
    if recording is None:
        reason, ways_out = "a saved trace keeps statistics, no arrays.", ["Record the pass again, by gradviz.debug."]
    elif recording.obstacle is None:
        reason = "nothing was run when it was recorded."
    else:
        reason, ways_out = f"nothing was run. {recording.obstacle.message}", list(recording.obstacle.ways_out)
    raise impossible(what, reason, ways_out)


def impossible(what: str, reason: str, ways_out: Sequence[str]) -> NotebookError:
    """The error of a session that no `what` can be made of."""
    return NotebookError(f"No {what} can be made of this session: {reason}", kind="no_values", ways_out=ways_out)


def operators_of(lines: Sequence[Line]) -> list[Line]:
    """The lines that are operators."""
    return [line for line in lines if line.kind == "operator"]


class Cells(ABC):
    """Makes the cells of some operators of a recording, those of the net and those of its backward pass.

    Attributes:
        what: what they are for.
        net, ws, live: what the cells call these.
        is_live: whether they are steps of a live net, which makes these backward operators, by these names and in this
            order.

    Args:
        halves: their lines.
        ys: what is differentiated; `skip`: of so many operators nothing.
        taken: names that mean something else where the cells go.
    """

    what = "notebook"

    def __init__(
        self,
        trace: Trace,
        recording: Recording,
        halves: tuple[Sequence[Line], Sequence[Line]],
        ys: Ys,
        skip: int = 0,
        taken: Container[str] = (),
    ) -> None:
        self.net, self.ws, self.live = (free_name(name, taken.__contains__) for name in ("net", "ws", "live"))
        self._trace = trace
        self._recording = recording
        self._halves = self._forward, self._backward = halves
        self._ys = ys
        self._skip = skip
        self._lines = operators_of([*trace.forward, *trace.backward])
        self._operators = {line.id: op for line, op in zip(self._lines, recording.operators, strict=False)}
        self._narrated: set[int] = set()
        self.is_live = self._is_live()

    @abstractmethod
    def _code_of(self, version: str) -> str:
        """Code that has the array of a version."""

    def _is_live(self) -> bool:
        has_run = {line.ran is not None for line in operators_of(self._backward)}
        if len(has_run) > 1:  # gradients have the names of the end here, and a live net names them as it goes
            return False
        forward, backward = ([plain(self._operators[line.id]) for line in operators_of(half)] for half in self._halves)
        if not forward or any(op.type in NETS or self._foreign(op) for op in (*forward, *backward)):
            return False
        if backward and not self._ys:  # a gradient that is zero whatever arrives
            return False
        if any(self._casts(line) for line in operators_of(self._backward)):
            return False
        try:
            return not backward or [*map(plain, IR(forward, self._skip).get_backward_pass(self._ys)[0])] == backward
        except GradvizError:
            return False

    def start(self) -> list[str]:
        """Code that feeds what they start from, and begins."""
        lines = [self._feed(name, version) for name, version in self.fed().items()]
        if not self.is_live:
            return [*lines, self.ws]
        skip = f", skip={self._skip}" if self._skip else ""
        begin = f"{self.live} = gradviz.live({self.net}, workspace={self.ws}{skip})"
        return [*lines, f"{self.net} = gradviz.Net({quoted(self._trace.name)})", begin, self.live]

    def _feed(self, name: str, version: str) -> str:
        value = self._recording.values[key_of(version)]
        if isinstance(value, ScopeStack) and value.top is None and value.below is None:
            return f"{self.ws}.run_operator({operator_code(Operator('CreateScope', [], [name]))})"
        return f"{self.ws}.feed({quoted(name)}, {self._code_of(version)})"

    def steps(self) -> Iterator[Cell]:
        """The cells of the operators, up to the last that has run."""
        left = sum(line.ran is not None for half in self._halves for line in half)
        for title, lines in zip(("The net", "Its backward pass"), self._halves, strict=True):
            if lines:
                yield text_cell(f"## {title}")
            if self.is_live and operators_of(lines) and lines is self._backward:
                yield code_cell(f"{self.live}.differentiate({ys_code(self._ys)})")
            for line in lines:
                if line.kind == "passed":
                    yield text_cell(*self._story(line))
                    continue
                if not left:
                    return
                if line.ran is not None:  # a tape runs nothing whose gradients nobody wants
                    left -= 1
                    yield from self._step(self._operators[line.id], line)

    def _step(self, op: Operator, line: Line) -> Iterator[Cell]:
        title = title_of(line)
        if (foreign := self._foreign(op)) is not None:
            yield text_cell(title, *self._story(line), self._why_given(op, line, foreign))
            yield code_cell(*self._give(op, line), *self._look(op, line))
            return
        yield text_cell(title, *self._story(line))
        if not self.is_live:
            ran = [self._operator_code(op, line), *map(operator_code, self._casts(line))]
            yield code_cell(*[f"{self.ws}.run_operator({one})" for one in ran], *self._look(op, line))
            return
        step = f"{self.live}.step({device_code(op)})"
        is_forward = line.role == "forward"
        yield code_cell(*([f"{self.net}.{call_code(op)}", step] if is_forward else [f"{step}  # {op}"]))

    def _casts(self, line: Line) -> list[Operator]:
        """What casts the gradients that a line writes as a tape does: each is handed on in the dtype of its blob."""
        op, values = self._operators[line.id], self._trace.values
        if self._trace.engine != "tape" or op.type == "Cast":
            return []
        floats = {one: values[one].dtype for one in (*line.inputs, *line.outputs) if one in values}
        floats = {one: dtype for one, dtype in floats.items() if dtype.startswith("float")}
        widest = str(np.result_type(*read)) if (read := [floats[one] for one in line.inputs if one in floats]) else ""
        return [
            Operator("Cast", [name], [name], {"to": floats[version]})
            for name, version in zip(op.outputs, line.outputs, strict=True)
            if floats.get(version, widest) != widest
        ]

    def _story(self, line: Line) -> Iterator[str]:
        """What the recording says of the making of a line; of several that came with one event it is said once."""
        if line.made in self._narrated:
            yield "Made by the same rule."
        else:
            yield self._trace.narration(line.made)
        self._narrated.add(line.made)
        if len(line.history) > 1:
            before = ", ".join(f"`{name}`" for name in line.history[0].outputs)
            yield f"It first wrote {before}: an accumulation gave it the names it has here."

    def _foreign(self, op: Operator) -> Operator | None:
        """Of an operator, it or one in its nested nets whose kernel is not there where the cells run; None: all are."""
        operator_type = lookup(op.type)
        if operator_type is None or (operator_type.kernel and not self._has(operator_type.kernel.__module__)):
            return op
        inner = (one for net in op.args.values() if isinstance(net, NetDef) for one in net.ops)
        return next(filter(None, map(self._foreign, inner)), None)

    def _has(self, module: str) -> bool:
        """Whether the kernels of a module are there where the cells run."""
        return module.startswith(OURS)

    def _operator_code(self, op: Operator, line: Line) -> str:
        """Code that has the operator of a line."""
        return operator_code(op)

    def _why_given(self, op: Operator, line: Line, foreign: Operator) -> str:
        if foreign is not op:
            raise impossible(
                self.what,
                f"a net in {op.type} has {foreign.type}, whose kernel is not part of gradviz.",
                [KEEP_ALL, 'In the kernel that has it: session.to_cells("pass"), or Cells in the widget.'],
            )
        if op.type.startswith("PythonFunction"):
            return f"{line.type} is a function in Python that ran once, so what it gave is fed here as it was recorded."
        return (
            f"The kernel of {op.type} is not part of gradviz, so what it gave is fed here as it was recorded. Where "
            f"the kernel is registered, run it instead: `{self.ws}.run_operator({operator_code(op)})`."
        )

    def _give(self, op: Operator, line: Line) -> Iterator[str]:
        for name, version in zip(op.outputs, line.outputs, strict=True):
            if key_of(version) not in self._recording.values:
                raise impossible(
                    self.what,
                    f"gradviz has no kernel of {op.type}, and what it gave, {version}, was not recorded.",
                    [KEEP_ALL, "gradviz.live(...) goes backward one operator a cell: live.step(), or %step."],
                )
            yield f"{self.ws}.feed({quoted(name)}, {self._code_of(version)})"

    def _look(self, op: Operator, line: Line) -> Iterator[str]:
        """Show what was written; a stack of workspaces is nothing to look at."""
        named = zip(op.outputs, line.outputs, strict=True)
        if shown := [name for name, version in named if self._is_array(version)]:
            yield ", ".join(f"{self.ws}[{quoted(name)}]" for name in dict.fromkeys(shown))

    def _is_array(self, version: str) -> bool:
        """Whether a version was computed, and is no stack of workspaces."""
        value = self._trace.values.get(version)
        return value is not None and value.stack is None

    def fed(self) -> dict[str, str]:
        """What they read and do not write themselves: blob -> version."""
        own = {line.id for half in self._halves for line in half}
        read, written, now = set[str](), set[str](), dict[str, str]()
        for line in self._lines:
            if line.id in own:
                read |= {*line.inputs, *(now.get(name, f"{name}@0") for name in _unlisted(self._operators[line.id]))}
                written.update(line.outputs)
            now |= {key_of(version)[0]: version for version in line.outputs}
        return {
            name: f"{name}@{number}" for name, number in self._recording.values if f"{name}@{number}" in read - written
        }


class _Notebook(Cells):
    """Makes all cells of a notebook.

    Attributes:
        large_arrays: those for the file beside it, by what the cells call them.
    """

    def __init__(self, trace: Trace, recording: Recording, file: str) -> None:
        self.large_arrays: dict[str, Array] = {}
        self._file = file
        super().__init__(trace, recording, (trace.forward, trace.backward), recording.ys, recording.skip)

    def all_cells(self) -> list[Cell]:
        """Every cell, first to last."""
        story = [text_cell("## What it starts from"), code_cell(*self.start()), *self.steps(), *self._end()]
        # Only now it is clear what they need.
        cells = [text_cell(*self._introduction()), code_cell(*self._preparation(story)), *story]
        return [{"id": f"cell-{number}", **cell} for number, cell in enumerate(cells)]

    def _introduction(self) -> Iterator[str]:
        yield f"# {self._trace.name}, operator by operator"
        backward = len(operators_of(self._trace.backward))
        ys = ", ".join(f"`{y}`" for y in self._trace.ys)
        yield f"Operators of the net: {len(self._trace.forward)}; of its backward pass from {ys}: {backward}."
        step = "is a step of `live`: it runs one operator and shows what that wrote"
        does = step if self.is_live else "runs one operator"
        holds = " The last cell holds every gradient against the recorded one." * self._ends_in_gradients()
        yield (
            f"Each cell below {does}, first those of the net, then those of its backward pass; the text "
            f"above it tells why the operator is there. `x@1` is the second value of the blob `x`.{holds}"
        )
        yield f"Made by gradviz {__version__}."

    def _preparation(self, cells: Sequence[Cell]) -> Iterator[str]:
        yield "import numpy as np"
        if any(cell["cell_type"] == "code" and NOT_FINITE.search(cell["source"]) for cell in cells):
            yield "from numpy import inf, nan"
        yield "\nimport gradviz\n"
        if self.large_arrays:
            yield f"kept = np.load({quoted(self._file)})  # the larger arrays"
        yield "ws = gradviz.Workspace()"

    def _end(self) -> Iterator[Cell]:
        if not self._ends_in_gradients():
            yield text_cell("## Where it ends", self._trace.narration(len(self._trace.events)))
            return
        yield text_cell("## The gradients", "They are those of the recording, up to the rounding of another machine.")
        gradients = self._gradients().items()
        listed = [f"    {quoted(name)}: {self._code_of(version)}," for name, version in gradients]
        yield code_cell("gradients = {", *listed, "}", *["ws = live.workspace"] * self.is_live, CHECK)

    def _ends_in_gradients(self) -> bool:
        """Whether there are some to compare: the pass came to its end, or stands still on its way."""
        return self._trace.events[-1].kind != "Failed" and bool(self._gradients())

    def fed(self) -> dict[str, str]:
        """The same, and given gradients."""
        written = {version for line in (*self._forward, *self._backward) for version in line.outputs}
        given = {key_of(one)[0]: one for one in self._gradient_versions() if one not in written}
        return super().fed() | {name: one for name, one in given.items() if key_of(one) in self._recording.values}

    def _gradients(self) -> dict[str, str]:
        """The gradients at the end: blob -> version."""
        last = dict(sorted(map(key_of, self._gradient_versions()), key=lambda key: key[1]))
        return {name: f"{name}@{number}" for name, number in last.items() if (name, number) in self._recording.values}

    def _gradient_versions(self) -> list[str]:
        return [version for gradient in self._trace.gradients.values() for version in parts_of(gradient)]

    def _code_of(self, version: str) -> str:
        """The array itself, or where the file keeps it."""
        array = moved(array_of(self._recording.values[key_of(version)], self.what), CPU)
        if array.size <= INLINE:
            return array_code(array)
        self.large_arrays[version] = array
        return f"kept[{quoted(version)}]"


def title_of(line: Line) -> str:
    """The title of the cell of an operator."""
    return f"### `{', '.join(line.outputs)} = {line.type}({', '.join(line.inputs)})`"


def text_cell(*paragraphs: str) -> Cell:
    """A cell of text."""
    return {"cell_type": "markdown", "metadata": {}, "source": "\n\n".join(paragraphs)}


def code_cell(*lines: str) -> Cell:
    """A cell of code."""
    return {"cell_type": "code", "metadata": {}, "source": "\n".join(lines), "execution_count": None, "outputs": []}


def _unlisted(op: Operator) -> Iterator[str]:
    """What an operator may read and does not list: what it leaves as it is, or what its nets take a shape of."""
    yield from implicit_inputs(op)
    if op.type != "Do":
        for net in nested_nets(op).values():
            yield from reads_from_outside(net.ops)


def array_of(value: Array | ScopeStack, what: str) -> Array:
    """The array that a value is.

    Raises:
        NotebookError: ``no_values``: it is a stack of workspaces.
    """
    if isinstance(value, ScopeStack):
        raise impossible(
            what,
            "it is fed a stack of workspaces, which cannot be written down.",
            ["Take the operators that fill the stack too: insert the group, or the whole pass."],
        )
    return value
