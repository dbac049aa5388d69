"""The view model of nets within nets: what an open operator shows, and what crosses the border of a nested net."""

import pytest
from msgspec.structs import replace

from gradviz.debugger.document import Line, Subnet, Trace, TraceError
from gradviz.drawing import DrawingError
from gradviz.drawing.assembly import view
from gradviz.drawing.nesting import MAX_DEPTH, Nesting
from gradviz.drawing.view import Edge, Node, View
from tests.drawing.examples import chain
from tests.drawing.examples import trace as plain
from tests.drawing.nested import NETS, all_lines, clusters_of, loop, shared_gradient, three_deep, trace, two_branches

every_net = pytest.mark.parametrize("built", NETS)


def opened(document: Trace) -> View:
    return view(Nesting(document), Nesting(document).chosen("all"))


def nodes(drawn: View) -> dict[str, Node]:
    return {node.id: node for net in drawn.nets() for node in net.nodes}


def subnet(document: Trace, argument: str, net_type: str) -> Subnet:
    """The one nested net that the forward operators of a type have in an argument."""
    types = {line.id: line.type for line in all_lines(document)}
    [found] = [net for net in document.subnets if net.argument == argument and types.get(net.owner or "") == net_type]
    return found


def section(drawn: View, net: str) -> View:
    [found] = [section.view for cluster in clusters_of(drawn) for section in cluster.sections if section.id == net]
    return found


def blobs(drawn: View, source: str, target: str) -> tuple[str, ...]:
    return tuple(blob for edge in drawn.edges if (edge.source, edge.target) == (source, target) for blob in edge.blobs)


@every_net
def test_closed_it_has_the_lines_of_the_outermost_net_only(built):
    document = trace(built)
    drawn = view(Nesting(document))
    assert {node.id for node in drawn.nodes} == {line.id for line in (*document.forward, *document.backward)}
    assert drawn.clusters == ()
    assert {node.id for node in drawn.nodes if node.fold == "closed"} == {
        line.id for line in (*document.forward, *document.backward) if line.subnets
    }


@every_net
def test_open_it_has_every_line_of_every_net_once(built):
    document = trace(built)
    found = [node.id for net in opened(document).nets() for node in net.nodes if node.role != "port"]
    assert sorted(found) == sorted(line.id for line in all_lines(document))


@every_net
def test_a_cluster_has_the_slots_between_its_operator_and_the_next_row(built):
    for net in opened(trace(built)).nets():
        slots = sorted({node.slot for node in net.nodes})
        for cluster in net.clusters:
            inside = [
                node.slot for section in cluster.sections for inner in section.view.nets() for node in inner.nodes
            ]
            after = [slot for slot in slots if slot > cluster.slot]
            assert min(inside) == cluster.slot + 1
            assert not after or max(inside) == after[0] - 1


def test_an_operator_opens_together_with_the_one_that_runs_its_backward_pass():
    document = trace(loop)
    drawn = opened(document)
    [cluster] = drawn.clusters
    row = [node for node in drawn.nodes if node.slot == cluster.slot]
    assert [(node.title, node.fold) for node in row] == [("While", "open"), ("While", "open")]


def test_what_prepares_a_backward_loop_stands_below_it_one_above_the_other():
    document = trace(loop)
    found = nodes(view(Nesting(document)))
    [backward_loop] = [line for line in document.backward if line.subnets]
    before = [line for line in document.backward if line.of == backward_loop.of and line is not backward_loop]
    slots = [found[line.id].slot for line in (*before, backward_loop)]
    assert {line.type for line in before} >= {"HasScope", "ConstantFill"}
    assert slots == sorted(set(slots), reverse=True)


def test_what_is_opened_in_a_closed_net_is_not_seen():
    document = trace(three_deep)
    inner = [line for line in Nesting(document).shown if "." in line]
    assert view(Nesting(document), inner) == view(Nesting(document))


def test_each_level_opens_by_itself():
    document = trace(three_deep)
    nesting = Nesting(document)
    deepest = max(nesting.shown, key=lambda line: len(nesting.around(line.rpartition(".")[0])))
    chosen = nesting.chosen(deepest)
    assert len(chosen) == 6
    for closed in chosen:
        drawn = view(Nesting(document), chosen - {closed})
        assert closed not in {cluster.owner for cluster in clusters_of(drawn)}
        seen = {cluster.owner for cluster in clusters_of(drawn)}
        assert seen == {line for line in chosen if closed not in (line, *nesting.around(line.rpartition(".")[0]))}


def test_a_blob_can_be_followed_into_a_loop_and_out_of_it():
    document = trace(loop)
    drawn = opened(document)
    around, body = (section(drawn, subnet(document, *of).id) for of in (("loop_net", "While"), ("net", "Do")))
    [do] = [node.id for node in around.nodes if node.is_forward and node.fold]
    [multiplied] = [node.id for node in body.nodes if node.is_forward and node.title == "Mul"]
    (into_loop, out_of_loop), (into_body, out_of_body) = (
        [node.id for node in net.nodes if node.role == "port" and node.is_forward] for net in (around, body)
    )
    assert "h@0" in blobs(around, into_loop, do)
    assert "h@0" in blobs(body, into_body, multiplied)
    assert "h@1" in blobs(body, multiplied, out_of_body)
    assert "h@1" in blobs(around, do, out_of_loop)


def test_a_crossing_blob_is_told_by_its_names_on_both_sides():
    document = plain([("Do", ["x", "W"], ["y", "W"])])
    inner = plain([("Tanh", ["a"], ["b"])])
    line = replace(
        document.forward[0], subnets={"net": "s0"}, args={"inner_blobs": ["a", "b"], "outer_blobs_idx": [0, 1]}
    )
    inside = replace(inner.forward[0], id="s0.f0")
    net = Subnet(id="s0", owner="f0", argument="net", name="body", path=["0.net"], forward=[inside], backward=[])
    drawn = opened(replace(document, forward=[line], subnets=[net]))
    body = section(drawn, "s0")
    assert {blob for edge in body.edges for blob in edge.blobs} == {"x@0 → a@0", "b@0 → y@0"}


def test_only_what_a_loop_hands_to_its_next_iteration_is_carried():
    document = trace(loop)
    around = section(opened(document), subnet(document, "loop_net", "While").id)
    carried = {edge.kind: edge for edge in around.edges if edge.carried}
    assert set(carried) == {"forward", "backward"}
    assert carried["forward"].blobs[0].startswith("↻ h, i")
    assert "w" not in carried["forward"].blobs[0].replace("while", "")
    assert "w_grad" in carried["backward"].blobs[0]
    branches = trace(two_branches)
    assert not any(edge.carried for net in opened(branches).nets() for edge in net.edges)


def test_gradients_enter_at_the_bottom_and_leave_at_the_top():
    for net in opened(trace(three_deep)).nets():
        for edge in net.edges:
            if not edge.carried and edge.kind != "saved":
                assert (edge.rise > 0) == (edge.kind == "backward"), edge


def test_versions_that_a_do_keeps_are_saved_values():
    document = trace(loop)
    body = section(opened(document), subnet(document, "net", "Do").id)
    [multiplied] = [node.id for node in body.nodes if node.title == "Mul" and node.is_forward]
    [saved] = [edge for edge in body.edges if edge.kind == "saved" and edge.source == multiplied]
    assert "h@0" in saved.blobs


def test_what_both_branches_compute_has_a_net_on_each_side():
    document = trace(two_branches)
    [cluster] = opened(document).clusters
    assert [section.title.split(" · ")[0] for section in cluster.sections] == ["then_net", "else_net"]
    for part in cluster.sections:
        assert {node.is_forward for node in part.view.nodes} == {True, False}


def test_the_copy_for_a_second_output_is_marked():
    document = trace(shared_gradient)
    [copy] = [line for line in document.backward if line.role == "duplicate"]
    assert copy.outputs[0].partition("@")[0].endswith("_DEDUP")
    node = nodes(view(Nesting(document)))[copy.id]
    assert (node.role, node.detail) == ("duplicate", "dedup of #1")


def test_a_trace_without_nested_nets_has_nothing_to_open():
    document = plain(chain(3))
    assert Nesting(document).chosen("all") == set()
    assert all(node.fold is None for node in view(Nesting(document)).nodes)


def test_what_cannot_open_is_refused_by_name():
    with pytest.raises(DrawingError, match="no operator f0 that can open") as caught:
        Nesting(trace(loop)).chosen("f0")
    assert caught.value.kind == "not_found"


def within_itself() -> Trace:
    """Nets that run each other, and one that is run twice."""
    document = plain(chain(2))

    def line(id: str, **nets: str) -> Line:
        return replace(document.forward[0], id=id, type="Do", subnets=nets)

    def net(id: str, *lines: Line) -> Subnet:
        return Subnet(id=id, owner="f0", argument="net", name=id, path=[], forward=list(lines), backward=[])

    return replace(
        document,
        forward=[line("f0", net="s0", other="s0"), line("f1", net="s0")],
        backward=[],
        subnets=[net("s0", line("s0.f0", net="s1")), net("s1", line("s1.f0", net="s0", other="s1", third="s9"))],
    )


def test_nets_that_contain_each_other_are_drawn_once():
    drawn = opened(within_itself())
    assert [cluster.owner for cluster in clusters_of(drawn)] == ["f0", "s0.f0"]
    assert [node.id for net in drawn.nets() for node in net.nodes if node.role != "port"].count("s1.f0") == 1


def test_nets_deeper_than_can_be_shown_stay_closed():
    document = plain(chain(1))
    lines = [replace(document.forward[0], id=f"s{k}.f0", type="Do", subnets={"net": f"s{k + 1}"}) for k in range(3000)]
    nets = [
        Subnet(id=f"s{k}", owner="f0", argument="net", name="", path=[], forward=[line], backward=[])
        for k, line in enumerate(lines)
    ]
    deep = replace(document, forward=[replace(document.forward[0], subnets={"net": "s0"})], backward=[], subnets=nets)
    assert sum(1 for _ in clusters_of(opened(deep))) == MAX_DEPTH


@pytest.mark.parametrize("id", ['s0" onload="x', "s0.f0", "", "s0\n"])
def test_ids_that_no_nested_net_can_have_are_refused(id: str):
    document = within_itself()
    evil = replace(document.subnets[0], id=id)
    with pytest.raises(TraceError, match="is not the id of a"):
        view(Nesting(replace(document, subnets=[evil])))


def test_lines_of_another_net_are_refused():
    document = within_itself()
    stray = replace(document.subnets[0], forward=document.forward)
    with pytest.raises(TraceError, match="f0 is not the id of a line"):
        view(Nesting(replace(document, subnets=[stray])))


def test_edges_are_numbered_through_all_nets():
    edges: list[Edge] = [edge for net in opened(trace(three_deep)).nets() for edge in net.edges]
    assert sorted(edge.number for edge in edges) == list(range(len(edges)))
