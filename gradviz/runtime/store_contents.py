"""What a store has, in numbers."""

from typing import NamedTuple


class Count(NamedTuple):
    """How many arrays, and how many bytes they take."""

    arrays: int
    bytes: int


class Contents(NamedTuple):
    """What a store has, and what it has done.

    Attributes:
        budget: bytes.
        fed: from outside.
        kept, dropped, spilled: what operators made. Kept bytes are those of memory: of views they are counted once.
        peak: the most bytes that were kept.
        made_again, read_again: how often an array came back, by running an operator or from a file.
        seconds: how long that took.
        cannot_go: bytes of what can neither be dropped nor spilled.
        refused: what could not be done as asked, in words.
    """

    budget: int
    fed: Count
    kept: Count
    dropped: Count
    spilled: Count
    peak: int
    made_again: int
    read_again: int
    seconds: float
    cannot_go: int
    refused: tuple[str, ...]
