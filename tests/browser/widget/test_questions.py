"""What people ask of a backward pass, and how few actions lead to each answer: a click, a key or a typed line."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator, expect

import gradviz
from tests.browser.hosts import Host, JupyterHost, on_a_page, recorded, with_kernels
from tests.browser.programs import Build, gated, negative_logarithm, relu_in_place, skip_connection, written_into
from tests.browser.view import View
from tests.drawing.nested import Built, shared_gradient, workspace


def cut_off() -> Built:
    """No gradient passes the operator in the middle."""
    net = gradviz.Net("cut off")
    net.Tanh("x", "h")
    net.StopGradient("h", "fixed")
    net.Mul(["fixed", "w"], "product")
    net.SumElements("product", "loss")
    return net, ["loss"], workspace({"x": np.ones(3), "w": np.ones(3)})


class Person:
    """Who asks, with a mouse and a keyboard.

    Attributes:
        actions: how many it took so far.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self.actions = 0

    def click(self, what: Locator) -> None:
        self.actions += 1
        what.click()

    def press(self, key: str) -> None:
        self.actions += 1
        self.view.page.keyboard.press(key)

    def run_to(self, target: str) -> None:
        self.actions += 1
        self.view.run_to(target)

    def open_tab(self, name: str) -> Locator:
        tabs = self.view.inspector
        self.click(tabs.get_by_role("tab", name=name, exact=True))
        return tabs.get_by_role("tabpanel", name=name)

    def select(self, line: str) -> None:
        """A line of the program, which stands in the widget's first pane."""
        self.click(self.view.program.locator(".gv-line").filter(has_text=line).first)


def rule_and_its_source(person: Person) -> None:
    value = person.view.inspector.get_by_role("tabpanel", name="Value")
    person.click(value.locator("summary").filter(has_text="Rule of SoftmaxWithLoss gradviz/operators/"))
    expect(value.get_by_label("Rule of SoftmaxWithLoss")).to_contain_text("def ")


def why_none(person: Person) -> None:
    person.select("Tanh")
    expect(person.open_tab("Why")).to_contain_text("StopGradient")


def which_dominates(person: Person) -> None:
    person.press("l")
    ledger = person.view.inspector.get_by_role("tabpanel", name="Ledger")
    first = ledger.get_by_role("row").filter(has_text="%").first
    expect(first).to_contain_text("FCGradient #2")
    expect(first).to_contain_text("94 %")


def where_the_nan_was_born(person: Person) -> None:
    person.run_to("NaN")
    expect(person.open_tab("Why")).to_contain_text("Born in the forward pass, in #1 l@0 = Log(d@0)")


def who_overwrote_which_version(person: Person) -> None:
    versions = person.open_tab("Versions")
    expect(versions).to_contain_text("a@0 is needed by the gradient of Sigmoid #1, and Relu #2 overwrites it.")


def is_it_right(person: Person) -> None:
    expect(person.open_tab("Check").locator(".gv-light").first).to_contain_text("agree")


def what_iteration_3_saved(person: Person) -> None:
    person.run_to("iteration 4")
    value = person.view.inspector.get_by_role("tabpanel", name="Value")
    person.click(value.get_by_role("button", name="scope@0").first)
    entry = value.locator("details").filter(has_text="iteration 3 of While #2")
    person.click(entry.locator("summary").first)
    expect(entry.get_by_role("button", name="h@2", exact=True)).to_be_visible()
    expect(entry).to_contain_text("2 × 1 · float64 · cpu")


def why_a_copy(person: Person) -> None:
    person.select("DEDUP")
    expect(person.open_tab("Why")).to_contain_text("a copy of s_grad@0: that arrives at several blobs of Do #1")


def which_line_overwrote_it(person: Person) -> None:
    person.press("End")
    expect(person.view.narration).to_contain_text("a is overwritten by mul_() in programs.py:")


@on_a_page
@pytest.mark.parametrize(
    ("ask", "build", "start", "actions"),
    [
        (rule_and_its_source, skip_connection, "RuleApplied", 1),
        (why_none, cut_off, "End", 2),
        (which_dominates, skip_connection, "Accumulated", 1),
        (where_the_nan_was_born, negative_logarithm, "", 2),
        (who_overwrote_which_version, relu_in_place, "End", 2),
        (is_it_right, skip_connection, "RuleApplied", 1),
        (what_iteration_3_saved, gated, "", 3),
        (why_a_copy, shared_gradient, "End", 2),
        (which_line_overwrote_it, written_into, "", 1),
    ],
)
def test_a_question_takes_so_many_actions(
    host: Host, ask: Callable[[Person], None], build: Build, start: str, actions: int
) -> None:
    view = host.show(build)
    if start:
        view.press(start) if start == "End" else view.run_to(start)
    view.focus()
    person = Person(view)
    ask(person)
    assert person.actions <= actions


@with_kernels
def test_handing_it_out_takes_one(host: JupyterHost) -> None:
    person = Person(host.show(skip_connection))
    person.click(person.view.button("Hand out"))
    expect(person.view.narration.get_by_role("link", name="skip connection.html")).to_be_visible()
    assert person.actions == 1


def broken() -> Built:
    """`x` is read twice, and behind that a row is looked up that is not there."""
    net = gradviz.Net("broken")
    net.Tanh("x", "a")
    net.Mul(["a", "x"], "b")
    net.Gather(["b", "row"], "y")
    return net, ["y"], workspace({"x": np.ones((2, 3)), "row": np.array([9])})


def given_gradient() -> tuple[gradviz.Net, dict[str, str], gradviz.Workspace]:
    """`x` is read twice, and somebody gives the gradient that the pass starts with."""
    net = gradviz.Net("given gradient")
    net.Tanh("x", "a")
    net.Mul(["a", "x"], "y")
    return net, {"y": "g"}, workspace({"x": np.ones(3), "g": np.full(3, 5.0)})


@on_a_page
@pytest.mark.parametrize(
    ("build", "title"), [(skip_connection, "∂loss/∂a@0 = sum of"), (given_gradient, "gradient of x@0 = sum of")]
)
def test_a_sum_of_gradients_is_a_derivative_where_the_pass_starts_with_one(
    host: Host, build: Build, title: str
) -> None:
    view = host.show(build)
    view.run_to("Accumulated")
    expect(view.inspector.locator("caption")).to_contain_text(title)


@on_a_page
def test_a_sum_that_was_not_run_is_not_said_to_mean_that_nothing_was(host: Host) -> None:
    view = host.show(broken)
    assert any(event.kind == "Ran" for event in recorded(broken).trace().events)
    view.run_to("Accumulated if n > 1")
    expect(view.inspector.get_by_role("tabpanel", name="Ledger")).to_contain_text("the sum was not run")


def product_that_nobody_needs() -> torch.Tensor:
    """PyTorch keeps what its backward needs, and of this product nothing is needed."""
    x = torch.ones(3, requires_grad=True)
    product = torch.tanh(x) * x
    return product.sum()


@on_a_page
def test_what_ran_and_was_not_kept_is_not_said_to_have_never_run(host: Host) -> None:
    view = host.show(product_that_nobody_needs)
    view.run_to("Ran if op == 'mul'")
    expect(view.narration).to_contain_text("what it made was not kept")
    value = view.inspector.get_by_role("tabpanel", name="Value")
    expect(value).to_contain_text("not kept")
    expect(value).not_to_contain_text("was not run")


def clipped_sum() -> torch.Tensor:
    """A hook changes the sum of two gradients."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    h = x * 2
    h.register_hook(lambda gradient: gradient.clamp(max=6))
    return (h * h).sum()


@on_a_page
def test_a_ledger_says_what_a_hook_has_made_of_the_sum(host: Host) -> None:
    view = host.show(clipped_sum)
    view.run_to("Accumulated")
    ledger = view.inspector.get_by_role("tabpanel", name="Ledger")
    expect(ledger).to_contain_text("A hook has made mul_grad@2 of it: that is the gradient.")
    ledger.get_by_role("button", name="mul_grad@2").click()
    expect(view.narration).to_contain_text("mul_grad@2 = hook(mul_grad@1)")
