"""Scripts that complete the command line in a shell, made from its parser: what it takes, they know.

A place on the command line is the command, with its question, and how many words that are no options stand behind it:
``ask/1`` is where the question is expected. Which words fit at a place, at which places a word is part of the command,
and which options a command has, is all that a script knows; elsewhere the shell completes files.
"""

from __future__ import annotations

from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator

SHELLS = ("bash", "zsh", "fish")

WORDS = """\
_gradviz_words() {
  local before="" plain=0
  found=""
  while [ $# -gt 1 ]; do
    case "$1" in
      -*) ;;
      *) case "$before/$plain" in
        @leading@) before="${before:+$before }$1" plain=0 ;;
        *) plain=$((plain + 1)) ;;
      esac ;;
    esac
    shift
  done
  case "$1" in
    -*) case "$before" in
@options@
    esac ;;
    *) case "$before/$plain" in
@places@
    esac ;;
  esac
}
"""
"""Puts what fits for the last of its arguments, behind those before it, into $found."""

BASH = """\
_gradviz() {
  local found
  _gradviz_words "${COMP_WORDS[@]:1:COMP_CWORD}"
  COMPREPLY=($(compgen -W "$found" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _gradviz gradviz
"""

ZSH = """\
_gradviz() {
  local found
  _gradviz_words "${(@)words[2,CURRENT]}"
  if [ -n "$found" ]; then compadd -- ${=found}; else _files; fi
}
compdef _gradviz gradviz
"""

FISH = """\
function __gradviz_place
    set -l before ""
    set -l plain 0
    for word in (commandline -opc)[2..]
        string match -q -- '-*' $word; and continue
        switch "$before/$plain"
            case @leading@
                set before (string trim -- "$before $word")
                set plain 0
            case '*'
                set plain (math $plain + 1)
        end
    end
    echo "$before/$plain"
end
@options@
@places@
"""


def script(parser: ArgumentParser, shell: str) -> str:
    """The script for one of `SHELLS`."""
    places: dict[str, str] = {}
    leading: list[str] = []
    options: dict[str, list[str]] = {}
    for path, one in _with_those_below(parser):
        options[path] = [name for action in one._actions for name in action.option_strings]
        for number, action in enumerate(action for action in one._actions if not action.option_strings):
            if action.choices is not None:
                places[f"{path}/{number}"] = " ".join(map(str, action.choices))
            if isinstance(action, _SubParsersAction):
                leading.append(f"{path}/{number}")
    if shell == "fish":
        text, before = FISH, " ".join(f"'{place}'" for place in leading)
        offered = [_of_fish(path, name) for path, names in options.items() for name in names]
        words = [_words_of_fish(place, choices) for place, choices in places.items()]
    else:
        text, before = WORDS + (BASH if shell == "bash" else ZSH), "|".join(f'"{place}"' for place in leading)
        offered = [f'      "{path}") found="{" ".join(names)}" ;;' for path, names in options.items()]
        words = [f'      "{place}") found="{choices}" ;;' for place, choices in places.items()]
    text = text.replace("@leading@", before).replace("@options@", "\n".join(offered))
    return text.replace("@places@", "\n".join(words))


def _with_those_below(parser: ArgumentParser, path: str = "") -> Iterator[tuple[str, ArgumentParser]]:
    """A parser and all below it, each with the words that lead to it."""
    yield path, parser
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for name, inner in action.choices.items():
                yield from _with_those_below(inner, f"{path} {name}".strip())


def _of_fish(path: str, option: str) -> str:
    letter = f"-s {option[1:]}" if len(option) == 2 else f"-l {option[2:]}"
    return f"complete -c gradviz -n 'string match -q -- \"{path}/*\" (__gradviz_place)' {letter}"


def _words_of_fish(place: str, words: str) -> str:
    return f"complete -c gradviz -n 'test (__gradviz_place) = \"{place}\"' -f -a '{words}'"
