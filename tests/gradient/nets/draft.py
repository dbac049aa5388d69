"""A net under construction, each operator of which runs in the reference as it is added."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from gradviz.program import Operator
from tests.gradient.reference.elementwise import PASSED, QUESTIONS
from tests.gradient.reference.run import FIRST_OUTPUT_ONLY, WITHOUT_RULE, outputs_of

from .call import WIDE, Call, Value
from .naming import output_names
from .smooth import can_be_compared

if TYPE_CHECKING:
    from .pick import Pick

MOST_ELEMENTS, MOST_DIMENSIONS = 72, 4
"""How large blobs get."""

DTYPES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("ArgMax", "ArgMin", "Shape", "Size"), ("int64",)),
    **dict.fromkeys(("OneHot", "Accuracy"), ("float32",)),
    **dict.fromkeys((*QUESTIONS, "Not", "IsNaN"), ("bool",)),
    **dict.fromkeys(("Concat", "DepthConcat"), ("float64", "int32")),
    "Reshape": ("float64", "int64"),
    "TopK": ("float64", "int64", "int64"),
    "BooleanMask": ("float64", "int64"),
    "Dropout": ("float64", "bool"),
}
"""The dtypes of outputs, where they are not all float64 or that of the first input."""


class Draft:
    """A net so far.

    Attributes:
        operators: the net.
        feeds: its inputs.
        values: what each name holds after it, the latest written last.
        overwritten: the names that held something else before.
        read: the names whose present value some operator reads.
    """

    def __init__(self) -> None:
        self.operators: list[Operator] = []
        self.feeds: dict[str, np.ndarray] = {}
        self.values: dict[str, Value] = {}
        self.overwritten: set[str] = set()
        self.read: set[str] = set()

    def names(self, dtype: str = "float64") -> list[str]:
        return [name for name, value in self.values.items() if value.dtype == dtype]

    def results(self) -> list[str]:
        """The outputs that no operator reads, as far as a gradient can start there."""
        ends = [
            name
            for op in self.operators
            if op.type not in WITHOUT_RULE
            for name in (op.outputs[:1] if op.type in FIRST_OUTPUT_ONLY else op.outputs)
        ]
        return [name for name in self.names() if name in ends and name not in self.read]

    def add(self, call: Call, pick: "Pick", naming: str) -> bool:
        """Append `call`, its outputs named as `naming` says; False where its values cannot be compared."""
        known = {**self.values, **pick.fresh}
        written = outcome(call, [known[name] for name in call.inputs])
        if written is None:
            return False
        names = output_names(call, pick, call.naming or naming, known, written)
        op = Operator(call.type, list(call.inputs), names, dict(call.args))
        new_inputs = [name for name in call.inputs if name in pick.fresh]
        self.operators.append(op)
        self.feeds.update({name: pick.arrays[name] for name in new_inputs})
        self.overwritten.update(name for name in names if name in known)
        self.read.update(call.inputs)
        self.read.difference_update(names)
        for name, value in [*((name, pick.fresh[name]) for name in new_inputs), *zip(names, written, strict=True)]:
            self.values.pop(name, None)
            self.values[name] = value
        return True


def outcome(call: Call, inputs: Sequence[Value]) -> list[Value] | None:
    """What `call` gives; None where it cannot be compared: near a kink, or too large in size or value."""
    op = Operator(call.type, list(call.inputs), [f"_{slot}" for slot in range(call.outputs)], dict(call.args))
    tensors = [value.tensor for value in inputs]
    with torch.no_grad():
        if not can_be_compared(op, tensors):
            return None
        outputs = outputs_of(op, tensors)
    if not all(0 < output.numel() <= MOST_ELEMENTS and output.ndim <= MOST_DIMENSIONS for output in outputs):
        return None
    dtypes = output_dtypes(op, inputs[0].dtype if inputs else "float64")
    written = [Value.of(output, dtype) for output, dtype in zip(outputs, dtypes, strict=True)]
    return written if all(value.within(WIDE) for value in written) else None


def output_dtypes(op: Operator, first: str) -> tuple[str, ...]:
    if op.type == "Cast":
        return (str(op.args["to"]),)
    if op.type == "Unique":
        return (first, "int32")[: len(op.outputs)]
    if op.type in PASSED or op.type == "Mod":
        return (first,)
    return DTYPES.get(op.type, ("float64",) * len(op.outputs))[: len(op.outputs)]
