"""What IPython offers behind a magic: blobs, targets and sessions, with Jedi or without."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from ...program import GradvizError, NetDef
from ..channel import kernel_channel
from ..session_protocol import Shown
from .cell_magic import OPTIONS, goes_back
from .current import session_variables

IDENTIFIER = "gradviz.magics"

_LINE = re.compile(r"\s*%(%?\w+)[ \t]+(.*)")
_LAST_WORD = re.compile(r"[^\s()<>=!+*/%,]*$")
BY_WORDS = ("break", "watch", "%gradviz")
"""Magics that are written word by word; behind others stands one name."""

Words = Callable[[Shown, str], Iterable[str]]


def _blobs(session: Shown, begun: str) -> Iterable[str]:
    """The names, and once an @ is written the versions."""
    return (word for word in sorted(session.words) if "@" in word) if "@" in begun else session.blobs


def _targets(session: Shown, _begun: str) -> Iterable[str]:
    return sorted(session.words)


BEHIND: dict[str, tuple[str, Words]] = {
    **dict.fromkeys(("value", "ledger", "why", "watch"), ("blob", _blobs)),
    **dict.fromkeys(("run_to", "break"), ("target", _targets)),
}
"""Which words of a session come behind which magic, and what they are called."""


def matcher(names: Mapping[str, Any]) -> Any:
    """A matcher of IPython's completer; `names` are the user's variables."""

    @context_matcher(identifier=IDENTIFIER)  # type: ignore[untyped-decorator]
    def offer(context: CompletionContext) -> SimpleMatcherResult:
        match = _LINE.fullmatch(context.text_until_cursor)
        if match is None:
            return SimpleMatcherResult(completions=[])
        magic, behind = match.groups()
        begun = _LAST_WORD.findall(behind)[0] if magic in BY_WORDS else behind
        kind, choices = _words(magic, begun, behind.removesuffix(begun), names)
        if begun[:1] == "`":
            choices = [f"`{word}`" for word in choices]
        words = [word for word in dict.fromkeys(choices) if word.startswith(begun)]
        return SimpleMatcherResult(
            completions=[SimpleCompletion(word, type=kind) for word in words],
            matched_fragment=begun,
            ordered=True,
            suppress=bool(words),
        )

    return offer


def _words(magic: str, begun: str, before: str, names: Mapping[str, Any]) -> tuple[str, Iterable[str]]:
    """All that can stand behind a magic and the words `before`, and what it is called."""
    channel = kernel_channel()
    if magic == "session":
        return "session", [*session_variables(names), *channel.sessions.values()]
    if magic == "%gradviz":
        return _of_cells(before.split()[-1:], names)
    session = channel.latest
    if session is None or magic not in BEHIND:
        return "", []
    kind, words = BEHIND[magic]
    try:
        return kind, list(words(session, begun))
    except GradvizError:  # a file that contradicts itself; the magic says so
        return kind, []


def _of_cells(before: list[str], names: Mapping[str, Any]) -> tuple[str, Iterable[str]]:
    """What stands behind an option of the magic of cells, or else the options."""
    nets = {name: one for name, one in names.items() if isinstance(one, NetDef) and name[:1] != "_"}
    match before:
        case ["--net"]:
            return "net", nets
        case ["--ys"]:
            blobs = [blob for net in nets.values() for op in net.ops for blob in op.outputs]
            return "blob", [*blobs, *(name for name, one in names.items() if goes_back(one) and name[:1] != "_")]
        case ["--device"]:
            return "device", ["cpu", "cuda:0"]
    return "option", OPTIONS
