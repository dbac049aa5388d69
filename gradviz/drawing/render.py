"""A trace drawn: the picture of its document, and pictures of single positions.

Views that are built alike share one picture, their shape, in which words of each stand: a net that repeats a block a
thousand times is laid out once and written once. A word stands in a shape as one character of an alphabet that nothing
else in it uses, and while the shape is laid out it is as long as the text that it stands for: what decides where things
go is how long texts are, not what they say.

Where nothing repeats there are as many shapes as views. What these have in common is how they are written: markup is
one character of another alphabet, a phrase, and what is left between phrases are numbers and words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count

from msgspec.structs import replace

from ..debugger.document import Graph, Line, NodeGroup, Trace, all_lines
from ..debugger.journal import Progress
from ..runtime.watched import uncollected
from .assembly import DOES, view, views
from .dot import draw
from .lanes import inside, lanes
from .nesting import Nesting
from .picture import SECONDS, dressed, layout
from .place import halves
from .theme import LIGHT, MAX_LABEL, MAX_NET_TITLE, MAX_TITLE, Clock, DrawingError, Theme, fit
from .view import Cluster, Edge, Node, Section, State, View, state_at

MAX_FOR_GRAPHVIZ = 400
MAX_LENGTH_FOR_GRAPHVIZ = 800
"""Forward operators, and these together with the slots that all edges around a lane pass: half a second of layout."""
MAX_TIP = 240
"""Characters of a tool tip."""
MAX_IN_DOCUMENT = 20_000
"""Forward operators, nested ones too."""
MAX_SHAPES = 25_000_000
"""Characters of what groups show when they open, but for their words."""
SECONDS_FOR_LANES = 30.0
"""For the whole drawing; that of 10 000 operators takes a second or two, five where none is like another."""
MAX_DEPTH_FOR_GRAPHVIZ = 3
"""Edges side by side around a lane. Graphviz routes more of them, and those that cross, through the middle."""

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


def render(
    trace: Trace,
    *,
    theme: Theme = LIGHT,
    seconds: float = SECONDS,
    seconds_for_lanes: float = SECONDS_FOR_LANES,
    progress: Progress | None = None,
) -> Graph:
    """What fills `trace.graph`: everything, with nothing marked; a front end marks it by ids and classes.

    Nets of more than a few hundred nodes are drawn in groups. Omitted, with the reason, where a page could not show it,
    beyond MAX_IN_DOCUMENT operators, and where plain lanes are not laid out in time. Graphviz has `seconds`; where it
    needs more, there are plain lanes. `progress` is told how far it is if it takes long.
    """
    if len(trace.forward) > MAX_IN_DOCUMENT:
        return Graph(omitted=f"{len(trace.forward)} operators are too many for one picture in a page")
    operators = len(trace.forward) + sum(len(subnet.forward) for subnet in trace.subnets)
    try:
        with uncollected():
            return _rendered(trace, theme, seconds, Clock(seconds_for_lanes, progress, operators))
    except DrawingError as error:
        return Graph(omitted=str(error).splitlines()[0].rstrip("."))


def _rendered(trace: Trace, theme: Theme, seconds: float, clock: Clock) -> Graph:
    nesting = Nesting(trace, folded=True)
    drawn, contents = views(nesting, _fitting(nesting), clock)
    widest = halves([drawn, *(content.view for content in contents)], theme)
    number: dict[View, int] = {}
    shapes = Shapes()
    groups: list[NodeGroup] = []
    for group, around, lines, content in contents:
        view, words = abstract(content)
        if view not in number:
            number[view] = len(number)
            shapes.add(inside(view, theme, widest, clock))
            if shapes.size > MAX_SHAPES:
                raise DrawingError("Its parts are too many, and too different, for one page.", kind="too_large")
        clock.tick(sum(line.rpartition(".")[2].startswith("f") for line in lines))
        groups.append(NodeGroup(id=group.id, around=around, lines=list(lines), shape=number[view], words=words))
    folded = dict(nesting.plumbing.folded)
    state = state_at(trace, None, nesting.plumbing)
    svg = _picture(trace, drawn, state, theme, seconds, clock, widest=widest if contents else None)
    whole = _whole(trace, theme, clock) if folded else None
    clock.end()
    return Graph(
        svg=svg,
        groups=groups,
        shapes=shapes.written,
        phrases=shapes.phrases,
        folded=folded,
        whole=whole,
    )


def _whole(trace: Trace, theme: Theme, clock: Clock) -> str:
    """The drawing with its plumbing. A front end makes its tool tips: few look at them."""
    nesting = Nesting(trace)
    return lanes(view(nesting, _fitting(nesting)), state_at(trace, None, nesting.plumbing), theme, {}, clock)


def svg(trace: Trace, position: int | None = None, theme: Theme = LIGHT, *, seconds: float = SECONDS) -> str:
    """A picture of one position that stands alone: its colours are in it, and its background is.

    The nested nets that the position is in are shown. Raises IndexError where the recording has no such position.
    """
    nesting = Nesting(trace, folded=True)
    state = state_at(trace, position, nesting.plumbing)
    drawn = view(nesting, nesting.around(state.net))
    return _picture(trace, drawn, state, theme, seconds, Clock(), background=theme.background)


def suits_graphviz(drawn: View) -> bool:
    """Which layout a picture gets: whether Graphviz' or, if not, plain lanes.

    Graphviz finds shorter ways for edges in a small net. Lanes are taken

    * for what can open, since a cluster or a group closes there without that anything is laid out anew;
    * for what Graphviz would need more than half a second for;
    * where edges of one lane lie deep in each other or cross: Graphviz leads them through the middle.

    `_picture` takes lanes too where Graphviz is too slow on the day, or cannot be had.
    """
    if any(node.fold for node in drawn.nodes):
        return False
    size = sum(node.is_forward for node in drawn.nodes)
    length = size + sum(abs(edge.rise) for edge in drawn.edges if edge.skips)
    return size <= MAX_FOR_GRAPHVIZ and length <= MAX_LENGTH_FOR_GRAPHVIZ and not _is_tangled(drawn)


def _is_tangled(drawn: View) -> bool:
    """Whether edges around a lane lie deeper than MAX_DEPTH_FOR_GRAPHVIZ, or begin inside another and end outside."""
    slots = {node.id: node.slot for node in drawn.nodes}
    for kind in ("forward", "backward"):
        around = (edge for edge in drawn.edges if edge.skips and edge.kind == kind)
        stretches = [sorted((slots[edge.source], slots[edge.target])) for edge in around]
        open_until: list[int] = []
        for top, bottom in sorted(stretches, key=lambda stretch: (stretch[0], -stretch[1])):
            while open_until and open_until[-1] <= top:
                open_until.pop()
            if open_until and open_until[-1] < bottom:
                return True
            open_until.append(bottom)
            if len(open_until) > MAX_DEPTH_FOR_GRAPHVIZ:
                return True
    return False


def _fitting(nesting: Nesting) -> set[str]:
    """The operators whose nested nets a document shows when they open: all, or the outer ones as far as they fit."""
    room = MAX_IN_DOCUMENT - len(nesting.nets[""].forward)
    fitting: set[str] = set()
    for opener, nets in nesting.shown.items():
        around = opener.rpartition(".")[0]
        size = sum(max(len(net.forward), len(net.backward)) for net in nets)
        if size <= room and set(nesting.around(around)) & set(nesting.shown) <= fitting:
            fitting.add(opener)
            room -= size
    return fitting


def _picture(
    trace: Trace,
    drawn: View,
    state: State,
    theme: Theme,
    seconds: float,
    clock: Clock,
    background: str | None = None,
    widest: tuple[float, float] | None = None,
) -> str:
    """Graphviz' picture where it suits and can be had, or plain lanes."""
    titles = dict(_titles(trace, drawn))
    if suits_graphviz(drawn):
        try:
            return dressed(layout(draw(drawn, state, theme).source, seconds=seconds), theme, titles, background)
        except DrawingError:
            pass  # the other picture says the same
    return lanes(drawn, state, theme, titles, clock, background, widest)


def _titles(trace: Trace, drawn: View) -> Iterable[tuple[str, str]]:
    """What nodes and edges are called, in words, by the id of their group."""
    names: dict[str, str] = {}
    for line in all_lines(trace):
        names[line.id] = _name(line)
        title = f"{names[line.id]}: {', '.join(line.outputs)} from {', '.join(line.inputs)}"
        yield f"node-{line.id}", fit(title, MAX_TIP)
    for node in drawn.all_nodes():
        if node.role == "group":
            names[node.id] = node.title
            yield f"node-{node.id}", f"{node.title}: {node.detail}"
    for edge in drawn.all_edges():
        saved = "saved for " if edge.kind == "saved" else ""
        source, target = (names.get(end, "around") for end in (edge.source, edge.target))
        flows = f"{', '.join(edge.blobs)}: {saved}{source} → {target}"
        yield edge.id, fit("to the next iteration: " * edge.carried + flows, MAX_TIP)


def _name(line: Line) -> str:
    if line.kind == "stretch":
        return line.type
    if line.role == "forward":
        return f"{line.type} #{line.number}"
    if line.role in DOES:
        return f"{line.type}, {DOES[line.role]}"
    if line.role == "duplicate":
        return f"{line.type} for #{line.of}, since one gradient arrives at several outputs"
    return f"{line.type} of #{line.of}" + (", passes on" if line.role == "passed" else "")


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


class _Words:
    """Replaces texts and ids by words."""

    def __init__(self, drawn: View) -> None:
        self.texts: list[str] = []
        self._ids = {node.id: self._say(node.id) for node in drawn.all_nodes()}
        self._edges = count(1)

    def view(self, drawn: View) -> View:
        # In the order in which they are written, which may not depend on since when they exist.
        edges = sorted(drawn.edges, key=lambda edge: -edge.exists_from)
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
            of=None, exists_from=0, holds=frozenset(), lines_from=(),
            serves=self._say(node.serves) if node.serves else "",
        )  # fmt: skip

    def _edge(self, edge: Edge) -> Edge:
        return replace(
            edge,
            number=next(self._edges),
            source=self._ids[edge.source],
            target=self._ids[edge.target],
            blobs=(),
            names=self._names(edge.names) if edge.kind != "saved" else (),
            exists_from=0,
            serves=self._say(edge.serves) if edge.serves else "",
        )

    def _cluster(self, cluster: Cluster) -> Cluster:
        sections = tuple(map(self._section, cluster.sections))
        return replace(cluster, owner=self._ids[cluster.owner], sections=sections)

    def _section(self, section: Section) -> Section:
        return Section(
            self._say(section.id), self._text(section.title, MAX_NET_TITLE), section.repeats, self.view(section.view)
        )

    def _names(self, names: Iterable[str]) -> tuple[str, ...]:
        """A blob that flows twice is one word."""
        words = {name: self._text(name, MAX_LABEL) for name in dict.fromkeys(names)}
        return tuple(words[name] for name in names)

    def _text(self, text: str, limit: int) -> str:
        """A word as long as a text."""
        fitting = fit(text, limit)
        return self._say(fitting).ljust(len(fitting), FILLER) if fitting else ""

    def _say(self, text: str) -> str:
        if len(self.texts) == MOST_WORDS:
            raise DrawingError(f"A part of this graph says more than {MOST_WORDS} words.", kind="too_large")
        self.texts.append(text)
        return chr(FIRST_WORD + len(self.texts) - 1)
