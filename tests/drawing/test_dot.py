"""The DOT graph: state at a position, and names that nobody can break out of."""

import re

import graphviz
import pytest

import gradviz
from gradviz.drawing import DARK, LIGHT, digraph
from gradviz.drawing.picture import layout
from tests.drawing.examples import SKIP_CONNECTION, chain, trace


def node_lines(source: str) -> dict[str, str]:
    """The statement of each node, by id."""
    statements = re.findall(r"^\t(\w+) \[(.*?)\]$", source, re.MULTILINE | re.DOTALL)
    return {name: attributes for name, attributes in statements if re.fullmatch(r"[fbp]\d+", name)}


def test_it_is_a_graph_of_the_graphviz_package():
    assert isinstance(digraph(trace(chain(2))), graphviz.Digraph)


def test_a_position_marks_the_operator_visited_and_what_was_made():
    document = trace(SKIP_CONNECTION)
    [position] = [at for at, event in enumerate(document.events, 1) if event.lines == ["b4"]]
    nodes = node_lines(digraph(document, position).source)
    assert LIGHT.current_fill in nodes["f2"]
    assert LIGHT.new_fill in nodes["b4"]
    assert [name for name, look in nodes.items() if LIGHT.current_fill in look] == ["f2"]
    assert [name for name, look in nodes.items() if LIGHT.new_fill in look] == ["b4"]


def test_what_is_not_made_yet_is_dashed_and_says_so():
    document = trace(SKIP_CONNECTION)
    [position] = [at for at, event in enumerate(document.events, 1) if event.kind == "Accumulated"]
    nodes = node_lines(digraph(document, position).source)
    late = {line.id for line in document.backward if line.made > position}
    assert late == {name for name, look in nodes.items() if "not made yet" in look}
    assert all("dashed" in nodes[name] for name in late)


def test_at_position_0_the_net_is_there_and_no_gradient_is_made():
    document = trace(chain(2))
    nodes = node_lines(digraph(document, 0).source)
    assert {name for name, look in nodes.items() if "dashed" not in look} == {"f0", "f1"}


def test_without_a_position_nothing_is_marked():
    nodes = node_lines(digraph(trace(chain(4))).source)
    assert not any("dashed" in look or LIGHT.current_fill in look for look in nodes.values())


def test_a_position_outside_of_the_recording_is_refused():
    document = trace(chain(1))
    with pytest.raises(IndexError, match="from 0 to"):
        digraph(document, len(document.events) + 1)


def test_the_theme_gives_the_colours():
    assert DARK.forward in digraph(trace(chain(1)), theme=DARK).source


@pytest.mark.parametrize("name", ["<b>x</b>", 'a"b', "a\\N", "&lt;", "x]; evil [", "\\", "a\nb", "\x00", "\ud800"])
def test_names_are_shown_as_they_are(name: str):
    graph = digraph(trace([("FC", ["x", "w"], [name]), (name, [name], ["loss"])]))
    picture = layout(graph.source)
    assert "evil [" not in re.sub(r">[^<]*<", "><", picture)
    if name.isprintable():
        escaped = name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
        assert re.search(rf">{re.escape(escaped)}</text>", picture)


def test_a_notebook_shows_it_without_a_dot_program():
    bundle = digraph(trace(chain(1)))._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<svg")
    assert bundle["text/plain"].startswith("digraph")


def test_what_runs_on_a_gpu_is_tinted_and_says_on_which():
    net = gradviz.Net("crossing")
    net.copies = True
    net.Tanh("x", "h", device="cpu")
    net.Relu("h", "y", device="cuda:1")
    nodes = node_lines(digraph(gradviz.debug(net, ["y"]).trace()).source)
    assert {name for name, look in nodes.items() if LIGHT.gpu_fill in look} == {"f1", "f2", "b1", "b2"}
    assert "#1 · cuda:1" in nodes["f1"]
    assert "of #2 · cuda:1" in nodes["b1"]
