"""What the outputs of a call are named: newly, or like something that is there."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gradviz.program.operator import numbered_name
from tests.gradient.reference.elementwise import QUESTIONS

from .call import Call, Value

if TYPE_CHECKING:
    from .pick import Pick

KEEP_SHAPE_IN_PLACE = frozenset({"Add", "Sub", "Mul", "Div", "Pow", *QUESTIONS})
"""Types that refuse to run in place where their output has another shape."""


def output_names(
    call: Call, pick: "Pick", naming: str, known: Mapping[str, Value], written: Sequence[Value]
) -> list[str]:
    """New names, one of which gives way to that of an input, of any blob, or to one that gradients are called by."""
    names: list[str] = []
    for slot in range(call.outputs):
        name, taken = f"b{pick.seed}_{slot}" if slot else f"b{pick.seed}", {*known, *names}
        names.append(numbered_name(name, taken.__contains__) if name in taken else name)
    if not names:
        return names
    slot = 0 if pick.chance(0.7) else pick.random.randrange(call.outputs)
    name = wished_name(call, pick, naming, [*known, names[slot]])
    if name is not None and name not in names and can_hold(name, call, known, written[0]):
        names[slot] = name
    return names


def can_hold(name: str, call: Call, known: Mapping[str, Value], output: Value) -> bool:
    """Whether `call` may write `name`: in place some types must keep the shape."""
    return name not in call.inputs or call.type not in KEEP_SHAPE_IN_PLACE or known[name].shape == output.shape


def wished_name(call: Call, pick: "Pick", naming: str, known: Sequence[str]) -> str | None:
    """What `naming` would call an output, None where a new name will do."""
    match naming:
        case "in place" if call.inputs:
            return str(pick.one_of(call.inputs))
        case "overwrite":
            return max(known, key=pick.rank)
        case "clash":
            suffix = pick.one_of(("_grad", "_grad", "_autogen_grad", "_grad_indices", "_grad_values"))
            name = f"{max(known, key=pick.rank)}{suffix}"
            return str(pick.one_of((name, name, f"_{name}_autosplit_0")))
    return None
