"""Shelf: a mapping of arrays that a store keeps; to get one reads it back where that is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, TypeVar, final

from ..operators.registry import Array
from ..operators.scopes import ScopeStack
from .store import Store, StoredArray

Key = TypeVar("Key")
Other = TypeVar("Other")


@final
class Shelf(MutableMapping[Key, Array]):
    """Arrays by key. Stacks of workspaces stand among them as they are; their workspaces are shelves themselves.

    Raises:
        StoreError: on reading an array whose file is gone.
    """

    __slots__ = ("__weakref__", "_entries", "store")

    def __init__(self, store: Store) -> None:
        self.store = store
        self._entries: dict[Key, StoredArray | ScopeStack] = {}

    @property
    def entries(self) -> Mapping[Key, StoredArray | ScopeStack]:
        """What stands for each array and has its shape and dtype, so that it need not be read; stacks as they are."""
        return self._entries

    def share(self, key: Key, other: Shelf[Other], theirs: Other) -> None:
        """Put here what `other` has as `theirs`, without reading it."""
        self._entries[key] = other._entries[theirs]

    def __getitem__(self, key: Key) -> Array:
        entry = self._entries[key]
        return self.store.fetch(entry) if isinstance(entry, StoredArray) else entry

    def __setitem__(self, key: Key, array: Array) -> None:
        self.put(key, array, is_fed=False)

    def put(self, key: Key, array: Array, *, is_fed: bool) -> None:
        """The same as ``shelf[key] = array``; what `is_fed` is kept outside anyway."""
        self._entries[key] = array if isinstance(array, ScopeStack) else self.store.keep(array, is_fed=is_fed)

    def __delitem__(self, key: Key) -> None:
        del self._entries[key]

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[Key]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def new_values(store: Store | None) -> MutableMapping[Key, Array]:
    """An empty mapping whose arrays `store` keeps, or that keeps them itself."""
    return {} if store is None else Shelf(store)


def beside(values: Mapping[Any, Array], contents: Mapping[Key, Array]) -> MutableMapping[Key, Array]:
    """A mapping of its own with `contents`, which keeps arrays as `values` does; both do that in the same way."""
    if type(values) is not Shelf:
        return dict(contents)
    made: Shelf[Key] = Shelf(values.store)
    for key in contents:
        share(key, made, contents, key)
    return made


def feed(values: MutableMapping[Key, Array], arrays: Mapping[Key, Array]) -> None:
    """Put arrays into `values` that are kept outside anyway."""
    if type(values) is not Shelf:
        values.update(arrays)
        return
    for key, array in arrays.items():
        values.put(key, array, is_fed=True)


def share(key: Key, into: MutableMapping[Key, Array], other: Mapping[Other, Array], theirs: Other) -> None:
    """Put into a mapping what `other` has as `theirs`; between shelves without reading it."""
    if type(into) is Shelf and type(other) is Shelf:  # isinstance takes long for an abstract base class
        into.share(key, other, theirs)
    else:
        into[key] = other[theirs]
