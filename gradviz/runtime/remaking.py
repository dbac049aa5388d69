"""Making arrays again: which operators have to run, in which order, and whether they give what they gave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..operators.registry import Array
from .fingerprint import fingerprint
from .held import Held, Making
from .store_faults import not_repeatable


def makings_of(targets: Sequence[Held]) -> list[Making]:
    """What must be run to have `targets`, each after what it reads from; what is in memory or in a file is there."""
    order: dict[int, Making] = {}
    pending = [(target, False) for target in reversed(targets)]
    while pending:
        held, is_ready = pending.pop()
        making = held.making
        assert making is not None
        if id(making) in order:
            continue
        if is_ready:
            order[id(making)] = making
            continue
        pending.append((held, True))
        pending += [
            (one, False) for one in making.inputs if isinstance(one, Held) and one.array is None and one.file is None
        ]
    return list(order.values())


def made_again(making: Making, arrays: Sequence[Any]) -> Iterator[tuple[Held, Array]]:
    """Run an operator again; yields what it makes, with the array, which is not checked yet.

    Raises:
        StoreError: ``not_repeatable``: it fails.
    """
    try:
        results = making.run(arrays)
    except Exception as error:
        raise not_repeatable(making.what, f"raised {type(error).__name__}: {error}") from error
    for output, array in zip(making.outputs, results, strict=True):
        held = output()
        if held is not None and held.making is making:
            yield held, array


def check(held: Held, array: Array) -> None:
    """Raise StoreError ``not_repeatable`` unless `array` is what `held` was, bit for bit."""
    if fingerprint(array) != held.fingerprint:
        assert held.making is not None
        raise not_repeatable(held.making.what, "gave another one")
