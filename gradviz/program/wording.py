"""Words that sentences are put together from. Code stands between backticks."""

from collections.abc import Sequence


def code(text: object) -> str:
    """`text` between backticks."""
    return f"`{text}`"


def listed(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def count_of(count: int, noun: str) -> str:
    """``1 operator``, ``2 operators``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
