"""Rows of equal index merged after the pass: told step by step, counted, and the same as a net merges them."""

import numpy as np
import pytest
from msgspec.structs import replace

from gradviz import GradientSlice, Net, NetError, debug, load
from gradviz.debugger import CursorError
from gradviz.debugger.document import TraceError, encode
from gradviz.drawing import LIGHT
from gradviz.drawing.assembly import view
from gradviz.drawing.nesting import Nesting
from gradviz.program.events import Completed, Deduplicated
from tests.embedding import embedding, fed


def dense(session, gradient):
    whole = np.zeros((5, 2))
    np.add.at(whole, session.value(gradient.indices), session.value(gradient.values))
    return whole


@pytest.fixture
def session():
    return debug(embedding(), ["y"], workspace=fed(), deduplicate="sum")


@pytest.mark.parametrize("aggregator", ["sum", "mean"])
def test_a_session_merges_rows_as_a_net_does(aggregator):
    net, ws = embedding(), fed()
    merged = net.deduplicate_gradient_slices(net.add_gradient_operators(["y"])["table"], aggregator)
    ws.run(net)
    session = debug(embedding(), ["y"], workspace=fed(), deduplicate=aggregator)
    assert session.net.to_dict() == net.to_dict()
    gradient = session.trace().gradients["table"]
    assert gradient == GradientSlice(f"{merged.indices}@0", f"{merged.values}@0")
    np.testing.assert_array_equal(session.value(gradient.indices), ws[merged.indices])
    np.testing.assert_array_equal(session.value(gradient.values), ws[merged.values])


def test_the_merge_is_a_step_of_its_own_after_the_pass(session):
    session.run_to("Completed")
    assert "4 gradient operators" in session.narration
    event = session.over()
    assert isinstance(event, Deduplicated)
    assert (event.blob, event.version, event.aggregator, event.position) == ("table", 0, "sum", 4)
    assert [op.type for op in event.operators] == ["Unique", "UnsortedSegmentSum"]
    assert session.step().kind == "Ran"


def test_the_narration_counts_the_rows(session):
    session.run_to("Deduplicated")
    assert session.narration.startswith("The gradient of `table@0` is sparse")
    assert session.narration.endswith("Here 6 rows became 3; index 1 stood there 3 times.")


def test_the_rows_before_and_after_are_told(session):
    merge = session.rows("table").merge
    assert (merge.rows_before, merge.rows_after) == (6, 3)
    assert [(row.index, row.times) for row in merge.most_repeated] == [(1, 3), (0, 2), (2, 1)]
    np.testing.assert_array_equal(dense(session, merge.before), dense(session, merge.after))
    assert merge.difference == 0
    text = repr(session.rows("table@0"))
    assert "6 before, 3 after" in text
    assert "the same gradient as a dense array" in text
    cells = "".join(f'<td style="text-align: right; white-space: nowrap">{number}</td>' for number in (1, 3))
    assert cells in session.rows("table")._repr_html_()


def test_a_mean_says_how_much_it_changes():
    session = debug(embedding(), ["y"], workspace=fed(), deduplicate="mean")
    merge = session.rows("table").merge
    assert merge.difference == np.abs(dense(session, merge.before) - dense(session, merge.after)).max() == 2
    assert "differ by at most 2" in repr(session.rows("table"))
    session.run_to("Deduplicated")
    assert "another gradient" in session.narration


def test_where_no_index_repeats_all_rows_stay():
    ws = fed()
    ws.feed("i", np.array([0, 1, 2]))
    net = Net()
    net.Gather(["table", "i"], "y")
    session = debug(net, ["y"], workspace=ws, deduplicate="sum")
    session.run_to("Deduplicated")
    assert session.narration.endswith("Here none repeats: all 3 rows stay.")


def test_many_indices_are_listed_in_part():
    ws = fed()
    ws.feed("i", np.array([*range(5), *range(5), 4]))
    ws.feed("table", np.ones((40, 2)))
    ws.feed("j", np.arange(12, 23))
    view = debug(embedding(), ["y"], workspace=ws, deduplicate="sum").rows("table")
    assert [row.times for row in view.merge.most_repeated] == [3, 2, 2, 2, 2, 1, 1, 1]
    assert "8 more indices, none more often" in repr(view)


def test_without_values_the_counts_are_not_computed():
    session = debug(embedding(), ["y"], deduplicate="sum")
    session.run_to("Deduplicated")
    assert "once it has run" in session.narration
    merge = session.rows("table").merge
    assert (merge.rows_before, merge.rows_after, merge.difference) == (None, None, None)
    assert "not computed" in repr(session.rows("table"))


def test_each_table_has_a_merge_of_its_own():
    net = embedding()
    net.Gather(["other", "i"], "c")
    net.Add(["y", "c"], "z")
    session = debug(net, ["z"], deduplicate="sum")
    blobs = [event.blob for event in session.events if isinstance(event, Deduplicated)]
    assert sorted(blobs) == ["other", "table"]
    written = [name for op in session.net.ops for name in op.outputs]
    assert len(written) == len(set(written))


def test_only_gradients_of_inputs_are_merged():
    net = Net()
    net.Tanh("table", "t")
    net.Gather(["t", "i"], "y")
    session = debug(net, ["y"], workspace=fed(), deduplicate="sum")
    assert not any(isinstance(event, Deduplicated) for event in session.events)
    assert session.narration.endswith("No input of the net has a sparse gradient, so no rows are merged.")
    with pytest.raises(CursorError, match="deduplicate="):
        session.rows("table")


def test_a_pass_that_fails_merges_nothing():
    net = embedding()
    net.Copy("k", "i")
    session = debug(net, ["y"], deduplicate="sum")
    assert session.finish().kind == "Failed"
    assert session.trace().merges == []


def test_rows_of_another_blob_are_not_found(session):
    with pytest.raises(CursorError, match="table@0"):
        session.rows("y")


def test_an_unknown_aggregator_is_refused_at_once():
    with pytest.raises(NetError) as caught:
        debug(embedding(), ["y"], deduplicate="max")
    assert caught.value.kind == "bad_argument"
    assert caught.value.ways_out


def test_a_net_that_merges_rows_itself_steps_like_any_other():
    net = embedding()
    net.deduplicate_gradient_slices(GradientSlice("i", "a"))
    session = debug(net, ["y"], workspace=fed())
    kinds = [event.kind for event in session.events]
    assert kinds.count("Played") == 5
    assert isinstance(session.events[kinds.index("Completed")], Completed)
    np.testing.assert_array_equal(session.value("a_unique"), [[0, 1], [4, 6]])


def test_a_merge_saved_and_loaded_is_the_same_to_look_at(session, tmp_path):
    session.save(tmp_path / "rows.gradviz.json")
    again = load(tmp_path / "rows.gradviz.json")
    assert again.trace() == session.trace()
    assert again.events == session.events
    assert repr(again.rows("table")) == repr(session.rows("table"))


@pytest.mark.parametrize(
    "wrong",
    [{"at": 0}, {"at": 1}, {"at": 10_000}, {"rows_before": -1}, {"most_repeated": [{"index": 0, "times": -1}] * 2}],
)
def test_a_merge_that_contradicts_the_document_is_not_written(session, wrong):
    trace = session.trace()
    rows = wrong.pop("most_repeated", None)
    merge = replace(trace.merges[0], **wrong)
    if rows is not None:
        merge = replace(merge, most_repeated=[replace(trace.merges[0].most_repeated[0], **row) for row in rows])
    with pytest.raises(TraceError, match="merges"):
        encode(replace(trace, merges=[merge]))


def test_what_merges_rows_has_the_colour_of_sums(session):
    session.run_to("Deduplicated")
    source = session.graph().source
    for line in session.trace().events[session.position - 1].lines:
        (node,) = [row for row in source.splitlines() if f'id="node-{line}"' in row or f"id=node-{line} " in row]
        assert LIGHT.accumulation in node


def test_the_merge_stands_above_the_first_reader_and_hangs_on_the_sum(session):
    drawn = view(Nesting(session.trace()))
    nodes = {node.id: node for node in drawn.nodes}
    unique, segments = (
        node for node in sorted(drawn.nodes, key=lambda node: -node.slot) if node.role == "deduplication"
    )
    assert (unique.title, segments.title) == ("Unique", "UnsortedSegmentSum")
    assert segments.slot < unique.slot < min(node.slot for node in drawn.nodes if node.role != "deduplication")
    into = {(nodes[edge.source].title, nodes[edge.source].role) for edge in drawn.edges if edge.target == segments.id}
    assert into == {("Unique", "deduplication"), ("Σ", "accumulation")}


def test_a_gradient_that_only_passed_is_merged_where_it_passed():
    net = Net()
    net.Gather(["table", "i"], "y")
    drawn = view(Nesting(debug(net, ["y"], deduplicate="sum").trace()))
    assert {(edge.source, edge.target) for edge in drawn.edges if edge.kind == "backward"} == {
        ("b0", "p0"),
        ("p0", "b1"),
        ("p0", "b2"),
        ("b1", "b2"),
    }
