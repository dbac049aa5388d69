"""Numbers in the graph: norms of gradients on edges, and marks at operators that made something odd."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

import gradviz
from tests.browser.hosts import Host, on_a_page, recorded
from tests.browser.programs import (
    Build,
    Built,
    deep,
    first_row_of_a_table,
    gated,
    neuron,
    relu_in_place,
    shrunken,
    skip_connection,
    used_four_times,
    written_into,
)  # fmt: skip
from tests.browser.view import GEOMETRY, View, ask, seen

WIDTHS = """graph => [...graph.querySelectorAll(".edge.backward[data-normed]:not(.hot)")]
  .map((edge) => [parseFloat(edge.querySelector(".gv-edge-norm").textContent), edge.querySelector("path")])
  .map(([norm, path]) => [norm, parseFloat(getComputedStyle(path).strokeWidth)])"""
"""Of each edge that says it the norm, and how thick it is."""


BEYOND = """graph => {
  const leaves = [...graph.querySelectorAll(".gv-leaf")].flatMap(leaf => {
    const box = leaf.querySelector("rect").getBBox();
    return [...leaf.querySelectorAll("text")]
      .filter(text => text.getBBox().x < box.x || text.getBBox().x + text.getBBox().width > box.x + box.width);
  });
  const norms = [...graph.querySelectorAll(".gv-edge-norm")]
    .filter(norm => Math.abs(norm.getBBox().x - norm.previousElementSibling.getBBox().x) > 2);
  return [...leaves, ...norms].map(text => text.textContent);
}"""
"""The numbers that reach beyond the outlines of their leaves, or do not begin where the name above them does."""


FONTS = """graph => [...graph.querySelectorAll(".gv-edge-norm")]
  .map(norm => [norm, norm.previousElementSibling].map(one => getComputedStyle(one))
    .map(({ fontFamily, fontSize }) => `${fontSize} ${fontFamily}`))"""
"""Of each norm its font, and that of the name above it."""


COVERED = (
    """graph => {"""
    + GEOMETRY
    + """
  const leaves = [...graph.querySelectorAll(".gv-leaf > rect")];
  const others = [...graph.querySelectorAll(".node > :is(rect, ellipse, path), .edge text")]
    .filter(one => one.checkVisibility());
  const points = pointsOf(graph.querySelectorAll(".edge > path"));
  return leaves.filter((leaf, at) =>
    [...others, ...leaves.slice(at + 1)].some(one => meets(boxOf(leaf), boxOf(one)))
    || points.some(point => isIn(point, boxOf(leaf)))).map(leaf => leaf.parentElement.textContent);
}"""
)
"""The leaves that lie over something else."""


NORMS = """graph => [...graph.querySelectorAll(".edge.backward[data-normed]")]
  .map(edge => ["title", ".gv-edge-norm"].map(part => edge.querySelector(part).textContent).join(" ")).sort()"""
"""What each edge that has a norm joins, and the norm."""


BOTTOM = "mark => mark.querySelector('rect').getBoundingClientRect().bottom"

IS_AT_ITS_NODE = """mark => {
  const [box, node] = [mark, mark.parentElement.querySelector(":scope > rect, :scope > ellipse")].map(
    (one) => one.getBoundingClientRect());
  return Math.abs(box.left - node.left) < 20 && Math.abs(box.top - node.top) < 20;
}"""

CAPITALS = """words => {
  const { top, height } = words.getBoundingClientRect();
  return top + 0.2 * height;
}"""
"""Where the capitals of a title begin: above them its font has room for accents."""


def vanishing() -> Built:
    """A gradient and a value so small that they are written with powers of ten."""
    net = gradviz.Net("vanishing")
    net.Mul(["x", "w"], "h")
    net.Scale("h", "g", scale=1e-6)
    net.Scale("g", "y", scale=-0.123)
    ws = gradviz.Workspace()
    ws.feed("x", 1.25)
    ws.feed("w", 2.0)
    return net, ["y"], ws


def passed_on_to_a_sum() -> Built:
    """The gradient of h is added up of three: one is passed on by an operator, whose maker hands over another one."""
    net = gradviz.Net("passed on to a sum")
    net.Tanh("x", "h")
    net.Scale("h", "g", scale=2.0)
    net.Sum(["g", "h"], "s")
    net.Mul(["s", "h"], "y")
    ws = gradviz.Workspace()
    ws.feed("x", [0.5, 1.0])
    return net, ["y"], ws


def computed_twice() -> Built:
    """The second operator overwrites what nobody has read."""
    net = gradviz.Net("computed twice")
    net.Scale("x", "y", scale=5.0)
    net.Scale("x", "y", scale=7.0)
    ws = gradviz.Workspace()
    ws.feed("x", 1.0)
    return net, ["y"], ws


def infinite_slope() -> Built:
    """A root whose slope is infinite at 0."""
    net = gradviz.Net("root of a square")
    net.Sqr("x", "squared")
    net.Sqrt("squared", "root")
    net.Mul(["root", "w"], "y")
    ws = gradviz.Workspace()
    ws.feed("x", [-1.0, 0.0, 2.0])
    ws.feed("w", [0.5, 2.0, 1.0])
    return net, ["y"], ws


def first_row_of_what_is_made() -> Built:
    """The same of what an operator makes, which wants a dense gradient: the joined rows are read for that."""
    net, ys, ws = first_row_of_a_table()
    ops = [gradviz.Operator("Scale", ["x"], ["table"], args={"scale": 2.0}), *net.ops]
    ws.feed("x", np.ones((3, 2)))
    return gradviz.Net("first row of what is made", ops), ys, ws


def long_with_a_nan() -> Built:
    """So many operators that they are drawn in groups, with a logarithm of a number below zero in the midst."""
    net = gradviz.Net("long with a NaN")
    for number in range(600):
        net.add("Log" if number == 299 else "Sin", f"x{number}", f"x{number + 1}")
    ws = gradviz.Workspace()
    ws.feed("x0", [-1.0, 2.0])
    return net, ["x600"], ws


def at_the_end(host: Host, build: Build) -> View:
    view = host.show(build)
    view.press("End")
    return view


@on_a_page
def test_an_edge_says_the_norm_of_its_gradient_and_is_as_thick_as_it_is_large(host: Host) -> None:
    view = at_the_end(host, shrunken)
    found = sorted(ask(view.graph, WIDTHS))
    assert len(found) >= 8
    norms, widths = zip(*found, strict=True)
    assert widths == tuple(sorted(widths))
    assert 2 * widths[0] < widths[-1]
    assert norms[-1] / norms[0] > 10


@on_a_page
def test_numbers_with_powers_of_ten_stay_in_their_leaves_and_beside_their_edges(host: Host) -> None:
    view = at_the_end(host, vanishing)
    numbers = " ".join(view.graph.locator(".gv-leaf text, .gv-edge-norm").all_text_contents())
    assert "1.54·10⁻⁷" in numbers
    assert ask(view.graph, BEYOND) == []


@on_a_page
def test_an_edge_says_no_norm_of_what_is_passed_on_beside_it(host: Host) -> None:
    view = at_the_end(host, passed_on_to_a_sum)
    texts = view.graph.locator(".edge[data-normed] .gv-edge-norm").all_text_contents()
    assert len(texts) > 5
    assert not [text for text in texts if "," in text]


@on_a_page
@pytest.mark.parametrize("build", [skip_connection, used_four_times])
def test_a_norm_has_the_font_of_the_name_above_it(host: Host, build: Build) -> None:
    view = at_the_end(host, build)
    fonts = ask(view.graph, FONTS)
    assert fonts
    assert all(norm == name for norm, name in fonts)


@on_a_page
def test_a_norm_comes_when_it_is_computed_and_goes_with_its_switch(host: Host) -> None:
    view = host.show(skip_connection)
    view.press("End")
    norms = view.graph.locator(".edge[data-normed] .gv-edge-norm")
    count = norms.count()
    assert count > 5
    expect(norms.first).to_be_visible()
    assert seen(view)["smallest"] >= 10.99
    switch = view.button("‖∂‖")
    expect(switch).to_have_attribute("aria-pressed", "true")
    switch.click()
    expect(norms.first).to_be_hidden()
    switch.click()
    view.press("Home")
    expect(norms).to_have_count(0)


@on_a_page
@pytest.mark.parametrize(("build", "positions"), [(skip_connection, (30, 48)), (gated, (320, 340))])
def test_norms_are_those_of_the_position_wherever_one_came_from(
    host: Host, build: Build, positions: tuple[int, int]
) -> None:
    fresh = {}
    for position in positions:
        view = host.show(build)
        view.go_to(position)
        fresh[position] = ask(view.graph, NORMS)
    assert fresh[positions[0]] != fresh[positions[1]]
    for position in positions:  # from the second one to the first and on to the second
        view.go_to(position)
        assert ask(view.graph, NORMS) == fresh[position]


@on_a_page
def test_nan_and_cut_operators_are_marked_in_words(host: Host) -> None:
    view = at_the_end(host, shrunken)
    cut = view.graph.locator(".node", has_text="StopGradient").locator(".gv-odd")
    expect(cut.locator("title")).to_have_text("No gradient passes")
    view.press("Home")
    expect(cut).to_have_count(0)
    view = at_the_end(host, infinite_slope)
    marks = view.graph.locator(".gv-odd")
    expect(marks.filter(has_text="NaN").locator("title")).to_have_text("1 NaN in x_grad@0")
    expect(view.narration).to_contain_text("x_grad@0 is 3 float64; 1 NaN")


@on_a_page
def test_in_the_focus_norms_and_marks_stand_at_what_they_are_about(host: Host) -> None:
    view = at_the_end(host, infinite_slope)
    norms, marks = view.graph.locator(".gv-edge-norm"), view.graph.locator(".gv-odd")
    before, odd = norms.all_text_contents(), marks.count()
    assert before
    view.press("f")
    expect(view.button("Fewer hops")).to_be_visible()
    expect(norms).to_have_text(before)
    expect(marks).to_have_count(odd)
    assert all(ask(mark, IS_AT_ITS_NODE) for mark in marks.all())


@on_a_page
def test_what_comes_into_view_after_a_step_says_its_norm_too(host: Host) -> None:
    view = at_the_end(host, deep)
    view.press("Space")  # the whole graph, of which one end was rendered
    edges = view.graph.locator(".edge.backward[data-normed]")
    expect(edges.locator(".gv-edge-norm")).to_have_count(edges.count())
    assert edges.count() >= 120


@on_a_page
def test_a_mark_lies_over_no_word_of_its_operator(host: Host) -> None:
    view = at_the_end(host, infinite_slope)
    marks = view.graph.locator(".gv-odd").all()
    assert marks
    for mark in marks:
        words = mark.locator("xpath=..").locator(":scope > text").first
        assert ask(mark, BOTTOM) < ask(words, CAPITALS)


@on_a_page
def test_leaves_stand_at_their_operators_with_the_norms_of_their_gradients(host: Host) -> None:
    view = at_the_end(host, skip_connection)
    session = recorded(skip_connection)
    leaves = view.graph.locator(".gv-leaf")
    expect(leaves.filter(has_text="w2").first).to_be_visible()
    gradients = " ".join(view.graph.locator(".gv-leaf.gv-gradient text").all_text_contents())
    for name in ("x", "w1", "b1", "w2", "b2", "w3", "b3"):
        norm = np.linalg.norm(session.value(f"{name}_grad"))
        assert f"∂{name} {norm:.3g}" in gradients
    expect(view.graph.locator(".gv-leaf.gv-output")).to_contain_text(f"{session.value('loss'):.3g}")
    leaves.filter(has_text="∂w2").click()
    expect(view.graph.locator("[data-selected]")).to_contain_text("FCGradient")
    view.press("t")
    expect(leaves).to_have_count(0)


@on_a_page
def test_a_leaf_that_is_to_come_is_as_readable_as_its_operator(host: Host) -> None:
    view = host.show(skip_connection)
    leaf, node = view.graph.locator(".gv-leaf[data-future]").first, view.graph.locator(".node.future").first
    assert ask(leaf, "leaf => getComputedStyle(leaf).opacity") == "1"
    colour = "text => getComputedStyle(text).fill"
    assert ask(leaf.locator("text").first, colour) == ask(node.locator("text").first, colour)


@on_a_page
def test_the_rows_of_a_sparse_gradient_are_no_gradient(host: Host) -> None:
    view = at_the_end(host, first_row_of_a_table)
    expect(view.graph.locator(".gv-leaf.gv-gradient text")).to_have_text(["∂table 2.83"])
    expect(view.graph.locator(".gv-odd")).to_have_count(0)
    view = at_the_end(host, first_row_of_what_is_made)
    expect(view.graph.locator(".edge[data-normed]", has_text="indices")).to_have_count(0)
    expect(view.graph.locator(".edge[data-normed]", has_text="values_concat")).to_contain_text("2.83")
    expect(view.graph.locator(".gv-odd")).to_have_count(0)


@on_a_page
def test_an_operator_of_the_backward_pass_that_reads_only_what_the_net_is_given_says_what(host: Host) -> None:
    view = at_the_end(host, first_row_of_a_table)
    given = view.graph.locator(".gv-leaf.gv-input", has_not_text="table")
    expect(given).to_be_visible()
    given.click()
    expect(view.graph.locator("[data-selected]")).to_contain_text("indices_concat@0")
    sum_of_indices, box = view.graph.locator("[data-selected]").bounding_box(), given.bounding_box()
    assert sum_of_indices is not None
    assert box is not None
    assert box["y"] + box["height"] > sum_of_indices["y"] + sum_of_indices["height"] + 10
    view.press("Home")
    expect(given).to_have_attribute("data-future", "")


@on_a_page
def test_of_a_blob_that_was_overwritten_only_the_last_version_is_an_end(host: Host) -> None:
    view = at_the_end(host, computed_twice)
    expect(view.graph.locator(".gv-leaf.gv-output text")).to_have_text(["y@1 7"])


@on_a_page
@pytest.mark.parametrize(
    "build", [skip_connection, neuron, gated, relu_in_place, written_into, shrunken, first_row_of_a_table]
)
def test_leaves_lie_over_nothing(host: Host, build: Build) -> None:
    view = at_the_end(host, build)
    expect(view.graph.locator(".gv-leaf").first).to_be_visible()
    assert ask(view.graph, COVERED) == []
    view.press("Home")
    assert ask(view.graph, COVERED) == []


@on_a_page
def test_a_closed_group_is_marked_where_a_nan_is_in_it(host: Host) -> None:
    view = at_the_end(host, long_with_a_nan)
    group = view.graph.locator(".node.group.gradient").first
    expect(group.locator(".gv-odd")).to_have_text(re.compile("NaN"))
    view.press("Home")
    expect(group.locator(".gv-odd")).to_have_count(0)
