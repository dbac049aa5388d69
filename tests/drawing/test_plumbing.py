"""Plumbing in drawings: branches and loops hold what a person wrote, and the rest is folded into it."""

import pytest

from gradviz.debugger.document import Trace
from gradviz.drawing import render
from gradviz.drawing.assembly import view
from gradviz.drawing.nesting import Nesting
from gradviz.drawing.view import View, state_at
from tests.drawing.nested import NETS, all_lines, clusters_of, loop, shared_gradient, three_deep, trace, two_branches

every_net = pytest.mark.parametrize("built", NETS)

PLUMBING = {"CreateScope", "HasScope", "Copy"}


def opened(document: Trace) -> View:
    nesting = Nesting(document, folded=True)
    return view(nesting, nesting.chosen("all"))


def titles(drawn: View) -> list[str]:
    return [node.title for node in drawn.nodes if node.is_forward and node.role != "port"]


def sections(drawn: View) -> dict[str, list[str]]:
    """What stands in each nested net that is shown, forward, by its title."""
    return {section.title: titles(section.view) for cluster in clusters_of(drawn) for section in cluster.sections}


def test_an_if_holds_what_was_written_in_its_branches():
    drawn = opened(trace(two_branches))
    assert titles(drawn) == ["FC", "ConstantFill", "If", "SumElements"]
    assert sections(drawn) == {"If c@0": ["Tanh", "Mul"], "Else": ["Sigmoid"]}


def test_a_while_holds_what_was_written_in_its_body():
    drawn = opened(trace(loop))
    assert titles(drawn) == ["Sin", "LT", "While", "SumElements"]
    assert sections(drawn) == {"Body": ["Mul", "Add", "LT"]}


def test_each_level_of_nested_nets_is_read_as_it_was_written():
    assert sections(opened(trace(three_deep))) == {
        "If c@0": ["Mul", "LT", "While"],
        "Body": ["Tanh", "If", "Add", "LT"],
        "If d@0": ["Mul"],
        "Else": ["Sigmoid"],
    }


def test_a_do_that_a_person_wrote_is_shown():
    assert "Do" in titles(opened(trace(shared_gradient)))


@every_net
def test_no_plumbing_has_a_node_and_all_of_it_is_in_the_whole_drawing(built):
    document = trace(built)
    graph, types = render(document), {line.id: line.type for line in all_lines(document)}
    assert not [types[line] for line in types.keys() - graph.folded.keys() if types[line] in PLUMBING]
    for line in types:
        assert f'id="node-{line}"' in (graph.whole or "")
        assert (f'id="node-{line}"' in (graph.svg or "")) == (line not in graph.folded)


@every_net
def test_what_is_folded_is_part_of_a_node_that_is_drawn(built):
    graph = render(trace(built))
    for folded, into in graph.folded.items():
        is_net = "." not in folded and folded.startswith("s")
        shown = f'id="net-{into}"' if is_net and into else f'id="node-{into}"'
        assert into == "" or shown in (graph.svg or ""), (folded, into)


@every_net
def test_no_event_is_about_something_that_the_drawing_does_not_mark(built):
    document = trace(built)
    nesting = Nesting(document, folded=True)
    drawn = {node.id for node in opened(document).all_nodes()}
    for position in range(1, document.length + 1):
        state = state_at(document, position, nesting.plumbing)
        assert state.new <= drawn
        assert state.current is None or state.current in drawn
