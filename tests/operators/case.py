"""One call of an operator, and the arrays to make it with; the tables of calls are in cases*.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradviz.operators import OperatorType, lookup, types
from gradviz.program import Operator

Array = np.ndarray[Any, Any]


def floats(*shape: int, seed: int = 0, low: float = 0.2, high: float = 1.7, signed: bool = True) -> Array:
    """Random numbers of both signs (or positive) whose magnitudes keep away from kinks and poles at 0."""
    random = np.random.default_rng([seed, *shape])
    magnitudes = random.uniform(low, high, shape)
    return np.asarray(magnitudes * random.choice([-1.0, 1.0], shape) if signed else magnitudes)


def positive(*shape: int, seed: int = 0) -> Array:
    """Random numbers above 0."""
    return floats(*shape, seed=seed, signed=False)


def probabilities(*shape: int, seed: int = 0) -> Array:
    """Random rows that sum to 1."""
    values = positive(*shape, seed=seed)
    return values / values.sum(axis=-1, keepdims=True)


def integers(*values: int) -> Array:
    """Labels, shapes, sizes."""
    return np.array(values, dtype=np.int64)


@dataclass(frozen=True)
class Case:
    """One call of an operator.

    Attributes:
        inputs: the arrays that it reads, in order, by name; a name that stands twice in `reads` is a repeated input.
        reads: the input names, where they are not those of `inputs` in order.
        writes: the output names.
        given: the outputs that have a gradient; None: all floating-point ones.
        constants: inputs without gradient although they are floating-point.
    """

    type: str
    about: str
    inputs: Mapping[str, Array]
    args: Mapping[str, Any] = field(default_factory=dict)
    reads: Sequence[str] = ()
    writes: Sequence[str] = ("out",)
    given: Sequence[str] | None = None
    constants: Sequence[str] = ()

    def __str__(self) -> str:
        return f"{self.type}-{self.about.replace(' ', '_')}"

    @property
    def op(self) -> Operator:
        """The operator of this case."""
        return Operator(self.type, list(self.reads or self.inputs), list(self.writes), dict(self.args))

    @property
    def known(self) -> OperatorType:
        """Its entry in the table."""
        known = lookup(self.type)
        assert known is not None
        return known

    def forward(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """What the kernel gives for `values`, by output name."""
        kernel, op = self.known.kernel, self.op
        assert kernel is not None
        result = kernel(op, *[values[name] for name in op.inputs])
        return dict(zip(self.writes, result if isinstance(result, tuple) else (result,), strict=True))

    def values(self, dtype: type[np.floating[Any]] = np.float64) -> dict[str, Array]:
        """The inputs, floating-point ones as `dtype`."""
        return {name: a.astype(dtype) if a.dtype.kind == "f" else a for name, a in self.inputs.items()}


def defined_types() -> list[OperatorType]:
    """The types that gradviz itself defines; other tests may register more."""
    return [known for known in types() if known.infer is not None]


def unary(type: str, make: Any = floats, **args: Any) -> list[Case]:
    """Calls of a function of each element."""
    shapes = {"vector": (5,), "matrix": (3, 4), "3 dims": (2, 3, 2), "scalar": (), "empty": (0, 3)}
    return [Case(type, about, {"x": make(*shape)}, args) for about, shape in shapes.items()]


def pair(type: str, make: Any = floats) -> list[Case]:
    """Calls of a function of two arrays that broadcast."""

    def two(about: str, x: tuple[int, ...], y: tuple[int, ...], **args: Any) -> Case:
        return Case(type, about, {"x": make(*x), "y": make(*y, seed=1)}, args)

    return [
        two("plain", (3, 4), (3, 4)),
        Case(type, "repeated", {"x": make(3, 4)}, reads=("x", "x")),
        two("y a row", (3, 4), (4,)),
        two("y a column", (3, 4), (3, 1)),
        two("y a scalar", (2, 3), ()),
        two("x a scalar", (), (2, 3)),
        two("x smaller", (4,), (2, 3, 4)),
        two("both stretched", (3, 1, 2), (4, 1)),
        two("empty", (0, 3), (3,)),
        two("stretched to nothing", (1, 3), (0, 3)),
        two("legacy suffix", (2, 3, 4), (3, 4), broadcast=1),
        two("legacy axis 1", (2, 3, 4), (3,), broadcast=1, axis=1),
        two("legacy axis 0", (2, 3, 4), (2, 3), broadcast=1, axis=0),
        two("legacy one element", (2, 3), (1, 1, 1), broadcast=1),
        two("legacy axis by letter", (2, 3, 2, 2), (3,), broadcast=1, axis_str="C"),
        two("legacy with ones", (2, 3, 4), (1, 3, 1), broadcast=1),
        two("legacy same shape", (2, 3), (2, 3), broadcast=1),
    ]
