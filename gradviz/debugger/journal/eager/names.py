"""Names of the gradients of a pass that runs while it is recorded: as in a generated one, where they are known at once.

The first gradient that an operator writes for x is x_grad, the next ones _x_grad_autosplit_0, _1, ...; their sum is
x_grad again, another version of it. A gradient that passes through a function keeps its name.
"""

from collections import defaultdict
from collections.abc import Iterable

from ....operators.registry import gradient_name
from ....program import GradientSlice
from ....program.operator import numbered_name


class RankNames:
    """Gives names that are not in use.

    Args:
        taken: names in use.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._base: dict[str, str] = {}
        self._numbers: defaultdict[str, int] = defaultdict(int)

    def fresh(self, name: str) -> str:
        """`name`, with a number where it is in use."""
        if name in self._taken:
            name = numbered_name(name, self._taken.__contains__)
        self._taken.add(name)
        return name

    def written(self, blob: str) -> str:
        """The name of a gradient that an operator writes for `blob`."""
        base = self._base.get(blob)
        return self.total(blob) if base is None else self._split(base)

    def written_slice(self, blob: str) -> GradientSlice:
        """The names of a sparse one."""
        base = self._base.get(blob)
        if base is None:
            base = self.total(blob)
            return GradientSlice(self.fresh(f"{base}_indices"), self.fresh(f"{base}_values"))
        return GradientSlice(self._split(f"{base}_indices"), self._split(f"{base}_values"))

    def total(self, blob: str) -> str:
        """The name of the sum of the gradients of `blob`."""
        base = self._base.get(blob)
        if base is None:
            base = self._base[blob] = self.fresh(gradient_name(blob))
        return base

    def _split(self, base: str) -> str:
        number = self._numbers[base]
        self._numbers[base] += 1
        return self.fresh(f"_{base}_autosplit_{number}")
