"""The pane of the user's code and `Session.code` say the same: one rule, which TypeScript and Python have each."""

import pytest

import gradviz.functions as F
from gradviz import Variable
from tests.browser.hosts import Host, on_a_page, recorded
from tests.browser.programs import gated, negative_logarithm, skip_connection
from tests.browser.view import View, ask

PANE = """pane => [...pane.querySelectorAll(".gv-code-line")].map((row) => [
  Number(row.querySelector(".gv-number").textContent),
  row.querySelector("code").textContent,
  row.classList.contains("gv-now"),
  row.querySelector(".gv-norm span")?.textContent ?? null,
])"""
"""Of each row of the pane number, text, whether it is marked, and its norm; null: it has called nothing."""


def branching() -> Variable:
    """Code whose variable is read twice, over several lines."""
    x = Variable([0.5, -1.0, 2.0], name="x")
    a = F.tanh(x)
    for _ in range(2):
        a = a * x
    return F.sum(
        F.exp(a) + a,
    )


def shown(view: View) -> list[list[object]]:
    """The rows of the pane."""
    rows: list[list[object]] = ask(view.root.locator(".gv-code"), PANE)
    return rows


def said(norm: float | str | None) -> str:
    """A norm as the pane writes it."""
    if norm is None:
        return ""
    return {"nan": "NaN", "inf": "infinite"}[norm] if isinstance(norm, str) else f"{norm:.3g}"


@on_a_page
@pytest.mark.parametrize("build", [skip_connection, negative_logarithm, branching, gated])
def test_the_pane_and_python_say_the_same_at_every_position(host: Host, build) -> None:
    view, session = host.show(build), recorded(build)
    every = range(0, len(session) + 1, 1 + len(session) // 40)
    for position in every:
        view.go_to(position)
        (source,) = session.at(position).code().sources
        expected = [
            [row.number, row.text, row.is_current, said(row.norm) if row.has_called else None] for row in source.rows
        ]
        assert shown(view) == expected
