"""`gradviz lab`: the demo notebooks, copied and opened in JupyterLab."""

import importlib.util
import os
import shutil
from argparse import Namespace
from pathlib import Path

from ..program import GradvizError
from ..program.files import FileError

FIRST_DEMO = "01-first-backward-pass.ipynb"
DEFAULT_FOLDER = "gradviz-demos"
NOT_DEMOS = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")


def demos_folder() -> Path:
    """Where the demos lie: inside an installed package, beside the package in a clone.

    Raises FileNotFoundError if neither holds them.
    """
    package = Path(__file__).parents[1]
    for folder in (package / "demos", package.parent / "demos"):
        if (folder / FIRST_DEMO).is_file():
            return folder
    raise FileNotFoundError(
        f"{FIRST_DEMO} lies neither in {package / 'demos'} nor in {package.parent / 'demos'}. "
        "The installation is incomplete; install it again: pip install --force-reinstall gradviz"
    )


def copy_demos(folder: Path) -> tuple[list[Path], list[Path]]:
    """Copies the demos into `folder`, which is created where it is missing.

    A file that is already there stays as it is, since its reader may have changed it.
    Returns the files copied and the files kept.
    """
    copied: list[Path] = []
    existing: list[Path] = []

    def copy_if_missing(source: str, target: str) -> None:
        if Path(target).exists():
            existing.append(Path(target))
        else:
            shutil.copyfile(source, target)
            copied.append(Path(target))

    shutil.copytree(demos_folder(), folder, copy_function=copy_if_missing, ignore=NOT_DEMOS, dirs_exist_ok=True)
    return copied, existing


def lab(args: Namespace) -> int:
    """Copies the demos and runs JupyterLab on the first of them until it is stopped; it gets all other words.

    Only a first word is a folder: a later one is the value of an option, as in `--port 8899`.

    Raises:
        GradvizError: ``no_jupyterlab``: it is not installed.
        FileError: ``cannot_write``: the demos cannot be copied.
    """
    is_named = args.rest and not args.rest[0].startswith("-")
    name, *options = args.rest if is_named else [DEFAULT_FOLDER, *args.rest]
    folder = Path(name)
    if importlib.util.find_spec("jupyterlab") is None:
        raise GradvizError(
            "JupyterLab is not installed beside gradviz.",
            kind="no_jupyterlab",
            ways_out=["Install it: pip install 'gradviz[lab]' (from a clone: pip install '.[lab]')."],
        )
    try:
        copied, existing = copy_demos(folder)
    except OSError as error:
        raise FileError(
            f"The demos cannot be copied to {folder}: {error}.",
            kind="cannot_write",
            ways_out=["Name a folder that you may write to: gradviz lab FOLDER."],
        ) from error
    print(f"{folder}: {len(copied)} demo files copied, {len(existing)} already there and left as they are", flush=True)

    from jupyterlab.labapp import LabApp

    LabApp.launch_instance([str(folder / FIRST_DEMO), *_as_root(), *options])
    return 0


def _as_root() -> list[str]:
    """What JupyterLab wants to hear from root, the only user of many a container, before it starts."""
    return ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
