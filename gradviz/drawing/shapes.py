"""Views that are built alike share one picture, their shape, in which words of each stand.

A net that repeats a block a thousand times is laid out once and written once. A word stands in a shape as one character
of an alphabet that nothing else in it uses, and while the shape is laid out it is as long as the text that it stands
for: what decides where things go is how long texts are, not what they say.

Where nothing repeats there are as many shapes as views. What these have in common is how they are written: markup is
one character of another alphabet, a phrase, and what is left between phrases are numbers and words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from .limits import DrawingError
from .view import Cluster, Edge, Node, Section, View
from .words import MAX_LABEL, MAX_NET_TITLE, MAX_TITLE, fit, short

FIRST_WORD = 0x20000
"""The character that stands for the first word of a view; those of the others follow it."""
MOST_WORDS = 40_000
FILLER = chr(FIRST_WORD + MOST_WORDS)
"""Stands behind a word while its shape is laid out."""
FIRST_PHRASE = 0x100
"""The character that stands for the first phrase: markup is ASCII, and these letters take two bytes each."""
MOST_PHRASES = 0x700
SHORTEST_PHRASE = 3
"""Characters that are worth a phrase."""

_BETWEEN_PHRASES = re.compile(rf'((?<!-size=")(?<!-width=")-?\d+\.\d|(?<=edge-)\d+|[{chr(FIRST_WORD)}-{FILLER}])')


def abstract(drawn: View) -> tuple[View, list[str]]:
    """A view with words for all that it says, and the words. Those of views that are built alike are equal.

    Raises DrawingError, kind ``too_large``, where it says more than MOST_WORDS.
    """
    words = _Words(drawn)
    return words.view(drawn), words.texts


class Shapes:
    """The shapes of a graph, each written once.

    Attributes:
        written: the shapes.
        phrases: what characters from FIRST_PHRASE on stand for in them.
        size: characters of all.
    """

    def __init__(self) -> None:
        self.written: list[str] = []
        self.size = 0
        self._phrases: dict[str, str] = {}

    @property
    def phrases(self) -> list[str]:
        return list(self._phrases)

    def add(self, picture: str) -> None:
        """The picture of an abstract view; its words may be of any length."""
        parts = _BETWEEN_PHRASES.split(picture.replace(FILLER, ""))
        parts[::2] = map(self._phrase, parts[::2])
        parts[1::2] = (number.removesuffix(".0") for number in parts[1::2])
        self.written.append("".join(parts))
        self.size += len(self.written[-1])

    def _phrase(self, markup: str) -> str:
        if len(markup) < SHORTEST_PHRASE and markup.isascii():
            return markup
        if markup not in self._phrases and len(self._phrases) < MOST_PHRASES:
            self._phrases[markup] = chr(FIRST_PHRASE + len(self._phrases))
        return self._phrases.get(markup, markup)


def spoken(shape: str, phrases: Sequence[str], words: Sequence[str]) -> str:
    """A shape with its words, which have to be escaped: the picture of the view that they come from."""
    said = {FIRST_WORD + number: word for number, word in enumerate(words)}
    return shape.translate(said | {FIRST_PHRASE + number: phrase for number, phrase in enumerate(phrases)})


class _Words:
    """Replaces texts and ids by words."""

    def __init__(self, drawn: View) -> None:
        self.texts: list[str] = []
        self._ids = {node.id: self._say(node.id) for node in drawn.all_nodes()}
        self._edges = 0

    def view(self, drawn: View) -> View:
        # In the order in which they are written, which may not depend on when they are made.
        edges = sorted(drawn.edges, key=lambda edge: -edge.made)
        return View(
            tuple(map(self._node, drawn.nodes)),
            tuple(map(self._edge, edges)),
            tuple(map(self._cluster, drawn.clusters)),
            drawn.depth,
        )

    def _node(self, node: Node) -> Node:
        return replace(
            node,
            id=self._ids[node.id],
            title=self._text(node.title, MAX_TITLE),
            detail=self._text(node.detail, len(node.detail)),
            of=None, made=0, ran=None, holds=frozenset(), mades=(),
            serves=self._say(node.serves) if node.serves else "",
        )  # fmt: skip

    def _edge(self, edge: Edge) -> Edge:
        self._edges += 1
        return replace(
            edge,
            number=self._edges,
            source=self._ids[edge.source],
            target=self._ids[edge.target],
            blobs=self._blobs(edge.blobs) if edge.kind != "saved" else (),
            made=0,
            serves=self._say(edge.serves) if edge.serves else "",
        )

    def _cluster(self, cluster: Cluster) -> Cluster:
        sections = tuple(map(self._section, cluster.sections))
        return replace(cluster, owner=self._ids[cluster.owner], sections=sections)

    def _section(self, section: Section) -> Section:
        return Section(
            self._say(section.id), self._text(section.title, MAX_NET_TITLE), section.repeats, self.view(section.view)
        )

    def _blobs(self, blobs: Iterable[str]) -> tuple[str, ...]:
        """A blob that flows twice is one word."""
        words = {blob: self._text(short(blob), MAX_LABEL) for blob in dict.fromkeys(blobs)}
        return tuple(words[blob] for blob in blobs)

    def _text(self, text: str, limit: int) -> str:
        """A word as long as a text."""
        fitting = fit(text, limit)
        return self._say(fitting).ljust(len(fitting), FILLER) if fitting else ""

    def _say(self, text: str) -> str:
        if len(self.texts) == MOST_WORDS:
            raise DrawingError(f"A part of this graph says more than {MOST_WORDS} words.", kind="too_large")
        self.texts.append(text)
        return chr(FIRST_WORD + len(self.texts) - 1)
