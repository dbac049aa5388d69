"""`gradviz run` and `gradviz grad`: a net, what it is fed, and what comes of it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping
from pathlib import Path

from .. import Net, Session, Workspace, debug
from ..debugger.document import Value
from ..debugger.journal import UNDEFINED, complete
from ..debugger.statistics import all_statistics
from ..notebook.progress import shown_progress
from ..operators.registry import Array
from ..operators.scopes import ScopeStack
from ..program import Gradient, GradientError, GradientSlice, GradvizError
from ..program.control_flow import scopes_of
from ..program.errors import listed
from ..program.events import Completed, Deduplicated, Failed, Ran
from ..program.operator import parts_of
from .feeds import fed
from .files import read_net
from .output import give, say, target, write_arrays, written
from .results import GradientOf, GradView, RunView


def run(args: Namespace) -> int:
    """Runs a net; raises what `Workspace.run` and `fed` raise."""
    net, path = read_net(args.file), target(args)
    ws = fed(args, net)
    try:
        with shown_progress() as progress:
            ws.run(net, progress=progress)
    except GradvizError as error:
        raise _from_here(complete(error, net.ops, ws)) from error
    view = RunView(net.name, _arrays(ws, args.fetch or ends(net)[1]))
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
    is_run = args.feed or args.device or not ends(net)[0]
    return debug(net, ys, workspace=fed(args, net) if is_run else None)


def _ys(net: Net, args: Namespace) -> list[str]:
    outputs = ends(net)[1]
    if args.ys or len(outputs) == 1:
        return args.ys or outputs
    raise GradientError(
        f"{net.name} {f'ends in {listed(outputs)}' if outputs else 'has no outputs'}: what is to be differentiated?",
        kind="bad_ys",
        ways_out=[f"Name it: --ys {name}." for name in outputs] or ["Give a net with operators that write blobs."],
    )


def ends(net: Net) -> tuple[list[str], list[str]]:
    """What a net reads from outside, and its outputs: what it writes and makes nothing of."""
    inputs: dict[str, None] = {}
    outputs: dict[str, None] = {}
    made: set[str] = set()
    for op in net.ops:
        inputs |= dict.fromkeys(name for name in op.inputs if name not in made)
        for name in op.inputs if op.outputs else ():  # Print only looks
            outputs.pop(name, None)
        outputs |= dict.fromkeys(name for name in op.outputs if name not in scopes_of(op))
        made.update(op.outputs)
    return list(inputs), list(outputs)


def _given(view: RunView | GradView, args: Namespace, path: Path | None) -> int:
    give(view, args)
    if path is not None and not args.json:
        say(written(path))
    return 0


def _from_here(error: GradvizError) -> GradvizError:
    """`error`; of a blob that was not fed with the way out of the command line."""
    if error.kind == UNDEFINED and error.blobs:
        error.ways_out = (*error.ways_out, f"On the command line: --feed {error.blobs[0]}=FILE.npy.")
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
    found = {name: _gradient(session, name, one, values.get(name)) for name, one in gradients.items()}
    return GradView(session.name, ys, session.at(generated).diff(0).made, found)


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
        return GradientOf(gradient, None, None, None)
    norm = session.ledger(name).ledger.norm if isinstance(gradient, GradientSlice) else value.norm
    return GradientOf(gradient, value.shape, value.dtype, norm)
