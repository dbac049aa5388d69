"""`gradviz lab`: the demos it copies, what it refuses, what it hands to JupyterLab."""

from pathlib import Path

import pytest

from gradviz.cli import lab
from tests.cli.processes import run, run_python


def test_every_demo_is_copied_into_an_empty_folder(tmp_path: Path) -> None:
    copied, kept = lab.copy_demos(tmp_path / "lessons")
    assert kept == []
    assert tmp_path / "lessons" / lab.FIRST_DEMO in copied
    for path in copied:
        assert path.read_bytes() == (lab.demos_folder() / path.relative_to(tmp_path / "lessons")).read_bytes()


def test_a_file_that_is_already_there_is_never_overwritten(tmp_path: Path) -> None:
    mine = tmp_path / lab.FIRST_DEMO
    mine.write_text("my own notes")
    copied, kept = lab.copy_demos(tmp_path)
    assert mine.read_text() == "my own notes"
    assert kept == [mine]
    assert mine not in copied


def test_a_second_copy_brings_back_only_what_was_removed(tmp_path: Path) -> None:
    lab.copy_demos(tmp_path)
    (tmp_path / lab.FIRST_DEMO).unlink()
    copied, _ = lab.copy_demos(tmp_path)
    assert copied == [tmp_path / lab.FIRST_DEMO]


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [
        pytest.param(["lab", "my lessons", "--version"], "my lessons", marks=pytest.mark.slow),
        (["lab", "--port", "8899", "--version"], "gradviz-demos"),
    ],
)
def test_lab_copies_the_demos_and_hands_options_to_jupyterlab(
    arguments: list[str], folder: str, tmp_path: Path
) -> None:
    jupyterlab = pytest.importorskip("jupyterlab")
    finished = run(*arguments, cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.splitlines()[-1] == jupyterlab.__version__
    assert [path.name for path in tmp_path.iterdir()] == [folder]
    assert (tmp_path / folder / lab.FIRST_DEMO).is_file()


def test_lab_refuses_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    finished = run("lab", "taken", cwd=tmp_path)
    assert finished.returncode == 2
    assert finished.stderr.startswith("gradviz lab: The demos cannot be copied to taken: ")


def test_lab_without_jupyterlab_says_how_to_get_it(tmp_path: Path) -> None:
    # A process in which JupyterLab cannot be found, as in an environment without the extra.
    program = (
        "import importlib.util as u, sys; find = u.find_spec;"
        "u.find_spec = lambda name, *rest: None if name == 'jupyterlab' else find(name, *rest);"
        "from gradviz.cli import main; sys.exit(main(['lab']))"
    )
    finished = run_python("-c", program, cwd=tmp_path)
    assert finished.returncode == 2
    assert "pip install 'gradviz[lab]'" in finished.stderr
    assert list(tmp_path.iterdir()) == []
