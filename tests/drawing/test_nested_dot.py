"""The DOT graph of nets within nets: Graphviz clusters, and which of them are open."""

import re
from xml.etree.ElementTree import Element

import pytest

from gradviz.debugger.document import Trace
from gradviz.drawing import LIGHT, DrawingError, digraph
from gradviz.drawing.nesting import Nesting
from gradviz.drawing.picture import dressed, layout
from tests.drawing.nested import NETS, all_lines, loop, three_deep, trace, two_branches
from tests.drawing.shapes import SVG, Rectangle, box, groups, overlap

every_net = pytest.mark.parametrize("built", NETS)

LINE = re.compile(r'"?((?:s\d+\.)?[fbp]\d+)"? \[')
SUBGRAPH = re.compile(r'subgraph "?cluster_([\w.]+)"? \{')


def clusters_around(source: str) -> dict[str, list[str]]:
    """The clusters that the statement of each node lies in, the outermost first."""
    found: dict[str, list[str]] = {}
    above: list[str] = []
    for text in source.splitlines():
        text = text.strip()
        if subgraph := SUBGRAPH.match(text):
            above.append(subgraph[1])
        elif text == "}" and above:
            above.pop()
        elif node := LINE.match(text):
            found[node[1]] = list(above)
    return found


def ways(document: Trace) -> dict[str, list[str]]:
    """The clusters that each line has to lie in: an open operator's own, then its net's."""
    nesting = Nesting(document)
    found: dict[str, list[str]] = {}
    for line in all_lines(document):
        way = [nesting.opener[line.id]] if line.id in nesting.opener else []
        net = line.id.rpartition(".")[0]
        while net:
            [owner] = nesting.around(net)[:1]
            way = [owner, net, *way]
            net = owner.rpartition(".")[0]
        found[line.id] = way
    return found


@every_net
def test_every_line_is_in_the_clusters_of_what_runs_it(built):
    document = trace(built)
    assert clusters_around(digraph(document, opened="all", plumbing=True).source) == ways(document)


@every_net
def test_closed_it_has_the_outermost_lines_and_no_cluster(built):
    document = trace(built)
    source = digraph(document, 0, plumbing=True).source
    assert clusters_around(source) == {line.id: [] for line in (*document.forward, *document.backward)}
    assert "cluster" not in source


@every_net
def test_graphviz_puts_every_line_into_the_frames_of_its_clusters(built):
    document = trace(built)
    found = groups(dressed(layout(digraph(document, opened="all", plumbing=True).source, seconds=30), LIGHT))
    frames = {
        name.partition("-")[2]: frame(group) for name, group in found.items() if name.startswith(("cluster-", "net-"))
    }
    for line, way in ways(document).items():
        for name, area in frames.items():
            assert overlap(box(found[f"node-{line}"]), area) == (name in way), (line, name)


def frame(group: Element) -> Rectangle:
    """Where Graphviz drew a cluster."""
    path = group.find(f"{SVG}path")
    assert path is not None
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", path.get("d", ""))]
    return min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2])


def test_edges_go_to_the_ports_of_a_cluster():
    document = trace(loop)
    source = digraph(document, opened="all", plumbing=True).source
    [loop_line] = [line for line in document.forward if line.subnets]
    after = int(loop_line.id[1:]) + 1
    net = loop_line.subnets["loop_net"]
    assert re.search(rf'"{net}\.forward-out" -> f{after} ', source)
    assert not re.search(rf"\b{loop_line.id} -> f{after} ", source)


def test_an_open_operator_and_its_nets_have_titles():
    source = digraph(trace(two_branches), opened="all", plumbing=True).source
    assert 'label="If #4"' in source
    assert 'label="then_net · if_0/then_net"' in source
    assert 'label="↻ loop_net · while_0/loop_net"' in digraph(trace(loop), opened="all", plumbing=True).source


def test_a_position_opens_the_nets_that_it_is_in():
    document = trace(three_deep)
    for position in (0, *(at for at, event in enumerate(document.events, 1) if event.kind == "EnteredSubnet")):
        net = document.events[position - 1].subnet if position else None
        opened = {
            name for way in clusters_around(digraph(document, position, plumbing=True).source).values() for name in way
        }
        assert {name for name in opened if not re.fullmatch(r"s\d+", name)} == set(Nesting(document).around(net))


@pytest.mark.parametrize("by", ["operator", "gradient operator", "net"])
def test_what_is_open_can_be_chosen_with_all_around_it(by: str):
    document = trace(three_deep)
    nesting = Nesting(document)
    owner = next(line.id for line in all_lines(document) if line.id.count(".") and line.type == "While")
    [partner, *_] = [line for line, opener in nesting.opener.items() if opener == owner and line != owner]
    name = {"operator": owner, "gradient operator": partner, "net": nesting.shown[owner][-1].id}[by]
    found = clusters_around(digraph(document, opened=[name], plumbing=True).source)
    assert {name for way in found.values() for name in way} >= {owner, *nesting.around(owner.rpartition(".")[0])}
    assert (
        digraph(document, opened=name, plumbing=True).source == digraph(document, opened=[name], plumbing=True).source
    )


def test_a_closed_operator_shows_that_it_can_open_and_what_it_runs():
    source = digraph(trace(two_branches), 0, plumbing=True).source
    assert re.search(r"▸ If\s+#4 · then, else", source)
    assert "▾" not in source


def test_what_cannot_open_is_refused():
    with pytest.raises(DrawingError, match="There is no operator f99"):
        digraph(trace(loop), opened=["f99"])


def test_marks_in_clusters_are_those_outside():
    document = trace(three_deep)
    position, event = next(
        (at, event)
        for at, event in enumerate(document.events, 1)
        if event.kind == "RuleApplied" and event.subnet and event.lines
    )
    statements = dict(
        re.findall(r'^\t+"?([\w.]+)"? \[(.*?)\]$', digraph(document, position, plumbing=True).source, re.M | re.S)
    )
    assert LIGHT.current_fill in statements[f"{event.subnet}.f{event.forward}"]
    assert LIGHT.new_fill in statements[event.lines[0]]
