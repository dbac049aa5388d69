"""Views of nets in groups: nothing is lost between the levels, and what is built alike is drawn once."""

import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from itertools import count
from pathlib import Path
from types import FrameType
from xml.etree.ElementTree import fromstring

import msgspec
import pytest
from msgspec.structs import replace

from gradviz import Net, Session, debug
from gradviz.debugger.document import Trace, TraceError, decode, encode
from gradviz.debugger.journal import SoFar
from gradviz.drawing import LIGHT, DrawingError, digraph, render, svg
from gradviz.drawing.assembly import Content, view, views
from gradviz.drawing.flows import flows, programs
from gradviz.drawing.lanes import inside, lanes
from gradviz.drawing.nesting import GROUPED, Nesting
from gradviz.drawing.place import halves
from gradviz.drawing.render import FIRST_PHRASE, FIRST_WORD, abstract
from gradviz.drawing.theme import Clock, label_width
from gradviz.drawing.view import State, View, state_at
from gradviz.notebook.progress import words
from tests.drawing.examples import Operator, chain, residual, trace
from tests.drawing.nested import loop
from tests.drawing.nested import trace as recorded
from tests.drawing.shapes import box, groups, overlap

DRAWING = str(Path("gradviz", "drawing"))

both = pytest.mark.parametrize("operators", [chain(200), residual(60)])


def spoken(shape: str, phrases: Sequence[str], words: Sequence[str]) -> str:
    """A shape with its words, which have to be escaped: the picture of the view that they come from."""
    said = {FIRST_WORD + number: word for number, word in enumerate(words)}
    return shape.translate(said | {FIRST_PHRASE + number: phrase for number, phrase in enumerate(phrases)})


def levels(document: Trace) -> tuple[View, list[Content]]:
    return views(Nesting(document), set(), Clock())


@contextmanager
def interrupt_while_drawing(calls: int) -> Iterator[None]:
    """Ctrl+C at the call of that number of a function of the drawing, wherever that is."""
    left = count(calls - 1, -1)

    def notice(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and DRAWING in frame.f_code.co_filename and next(left) == 0:
            signal.raise_signal(signal.SIGINT)

    sys.setprofile(notice)
    try:
        yield
    finally:
        sys.setprofile(None)


def test_the_words_of_a_group_have_room_at_every_position():
    document = trace(chain(600))
    lines = [replace(line, name=f"net/{'ab'[i // 300]}/op{i}") for i, line in enumerate(document.forward)]
    document = replace(document, forward=lines)
    outermost, _ = levels(document)
    for position in range(0, len(document.events) + 1, 31):
        state = state_at(document, position, Nesting(document).plumbing)
        for node in outermost.nodes:
            _, detail = node.text(state)
            assert label_width([detail], LIGHT.detail_size) < node.size(LIGHT)[0], detail


def picture(drawn: View) -> str:
    return lanes(drawn, State(), LIGHT, {}, Clock())


def long_loop():
    return loop(operators=2 * GROUPED)


@both
def test_every_line_stands_on_one_level(operators: Sequence[Operator]):
    document = trace(operators)
    outermost, contents = levels(document)
    drawn = [node.id for node in outermost.nodes if node.role not in ("group", "port")]
    for content in contents:
        [cluster] = content.view.clusters
        inner = [node.id for node in cluster.sections[0].view.nodes if node.role not in ("group", "port")]
        assert sorted(inner) == sorted(content.lines)
        drawn += inner
    assert Counter(drawn) == Counter(line.id for line in (*document.forward, *document.backward))


@both
def test_what_flows_is_drawn_on_the_level_where_both_ends_are_told_apart(operators: Sequence[Operator]):
    document = trace(operators)
    outermost, contents = levels(document)
    home = {line: content.group.id for content in contents for line in content.lines}
    around = {content.group.id: content.around for content in contents}
    edges = {content.group.id: content.view.clusters[0].sections[0].view.edges for content in contents}
    drawn = {level: {(edge.kind, edge.source, edge.target) for edge in found} for level, found in edges.items()}
    drawn[""] = {(edge.kind, edge.source, edge.target) for edge in outermost.edges}

    def way(line: str) -> list[str]:
        found, at = [], home.get(line)
        while at:
            found, at = [at, *found], around[at]
        return found

    for kind, source, target, _ in flows(programs(document)[""]).inside:
        a, b = way(source), way(target)
        shared = sum(1 for group in a if group in b)
        lane = ".backward" if kind == "backward" else ""
        ends = [f"{one[shared]}{lane}" if len(one) > shared else line for one, line in ((a, source), (b, target))]
        assert (kind, *ends) in drawn[a[shared - 1] if shared else ""]
        for depth in range(shared, len(a)):
            assert any(kind == edge[0] and edge[2].startswith(f"{a[depth]}.") for edge in drawn[a[depth]])


def test_an_edge_between_groups_is_there_since_the_first_of_what_it_stands_for():
    document = trace(residual(60))
    outermost, _ = levels(document)
    mades = {line.id: line.made for line in document.backward}
    backward = [edge for edge in outermost.edges if edge.kind == "backward" and edge.serves]
    assert backward
    assert all(edge.exists_from == mades[edge.serves] for edge in backward)
    assert len({edge.exists_from for edge in backward}) == len(backward)


def test_groups_that_are_built_alike_share_a_shape():
    graph = render(trace(residual(250)))
    assert len(graph.groups) > 250
    assert len(graph.shapes) < 20
    assert sum(map(len, graph.shapes)) + len(graph.svg or "") < 500_000


@both
def test_a_shape_with_its_words_is_the_picture_of_its_group(operators: Sequence[Operator]):
    document = trace(operators)
    graph = render(document)
    outermost, contents = levels(document)
    every = [outermost, *(content.view for content in contents)]
    widest = halves(every, LIGHT)
    for group, content in zip(graph.groups, contents, strict=True):
        told = groups(spoken(graph.shapes[group.shape], graph.phrases, [escape(word) for word in group.words]))
        own = groups(inside(content.view, LIGHT, widest, Clock()))
        nodes = {name for name in own if name.startswith("node-")}
        assert nodes == {name for name in told if name.startswith("node-")}
        for name in nodes:
            assert box(told[name]) == box(own[name])
            assert [*told[name].itertext()] == [*own[name].itertext()]


def test_a_net_in_which_nothing_repeats_is_written_in_a_third_of_its_pictures():
    numbers = random.Random(0)
    types = ("Tanh", "Sin", "Exp", "Sigmoid", "Sqr")
    operators = [
        (numbers.choice(types), [f"x{i}", f"x{max(0, i - numbers.randrange(2, 30))}"], [f"x{i + 1}"])
        for i in range(500)
    ]
    graph = render(trace(operators))
    pictures = [spoken(graph.shapes[group.shape], graph.phrases, group.words) for group in graph.groups]
    assert len(graph.shapes) == len(graph.groups) > 20
    assert 3 * len(msgspec.json.encode([graph.shapes, graph.phrases])) < len("".join(pictures))


def test_views_that_differ_in_more_than_words_have_different_shapes():
    _, contents = levels(trace(residual(60)))
    blocks = [abstract(content.view) for content in contents if not content.group.inside]
    longer = [abstract(content.view) for content in contents if content.group.inside]
    assert blocks[20][0] == blocks[21][0]
    assert blocks[20][1] != blocks[21][1]
    assert blocks[20][0] != longer[0][0]
    # x9 is shorter than x10, and so is the room for it.
    assert blocks[2][0] != blocks[20][0]


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "\"'><img src=x>", "a\nb\x00\x1b", "\U00020000"])
def test_hostile_names_in_groups_are_only_ever_text(name: str):
    operators = [("FC", [f"{name}{i}", "w"], [f"{name}{i + 1}"]) for i in range(200)]
    graph = render(trace(operators))
    assert "<script" not in "".join([graph.svg or "", *graph.shapes, *graph.phrases])
    for group in graph.groups:
        fromstring(spoken(graph.shapes[group.shape], graph.phrases, [escape(word) for word in group.words]))


def test_all_groups_open_in_one_picture_overlap_nothing():
    document = trace(residual(40))
    found = groups(picture(view(Nesting(document), Nesting(document).chosen("all"))))
    boxes = [(name, box(group)) for name, group in found.items() if name.startswith("node-")]
    assert {f"node-{line.id}" for line in (*document.forward, *document.backward)} <= found.keys()
    for number, (name, area) in enumerate(boxes):
        assert not any(overlap(area, other) for _, other in boxes[:number]), name


def test_a_graph_opens_the_groups_that_are_asked_for_with_those_around_them():
    document = trace(residual(250))
    nesting = Nesting(document)
    inner = nesting.groups[""][2].inside[1]
    source = digraph(document, opened=[inner.id]).source
    assert f"f{inner.first} [" in source
    assert f'"cluster_{nesting.groups[""][2].id}"' in source or f"cluster_{nesting.groups[''][2].id} " in source
    assert f"f{nesting.groups[''][3].first} [" not in source
    assert digraph(document, opened="all").source.count("class=forward") == 1000


def test_a_large_loop_is_grouped_inside_and_opens_by_its_net():
    document = recorded(long_loop)
    graph = render(document)
    nested = [group for group in graph.groups if "." in group.id]
    assert nested
    net = nested[0].id.partition(".")[0]
    assert all(line.startswith(f"{net}.") for group in nested for line in group.lines)
    assert Nesting(document).chosen([f"{net}.g0"]) >= {f"{net}.g0", *Nesting(document).around(net)}


def test_a_picture_says_in_which_group_the_position_is_and_what_of_it_is_made():
    document = trace(residual(100))
    position = next(at for at, event in enumerate(document.events, 1) if event.lines == ["b200"])
    source = svg(document, position)
    assert re.search(r"here · \d+ of 60 made", source)
    assert "0 of 60 made" in source
    nesting = Nesting(document)
    state = state_at(document, position, nesting.plumbing)
    assert sum(node.is_among(state.new) for node in view(nesting).nodes) == 1


def test_the_layout_of_ten_thousand_operators_takes_ten_times_as_long_as_that_of_a_thousand():
    seconds = {}
    for blocks in (250, 2500):
        document = trace(residual(blocks))
        started = time.process_time()
        graph = render(document)
        seconds[blocks] = time.process_time() - started
    assert seconds[2500] < 20 * seconds[250]
    assert graph.svg is not None
    assert sum(map(len, (graph.svg, *graph.shapes))) < 1_000_000


def test_groups_survive_a_document_and_wrong_ones_are_refused():
    net = Net("chain")
    for place in range(200):
        net.add(("Tanh", "Sin")[place % 2], f"x{place}", f"x{place + 1}")
    document = debug(net, ["x200"]).trace()
    graph = document.graph
    assert decode(encode(replace(document, graph=graph))).graph == graph
    first, second = graph.groups[:2]
    for wrong in (
        [replace(first, around="g0")],
        [replace(second, around="g1"), first],
        [first, replace(second, id="g0")],
        [replace(first, id="s7.g0")],
        [replace(first, id="f0")],
        [replace(first, lines=["f9999"])],
        [replace(first, lines=["f0"]), replace(second, around=None, lines=["f0"])],
        [replace(first, shape=len(graph.shapes))],
        [replace(first, shape=-1)],
    ):
        with pytest.raises(TraceError, match="graph"):
            encode(replace(document, graph=replace(graph, groups=wrong)))
    deep = [replace(first, id=f"g{i}", around=f"g{i - 1}" if i else None, lines=[]) for i in range(300)]
    with pytest.raises(TraceError, match="deeper"):
        encode(replace(document, graph=replace(graph, groups=deep)))


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("calls", [1, 100, 10_000])
def test_a_layout_that_is_interrupted_leaves_nothing_behind(calls):
    session = Session(trace(residual(500)))
    with interrupt_while_drawing(calls), pytest.raises(KeyboardInterrupt):
        session.trace()
    assert session.trace().graph.groups
    assert session.position == 0


def test_a_layout_that_takes_too_long_is_left_out_with_the_reason():
    graph = render(trace(residual(60)), seconds_for_lanes=0.0)
    assert graph.svg is None
    assert graph.omitted == "It was not laid out within 0 seconds"


def test_the_time_is_looked_at_while_a_view_is_built():
    document = trace(residual(60))
    with pytest.raises(DrawingError) as raised:
        views(Nesting(document), set(), Clock(seconds=0.0))
    assert raised.value.kind == "too_slow"


def test_progress_is_told_of_a_layout_that_takes_long(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gradviz.runtime.pace.PATIENCE", 0.0)
    monkeypatch.setattr("gradviz.runtime.pace.PAUSE", 0.0)
    heard: list[SoFar] = []
    render(trace(residual(60)), progress=heard.append)
    drawn = [so_far.operators for so_far in heard]
    assert {(so_far.work, so_far.of, so_far.events) for so_far in heard} == {("draw", 240, None)}
    assert drawn[0] == 0
    assert drawn == sorted(drawn)
    assert drawn[-1] == 240
    assert words(heard[-1]).startswith("Laid out 240 of 240 operators in ")


def test_nobody_is_told_of_a_layout_that_is_done_at_once():
    render(trace(chain(4)), progress=lambda so_far: pytest.fail(f"told {so_far}"))
