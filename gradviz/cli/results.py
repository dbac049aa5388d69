"""What `gradviz run` and `gradviz grad` print: answers, as those to questions are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from ..debugger.answers import Answer, Block, Bullets, Grid, Paragraph
from ..debugger.document import Number, json_safe
from ..debugger.statistics import statistics
from ..debugger.telling import measured
from ..operators.registry import Array
from ..program import Gradient
from ..program.errors import count_of, listed
from ..program.operator import parts_of
from ..runtime.devices import CPU, device_of, moved

ELEMENTS = 60
"""Of an array with more the text shows the corners."""


class RunView(Answer, frozen=True):
    """What a run gave.

    Attributes:
        net: its name.
        blobs: the arrays asked for, or the outputs.
    """

    answer = "run"
    net: str
    blobs: dict[str, Array]

    def blocks(self) -> Iterator[Block]:
        for name, array in self.blobs.items():
            numbers = np.array2string(moved(array, CPU), threshold=ELEMENTS, prefix="  ", max_line_width=100)
            yield Paragraph(f"{name}: {measured(statistics(array))}\n  {numbers}")
        if not self.blobs:
            yield Paragraph(f"{self.net} was run, and there is no array to show.")

    def to_dict(self) -> dict[str, Any]:
        """``{"answer": "run", "net", "blobs": {name: {"shape", "dtype", "device", "values"}}}``.

        The values are lists of that shape, in which a complex number is a list of two.
        """
        return {
            "answer": self.answer,
            "net": self.net,
            "blobs": {name: _plain(one) for name, one in self.blobs.items()},
        }


def _plain(array: Array) -> dict[str, Any]:
    numbers = moved(array, CPU)
    if numbers.dtype.kind == "c":
        numbers = np.stack([numbers.real, numbers.imag], -1)
    about = {"shape": list(array.shape), "dtype": str(array.dtype), "device": str(device_of(array))}
    return {**about, "values": json_safe(numbers.tolist())}


class GradientOf(msgspec.Struct, frozen=True):
    """The gradient of a blob.

    Attributes:
        gradient: its name, or those of its indices and values.
        shape, dtype, norm: of a sparse one those of its values, and the norm of all; None: not computed.
    """

    gradient: Gradient
    shape: list[int] | None
    dtype: str | None
    norm: Number | None


class GradView(Answer, frozen=True):
    """The backward pass of a net.

    Attributes:
        net: its name.
        ys: what was differentiated.
        operators: the gradient operators in SSA form.
        gradients: blob -> its gradient.
    """

    answer = "grad"
    net: str
    ys: list[str]
    operators: list[str]
    gradients: dict[str, GradientOf]

    def blocks(self) -> Iterator[Block]:
        count = count_of(len(self.operators), "gradient operator")
        yield Paragraph(f"{self.net}, differentiated from {listed(self.ys)}: {count}", is_title=True)
        yield Bullets(self.operators)
        rows = [(name, ", ".join(parts_of(one.gradient)), *_texts(one)) for name, one in self.gradients.items()]
        yield Grid("Gradients", ("blob", "gradient", "shape", "norm"), rows)


def _texts(one: GradientOf) -> tuple[str, str]:
    if one.shape is None:
        return "not computed", "not computed"
    norm = one.norm if isinstance(one.norm, str) or one.norm is None else f"{one.norm:.4g}"
    return f"{' × '.join(map(str, one.shape)) or 'scalar'} {one.dtype}", norm or "none"
