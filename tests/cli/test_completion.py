"""`gradviz completion`: the scripts say in each shell what the parser takes."""

import shutil
import subprocess
from argparse import ArgumentParser
from pathlib import Path

import pytest

from gradviz.cli.completion import script
from gradviz.cli.parser import parser
from gradviz.cli.recordings import QUESTIONS
from tests.cli.conftest import Command

ASK = {
    "bash": '{script}\nCOMP_WORDS=({line} "{last}"); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _gradviz; '
    'printf "%s\\n" "${{COMPREPLY[@]}}"',
    "zsh": 'compdef() {{ :; }}\n{script}\nset -- {line} "{last}"; shift; _gradviz_words "$@"; print -l -- ${{=found}}',
    "fish": '{script}\ncomplete -C "{line} {last}"',
}


def completed(shell: str, root: ArgumentParser, line: str, last: str, folder: Path) -> set[str]:
    """What a shell offers for the word `last` behind a line."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    asked = ASK[shell].format(script=script(root, shell), line=line, last=last)
    finished = subprocess.run([program, "-c", asked], cwd=folder, capture_output=True, text=True, check=True)
    assert finished.stderr == ""
    words = {word.partition("\t")[0] for word in finished.stdout.splitlines()} - {""}
    return {word for word in words if word.startswith(last)}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_offers_commands_questions_and_options(shell: str, tmp_path: Path) -> None:
    root = parser()

    def offered(line: str, last: str) -> set[str]:
        return completed(shell, root, line, last, tmp_path)

    assert offered("gradviz", "g") == {"grad", "graph"}
    assert offered("gradviz ask a.gradviz.json", "") == {*QUESTIONS}
    assert offered("gradviz ask a.gradviz.json ledger x", "--a") == {"--at"}
    assert offered("gradviz run --feed x=1 net.json", "--fe") == {"--feed", "--fetch"}
    assert offered("gradviz completion", "") == {"bash", "zsh", "fish"}
    assert offered("gradviz run", "") == set()  # files, of which there are none


def test_a_new_argument_is_known_at_once(tmp_path: Path) -> None:
    root = ArgumentParser(prog="gradviz")
    commands = root.add_subparsers()
    commands.add_parser("dream").add_argument("--of")
    assert completed("bash", root, "gradviz", "", tmp_path) == {"dream"}
    assert completed("bash", root, "gradviz dream", "--o", tmp_path) == {"--of"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_command_prints_the_script(shell: str, command: Command) -> None:
    assert command("completion", shell).out == script(parser(), shell)
