"""What runs parts of a recorded program again where its operators are none of the table: an engine may bring it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from ..operators.registry import Array
from ..program.net_halves import Key


class Rest(NamedTuple):
    """What the rest of a program makes of a blob.

    Attributes:
        run: from an array in place of the blob to the values of the ys, as the journal lists them.
        notes: how it is run, and what stays as it was though the blob changes it, in words.
    """

    run: Callable[[Array], list[Array]]
    notes: list[str]


class Again(Protocol):
    """Parts of a program, to be run again on other values."""

    def rest(self, blob: Key) -> Callable[[], Rest]:
        """What runs the program once, and gives what is behind a blob version.

        Both raise GradvizError where it cannot be run again as it was, at once where that is known without running it.
        """

    def backward(self, index: int, arriving: Mapping[int, Array]) -> list[Array | None]:
        """What forward operator `index` sends to each of its inputs, of the gradients of some of its outputs.

        Raises:
            GradvizError: its backward cannot be run again.
        """
