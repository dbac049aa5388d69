"""Documents that nobody recorded: a page and JupyterLab refuse them with clear words, or show them to the end.

Each is a recording in which something was damaged, the same in every run.
"""

import copy
import gzip
import json
import random
import re
import uuid
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Page, expect

import gradviz
from gradviz.debugger.document import encode
from gradviz.notebook.page import page as page_of
from tests.browser.conftest import fresh_page
from tests.browser.hosts import recorded
from tests.browser.lab_page import START, LabPage
from tests.browser.programs import large
from tests.drawing.nested import loop, workspace

Document = dict[str, Any]

WICKED = "</script><script>window.owned = 1</script><img src=x onerror='window.owned = 2'><b onclick=alert(1)>`${1}`"
DEEP = 20_000
WRONG: tuple[Any, ...] = (None, True, -1, 0, 0.5, 7, 2**31, 2**53, 1e308, "", "nan", WICKED, [], [[]], {}, {"": {}})
FIXED = ("id", "kind", "role", "phase", "engine", "format", "how", "subnet", "owner", "backward_owner")
"""What has one of a few words, or refers to something."""
HUGE: tuple[Any, ...] = (-(2**53), -1, 10**6, 2**31, 2**32 + 1, 2**53, 1e300)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every list or object of a document with every key of it."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield value, key
        yield from places(entry)


def without(document: Document, chance: random.Random) -> str:
    """Something is missing."""
    holder, key = chance.choice(list(places(document)))
    del holder[key]
    return json.dumps(document)


def wrong(document: Document, chance: random.Random) -> str:
    """Something is of another type."""
    holder, key = chance.choice(list(places(document)))
    holder[key] = chance.choice(WRONG)
    return json.dumps(document)


def huge(document: Document, chance: random.Random) -> str:
    """A number is huge, or negative."""
    numbers = [(holder, key) for holder, key in places(document) if type(holder[key]) in (int, float)]
    holder, key = chance.choice(numbers)
    holder[key] = chance.choice(HUGE)
    return json.dumps(document)


def astray(document: Document, chance: random.Random) -> str:
    """Something refers to another thing than it did, or to none."""
    texts = [
        (holder, key)
        for name in ("forward", "backward", "events", "subnets", "frames", "ledgers", "gradients", "ys")
        for holder, key in places(document[name])
        if isinstance(holder[key], str)
    ]
    for holder, key in chance.sample(texts, 3):
        other, at = chance.choice(texts)
        holder[key] = chance.choice([other[at], "f99", "s9.b0", "nobody@0", "x@999999999"])
    return json.dumps(document)


def not_json(document: Document, chance: random.Random) -> str:
    """A number is NaN or infinite, which JSON does not have, or the text stops."""
    numbers = [(holder, key) for holder, key in places(document) if type(holder[key]) in (int, float)]
    holder, key = chance.choice(numbers)
    holder[key] = "here"
    before, after = json.dumps(document).split('"here"', 1)
    word = chance.choice(["NaN", "-Infinity", "1e999", ""])
    return f"{before}{word}{after}" if word else before


def deep(document: Document, chance: random.Random) -> str:
    """Something is lists in lists, or objects in objects, without end."""
    holder, key = chance.choice(list(places(document)))
    holder[key] = "deep"
    opening, closing = chance.choice([("[", "]"), ('{"a":', "}")])
    return json.dumps(document).replace('"deep"', f"{opening * DEEP}0{closing * DEEP}", 1)


def wicked(document: Document, chance: random.Random) -> str:
    """Names, sentences and drawings hold markup and scripts."""
    texts = [(holder, key) for holder, key in places(document) if isinstance(holder[key], str) and key not in FIXED]
    for holder, key in chance.sample(texts, 20):
        if "@" not in holder[key]:
            holder[key] += WICKED
    return json.dumps(document).replace(chance.choice(["x@0", "h@0", "y_grad@0"]), f"{json.dumps(WICKED)[1:-1]}@0")


DAMAGES: tuple[Callable[[Document, random.Random], str], ...] = (without, wrong, huge, astray, not_json, deep, wicked)


def damaged(document: Document, number: int) -> tuple[str, str]:
    """What was done to a document, and its text."""
    damage = DAMAGES[number % len(DAMAGES)]
    return f"{damage.__name__} {number}", damage(copy.deepcopy(document), random.Random(number))


def small() -> gradviz.Session:
    """A blob is read twice; everything has run."""
    net = gradviz.Net("small")
    net.Tanh("x", "h")
    net.Mul(["h", "x"], "y")
    net.SumElements("y", "loss")
    return gradviz.debug(net, ["loss"], workspace=workspace({"x": np.array([0.5, -1.0])}))


def looped() -> gradviz.Session:
    net, ys, ws = loop()
    return gradviz.debug(net, ys, workspace=ws)


def as_code() -> gradviz.Session:
    x = gradviz.Variable(np.array([0.5, -1.0]), name="x")
    return gradviz.debug(gradviz.functions.sum(gradviz.functions.tanh(x) * x))


WALK = """() => {
  const root = document.querySelector("[role=region].gradviz");
  const down = (key) => root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const press = (...keys) => keys.forEach(down);
  const position = () => root.querySelector(".gv-position").textContent.match(/\\d+/g).map(Number);
  const end = position()[1];
  press("t", "Home", ...Array(end).fill("ArrowRight"));
  const reached = position()[0];
  press("t");
  for (const tab of root.querySelectorAll("[role=tab]")) {
    tab.click();
    press("Home", "End");
  }
  press("F10", "g", "Home", "g", "f", "f", "o");
  return [reached, end];
}"""
"""Steps through a lesson to the end, then looks at each tab and the table: where it came to, and where the end is."""


class Watched:
    """A page, what it asked for, and what went wrong in it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.wrong: list[str] = []
        page.on("pageerror", lambda error: self.wrong.append(f"uncaught: {error}"))
        page.on("console", lambda message: message.type == "error" and self.wrong.append(message.text))
        page.on("dialog", lambda dialog: (self.wrong.append("a dialog"), dialog.dismiss()))
        page.on("request", lambda request: request.url.startswith("data:") or self.wrong.append(request.url))

    def open(self, html: str) -> str:
        """Show a page; what it says where it refuses, else nothing."""
        self.page.set_content(html)
        alert, position = self.page.get_by_role("alert"), self.page.locator(".gv-position")
        expect(alert.or_(position).first).to_be_attached()
        return alert.text_content() or "" if alert.count() > 0 else ""

    def show(self, html: str) -> str:
        """Show a page and go through it; what it says where it refuses, else nothing."""
        if said := self.open(html):
            return said
        reached, end = self.page.evaluate(WALK)
        assert reached == end
        return ""


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    with fresh_page(browser) as page:
        yield Watched(page)


UNCLEAR = re.compile(r"Cannot (read|set|convert)|is not (a function|iterable|defined)|undefined|call stack|\[object")
"""What an engine says when a program fails, and not what is wrong with a document."""


@pytest.mark.parametrize(("record", "count"), [(small, 14), (looped, 7), (as_code, 14)])
def test_a_damaged_document_is_refused_in_clear_words_or_shown_to_the_end(
    watched: Watched, record: Callable[[], gradviz.Session], count: int
) -> None:
    whole = record().trace()
    document = json.loads(encode(whole))
    before, after = re.split(r'(?<=data-position="0">)[^<]+', page_of(whole))
    assert watched.show(page_of(whole)) == ""
    refused = 0
    for number in range(count):
        what, text = damaged(document, number)
        packed = b64encode(gzip.compress(text.encode(), 1)).decode()
        said = watched.show(f"{before}{packed}{after}")
        refused += said != ""
        assert watched.page.evaluate("() => window.owned") is None, what
        assert watched.wrong == [], what
        assert said == "" or (len(said) > 20 and not UNCLEAR.search(said)), f"{what}: {said}"
    assert 0 < refused < count


def test_a_group_whose_drawing_cannot_be_read_says_so_when_it_opens(watched: Watched) -> None:
    whole = recorded(large).trace()
    broken = replace(whole.graph, shapes=["<svg"] * len(whole.graph.shapes))
    assert watched.open(page_of(replace(whole, graph=broken))) == ""
    drawing = watched.page.locator(".gv-window > svg")
    drawing.get_by_role("button", name="Open").first.click()
    expect(drawing).to_contain_text("The drawing of this group cannot be read.")
    assert watched.wrong == []


def test_jupyterlab_refuses_a_damaged_file_in_clear_words_or_shows_it_to_the_end(lab: LabPage) -> None:
    document = json.loads(encode(small().trace()))
    folder = lab.server.root / uuid.uuid4().hex[:8]
    folder.mkdir()
    texts = dict(damaged(document, number) for number in range(len(DAMAGES)))
    for name, text in texts.items():
        (folder / f"{name}.gradviz.json").write_text(text)
    lab.visit(folder.name)
    for name in texts:
        lab.page.locator(".jp-DirListing-item", has_text=f"{name}.gradviz.json").dblclick(timeout=START)
        opened = lab.page.locator(".jp-Document:visible").filter(has=lab.page.locator(".gradviz-lab-Body"))
        alert, position = opened.get_by_role("alert"), opened.locator(".gv-position")
        expect(alert.or_(position).first).to_be_visible()
        if alert.count() > 0:
            said = alert.text_content() or ""
            assert f"{name}.gradviz.json cannot be shown" in said
            assert not UNCLEAR.search(said), said
        else:
            opened.locator(".gv-narration").click()
            lab.page.keyboard.press("End")
            expect(opened.locator(".gv-next")).to_have_text("the end")
        assert lab.page.evaluate("() => window.owned") is None, name
