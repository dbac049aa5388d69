"""The names that are nearest to a wrong one."""

from collections.abc import Iterable


def get_close_matches(word: str, possibilities: Iterable[str], n: int = 3, cutoff: float = 0.6) -> list[str]:
    """As `difflib.get_close_matches`; difflib, which takes its time to import, is there when a name is wrong."""
    from difflib import get_close_matches

    return get_close_matches(word, list(possibilities), n, cutoff)
