"""A recording as a notebook: one operator a cell, run again by `Workspace.run_operator`, with the story in between.

The notebook feeds what the recording started from, runs the whole program operator by operator, and ends by holding
every gradient against the recorded one. What is small stands in the cells, the rest in a file beside the notebook.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from pprint import pformat
from typing import Any

import msgspec
import numpy as np

from ..debugger import Recording
from ..debugger.document import Line, Trace
from ..debugger.telling import key_of
from ..operators import lookup
from ..operators.arguments import own_arguments
from ..operators.registry import Array
from ..operators.scopes import ScopeStack
from ..program import GradvizError, NetDef, Operator
from ..program.control_flow import kept_inputs
from ..program.net import nested_to_dict
from ..program.operator import parts_of
from ..runtime.devices import CPU, moved
from ..version import __version__
from .files import write_whole

INLINE = 64
"""Elements of an array that stands in a cell; a larger one is kept in a file."""

OURS = "gradviz.operators."
"""Where kernels are that need nothing but arrays; that of a function in Python needs the very call."""

NOT_FINITE = re.compile(r"(?<![\w\"])(nan|inf)\b")

Cell = dict[str, Any]
"""A cell as the file has it."""

CHECK = """\
for name, recorded in gradients.items():
    computed = ws.fetch(name)
    assert computed.shape == recorded.shape and computed.dtype == recorded.dtype, name
    exact = recorded.dtype.kind not in "fc"
    tolerance = 0 if exact else np.sqrt(np.finfo(recorded.dtype).eps)
    scale = 0 if exact else tolerance * np.abs(recorded).max(initial=0)
    np.testing.assert_allclose(computed, recorded, rtol=tolerance, atol=scale, err_msg=name)
print(f"All {len(gradients)} are as recorded.")"""

WIDTH = 110


class NotebookError(GradvizError):
    """A session of which no notebook can be made: ``kind`` is ``no_values`` or ``bad_name``."""


def write_notebook(path: str | Path, trace: Trace, recording: Recording | None) -> None:
    """Write the notebook of a recording to `path`, and beside it, where arrays are large, an ``.npz`` file.

    Raises:
        NotebookError: nothing was run, or only the trace document is left.
        FileError: a file cannot be written.
    """
    target = Path(path)
    beside = target.with_suffix(".npz")
    if beside == target:
        raise NotebookError(
            f"{target} has the name of the file for the arrays beside the notebook.",
            kind="bad_name",
            ways_out=["Let the name end in .ipynb."],
        )
    cells = _Cells(trace, _with_values(recording), beside.name)
    notebook = {
        "cells": cells.made(),
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    if cells.kept:
        packed = io.BytesIO()
        np.savez_compressed(packed, **cells.kept)
        write_whole(beside, packed.getvalue())
    write_whole(target, msgspec.json.format(msgspec.json.encode(notebook), indent=1))


def _with_values(recording: Recording | None) -> Recording:
    if recording is not None and recording.values:
        return recording
    ways_out = ["Feed the net's inputs and give the workspace: gradviz.debug(net, ys, workspace=ws)."]
    if recording is None:
        reason = "a saved trace keeps statistics, no arrays."
    elif recording.obstacle is None:
        reason = "nothing was run when it was recorded."
    else:
        reason, ways_out = f"nothing was run. {recording.obstacle.message}", list(recording.obstacle.ways_out)
    raise NotebookError(f"No notebook can be made of this session: {reason}", kind="no_values", ways_out=ways_out)


class _Cells:
    """Makes the cells.

    Attributes:
        kept: the arrays for the file beside the notebook, by what the cells call them.
    """

    def __init__(self, trace: Trace, recording: Recording, file: str) -> None:
        self.kept: dict[str, Array] = {}
        self._trace = trace
        self._recording = recording
        self._file = file
        self._narrated: set[int] = set()

    def made(self) -> list[Cell]:
        """Every cell, first to last."""
        fed = [f"ws.feed({quoted(name)}, {self._code_of(f'fed/{name}', array)})" for name, array in self._fed().items()]
        story = [_text("## What it starts from"), _code(*fed, "ws"), *self._steps(), *self._end()]
        # Only now it is known what they need.
        cells = [_text(*self._introduction()), _code(*self._preparation(story)), *story]
        return [{"id": f"cell-{number}", **cell} for number, cell in enumerate(cells)]

    def _introduction(self) -> Iterator[str]:
        yield f"# {self._trace.name}, operator by operator"
        made = sum(line.kind == "operator" for line in self._trace.backward)
        ys = ", ".join(f"`{y}`" for y in self._trace.ys)
        yield f"Operators of the net: {len(self._trace.forward)}; of its backward pass from {ys}: {made}."
        yield (
            "Each cell below runs one operator, first those of the net, then those of its backward pass; the text "
            "above it tells why the operator is there. `x@1` is the second value of the blob `x`. The last cell holds "
            "every gradient against the recorded one."
        )
        if any(op.device is not None and op.device.type != "cpu" for op in self._recording.operators):
            yield "Recorded on several devices; here everything runs on the CPU."
        yield f"Made by gradviz {__version__}."

    def _preparation(self, cells: Sequence[Cell]) -> Iterator[str]:
        yield "import numpy as np"
        if any(cell["cell_type"] == "code" and NOT_FINITE.search(cell["source"]) for cell in cells):
            yield "from numpy import inf, nan"
        yield "\nimport gradviz\n"
        if self.kept:
            yield f"kept = np.load({quoted(self._file)})  # the larger arrays"
        yield "ws = gradviz.Workspace()"

    def _steps(self) -> Iterator[Cell]:
        operators = iter(self._recording.operators)
        halves = [("The net", self._trace.forward), ("Its backward pass", self._trace.backward)]
        for title, lines in halves:
            if lines:
                yield _text(f"## {title}")
            for line in lines:
                if line.kind == "passed":
                    yield _text(*self._story(line))
                    continue
                op = next(operators)
                if line.ran is None:
                    return
                yield from self._step(op, line)

    def _step(self, op: Operator, line: Line) -> Iterator[Cell]:
        title = f"### `{', '.join(line.outputs)} = {line.type}({', '.join(line.inputs)})`"
        if _is_ours(op):
            yield _text(title, *self._story(line))
            yield _code(f"ws.run_operator({operator_code(op)})", *self._look(op, line))
        else:
            yield _text(title, *self._story(line), _foreign(op))
            yield _code(*self._give(op, line), *self._look(op, line))

    def _story(self, line: Line) -> Iterator[str]:
        """What the recording says of the making of a line; of several that one event made it is said once."""
        if line.made in self._narrated:
            yield "Made by the same rule."
        else:
            yield self._trace.narration(line.made)
        self._narrated.add(line.made)
        if len(line.history) > 1:
            before = ", ".join(f"`{name}`" for name in line.history[0].outputs)
            yield f"It first wrote {before}: an accumulation gave it the names it has here."

    def _give(self, op: Operator, line: Line) -> Iterator[str]:
        for name, version in zip(op.outputs, line.outputs, strict=True):
            if (array := self._recording.values.get((name, key_of(version)[1]))) is None:
                raise NotebookError(
                    f"No notebook can be made of this session: gradviz has no kernel of {op.type}, and what it gave, "
                    f"{version}, was not recorded.",
                    kind="no_values",
                    ways_out=["session.to_html and session.save keep all that was recorded."],
                )
            yield f"ws.feed({quoted(name)}, {self._code_of(f'given/{version}', _on_cpu(array))})"

    def _look(self, op: Operator, line: Line) -> Iterator[str]:
        """Show what was written; a stack of workspaces is nothing to look at."""
        named = zip(op.outputs, line.outputs, strict=True)
        values = ((name, self._trace.values.get(version)) for name, version in named)
        if shown := [name for name, value in values if value is not None and value.stack is None]:
            yield ", ".join(f"ws[{quoted(name)}]" for name in dict.fromkeys(shown))

    def _end(self) -> Iterator[Cell]:
        last = self._trace.events[-1]
        if last.kind == "Failed":
            yield _text("## Where it ends", self._trace.narration(len(self._trace.events)))
            return
        yield _text("## The gradients", "They are those of the recording, up to the rounding of another machine.")
        gradients = self._gradients().items()
        listed = "".join(
            f"\n    {quoted(name)}: {self._code_of(f'gradient/{name}', array)}," for name, array in gradients
        )
        yield _code(f"gradients = {{{listed}\n}}", CHECK)

    def _fed(self) -> dict[str, Array]:
        """What the program reads and does not write itself, given gradients too."""
        written = {version for line in self._lines() for version in line.outputs}
        read = {version for line in self._lines() for version in line.inputs}
        read |= set(self._gradient_versions())
        read |= {f"{name}@0" for op in self._recording.operators for name in kept_inputs(op)}
        fed = read - written
        keys = [key for key in self._recording.values if f"{key[0]}@{key[1]}" in fed]
        return {key[0]: _on_cpu(self._recording.values[key]) for key in keys}

    def _lines(self) -> list[Line]:
        return [line for line in (*self._trace.forward, *self._trace.backward) if line.kind == "operator"]

    def _gradients(self) -> dict[str, Array]:
        """The gradients at the end, by their names."""
        last = dict(sorted(map(key_of, self._gradient_versions()), key=lambda key: key[1]))
        found = {name: self._recording.values.get((name, number)) for name, number in last.items()}
        return {name: _on_cpu(array) for name, array in found.items() if array is not None}

    def _gradient_versions(self) -> list[str]:
        return [version for gradient in self._trace.gradients.values() for version in parts_of(gradient)]

    def _code_of(self, name: str, array: Array) -> str:
        """Code that has the array: itself, or where the file keeps it under `name`."""
        if array.size <= INLINE:
            return array_code(array)
        self.kept[name] = array
        return f"kept[{quoted(name)}]"


def _text(*paragraphs: str) -> Cell:
    return {"cell_type": "markdown", "metadata": {}, "source": "\n\n".join(paragraphs)}


def _code(*lines: str) -> Cell:
    return {"cell_type": "code", "metadata": {}, "source": "\n".join(lines), "execution_count": None, "outputs": []}


def _is_ours(op: Operator) -> bool:
    """Whether every gradviz can run an operator: neither it nor one in its nested nets has a kernel of a user's."""
    known = lookup(op.type)
    if known is None:
        return False
    if known.kernel is not None and not known.kernel.__module__.startswith(OURS):
        return False
    return all(_is_ours(inner) for net in op.args.values() if isinstance(net, NetDef) for inner in net.ops)


def _foreign(op: Operator) -> str:
    return (
        f"The kernel of {op.type} is not part of gradviz, so what it gave is fed here as it was recorded. Where the "
        f"kernel is registered, run it instead: `ws.run_operator({operator_code(op)})`."
    )


def _on_cpu(array: Array | ScopeStack) -> Array:
    if isinstance(array, ScopeStack):
        raise NotebookError(
            "No notebook can be made of this session: it is fed a stack of workspaces, which cannot be written down.",
            kind="no_values",
            ways_out=["Record the operators that fill the stack too."],
        )
    return moved(array, CPU)


def array_code(array: np.ndarray[Any, Any]) -> str:
    """``np.array([[1.5, nan]], dtype="float32")``: every element to the last bit; `nan` and `inf` are names."""
    if array.size == 0:
        return f'np.zeros({array.shape}, dtype="{array.dtype}")'
    if array.dtype.kind == "c" and not np.isfinite(array).all():  # numpy writes nanj, which is no name
        return f'{array_code(np.stack([array.real, array.imag], -1))}.view("{array.dtype}")[..., 0]'
    with np.printoptions(threshold=sys.maxsize, floatmode="unique", linewidth=WIDTH, legacy=False):
        elements = np.array2string(array, separator=", ", prefix="np.array(")
    return f'np.array({elements}, dtype="{array.dtype}")'


def operator_code(op: Operator) -> str:
    """An operator as code, without its device; one with nested nets comes out of a net's JSON form."""
    plain = msgspec.structs.replace(op, device=None)
    form: dict[str, Any] = msgspec.to_builtins(plain, enc_hook=nested_to_dict)
    if any(isinstance(value, dict) for value in form.get("args", {}).values()):
        net = pformat({"ops": [_without_devices(form)]}, width=WIDTH, sort_dicts=False)
        return f"gradviz.Net.from_dict({net}).ops[0]"
    known = lookup(op.type)
    args = own_arguments(op, known and known.args)
    arguments = f", args={pformat(args, width=WIDTH, sort_dicts=False)}" if args else ""
    return f"gradviz.Operator({quoted(op.type)}, {_listed(op.inputs)}, {_listed(op.outputs)}{arguments})"


def quoted(text: str) -> str:
    """A text as code, whatever is in it."""
    return json.dumps(text, ensure_ascii=False)


def _without_devices(form: Any) -> Any:
    """A JSON form in which no operator says where it runs."""
    if isinstance(form, list):
        return [_without_devices(item) for item in form]
    if not isinstance(form, dict):
        return form
    return {key: _without_devices(item) for key, item in form.items() if key != "device" or "type" not in form}


def _listed(names: list[str]) -> str:
    return f"[{', '.join(map(quoted, names))}]"
