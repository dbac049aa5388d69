"""The nodes of a parsed condition: each knows where it stands in the text and which type it has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

Type = Literal["number", "text", "truth", "list", "event", "op", "blob", "inputs"]


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


class Number(Node, frozen=True):
    """A number as written."""

    value: float


class Text(Node, frozen=True):
    """A text as written."""

    value: str


class ListOf(Node, frozen=True):
    """Several values between brackets."""

    items: tuple[Node, ...]


class Field(Node, frozen=True):
    """What is known of a thing: ``event``, ``op``, ``x``, ``g``, ``inputs``, or a blob behind a colon, ``:a@1``.

    Without an attribute it is the thing itself, which stands for its name.
    """

    thing: str
    attribute: str


class Negative(Node, frozen=True):
    """A number with its sign changed."""

    of: Node


class Arithmetic(Node, frozen=True):
    """Two numbers and ``+ - * /`` or ``%``."""

    sign: str
    left: Node
    right: Node


class Comparison(Node, frozen=True):
    """A chain: the first value, then each sign and the value behind it."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


class Not(Node, frozen=True):
    """The opposite of a truth."""

    of: Node


class And(Node, frozen=True):
    """Whether all hold."""

    parts: tuple[Node, ...]


class Or(Node, frozen=True):
    """Whether one holds."""

    parts: tuple[Node, ...]


class Call(Node, frozen=True):
    """A function of one value."""

    function: str
    argument: Node


def walk(node: Node) -> Iterator[Node]:
    """The node and all inside of it."""
    yield node
    for inner in children(node):
        yield from walk(inner)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly inside of one."""
    match node:
        case ListOf():
            return node.items
        case Negative() | Not():
            return (node.of,)
        case Arithmetic():
            return (node.left, node.right)
        case Comparison():
            return (node.first, *(value for _, value in node.rest))
        case And() | Or():
            return node.parts
        case Call():
            return (node.argument,)
    return ()
