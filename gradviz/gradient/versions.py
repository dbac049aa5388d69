"""A list for each version of each blob."""

from typing import Generic, TypeVar

T = TypeVar("T")


class PerVersion(dict[str, list[list[T]]], Generic[T]):
    """Name -> version -> list; the lists of a blob are made up to the version that is asked for."""

    def at(self, name: str, version: int) -> list[T]:
        """The list of `name` at `version`, which may be appended to."""
        lists = self.get(name)
        if lists is None:
            if version == 0:
                made: list[T] = []
                self[name] = [made]
                return made
            lists = self[name] = []
        while len(lists) <= version:
            lists.append([])
        return lists[version]
