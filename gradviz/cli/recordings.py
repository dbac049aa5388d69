"""`gradviz graph`, `gradviz html` and `gradviz ask`: a recording drawn, as a page, and asked."""

from __future__ import annotations

import inspect
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

from .. import Session
from ..debugger.answers import Questions
from ..debugger.document import ENDING
from ..program.events import Failed
from ..program.files import FileError, write_whole
from ..runtime.watched import INTERRUPTED
from .inputs import is_recording, read_net, read_recording
from .nets import recorded
from .output import give, say, target, written

QUESTIONS: Mapping[str, Callable[..., Any]] = {
    name: question
    for name, question in vars(Questions).items()
    if inspect.isfunction(question) and str(inspect.signature(question).return_annotation).endswith("View")
}
"""What a recording can be asked: the methods of a session that give an answer."""


def parameters_of(question: Callable[..., Any]) -> list[inspect.Parameter]:
    """What a question is asked with, but for objects, which no text gives."""
    _, *parameters = inspect.signature(question).parameters.values()
    return [one for one in parameters if one.annotation != "Any"]


def graph(args: Namespace) -> int:
    """Draws a recording; raises what `_session` and `move` raise, and FileError."""
    path = target(args)
    if path is not None and path.suffix not in (".svg", ".dot", ".gv"):
        raise FileError(
            f"{path} is neither a picture nor a graph by its name.",
            kind="not_a_file",
            ways_out=["Let it end in .svg, or in .dot for Graphviz."],
        )
    session = _session(args)
    if path is None:
        say(session.graph().source)
        return 0
    if path.suffix == ".svg":
        from ..drawing import svg

        drawn = svg(session.view(), session.position)
    else:
        drawn = session.graph().source
    write_whole(path, drawn.encode())
    say(written(path))
    return 0


def html(args: Namespace) -> int:
    """Makes a page of a recording, by default beside it; raises TraceError, FileError, CursorError."""
    session = read_recording(args.file)
    session.run_to(0 if args.at is None else args.at)
    args.output = args.output or args.file.with_name(args.file.name.removesuffix(ENDING) + ".html")
    path = target(args)
    assert path is not None
    session.to_html(path, budget=args.budget, title=args.title)
    say(written(path))
    return 0


def ask(args: Namespace) -> int:
    """Asks a recording; raises what `_session` raises, and CursorError."""
    session = _session(args)
    parameters = parameters_of(QUESTIONS[args.question])
    given = [getattr(args, one.name) for one in parameters if one.kind is not one.KEYWORD_ONLY]
    named = {one.name: getattr(args, one.name) for one in parameters if one.kind is one.KEYWORD_ONLY}
    give(getattr(session, args.question)(*given, **named), args)
    return 0


def _session(args: Namespace) -> Session:
    """The session in a file, or that of the net in it, where `--at` says or else at the end.

    Raises:
        KeyboardInterrupt: recording was interrupted. And what `read_recording`, `recorded` and `move` raise.
    """
    if is_recording(args.file):
        if args.ys or args.feed or args.device:
            raise FileError(
                f"{args.file} is a recording, and --ys, --feed and --device are for nets.",
                kind="not_a_net",
                ways_out=["Leave them out, or name the file of a net."],
            )
        session = read_recording(args.file)
    else:
        session = recorded(read_net(args.file), args)
        last = session.events[-1]
        if isinstance(last, Failed) and last.error == INTERRUPTED:
            raise KeyboardInterrupt
    session.run_to(len(session) if args.at is None else args.at)
    return session
