"""Pictures of nets within nets: where clusters and what is in them stand, and what closing one leaves out."""

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from xml.etree.ElementTree import Element, fromstring

import pytest
from msgspec.structs import replace

from gradviz.debugger.document import Trace
from gradviz.drawing import DARK, LIGHT, render, svg
from gradviz.drawing.assembly import view
from gradviz.drawing.lanes import lanes
from gradviz.drawing.nesting import Nesting
from gradviz.drawing.theme import Clock
from gradviz.drawing.view import State, View
from tests.drawing.nested import NETS, all_lines, clusters_of, loop, three_deep, trace, two_branches
from tests.drawing.shapes import SVG, Rectangle, box, groups, line_of, overlap, points, rectangle, text_boxes, within

every_net = pytest.mark.parametrize("built", NETS)


def opened(document: Trace) -> View:
    return view(Nesting(document), Nesting(document).chosen("all"))


def picture(document: Trace) -> str:
    return lanes(opened(document), State(), LIGHT, {}, Clock())


def seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def parts(group: Element, kind: str) -> list[Rectangle]:
    """The rectangles of a kind that stand directly in a group."""
    return [rectangle(shape) for shape in group.findall(f"{SVG}rect") if shape.get("class") == kind]


def around(source: str) -> dict[str, list[str]]:
    """The clusters and nets that each group lies in, the outermost first."""
    found: dict[str, list[str]] = {}

    def walk(element: Element, above: list[str]) -> None:
        for child in element:
            id = child.get("id", "")
            if id:
                found[id] = above
            walk(child, [*above, id] if id.startswith(("cluster-", "net-")) else above)

    walk(fromstring(source), [])
    return found


def ways(document: Trace) -> Iterator[tuple[str, list[str]]]:
    """The line ids of a document, and the clusters and nets that each has to lie in."""
    nesting = Nesting(document)
    for line in all_lines(document):
        net = line.id.rpartition(".")[0]
        way: list[str] = []
        while net:
            [owner] = nesting.around(net)[:1]
            way = [f"cluster-{owner}", f"net-{net}", *way]
            net = owner.rpartition(".")[0]
        yield line.id, way


@every_net
def test_every_nested_operator_is_in_the_group_of_its_net_in_its_cluster(built):
    document = trace(built)
    found = around(picture(document))
    for line, way in ways(document):
        assert found[f"node-{line}"] == way


@every_net
def test_a_closed_picture_has_nothing_of_nested_nets(built):
    document = trace(built)
    found = groups(lanes(view(Nesting(document)), State(), LIGHT, {}, Clock()))
    nested = {f"node-{line.id}" for line in all_lines(document) if "." in line.id}
    assert nested
    assert not nested & set(found)
    assert not any(name.startswith(("cluster-", "net-")) for name in found)


@every_net
def test_frames_contain_their_operators_and_nets_and_nothing_else(built):
    document = trace(built)
    source = picture(document)
    found, way = groups(source), around(source)
    nodes = [name for name in found if name.startswith("node-")]
    for cluster in clusters_of(opened(document)):
        [frame] = parts(found[cluster.id], "frame")
        header = {node.id for net in opened(document).nets() for node in net.nodes if node.slot == cluster.slot}
        for name in nodes:
            area = box(found[name])
            if cluster.id in way[name] or name.removeprefix("node-") in header:
                x, y = (area[0] + area[2]) / 2, (area[1] + area[3]) / 2
                assert within((x, y, x, y), frame), name  # ports stand on the border
            else:
                assert not overlap(area, frame), name


@every_net
def test_no_two_nodes_overlap(built):
    found = groups(picture(trace(built)))
    boxes = [(name, box(group)) for name, group in found.items() if name.startswith("node-")]
    for number, (name, area) in enumerate(boxes):
        for other, other_area in boxes[:number]:
            assert not overlap(area, other_area), (name, other)


@every_net
def test_lanes_are_upright_through_all_nets(built):
    document = trace(built)
    found = groups(picture(document))
    middles = {
        round(sum(box(found[f"node-{node.id}"])[::2]) / 2)
        for net in opened(document).nets()
        for node in net.nodes
        if node.is_forward
    }
    assert len(middles) == 1


@every_net
def test_edges_of_a_nested_net_stay_in_its_cluster(built):
    source = picture(trace(built))
    found, way = groups(source), around(source)
    for name, group in found.items():
        if name.startswith("edge-") and way[name]:
            [frame] = parts(found[way[name][-2]], "frame")
            for x, y in points(line_of(group)):
                assert within((x, y, x, y), frame, slack=0.1), name


@every_net
def test_edges_end_at_their_nodes_and_ports(built):
    document = trace(built)
    found = groups(picture(document))
    drawn = opened(document)
    frames = {cluster.owner: parts(found[cluster.id], "frame")[0] for cluster in clusters_of(drawn)}
    opener = Nesting(document).opener
    for edge in (edge for net in drawn.nets() for edge in net.edges):
        path = list(points(line_of(found[edge.id])))
        for (x, y), end in ((path[0], edge.source), (path[-1], edge.target)):
            left, top, right, bottom = box(found[f"node-{end}"])
            if opener.get(end) in frames:  # below an open operator they end at the border of its last net
                bottom = frames[opener[end]][3]
            assert left - 3 <= x <= right + 3, edge
            assert top - 3 <= y <= bottom + 3, edge


@every_net
def test_no_edge_crosses_a_node_that_it_neither_leaves_nor_reaches(built):
    document = trace(built)
    found = groups(picture(document))
    boxes = {name.removeprefix("node-"): box(group) for name, group in found.items() if name.startswith("node-")}
    drawn = opened(document)
    feet = drawn.feet()
    for edge in (edge for net in drawn.nets() for edge in net.edges):
        if edge.kind == "saved" and edge.rise:
            continue  # runs behind the frame
        ends = {edge.source, edge.target, feet.get(edge.source), feet.get(edge.target)}
        others = [area for line, area in boxes.items() if line not in ends]
        for x, y in points(line_of(found[edge.id])):
            assert not any(overlap((x, y, x, y), other) for other in others), edge


@every_net
def test_labels_cover_no_node_and_no_other_label(built):
    found = groups(picture(trace(built)))
    texts = [(name, area) for name, group in found.items() if name.startswith("edge-") for area in text_boxes(group)]
    nodes = [box(group) for name, group in found.items() if name.startswith("node-")]
    for number, (name, text) in enumerate(texts):
        assert not any(overlap(text, node) for node in nodes), name
        assert not any(overlap(text, other) for other_name, other in texts[:number] if other_name != name), name


@every_net
def test_what_closing_leaves_out_holds_all_of_the_nets_and_nothing_else(built):
    """A front end closes a cluster by leaving out its group and the height of its fold."""
    source = picture(trace(built))
    found, way = groups(source), around(source)
    folds = {name: parts(group, "fold")[0] for name, group in found.items() if name.startswith("cluster-")}
    for name, group in found.items():
        if not name.startswith("node-"):
            continue
        _, top, _, bottom = box(group)
        for cluster, (_, start, _, end) in folds.items():
            middle = (top + bottom) / 2
            if cluster in way[name]:
                assert start <= middle <= end, (name, cluster)
            else:
                assert bottom <= start + 0.1 or top >= end - 0.1, (name, cluster)


@every_net
def test_shells_hold_nothing_of_the_nets_around_but_lines_across(built):
    """A front end also leaves out their widths where no cluster of the depth is open; texts go with their anchors."""
    source = picture(trace(built))
    found, way = groups(source), around(source)
    [graph] = [group for group in fromstring(source).iter(f"{SVG}g") if group.get("class") == "graph"]
    shells = [
        (int(shape.get("class", "").rpartition("-")[2]), rectangle(shape))
        for shape in graph.findall(f"{SVG}rect")
        if "shell" in shape.get("class", "")
    ]
    assert {depth for depth, _ in shells} == {len(way[name]) // 2 + 1 for name in found if name.startswith("cluster-")}
    for name, group in found.items():
        if name.startswith("node-"):
            left, _, right, _ = box(group)
        elif name.startswith("edge-") and group.find(f"{SVG}text") is not None:
            left = right = float(group.findall(f"{SVG}text")[0].get("x", ""))
        else:
            continue
        for depth, (start, _, end, _) in shells:
            if depth > len(way[name]) // 2:
                assert right <= start or left >= end, (name, depth)


def test_an_open_operator_stands_where_it_stood():
    document = trace(two_branches)
    [cluster] = opened(document).clusters
    open_, closed = groups(picture(document)), groups(lanes(view(Nesting(document)), State(), LIGHT, {}, Clock()))
    above = [node.id for node in view(Nesting(document)).nodes if node.slot < cluster.slot]
    gap = {round(box(open_[f"node-{line}"])[1] - box(closed[f"node-{line}"])[1], 1) for line in above}
    assert gap == {0.0}


def test_a_picture_of_a_position_shows_the_nets_that_it_is_in():
    document = trace(three_deep)
    deepest = max(document.subnets, key=lambda net: len(net.path)).id
    position = next(at for at, event in enumerate(document.events, 1) if event.subnet == deepest)
    source = svg(document, position)
    found = groups(source)
    assert f"net-{deepest}" in found
    assert {name for name in found if name.startswith("cluster-")} == {
        f"cluster-{line}" for line in Nesting(document, folded=True).around(deepest)
    }
    assert "here" in found[f"net-{deepest}"].get("class", "")
    assert not any(name.startswith("cluster-") for name in groups(svg(document, 0)))


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_what_is_current_and_new_is_marked_in_clusters_too(theme):
    document = trace(three_deep)
    position, event = next(
        (at, event)
        for at, event in enumerate(document.events, 1)
        if event.kind == "RuleApplied" and event.subnet and event.lines
    )
    found = groups(svg(document, position, theme))
    current = found[f"node-{event.subnet}.f{event.forward}"].find(f"{SVG}rect")
    new = found[f"node-{event.lines[0]}"].find(f"{SVG}rect")
    assert current is not None
    assert current.get("fill") == theme.current_fill
    assert new is not None
    assert new.get("fill") == theme.new_fill


def test_a_document_has_everything_open():
    document = trace(three_deep)
    graph = render(document)
    lines = {line.id for line in all_lines(document)}
    assert {f"node-{line}" for line in lines} <= set(groups(graph.whole or ""))
    assert {f"node-{line}" for line in lines - graph.folded.keys()} <= set(groups(graph.svg or ""))
    assert not {f"node-{line}" for line in graph.folded} & set(groups(graph.svg or ""))


def test_nets_that_do_not_fit_into_a_document_stay_closed(monkeypatch):
    document = trace(three_deep)
    monkeypatch.setattr(sys.modules["gradviz.drawing.render"], "MAX_IN_DOCUMENT", len(document.forward) + 14)
    found = groups(render(document).svg or "")
    shown = {name for name in found if name.startswith("net-")}
    assert 0 < len(shown) < len(document.subnets)
    for name in shown:
        assert set(Nesting(document, folded=True).around(name.removeprefix("net-"))) <= {
            cluster.removeprefix("cluster-") for cluster in found if cluster.startswith("cluster-")
        }


def test_hostile_names_of_nets_are_only_ever_text():
    document = trace(loop)
    evil = [replace(net, name='<script>alert(1)</script>"', argument="<b>") for net in document.subnets]
    for source in (render(replace(document, subnets=evil)).svg or "", picture(replace(document, subnets=evil))):
        assert {element.tag for element in fromstring(source).iter()} <= {
            f"{SVG}{tag}" for tag in ("svg", "g", "title", "path", "polygon", "rect", "ellipse", "line", "text")
        }


def test_four_times_as_many_nested_operators_take_less_than_ten_times_as_long_to_draw():
    ten, forty = (trace(partial(loop, operators)) for operators in (10, 40))
    assert (render(forty).svg or "").count('class="node forward"') > 40
    render(ten)  # what only the first drawing takes is over
    few, many = (min(seconds(partial(render, document)) for _ in range(3)) for document in (ten, forty))
    assert many < 10 * few
