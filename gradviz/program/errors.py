"""Errors that explain themselves: what was wanted, where, why not, and the ways out.

Below them stand the words that sentences are put together from.
"""

from collections.abc import Iterable, Sequence
from heapq import nlargest
from math import prod
from sys import maxsize
from typing import Any, Self


class GradvizError(Exception):
    """Base of every error that gradviz raises on purpose.

    Attributes:
        kind: a stable word for the fault, e.g. ``"version_overwritten"``; ``str(error)`` may change, this does not.
        operator_index: index of the operator in the net as the caller wrote it, or None when no operator is at fault.
        blobs: names of the blobs at fault, most important first.
        ways_out: sentences, each one way to repair it.
        versions: where it matters which versions of these blobs are at fault, those: ``a@0``, the one that is missing
            first.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str = "",
        operator_index: int | None = None,
        blobs: Sequence[str] = (),
        ways_out: Sequence[str] = (),
        versions: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.operator_index = operator_index
        self.blobs = tuple(blobs)
        self.ways_out = tuple(ways_out)
        self.versions = tuple(versions)

    def __str__(self) -> str:
        return self.message + "".join(f"\n  - {way}" for way in self.ways_out)

    def retold(self, message: str, **changes: Any) -> Self:
        """The same error in other words, and with other fields; versions, which are those of one net, are left out."""
        return type(self)(**vars(self) | {"message": message, "versions": ()} | changes)

    def explain(self) -> str:
        """The whole story as text: the fault, its kind, operator and blobs, and every way out."""
        lines = [self.message]
        if self.kind:
            lines.append(f"Kind: {self.kind}")
        if self.operator_index is not None:
            lines.append(f"Operator: #{self.operator_index}")
        if self.blobs:
            lines.append(f"Blobs: {', '.join(shorten(blob) for blob in self.blobs)}")
        if self.ways_out:
            lines.append("Ways out:")
            lines.extend(f"  - {way}" for way in self.ways_out)
        return "\n".join(lines)


class NetError(GradvizError):
    """A net, an operator or a net file that cannot be what it says."""


class GradientError(GradvizError):
    """A backward pass that cannot be generated.

    ``kind`` is one of ``version_overwritten``, ``gradient_version``, ``no_gradient_rule``,
    ``missing_output_gradient``, ``bad_net``, ``bad_ys``, ``device_conflict``, ``orphan_stop_gradient``,
    ``rule_failed``, ``control_flow_structure``, ``bad_gradient``, ``cycle``, ``bad_argument``.
    """


class RunError(GradvizError):
    """An operator that cannot be executed on the values it was given.

    ``kind`` is one of ``unknown_operator``, ``bad_arity``, ``bad_argument``, ``undefined_blob``, ``bad_value``,
    ``shape_mismatch``, ``kernel_failed``, ``bad_device``, ``control_flow_structure``, ``too_many_iterations``,
    ``interrupted``, ``out_of_memory``.
    """


class RegistrationError(GradvizError):
    """A kernel, gradient rule or operator definition that cannot enter the table."""


def message_of(error: BaseException) -> str:
    """The text of an exception, which may be of a class that somebody wrote; where that fails, that it does."""
    try:
        return str(error)
    except Exception as fault:
        return f"what it says is not known, for its __str__ raised {type(fault).__name__}"


def raised(error: BaseException) -> str:
    """An exception at the end of a sentence: its class and its text, which the sentence closes."""
    text = message_of(error).strip().removesuffix(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def repr_of(value: object) -> str:
    """``repr(value)`` of an object of any class; where that fails, that it does."""
    try:
        return repr(value)
    except Exception as fault:
        return f"<{type(value).__name__} whose __repr__ raised {type(fault).__name__}>"


NO_ARRAY = "array is too big", "Maximum allowed size exceeded", "Maximum allowed dimension exceeded"
"""How numpy says, by a ValueError, that something is larger than all arrays can be."""


def wants_memory(error: Exception) -> bool:
    """Whether an error says that an array is too large to be made."""
    return isinstance(error, MemoryError) or (isinstance(error, ValueError) and message_of(error).startswith(NO_ARRAY))


def out_of_memory(error: Exception) -> RunError:
    """What a kernel says that got no memory, as an error of ours; numpy's tells the array that it was for."""
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    asked = f": it asked for {prod(shape) * dtype.itemsize:,} bytes, for {dtype} {shape}" if dtype and shape else ""
    if isinstance(error, ValueError):
        asked = f": it asked for more than the {maxsize:,} bytes that an array can have at most"
    return RunError(
        f"there is not enough memory{asked or f' ({error})' if str(error) else ''}.",
        kind="out_of_memory",
        ways_out=[
            "Give it less at a time: a smaller batch, or smaller images.",
            'Let go of what nobody needs any more: del ws["x"]. A recording keeps all values, unless it has a budget.',
        ],
    )


LONGEST_QUOTED = 60
"""Characters of a text that messages quote whole."""


def has_half_character(text: str) -> bool:
    """Whether one half of a character beyond the first 65 536 stands alone, which no file in UTF-8 can hold."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def shorten(text: str) -> str:
    """`text` in quotes when it needs them, cut in the middle when it is longer than `LONGEST_QUOTED`."""
    if len(text) > LONGEST_QUOTED:
        half = LONGEST_QUOTED // 2 - 2
        text = f"{text[:half]}...{text[-half:]} ({len(text)} characters)"
    return text if text and text.isprintable() and " " not in text else repr(text)


def code(text: object) -> str:
    """`text` between backticks."""
    return f"`{text}`"


def listed(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


MOST_NAMED = 4
"""Names that a sentence lists; of more the first few."""


def a_few(parts: Sequence[str]) -> str:
    """``a, b, c, d and 7 more``: the first few, and how many more there are."""
    if len(parts) <= MOST_NAMED + 1:
        return listed(parts)
    return listed([*parts[:MOST_NAMED], f"{len(parts) - MOST_NAMED} more"])


MOST_JOINED, FEW_JOINED = 200, 20
"""Blobs or operators that a line names; of more it names the first few."""


def joined(parts: Iterable[object], by: str = ", ") -> str:
    """``a, b, c``; of very many the first few, and how many more there are."""
    texts = list(map(str, parts))
    if len(texts) > MOST_JOINED:
        texts[FEW_JOINED:] = [f"… {len(texts) - FEW_JOINED} more"]
    return by.join(texts)


def count_of(count: int, noun: str) -> str:
    """``1 operator``, ``2 operators``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


MOST_COMPARED = 500
"""Names that are held against a wrong one letter by letter, which takes 20 µs each."""


def get_close_matches(word: str, possibilities: Iterable[str], n: int = 3, cutoff: float = 0.6) -> list[str]:
    """As `difflib.get_close_matches`; difflib, which takes its time to import, is there when a name is wrong."""
    from difflib import get_close_matches

    near = _with_letters_of(word, list(dict.fromkeys(possibilities)), cutoff)
    if len(near) > MOST_COMPARED:
        near = nlargest(MOST_COMPARED, near, key=lambda name: _ends_alike(word, name))
    return get_close_matches(word, near, n, cutoff)


def meant(word: str, words: Iterable[str], most: int = 2) -> list[str]:
    """The question whether a word with a mistake in it is one of these; empty: it is like none of them."""
    near = get_close_matches(word, words, most)
    return [f"Did you mean {' or '.join(near)}?"] if near else []


def _ends_alike(word: str, name: str) -> int:
    """How many letters two words have in common at their beginnings and ends: one mistake leaves all others."""
    return _begin_alike(word, name) + _begin_alike(word[::-1], name[::-1])


def _begin_alike(word: str, name: str) -> int:
    differ = (place for place, (one, other) in enumerate(zip(word, name, strict=False)) if one != other)
    return next(differ, min(len(word), len(name)))


def _with_letters_of(word: str, names: list[str], cutoff: float) -> list[str]:
    """The names of which enough letters are in `word` for them to be alike; others need not be compared."""
    text = "\n".join(names)
    shared = text.translate(dict.fromkeys(map(ord, set(text) - {*word, "\n"}))).split("\n")
    if len(shared) != len(names):
        return names
    pairs = zip(names, map(len, shared), strict=True)
    return [name for name, count in pairs if 2 * min(count, len(word)) >= cutoff * (len(name) + len(word))]
