"""Numbers in the graph: norms of gradients on edges, and marks at operators that made something odd."""

from playwright.sync_api import expect

import gradviz
from tests.browser.hosts import Host, on_a_page
from tests.browser.programs import Build, Built, skip_connection
from tests.browser.view import View, ask, seen

WIDTHS = """graph => [...graph.querySelectorAll(".edge.backward[data-normed]:not(.hot)")]
  .map((edge) => [parseFloat(edge.querySelector(".gv-edge-norm").textContent), edge.querySelector("path")])
  .map(([norm, path]) => [norm, parseFloat(getComputedStyle(path).strokeWidth)])"""
"""Of each edge that says it the norm, and how thick it is."""


def shrunken() -> Built:
    """Seven operators that each make the gradient smaller, and a branch that no gradient comes back from."""
    net = gradviz.Net("shrunken")
    for number in range(7):
        net.Scale(f"h{number}", f"h{number + 1}", scale=0.6)
    net.StopGradient("h7", "fixed")
    net.Mul(["h7", "fixed"], "product")
    net.SumElements("product", "loss")
    ws = gradviz.Workspace()
    ws.feed("h0", [1.0, 2.0, 3.0])
    return net, ["loss"], ws


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
