"""The pane of the user's code and `Session.code` say the same: one rule, which TypeScript and Python have each."""

import linecache
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

import gradviz.functions as F
from gradviz import Variable
from tests.browser.hosts import Host, on_a_page, recorded
from tests.browser.programs import gated, negative_logarithm, skip_connection
from tests.browser.view import View, ask, box
from tests.drawing.nested import Built

LINES = [
    "def code(F, x):\n",
    "    v0 = F.tanh(x)\n",
    *[f"    v{at + 1} = {'v' if at % 10 else 'F.sin(v'}{at}{'' if at % 10 else ')'}\n" for at in range(2000)],
    "    return v2000\n",
]
"""A program of which each tenth line calls an operator."""


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


def of_two_files() -> Built:
    """Operators that two files call."""
    net, _, ws = skip_connection()
    net.Scale("loss", "scaled", scale=2.0)
    return net, ["scaled"], ws


def two_thousand_lines() -> Variable:
    """Code of two thousand lines, in a file that Python has the text of."""
    file, names = "two_thousand.py", dict[str, Any]()
    linecache.cache[file] = (len("".join(LINES)), None, LINES, file)
    exec(compile("".join(LINES), file, "exec"), names)
    last: Variable = names["code"](F, Variable([0.5], name="x"))
    return last


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


def row(view: View, text: str) -> Locator:
    """The first line of code with a text."""
    return view.root.locator(".gv-code-line").filter(has_text=text).first


def test_a_click_on_a_line_runs_to_it_and_behind_its_last_event_to_its_first(host: Host) -> None:
    view = host.show(skip_connection)
    line = row(view, 'net.Tanh("h", "a")')
    line.locator(".gv-run").click()
    expect(line).to_have_attribute("aria-current", "step")
    first = view.now()
    assert first > 0
    line.locator(".gv-run").click()
    expect(view.position).not_to_contain_text(f"event {first} /")
    assert view.now() > first
    view.press("End")
    line.locator(".gv-run").click()
    view.expect_at(first)


def test_the_gutter_and_a_key_set_a_breakpoint_on_a_line_that_stops_there(host: Host) -> None:
    view = host.show(skip_connection)
    line = row(view, "net.Sum([")
    stop = line.locator(".gv-stop")
    stop.click()
    expect(stop).to_have_attribute("aria-pressed", "true")
    view.press("Shift+ArrowRight")
    expect(line).to_have_attribute("aria-current", "step")
    stop.click()
    expect(stop).to_have_attribute("aria-pressed", "false")
    line.locator(".gv-run").focus()
    view.page.keyboard.press("ArrowDown")
    view.page.keyboard.press("b")
    below = row(view, 'net.FC(["s", "w3", "b3"]')
    expect(below.locator(".gv-run")).to_be_focused()
    expect(below.locator(".gv-stop")).to_have_attribute("aria-pressed", "true")


@on_a_page
def test_code_of_several_files_is_chosen_and_follows_the_step(host: Host) -> None:
    view = host.show(of_two_files)
    choice = view.root.get_by_label("File or cell")
    for at in range(1, len(recorded(of_two_files)) + 1):
        view.press("ArrowRight")
        view.expect_at(at)
        current = view.root.locator(".gv-code-line[aria-current=step]")
        if current.count() > 0:
            expected = recorded(of_two_files).at(at).code()
            assert choice.input_value() == next(
                one.file for one in expected.sources if any(r.is_current for r in one.rows)
            )
    choice.select_option("programs.py")
    expect(row(view, "net.FC([")).to_be_visible()


@on_a_page
def test_of_two_thousand_lines_those_in_sight_are_there_and_the_current_one_is_among_them(host: Host) -> None:
    view = host.show(two_thousand_lines)
    current = view.root.locator(".gv-code-line.gv-now")
    for target, text in (("#101", "v1001 = F.sin(v1000)"), ("#200", "v1991 = F.sin(v1990)"), ("#0", "v0 = F.tanh(x)")):
        view.press("Home")
        view.run_to(target)
        expect(current).to_contain_text(text)
        _, top, _, height = box(current)
        _, above, _, room = box(view.root.locator(".gv-code"))
        assert above - 1 <= top
        assert top + height <= above + room + 1
    assert view.root.locator(".gv-code-line").count() < 200
