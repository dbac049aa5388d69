"""The command line: `gradviz lab` opens the demo notebooks in JupyterLab, `gradviz html` makes a page of a recording,
`gradviz operators` lists the operators."""

import argparse
import importlib.util
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from gradviz import GradvizError, Session, __version__, load
from gradviz.notebook import BUDGET
from gradviz.notebook.files import FileError
from gradviz.notebook.page import MOST_DOCUMENT, too_large
from gradviz.operators.table import markdown

FIRST_DEMO = "01-first-backward-pass.ipynb"
DEFAULT_FOLDER = "gradviz-demos"
RECORDING = ".gradviz.json"
REFUSED = 2
"""The exit status where what was asked for cannot be done."""
INTERRUPTED = 130
"""The exit status, as of every program that Ctrl+C ends."""
NOT_DEMOS = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")


def demos_folder() -> Path:
    """Where the demos lie: inside an installed package, beside the package in a clone.

    Raises FileNotFoundError if neither holds them.
    """
    package = Path(__file__).parent
    for folder in (package / "demos", package.parent / "demos"):
        if (folder / FIRST_DEMO).is_file():
            return folder
    raise FileNotFoundError(
        f"{FIRST_DEMO} lies neither in {package / 'demos'} nor in {package.parent / 'demos'}. "
        "The installation is incomplete; install it again: pip install --force-reinstall gradviz"
    )


def copy_demos(folder: Path) -> tuple[list[Path], list[Path]]:
    """Copies the demos into `folder`, made where it is missing.

    A file that is already there stays as it is, since its reader may have changed it.
    Returns the files copied and the files kept.
    """
    copied: list[Path] = []
    kept: list[Path] = []

    def copy_if_missing(source: str, target: str) -> None:
        if Path(target).exists():
            kept.append(Path(target))
        else:
            shutil.copyfile(source, target)
            copied.append(Path(target))

    shutil.copytree(demos_folder(), folder, copy_function=copy_if_missing, ignore=NOT_DEMOS, dirs_exist_ok=True)
    return copied, kept


def open_lab(folder: Path, options: Sequence[str]) -> int:
    """Copies the demos into `folder` and runs JupyterLab on the first of them until it is stopped.

    `options` go to JupyterLab as they are. Returns an exit status.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        print(
            "gradviz lab needs JupyterLab, which is not installed beside gradviz.\n"
            "Install it with: pip install 'gradviz[lab]' (from a clone: pip install '.[lab]')",
            file=sys.stderr,
        )
        return 1
    try:
        copied, kept = copy_demos(folder)
    except OSError as error:
        print(f"gradviz lab could not copy the demos to {folder}: {error}", file=sys.stderr)
        return 1
    print(f"{folder}: {len(copied)} demo files copied, {len(kept)} already there and left as they are", flush=True)

    from jupyterlab.labapp import LabApp

    LabApp.launch_instance([str(folder / FIRST_DEMO), *_as_root(), *options])
    return 0


def _as_root() -> list[str]:
    """What JupyterLab wants to hear from root, the only user of many a container, before it starts."""
    return ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []


def make_page(recording: Path, output: Path | None, title: str | None, budget: int, at: str | None = None) -> int:
    """Writes a page that shows `recording` to `output`, by default beside it. Returns an exit status.

    It opens `at` a position or what else `Session.run_to` takes, by default at the start.
    """
    try:
        session = _read(recording)
        if at is not None:
            session.run_to(int(at) if at.isdigit() else at)
        target = output or recording.with_name(recording.name.removesuffix(RECORDING) + ".html")
        if target.exists() and target.samefile(recording):
            raise FileError(
                f"{target} is the recording itself.", kind="not_a_file", ways_out=["Name another file: -o."]
            )
        session.to_html(target, budget=budget, title=title)
        size = target.stat().st_size
    except (GradvizError, OSError) as error:
        print(f"gradviz html: {error}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        print("gradviz html: interrupted, and nothing was written", file=sys.stderr)
        return INTERRUPTED
    print(f"{target}: {size / 1000:,.0f} KB")
    return 0


def _read(recording: Path) -> Session:
    """The session in a file, which is looked at before it is read."""
    if not recording.is_file():
        problem = "is no file" if recording.exists() else "does not exist"
        raise FileError(f"{recording} {problem}.", kind="no_file", ways_out=["session.save(path) writes a recording."])
    if recording.stat().st_size > MOST_DOCUMENT:
        raise too_large(str(recording), recording.stat().st_size)
    return load(recording)


def parser() -> argparse.ArgumentParser:
    """The parser of the command line. Options that it does not know belong to JupyterLab."""
    root = argparse.ArgumentParser(
        prog="gradviz", description="An interactive debugger for gradients in Jupyter.", allow_abbrev=False
    )
    root.add_argument("--version", action="version", version=f"gradviz {__version__}")
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    commands.add_parser(
        "lab",
        help="open the demo notebooks in JupyterLab",
        usage="gradviz lab [FOLDER] [JupyterLab's own options]",
        description=f"Copies the demo notebooks into FOLDER (default: {DEFAULT_FOLDER}), where files that are already "
        "there stay as they are, and opens the first one in JupyterLab. Further options go to JupyterLab.",
        allow_abbrev=False,
    )
    html = commands.add_parser(
        "html",
        help="make a page of a recording that any browser shows offline",
        description="Writes one HTML file that shows a recording, with all views and keys; it needs no server and no "
        "network. Nothing is written where the recording cannot be read.",
        allow_abbrev=False,
    )
    html.add_argument("recording", type=Path, help=f"a *{RECORDING} file, as session.save writes it")
    html.add_argument("-o", "--output", type=Path, metavar="PAGE", help="default: beside the recording, as .html")
    html.add_argument("--title", help="default: the name of the net")
    html.add_argument(
        "--budget",
        type=int,
        default=BUDGET,
        metavar="BYTES",
        help="most bytes for the numbers of values, before compression (default: %(default)s); what does not fit is "
        "left out, and the page says so",
    )
    html.add_argument(
        "--at",
        metavar="WHERE",
        help="where the page opens: the number of an event, or what session.run_to takes: Accumulated, x_grad, NaN "
        "(default: the start)",
    )
    commands.add_parser("operators", help="print the table of all operators in Markdown", allow_abbrev=False)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line `argv` (default: this process's own) and returns its exit status."""
    root = parser()
    known, rest = root.parse_known_args(argv)
    if known.command != "lab" and rest:
        root.error(f"unrecognized arguments: {' '.join(rest)}")
    if known.command == "html":
        return make_page(known.recording, known.output, known.title, known.budget, known.at)
    if known.command == "operators":
        print(markdown(), end="")
        return 0
    # Only a first word is the folder: a later one is the value of an option, as in `--port 8899`.
    if rest and not rest[0].startswith("-"):
        return open_lab(Path(rest[0]), rest[1:])
    return open_lab(Path(DEFAULT_FOLDER), rest)
