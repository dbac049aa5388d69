"""The pictures: what a front end finds in them, whichever way they were laid out."""

import re
import time
from collections.abc import Callable
from xml.etree.ElementTree import fromstring

import pytest

from gradviz import Net, Workspace, live
from gradviz.debugger.document import Trace
from gradviz.drawing import DARK, LIGHT, DrawingError, render, svg
from gradviz.drawing.assembly import view
from gradviz.drawing.dot import draw
from gradviz.drawing.lanes import lanes
from gradviz.drawing.nesting import Nesting
from gradviz.drawing.picture import clean, dressed, layout
from gradviz.drawing.render import suits_graphviz
from gradviz.drawing.theme import Clock
from gradviz.drawing.view import State
from tests.drawing.examples import DIAMOND, PRODUCTS, SKIP_CONNECTION, WIDE_PRODUCTS, chain, fan_out, residual, trace
from tests.drawing.shapes import SVG, box, groups, line_of, overlap, points, text_boxes

Picture = Callable[[Trace], str]


def by_graphviz(document: Trace) -> str:
    return dressed(layout(draw(view(Nesting(document)), State(), LIGHT).source, seconds=30), LIGHT)


def by_lanes(document: Trace) -> str:
    return lanes(view(Nesting(document)), State(), LIGHT, {}, Clock())


both = pytest.mark.parametrize("picture", [by_graphviz, by_lanes])


@both
@pytest.mark.parametrize("operators", [SKIP_CONNECTION, DIAMOND, fan_out(12), residual(2)])
def test_every_line_has_a_node_and_every_edge_its_ends(picture: Picture, operators):
    document = trace(operators)
    found = groups(picture(document))
    for line in (*document.forward, *document.backward):
        assert f"node-{line.id}" in found
        assert found[f"node-{line.id}"].get("class", "").split() == ["node", line.role]
    for edge in view(Nesting(document)).edges:
        classes = found[edge.id].get("class", "").split()
        assert classes == ["edge", edge.kind, f"made-{edge.exists_from}", f"from-{edge.source}", f"to-{edge.target}"]


@pytest.mark.parametrize("operators", [SKIP_CONNECTION, DIAMOND, residual(2)])
def test_names_begin_beside_their_upright_edges_one_line_below_the_other(operators):
    document = trace(operators)
    found = groups(by_graphviz(document))
    edges = [found[edge.id] for edge in view(Nesting(document)).edges if edge.kind != "saved" and not edge.skips]
    assert edges
    for edge in edges:
        line = [x for x, _ in points(line_of(edge).replace("C", "L"))]
        lefts = {left for left, _, _, _ in text_boxes(edge)}
        assert len(lefts) == 1
        assert all(3 < left - max(line) < 12 for left in lefts)


@both
@pytest.mark.parametrize("operators", [SKIP_CONNECTION, chain(9), fan_out(5)])
def test_an_operator_and_its_gradient_stand_on_one_row_in_two_lanes(picture: Picture, operators):
    document = trace(operators)
    found = groups(picture(document))
    for line in document.backward:
        if line.role in ("gradient", "passed"):
            forward, backward = box(found[f"node-f{line.of}"]), box(found[f"node-{line.id}"])
            assert forward[1] == pytest.approx(backward[1], abs=0.2)
            assert forward[2] < backward[0]


@both
def test_forward_goes_down_and_backward_goes_up(picture: Picture):
    document = trace(SKIP_CONNECTION)
    found = groups(picture(document))
    for edge in view(Nesting(document)).edges:
        source, target = box(found[f"node-{edge.source}"]), box(found[f"node-{edge.target}"])
        if edge.kind == "forward":
            assert source[3] < target[1]
        if edge.kind == "backward":
            assert target[3] < source[1]


@both
def test_lanes_are_upright(picture: Picture):
    document = trace(residual(3))
    found = groups(picture(document))
    middles = {round(sum(box(found[f"node-{line.id}"])[::2]) / 2) for line in document.forward}
    assert len(middles) == 1


@both
@pytest.mark.parametrize(
    "operators",
    [
        SKIP_CONNECTION,
        DIAMOND,
        residual(2),
        [("StopGradient", ["x"], ["a"]), ("StopGradient", ["y"], ["b"]), ("Mul", ["a", "b"], ["loss"])],
        [("FC", ["x", "w"], ["a"]), ("FC", ["a", "w"], ["b"]), ("FC", ["b", "w"], ["loss"])],
        [("FC", ["x", "w"], ["a"]), *[("ConstantFill", ["a"], [f"c{i}"]) for i in range(6)], ("Tanh", ["a"], ["loss"])],
    ],
)
def test_the_forward_lane_is_on_the_left(picture: Picture, operators):
    document = trace(operators)
    found = groups(picture(document))
    forward = [box(found[f"node-{line.id}"]) for line in document.forward]
    backward = [box(found[f"node-{line.id}"]) for line in document.backward]
    assert max(right for _, _, right, _ in forward) < min(left for left, _, _, _ in backward)


@both
def test_arrows_point_at_the_reader(picture: Picture):
    document = trace(SKIP_CONNECTION)
    found = groups(picture(document))
    for edge in view(Nesting(document)).edges:
        arrow = found[edge.id].find(f"{SVG}polygon")
        assert arrow is not None
        points = [tuple(map(float, point.split(","))) for point in arrow.get("points", "").split()]
        left, top, right, bottom = box(found[f"node-{edge.target}"])
        assert any(left - 5 <= x <= right + 5 and top - 5 <= y <= bottom + 5 for x, y in points)


@both
@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "\"'><img src=x>", "a\nb\x00\x1b\ud800", "]]>", "&#60;b>"]
)
def test_hostile_names_are_only_ever_text(picture: Picture, name: str):
    source = picture(trace([("FC", ["x", "w"], [name]), (name, [name], ["loss"])]))
    allowed = {f"{SVG}{tag}" for tag in ("svg", "g", "path", "polygon", "rect", "ellipse", "line", "text", "title")}
    for element in fromstring(source).iter():
        assert element.tag in allowed
        assert not any(attribute.startswith("on") or "href" in attribute for attribute in element.attrib)
    assert "<script" not in source


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a\x00\nb"])
def test_hostile_names_are_harmless_in_tool_tips_and_at_positions(name: str):
    document = trace([("FC", [name, "w"], [name]), (name, [name], ["loss"])])
    for source in (render(document).svg, svg(document, 1), svg(document, 0, DARK)):
        assert source is not None
        fromstring(source)
        assert "<script" not in source


def test_names_of_any_length_leave_the_picture_readable():
    document = trace([("FC", ["x", "w"], ["y" * 500]), ("T" * 500, ["y" * 500], ["loss"])])
    root = fromstring(by_lanes(document))
    assert float(root.get("width", "").removesuffix("px")) < 1500


def test_nets_that_branch_or_are_large_are_drawn_in_plain_lanes():
    assert suits_graphviz(view(Nesting(trace(residual(20)))))
    assert not suits_graphviz(view(Nesting(trace(DIAMOND))))
    assert not suits_graphviz(view(Nesting(trace(fan_out(12)))))
    assert not suits_graphviz(view(Nesting(trace(chain(1000)))))


def test_too_little_time_for_graphviz_still_gives_a_picture():
    document = trace(residual(35))
    found = groups(render(document, seconds=0.001).svg or "")
    assert {f"node-{line.id}" for line in (*document.forward, *document.backward)} <= found.keys()


@pytest.mark.parametrize("operators", [SKIP_CONNECTION, DIAMOND, PRODUCTS, WIDE_PRODUCTS, fan_out(12), residual(2)])
def test_no_edge_of_plain_lanes_crosses_a_node_that_it_neither_leaves_nor_reaches(operators):
    document = trace(operators)
    drawn, found = view(Nesting(document)), groups(by_lanes(document))
    nodes = {node.id: box(found[f"node-{node.id}"]) for node in drawn.nodes}
    for edge in drawn.edges:
        others = [nodes[node] for node in nodes.keys() - {edge.source, edge.target}]
        for x, y in points(line_of(found[edge.id])):
            assert not any(overlap((x, y, x, y), other) for other in others), edge


@pytest.mark.parametrize("operators", [PRODUCTS, WIDE_PRODUCTS])
def test_labels_of_edges_that_pass_neighbours_are_cut_by_nothing(operators):
    document = trace(operators)
    drawn, found = view(Nesting(document)), groups(by_lanes(document))
    texts = {edge.id: text_boxes(found[edge.id]) for edge in drawn.edges}
    lines = [point for edge in drawn.edges for point in points(line_of(found[edge.id]))]
    nodes = [box(found[f"node-{node.id}"]) for node in drawn.nodes]
    passing = [name for name in texts if re.search(r"^M[^A-Z]+V|V[^A-Z]+$", line_of(found[name]))]
    assert len(passing) >= 3
    for name in passing:
        others = [text for other in texts.keys() - {name} for text in texts[other]]
        for text in texts[name]:
            assert not any(overlap(text, other) for other in (*nodes, *others)), name
            assert not any(overlap((x, y, x, y), text) for x, y in lines), name


def test_trunks_of_a_fan_share_one_track():
    source = groups(by_lanes(trace(fan_out(12))))
    tracks = set()
    for name, group in source.items():
        path = group.find(f"{SVG}path")
        if name.startswith("edge-") and path is not None and "Q" in path.get("d", ""):
            tracks.add(re.findall(r"Q([\d.]+)", path.get("d", ""))[0])
    assert len(tracks) == 4


def test_a_picture_takes_time_in_line_with_its_operators_even_with_all_groups_open():
    seconds = {}
    for length in (300, 3000):
        document = trace(chain(length))
        started = time.process_time()
        picture = lanes(view(Nesting(document), Nesting(document).chosen("all")), State(), LIGHT, {}, Clock())
        seconds[length] = time.process_time() - started
        assert picture.count('class="node forward"') == length
    assert seconds[3000] < 30 * seconds[300]


def test_a_net_too_large_for_a_page_is_left_out_of_the_document_with_the_reason():
    graph = render(trace(chain(20_001)))
    assert graph.svg is None
    assert "20001 operators" in (graph.omitted or "")


def test_a_picture_that_stands_alone_has_a_background():
    document = trace(chain(2))
    assert f'fill="{DARK.background}"' in svg(document, 3, DARK)
    assert "background" not in (render(document).svg or "")


def test_an_empty_backward_pass_is_drawn():
    document = trace([("StopGradient", ["x"], ["y"]), ("StopGradient", ["y"], ["loss"])], [])
    assert "node-f1" in (render(document).svg or "")


def test_cleaning_drops_whatever_could_act():
    cleaned = clean(
        '<!DOCTYPE svg><svg xmlns="http://www.w3.org/2000/svg" onload="x()" viewBox="0 0 9 9"><script>x()</script>'
        '<g id="a" style="fill:url(x)" onclick="x()"><a href="javascript:x()"><text>in</text></a>'
        '<rect fill="url(http://x)" width="3"/><foreignObject><p/></foreignObject><text>ok</text></g></svg>'
    )
    assert {element.tag for element in cleaned.iter()} == {"svg", "g", "rect", "text"}
    assert [text.text for text in cleaned.iter("text")] == ["ok"]
    assert {name for element in cleaned.iter() for name in element.attrib} == {"xmlns", "viewBox", "id", "width"}


@pytest.mark.parametrize(
    "source",
    [
        *["", "<p/>", "<svg", "<svg><g></svg>"],
        "<svg>" + "<g>" * 100 + "</g>" * 100 + "</svg>",
        "<svg><script>" + "<g>" * 100 + "</g>" * 100 + "</script></svg>",
    ],
)
def test_what_is_no_svg_is_refused(source: str):
    with pytest.raises(DrawingError):
        clean(source)


def test_the_heading_of_a_lane_in_which_nothing_is_yet_is_not_cut():
    net = Net("one by one")
    net.Tanh("x", "a")
    ws = Workspace()
    ws.feed("x", [0.5])
    one = live(net, workspace=ws)
    one.step()
    picture = by_lanes(one.session.trace())
    heading, width = groups(picture)["lane-backward"][0], fromstring(picture).get("viewBox", "").split()[2]
    half = 0.3 * float(heading.get("font-size", 0)) * len(heading.text or "")
    assert float(heading.get("x", 0)) + half <= float(width)
