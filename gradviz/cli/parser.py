"""The table of the command line: each command with its arguments, its help, and the function that does it."""

from __future__ import annotations

import inspect
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..debugger.document import ENDING
from ..notebook import BUDGET
from ..operators.table import markdown
from ..version import __version__
from .completion import SHELLS, script
from .lab import DEFAULT_FOLDER, lab
from .nets import grad, run
from .output import say
from .recordings import QUESTIONS, ask, graph, html, parameters_of

NET = 'a net as net.save writes it: {"name": ..., "ops": [{"type": "Tanh", "inputs": ["x"], "outputs": ["y"]}]}'

EITHER = f"a *{ENDING} file, as session.save and gradviz grad -o write it, or a net"

Add = Callable[..., ArgumentParser]
"""Makes the parser of a command: its name, its function, its help and description."""


def parser() -> ArgumentParser:
    """The parser of the command line. Options that it does not know belong to JupyterLab."""
    root = ArgumentParser(
        prog="gradviz", description="An interactive debugger for gradients in Jupyter.", allow_abbrev=False
    )
    root.add_argument("--version", action="version", version=f"gradviz {__version__}")
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(
        name: str, function: Callable[[Namespace], int], help: str, more: str = "", **options: Any
    ) -> ArgumentParser:
        command = commands.add_parser(
            name, help=help, description=f"{help[0].upper()}{help[1:]}. {more}".strip(), allow_abbrev=False, **options
        )
        command.set_defaults(function=function)
        return command

    add(
        "lab",
        lab,
        "open the demo notebooks in JupyterLab",
        f"They are copied into FOLDER (default: {DEFAULT_FOLDER}), where what is already there stays as it is. "
        "Further options go to JupyterLab.",
        usage="gradviz lab [FOLDER] [JupyterLab's own options]",
    )
    for command in (_run, _grad, _graph, _html, _ask):
        command(add)
    add("operators", _operators, "print the table of all operators in Markdown")
    completion = add("completion", _completion, "print a script that completes commands, options and files on Tab")
    completion.add_argument("shell", choices=SHELLS, help='for bash and zsh: eval "$(gradviz completion bash)"')
    return root


def _run(add: Add) -> None:
    one = add("run", run, "run a net and print its outputs", "All shapes are checked before anything runs.")
    one.add_argument("file", type=Path, metavar="NET", help=NET)
    _feeds(one)
    one.add_argument("--fetch", action="append", metavar="BLOB", default=[], help="a blob in place of the outputs")
    _output(one, "OUT.npz", "write all blobs, or those of --fetch, as numpy.load reads them")
    _json(one)


def _grad(add: Add) -> None:
    more = "It is run too where something is fed, or nothing need be."
    one = add("grad", grad, "generate the backward pass of a net and print its operators and gradients", more)
    one.add_argument("file", type=Path, metavar="NET", help=NET)
    _ys(one)
    _feeds(one)
    _output(one, f"FILE{ENDING}", "save the recording, that html, graph, ask and JupyterLab open")
    _json(one)


def _graph(add: Add) -> None:
    one = add("graph", graph, "draw the gradient graph", "Without -o it is printed in DOT, the language of Graphviz.")
    one.add_argument("file", type=Path, metavar="FILE", help=EITHER)
    _ys(one)
    _feeds(one)
    _at(one, "end")
    _output(one, "FILE", "write a picture, .svg, or .dot")


def _html(add: Add) -> None:
    one = add(
        "html",
        html,
        "make a page of a recording that any browser shows offline",
        "It is one file with all views and keys, which needs no server and no network. Nothing is written where the "
        "recording cannot be read.",
    )
    one.add_argument("file", type=Path, metavar="recording", help=f"a *{ENDING} file, as session.save writes it")
    _output(one, "PAGE", "default: beside the recording, as .html")
    one.add_argument("--title", help="default: the name of the net")
    one.add_argument(
        "--budget",
        type=lambda text: int(text) if text.lstrip("-").isdecimal() else text,
        default=BUDGET,
        metavar="BYTES",
        help="most bytes for the numbers of values, before compression, such as 500000 or '1 MB' "
        "(default: %(default)s); what does not fit is left out, and the page says so",
    )
    _at(one, "start")


def _ask(add: Add) -> None:
    more = "Of a net that is fed there are answers from its values, too, such as those of check."
    one = add("ask", ask, "ask a recording, or a net", more)
    one.add_argument("file", type=Path, metavar="FILE", help=EITHER)
    questions = one.add_subparsers(dest="question", metavar="QUESTION", required=True)
    for name, question in QUESTIONS.items():
        about = (inspect.getdoc(question) or "").partition("\nRaises:")[0].strip()
        asked = questions.add_parser(
            name,
            help=about.partition("\n")[0].replace("%", "%%"),
            description=about,
            formatter_class=RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        for parameter in parameters_of(question):
            _parameter(asked, parameter)
        _ys(asked)
        _feeds(asked)
        _at(asked, "end")
        _json(asked)


def _parameter(asked: ArgumentParser, parameter: inspect.Parameter) -> None:
    """The argument of a question as one of the command: what has a default may be left out."""
    kinds: dict[str, type] = {"int": int, "float": float}
    options: dict[str, Any] = {"type": kinds.get(str(parameter.annotation).partition(" ")[0], str)}
    if parameter.default is not parameter.empty:
        options["default"] = parameter.default
    if parameter.kind is parameter.KEYWORD_ONLY:
        asked.add_argument(f"--{parameter.name}", metavar="NUMBER", **options)
    else:
        nargs = None if parameter.default is parameter.empty else "?"
        asked.add_argument(parameter.name, metavar=parameter.name.upper(), nargs=nargs, **options)


def _ys(one: ArgumentParser) -> None:
    one.add_argument(
        "--ys",
        action="append",
        metavar="BLOB",
        default=[],
        help="what to differentiate, y or y,z (default: the one output)",
    )


def _feeds(one: ArgumentParser) -> None:
    one.add_argument(
        "--feed",
        action="append",
        metavar="WHAT",
        default=[],
        help="what the net reads: FILE.npz; FILE.json with lists of numbers by names of blobs; of one blob x=FILE.npy, "
        "x=1.5, 'x=[1.0, 2.0]'; may be given several times",
    )
    one.add_argument("--device", metavar="DEVICE", help="where to feed and run, as cuda:0 (default: cpu)")


def _at(one: ArgumentParser, default: str) -> None:
    one.add_argument(
        "--at",
        type=_where,
        metavar="WHERE",
        help=f"the number of an event, or what session.run_to takes: Accumulated, x_grad, NaN (default: the {default})",
    )


def _where(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _output(one: ArgumentParser, metavar: str, help: str) -> None:
    one.add_argument("-o", "--output", type=Path, metavar=metavar, help=help)


def _json(one: ArgumentParser) -> None:
    one.add_argument(
        "--json", action="store_true", help='print JSON; what has no number there is "nan", "inf" or "-inf"'
    )


def _operators(args: Namespace) -> int:
    say(markdown().removesuffix("\n"))
    return 0


def _completion(args: Namespace) -> int:
    say(script(parser(), args.shell).removesuffix("\n"))
    return 0
