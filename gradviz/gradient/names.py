"""Names of generated blobs: none may overwrite a gradient that is still needed, or a blob of the user's net.

Rules call the gradient of x ``x_grad``, whichever version of x it belongs to. That is safe as long as the blob of
that name holds nothing else that somebody will read: here stands, for each name, whose gradient it holds.
"""

from collections.abc import Container, Sequence

import msgspec

from ..program import Gradient, GradientSlice, Operator
from ..program.control_flow import NETS, renamed, scopes_of
from ..program.operator import numbered_name, parts_of
from ..program.ssa import BlobVersion, Ssa
from .rules import Answer, OutputGradientRef
from .versions import Tracked


class Holder(msgspec.Struct, frozen=True, gc=False):
    """A blob version whose gradient a name holds.

    Attributes:
        of: the blob version.
        owned: an operator wrote the name for it, so it may be renamed.
        other: another holder of the same name.
    """

    of: BlobVersion
    owned: bool
    other: "Holder | None" = None


class _Either(msgspec.Struct, frozen=True):
    one: Container[str]
    other: Container[str]

    def __contains__(self, name: str) -> bool:
        return name in self.one or name in self.other


class GradientNames:
    """Whose gradient each generated name holds.

    Args:
        blobs: names that belong to the user and are never written.
        reserved: names in use around a nested net, which are not written either.
    """

    def __init__(self, blobs: Container[str], reserved: Container[str] = ()) -> None:
        self._reserved = _Either(blobs, reserved) if reserved else blobs
        self._holders: dict[str, Holder] = {}
        self._inside: set[str] = set()

    def hold(self, name: str, of: BlobVersion, *, owned: bool) -> None:
        """`name` now holds the gradient of `of`; what an operator writes displaces the older holders."""
        self._holders[name] = Holder(of, owned, None if owned else self._holders.get(name))

    def untouched(self, name: str) -> bool:
        """Whether `name` is neither reserved nor in use, be it for a moment in a nested net on these blobs."""
        return name not in self._reserved and name not in self._holders and name not in self._inside

    def writable(self, name: str, of: BlobVersion) -> bool:
        """Whether a gradient of `of` may be written to `name`.

        Yes where the name holds a later version of the same blob (its producer has been visited already), or another
        gradient of this version that accumulation will rename. No where it holds the gradient of another blob, or one
        of this version that was given or passed through under that name.
        """
        if name in self._reserved:
            return False
        holder = self._holders.get(name)
        while holder is not None:
            if holder.of.name != of.name or (holder.of is of and not holder.owned):
                return False
            holder = holder.other
        return True

    def fresh(self, name: str) -> str:
        """`name` with the first number that makes it untouched."""
        return numbered_name(name, lambda numbered: not self.untouched(numbered))

    def free(self, name: str) -> str:
        """`name` itself where it is untouched, else a fresh one."""
        return name if self.untouched(name) else self.fresh(name)

    def settle(self, ssa: Ssa[Tracked], answer: Answer) -> tuple[list[Operator], list[Gradient | None]]:
        """The rule's operators and gradients, with fresh names where theirs would overwrite what is needed."""
        operators, g_input = answer.operators, answer.g_input
        conflicts: dict[str, str] = {}
        if answer.marked:
            conflicts = {name: self.fresh(name) for name in _read_after_write(operators)}
        reserved, holders = self._reserved, self._holders
        scopes: Sequence[str] = ()
        if ssa.op.type in NETS:
            scopes = scopes_of(ssa.op)
            self._inside.update(name for gradient_op in operators for name in gradient_op.outputs)
        for gradient_op in operators:
            for name in gradient_op.outputs:
                if (name not in holders and name not in reserved) or name in scopes or name in conflicts:
                    continue
                wanted = _target(name, ssa, g_input)
                if wanted is None or not self.writable(name, wanted):
                    conflicts[name] = self.fresh(name)
        if not conflicts:
            return operators, g_input
        return _rename(operators, conflicts), [_renamed(gradient, conflicts) for gradient in g_input]


def _read_after_write(operators: Sequence[Operator]) -> set[str]:
    """Names that hold an output gradient, that one operator of a rule overwrites, and that a later one still reads."""
    written: set[str] = set()
    needed: set[str] = set()
    for op in operators:
        for name in op.inputs:
            if name in written and isinstance(name, OutputGradientRef):
                needed.add(str(name))
        written.update(op.outputs)
    return needed


def _target(name: str, ssa: Ssa[Tracked], g_input: Sequence[Gradient | None]) -> Tracked | None:
    """The input whose gradient a rule calls `name`."""
    if name in g_input:
        return ssa.reads[g_input.index(name)]
    return next((ssa.reads[slot] for slot, gradient in enumerate(g_input) if name in parts_of(gradient)), None)


def _rename(operators: list[Operator], names: dict[str, str]) -> list[Operator]:
    """The operators with outputs renamed, and the inputs that read those outputs with them."""
    written: set[str] = set()
    made = []
    for op in operators:
        inputs = [names[name] if name in written and type(name) is str else name for name in op.inputs]
        outputs = [names.get(name, name) for name in op.outputs]
        written.update(name for name in op.outputs if name in names)
        if op.type in NETS:
            made.append(renamed(op, dict(zip(op.inputs, inputs, strict=True)), names))
        else:
            made.append(msgspec.structs.replace(op, inputs=inputs, outputs=outputs))
    return made


def _renamed(gradient: Gradient | None, names: dict[str, str]) -> Gradient | None:
    if isinstance(gradient, GradientSlice):
        return GradientSlice(names.get(gradient.indices, gradient.indices), names.get(gradient.values, gradient.values))
    return None if gradient is None else names.get(gradient, gradient)
