"""The words of conditions, the nodes that a parsed one consists of, and the error where one says nothing.

`extension/src/model/filters/conditions/language.gen.ts` is made of the tables here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from ....program import GradvizError

Type = Literal["number", "text", "truth", "list", "event", "op", "blob", "inputs"]

LONGEST = 500
"""Characters of a condition."""

DEEPEST = 32
"""Nodes that may lie one inside the other."""

STATISTICS = ("norm", "min", "max", "mean", "mean_abs", "nan", "inf", "subnormal", "zero", "size")
"""Numbers of a blob; each is a function of a blob, too: ``norm(h)``."""

FIELDS: dict[str, dict[str, Type]] = {
    "event": {
        "kind": "text",
        "phase": "text",
        "path": "text",
        # The position after the event.
        "step": "number",
        # Of the innermost loop that is open, from 0: forward and backward passes count their own.
        "iteration": "number",
        "seconds": "number",
        # Of an accumulation: how many gradients are added, and how many of them are sparse and dense.
        "n": "number",
        "sparse": "number",
        "dense": "number",
    },
    "op": {"type": "text", "index": "number", "role": "text", "name": "text", "device": "text"},
    "blob": {
        "name": "text",
        "version": "number",
        **dict.fromkeys(STATISTICS, "number"),
        "shape": "list",
        "dtype": "text",
        "device": "text",
    },
    # Of all that the operator of a Ran event reads: how many NaN, infinities and subnormal numbers; and on how many
    # devices it reads and writes.
    "inputs": {"nan": "number", "inf": "number", "subnormal": "number", "devices": "number"},
}
"""The fields of the things of a type, each with the type that it has."""

THINGS: dict[str, Type] = {"event": "event", "op": "op", "x": "blob", "g": "blob", "inputs": "inputs"}

NAMES: dict[str, tuple[str, str]] = {
    **{thing: (thing, "") for thing in THINGS},
    **{field: ("event", field) for field in FIELDS["event"]},
    **{field: ("x", field) for field in FIELDS["blob"] if field != "name"},
    "blob": ("x", ""),
    "devices": ("inputs", "devices"),
}
"""What a word means: a thing, or a field of one."""

FUNCTIONS: dict[str, tuple[tuple[Type, ...], Type]] = {
    "abs": (("number",), "number"),
    "log10": (("number",), "number"),
    "len": (("list", "text"), "number"),
    "isnan": (("number", "blob"), "truth"),
    "isinf": (("number", "blob"), "truth"),
}
"""The types that a function takes, and the one it gives."""

PHRASES = {
    "accumulation": "n > 1",
    "sparse meets dense": "sparse > 0 and dense > 0",
    "device change": "devices > 1",
    "NaN": "nan > 0",
    "NaN appears": "nan > 0 and inputs.nan == 0",
    "Inf": "inf > 0",
    "Inf appears": "inf > 0 and inputs.inf == 0",
    "subnormal": "subnormal > 0",
    "subnormal appears": "subnormal > 0 and inputs.subnormal == 0",
}
"""What stands for a condition. What an operator writes "appears" where nothing of the kind is in what it reads."""


class Node(msgspec.Struct, frozen=True):
    """Base of all nodes.

    Attributes:
        at: the position of its first character.
        type: of what it gives, unless that is not computed.
        depth: how many nodes lie one inside the other, this one included.
    """

    at: int
    type: Type
    depth: int


class Constant(Node, frozen=True):
    """A number or a text as written."""

    value: float | str


class Field(Node, frozen=True):
    """A field of a thing: ``event``, ``op``, ``x``, ``g``, ``inputs``, or a blob behind a colon, ``:a@1``.

    Without an attribute it is the thing itself, which stands for its name.
    """

    thing: str
    attribute: str

    @property
    def blob(self) -> str | None:
        """The blob of the recording that the condition names; None: the thing is another one."""
        return self.thing[1:] if self.thing.startswith(":") else None

    def __str__(self) -> str:
        """The field as one writes it."""
        thing = self.thing.removeprefix(":")
        return f"{thing}.{self.attribute}" if self.attribute else thing


class Operation(Node, frozen=True):
    """What comes of its parts: a sign, a word or a function as written, ``[`` a list, ``negative`` a minus alone."""

    sign: str
    parts: tuple[Node, ...]


def mentioned(node: Node) -> Iterator[Field]:
    """Each thing and field that a condition asks for."""
    if isinstance(node, Field):
        yield node
    if isinstance(node, Operation):
        for part in node.parts:
            yield from mentioned(part)


class ConditionError(GradvizError):
    """A condition that says nothing: its text, and where it stops making sense.

    ``kind`` is ``bad_condition``, or ``not_found`` where it names what the recording does not have.

    Attributes:
        text: the whole condition.
        position: of the first character at fault, counted from 0; at most the length of the text.
        problem: what is wrong, in a sentence.
        unknown: what it names that the recording does not have; empty: its fault is another one.
    """

    def __init__(
        self,
        text: str,
        position: int,
        problem: str,
        *,
        kind: str = "bad_condition",
        ways_out: Sequence[str] = (),
        unknown: str = "",
    ) -> None:
        line = "".join(character if character.isprintable() else " " for character in text)
        form = 'Write a comparison, such as norm > 10, x.nan > 0 or op == "Relu" and n > 1.'
        super().__init__(
            f"{problem[:1].upper()}{problem[1:]}, at character {position + 1}:\n    {line}\n    {' ' * position}^",
            kind=kind,
            ways_out=ways_out or (form,),
        )
        self.text = text
        self.position = position
        self.problem = problem
        self.unknown = unknown
