"""The view model: which nodes and edges a trace has, and where they stand."""

import pytest
from msgspec.structs import replace

from gradviz import Variable, debug, functions
from gradviz.debugger.document import TraceError
from gradviz.drawing.assembly import view
from gradviz.drawing.nesting import Nesting
from gradviz.drawing.view import Edge, View
from tests.drawing.examples import DIAMOND, SKIP_CONNECTION, chain, residual, trace


def edges(drawn: View, kind: str) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in drawn.edges if edge.kind == kind}


def slots(drawn: View) -> dict[str, int]:
    return {node.id: node.slot for node in drawn.nodes}


def the_edge(drawn: View, source: str, target: str) -> Edge:
    [edge] = [edge for edge in drawn.edges if (edge.source, edge.target) == (source, target)]
    return edge


def test_every_line_is_a_node():
    document = trace(SKIP_CONNECTION)
    assert {node.id for node in view(Nesting(document)).nodes} == {
        line.id for line in (*document.forward, *document.backward)
    }


def test_an_operator_and_its_gradients_share_a_row():
    document = trace([("MatMul", ["x", "w"], ["h"]), ("Relu", ["h"], ["loss"])])
    slot = slots(view(Nesting(document)))
    gradients = [line for line in document.backward if line.of == 0]
    assert len(gradients) == 2
    assert {slot[line.id] for line in gradients} == {slot["f0"]}


def test_rows_follow_the_program_from_top_to_bottom():
    slot = slots(view(Nesting(trace(chain(5)))))
    assert [slot[f"f{i}"] for i in range(5)] == sorted(slot[f"f{i}"] for i in range(5))


def test_an_accumulation_stands_between_what_it_adds_and_what_reads_it():
    drawn = view(Nesting(trace(SKIP_CONNECTION)))
    slot = slots(drawn)
    [total] = [node for node in drawn.nodes if node.role == "accumulation"]
    assert slot["f1"] < total.slot < slot["f2"]
    assert total.title == "Σ"


def test_a_seed_stands_below_what_reads_it():
    drawn = view(Nesting(trace(chain(2))))
    assert slots(drawn)["b0"] == slots(drawn)["f1"] + 1


def test_a_gradient_that_passes_on_runs_through_the_operator_it_passes():
    drawn = view(Nesting(trace(SKIP_CONNECTION)))
    backward = edges(drawn, "backward")
    # s_grad@0 is made by b2; the sum's two readers get it through p4.
    assert {("b2", "p4"), ("p4", "b3"), ("p4", "b5")} <= backward
    assert ("b2", "b3") not in backward


def test_a_gradient_passes_through_several_operators_one_by_one():
    document = trace(
        [("FC", ["x", "w"], ["h"]), ("Alias", ["h"], ["i"]), ("Alias", ["i"], ["j"]), ("Relu", ["j"], ["k"])]
    )
    assert {("b1", "p2"), ("p2", "p1"), ("p1", "b2")} <= edges(view(Nesting(document)), "backward")


def test_what_passes_on_twice_into_one_sum_is_one_edge_with_a_count():
    document = trace([("FC", ["x", "w"], ["h"]), ("Sum", ["h", "h"], ["loss"])])
    [total] = [line for line in document.backward if line.role == "accumulation"]
    assert the_edge(view(Nesting(document)), "p1", total.id).blobs == ("loss_autogen_grad@0", "loss_autogen_grad@0")


def test_saved_values_are_one_edge_from_an_operator_to_its_gradient():
    document = trace(chain(3))
    saved = edges(view(Nesting(document)), "saved")
    assert saved == {(f"f{line.of}", line.id) for line in document.backward if line.role == "gradient"}


def test_an_operator_without_gradient_has_no_partner():
    drawn = view(
        Nesting(trace([("FC", ["x", "w"], ["h"]), ("StopGradient", ["h"], ["s"]), ("Mul", ["h", "s"], ["loss"])]))
    )
    assert [node.id for node in drawn.nodes if node.of == 1] == ["f1"]


def test_versions_of_a_blob_written_in_place_are_kept_apart():
    drawn = view(Nesting(trace([("FC", ["x", "w"], ["h"]), ("Relu", ["h"], ["h"]), ("Tanh", ["h"], ["loss"])])))
    assert the_edge(drawn, "f0", "f1").blobs == ("h@0",)
    assert the_edge(drawn, "f1", "f2").blobs == ("h@1",)
    assert ("f0", "f2") not in edges(drawn, "forward")


def test_an_edge_exists_once_both_ends_do():
    document = trace(DIAMOND)
    made = {line.id: 0 for line in document.forward} | {line.id: line.made for line in document.backward}
    for edge in view(Nesting(document)).edges:
        assert edge.exists_from == max(made[edge.source], made[edge.target])


def test_backward_edges_rise_and_forward_edges_fall():
    for edge in view(Nesting(trace(residual(3)))).edges:
        assert (edge.rise > 0) == (edge.kind == "backward")


def test_only_edges_that_pass_nodes_of_their_lane_skip():
    drawn = view(Nesting(trace(SKIP_CONNECTION)))
    assert {(edge.source, edge.target) for edge in drawn.edges if edge.skips} == {("f1", "f4"), ("p4", "b5")}


def test_ids_that_no_line_can_have_are_refused():
    document = trace(chain(1))
    evil = replace(document.forward[0], id='f0" onload="x')
    with pytest.raises(TraceError, match="not the id of a line"):
        view(Nesting(replace(document, forward=[evil])))


def test_parts_of_a_sum_that_is_formed_as_they_arrive_are_counted_by_all_of_them():
    a = functions.tanh(Variable([0.5], name="x"))
    drawn = view(Nesting(debug(functions.sin(a) + a * a * functions.cos(a)).trace()))
    words = {name for edge in drawn.all_edges() for name in edge.names if "part" in name}
    assert words == {f"gradient of a@0, {which} of 4 parts" for which in ("second", "third", "fourth")}
