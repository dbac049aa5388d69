"""`gradviz run` and `gradviz grad`: a net, what it is fed, and what comes of it, which is an answer as any other."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from .. import Net, Session, Workspace, debug
from ..debugger.answers import Answer, Block, Bullets, Grid, Paragraph, digits
from ..debugger.document import Number, Value
from ..debugger.journal import UNDEFINED, complete
from ..debugger.statistics import all_statistics, statistics
from ..debugger.telling import measured
from ..notebook.progress import shown_progress
from ..operators.inference import AS_FLOAT
from ..operators.registry import Array
from ..operators.scopes import ScopeStack
from ..program import Gradient, GradientError, GradientSlice, GradvizError
from ..program.control_flow import reads_from_outside, scopes_of
from ..program.errors import count_of, listed
from ..program.events import Completed, Deduplicated, Failed, Ran
from ..program.operator import parts_of
from ..runtime.devices import CPU, device_of, moved
from .inputs import fed, read_net
from .output import give, say, target, write_arrays, written

ELEMENTS = 60
"""Of an array with more the text shows the corners."""


def run(args: Namespace) -> int:
    """Runs a net; raises what `Workspace.run` and `fed` raise."""
    net, path = read_net(args.file), target(args)
    ws = fed(args, net)
    try:
        with shown_progress() as progress:
            ws.run(net, progress=progress)
    except GradvizError as error:
        raise _from_here(complete(error, net.ops, ws)) from error
    names = args.fetch or _outputs(net)
    unwritten = [] if args.fetch else [name for name in names if name not in ws]
    view = RunView(net.name, _arrays(ws, [name for name in names if name not in unwritten]), unwritten)
    if path is not None:
        write_arrays(path, _arrays(ws, args.fetch or ws, "cpu"))
    return _given(view, args, path)


def grad(args: Namespace) -> int:
    """Differentiates a net; raises what `recorded` raises, and what the pass or its run stops with."""
    net, path = read_net(args.file), target(args)
    session = recorded(net, args)
    if path is not None:
        session.save(path)
    session.finish()
    if isinstance(session.event, Failed):
        raise _from_here(_stopped_with(session.event, path))
    return _given(_view(session, _ys(net, args)), args, path)


def recorded(net: Net, args: Namespace) -> Session:
    """The backward pass of `--ys`, by default of the one output; run where something is fed, or nothing need be.

    Raises:
        GradientError: ``bad_ys``, none is named and the net has not one output. And what `fed` and `debug` raise.
    """
    ys = _ys(net, args)
    is_run = args.feed or args.device or not reads_from_outside(net.ops)
    return debug(net, ys, workspace=fed(args, net) if is_run else None)


def _ys(net: Net, args: Namespace) -> list[str]:
    outputs, named = _outputs(net), [y for text in args.ys for y in text.split(",")]
    if named or len(outputs) == 1:
        return list(dict.fromkeys(named)) or outputs
    raise GradientError(
        f"{net.name} {f'ends in {listed(outputs)}' if outputs else 'has no outputs'}: what is to be differentiated?",
        kind="bad_ys",
        ways_out=[f"Name it: --ys {name}." for name in outputs] or ["Give a net with operators that write blobs."],
    )


def _outputs(net: Net) -> list[str]:
    """What a net writes and makes nothing of."""
    outputs: dict[str, None] = {}
    for op in net.ops:
        for name in op.inputs if op.outputs else ():  # Print only looks
            outputs.pop(name, None)
        outputs |= dict.fromkeys(name for name in op.outputs if name not in scopes_of(op))
    return list(outputs)


def _given(view: RunView | GradView, args: Namespace, path: Path | None) -> int:
    give(view, args)
    if path is not None and not args.json:
        say(written(path))
    return 0


def _from_here(error: GradvizError) -> GradvizError:
    """`error`; of a blob that was not fed, or was fed integers, with the way out of the command line."""
    if error.kind == UNDEFINED and error.blobs:
        error.ways_out = (*error.ways_out, f"On the command line: --feed {error.blobs[0]}=FILE.npy.")
    if AS_FLOAT in error.ways_out:
        error.ways_out = (*error.ways_out, "On the command line: x=1 is an integer, x=1.0 is none.")
    return error


def _arrays(ws: Workspace, names: Iterable[str], device: str | None = None) -> dict[str, Array]:
    """Blobs but for stacks of workspaces, which no file and no text can hold."""
    names = [name for name in names if not isinstance(ws.fetch(name, None), ScopeStack)]
    return {name: ws.fetch(name, device) for name in names}


def _stopped_with(event: Failed, path: Path | None) -> GradvizError:
    """The error that an event tells of, with the way to the recording in the file at `path`, if there is one."""
    return GradvizError(
        event.message,
        kind=event.error,
        operator_index=event.index,
        blobs=event.blobs,
        ways_out=[*event.ways_out, *[f"{path} shows what led to it: gradviz html {path}"] * (path is not None)],
        versions=event.versions,
    )


def _view(session: Session, ys: list[str]) -> GradView:
    """What there is to say of a whole pass, at its end."""
    whole = Completed | Deduplicated
    generated = max(at for at, one in enumerate(session.events, 1) if isinstance(one, whole) and not one.path)
    gradients = session.state().gradients
    values = _values(session, gradients)
    by_blob = {name: _gradient(session, name, one, values.get(name)) for name, one in gradients.items()}
    return GradView(session.name, ys, session.at(generated).diff(0).made, by_blob)


def _values(session: Session, gradients: Mapping[str, Gradient]) -> dict[str, Value]:
    """The statistics of gradients as far as they were computed, of sparse ones those of their values."""
    runs = (one for one in session.events if isinstance(one, Ran) and not one.path)
    last = {name: number for one in runs for name, number in zip(one.op.outputs, one.out_versions, strict=True)}
    arrays = {
        name: session.value(f"{part}@{last[part]}")
        for name, one in gradients.items()
        if (part := parts_of(one)[-1]) in last
    }
    return dict(zip(arrays, all_statistics(arrays.values()), strict=True))


def _gradient(session: Session, name: str, gradient: Gradient, value: Value | None) -> GradientOf:
    if value is None:
        return GradientOf(gradient)
    norm = session.ledger(name).ledger.norm if isinstance(gradient, GradientSlice) else value.norm
    return GradientOf(gradient, value.shape, value.dtype, norm)


def _plain(array: Array) -> dict[str, Any]:
    """An array as JSON has it; its values are lists, in which a complex number is a list of two."""
    numbers = moved(array, CPU)
    if numbers.dtype.kind == "c":
        numbers = np.stack([numbers.real, numbers.imag], -1)
    about = {"shape": list(array.shape), "dtype": str(array.dtype), "device": str(device_of(array))}
    return {**about, "values": numbers.tolist()}


class RunView(Answer, frozen=True):
    """What a run gave.

    Attributes:
        net: its name.
        blobs: the arrays asked for, or the outputs.
        unwritten: outputs that only branches write which were not taken.
    """

    answer = "run"
    plain = _plain
    net: str
    blobs: dict[str, Array]
    unwritten: list[str]

    def blocks(self) -> Iterator[Block]:
        for name, array in self.blobs.items():
            numbers = np.array2string(moved(array, CPU), threshold=ELEMENTS, prefix="  ", max_line_width=100)
            yield Paragraph(f"{name}: {measured(statistics(array))}\n  {numbers}")
        for name in self.unwritten:
            yield Paragraph(f"{name}: not computed, since the branch that writes it was not taken")
        if not (self.blobs or self.unwritten):
            yield Paragraph(f"{self.net} was run, and there is no array to show.")


class GradientOf(msgspec.Struct, frozen=True):
    """The gradient of a blob.

    Attributes:
        gradient: its name, or those of its indices and values.
        shape, dtype, norm: of a sparse one those of its values, and the norm of all; None: not computed.
    """

    gradient: Gradient
    shape: list[int] | None = None
    dtype: str | None = None
    norm: Number | None = None


class GradView(Answer, frozen=True):
    """The backward pass of a net.

    Attributes:
        net: its name.
        ys: what was differentiated.
        operators: the gradient operators in SSA form.
        gradients: blob -> its gradient.
    """

    answer = "grad"
    net: str
    ys: list[str]
    operators: list[str]
    gradients: dict[str, GradientOf]

    def blocks(self) -> Iterator[Block]:
        count = count_of(len(self.operators), "gradient operator")
        yield Paragraph(f"{self.net}, differentiated from {listed(self.ys)}: {count}", is_title=True)
        yield Bullets(self.operators)
        rows = [(name, ", ".join(parts_of(one.gradient)), *_texts(one)) for name, one in self.gradients.items()]
        yield Grid("Gradients", ("blob", "gradient", "shape", "norm"), rows)


def _texts(one: GradientOf) -> tuple[str, str]:
    if one.shape is None:
        return "not computed", "not computed"
    return f"{' × '.join(map(str, one.shape)) or 'scalar'} {one.dtype}", digits(one.norm, "none")
