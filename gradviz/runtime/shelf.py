"""Shelf: a mapping of arrays that a store keeps; to read one fetches it, whatever that takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import TypeVar, final

from ..operators import ArraySpec
from ..operators.registry import Array
from ..operators.scopes import ScopeStack
from .held import Held
from .store import Store

Key = TypeVar("Key")
Other = TypeVar("Other")


@final
class Shelf(MutableMapping[Key, Array]):
    """Arrays by key. Stacks of workspaces stand among them as they are; their workspaces are shelves themselves.

    Raises:
        StoreError: on reading an array that cannot be had again.
    """

    __slots__ = ("__weakref__", "_held", "store")

    def __init__(self, store: Store) -> None:
        self.store = store
        self._held: dict[Key, Held | ScopeStack] = {}

    def feed(self, arrays: Mapping[Key, Array]) -> None:
        """Put arrays here that are kept outside anyway."""
        for key, array in arrays.items():
            self._held[key] = array if isinstance(array, ScopeStack) else self.store.keep(array, is_fed=True)

    def held(self, key: Key) -> Held | ScopeStack | None:
        """What stands for an array; None: there is none of this key."""
        return self._held.get(key)

    @property
    def specs(self) -> Mapping[Key, ArraySpec | ScopeStack]:
        """The shape and dtype of each array, none of which is fetched for this; stacks as they are."""
        return _Specs(self._held)

    def share(self, key: Key, other: Shelf[Other], theirs: Other) -> None:
        """Put here what `other` has as `theirs`, without fetching it."""
        self._held[key] = other._held[theirs]

    def __getitem__(self, key: Key) -> Array:
        held = self._held[key]
        return self.store.fetch(held) if isinstance(held, Held) else held

    def __setitem__(self, key: Key, array: Array) -> None:
        self._held[key] = array if isinstance(array, ScopeStack) else self.store.keep(array)

    def __delitem__(self, key: Key) -> None:
        del self._held[key]

    def __contains__(self, key: object) -> bool:
        return key in self._held

    def __iter__(self) -> Iterator[Key]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


class _Specs(Mapping[Key, ArraySpec | ScopeStack]):
    def __init__(self, held: Mapping[Key, Held | ScopeStack]) -> None:
        self._held = held

    def __getitem__(self, key: Key) -> ArraySpec | ScopeStack:
        held = self._held[key]
        return held.spec if isinstance(held, Held) else held

    def __iter__(self) -> Iterator[Key]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


def share(key: Key, into: MutableMapping[Key, Array], other: Mapping[Other, Array], theirs: Other) -> None:
    """Put into a mapping what `other` has as `theirs`; between shelves without fetching it."""
    if type(into) is Shelf and type(other) is Shelf:  # isinstance takes long for an abstract base class
        into.share(key, other, theirs)
    else:
        into[key] = other[theirs]


def beside(blobs: Mapping[str, Array], contents: Mapping[str, Array]) -> MutableMapping[str, Array]:
    """A mapping of its own with `contents`, kept as `blobs` are."""
    if type(blobs) is not Shelf:
        return dict(contents)
    made: Shelf[str] = Shelf(blobs.store)
    for name in contents:
        share(name, made, contents, name)
    return made
