"""The page that needs no server: what is in the file, and what is left out of it."""

import gzip
import hashlib
import re
from base64 import b64decode, b64encode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import gradviz
from gradviz.debugger.document import Trace, Value, decode, encode
from gradviz.notebook import page as pages
from gradviz.notebook.page import page
from gradviz.program.files import FileError
from tests.drawing.nested import loop


class Parts(HTMLParser):
    """The elements of a page: their attributes, and the text right inside of each."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._text: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._text = []
        self.found.append((tag, dict(attrs), self._text))

    def handle_endtag(self, tag: str) -> None:
        self._text = []

    def handle_data(self, data: str) -> None:
        self._text.append(data)

    def all(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attributes, "".join(text)) for name, attributes, text in self.found if name == tag]

    def one(self, tag: str) -> tuple[dict[str, str | None], str]:
        (found,) = self.all(tag)
        return found


def document_of(html: str) -> Trace:
    """The document that a page holds."""
    (packed,) = [text for attributes, text in Parts(html).all("script") if attributes.get("id") == "gv-recording"]
    return decode(gzip.decompress(b64decode(packed)))


def chain(operators: int, size: int = 32) -> gradviz.Session:
    """A recording of FC and Tanh in turn on arrays of `size` columns."""
    numbers = np.random.default_rng(0)
    net, ws = gradviz.Net("chain"), gradviz.Workspace()
    ws.feed("x0", numbers.normal(size=(64, size)).astype(np.float32))
    for i in range(operators // 2):
        ws.feed(f"w{i}", (numbers.normal(size=(size, size)) / 6).astype(np.float32))
        ws.feed(f"b{i}", numbers.normal(size=size).astype(np.float32))
        net.FC([f"x{i}", f"w{i}", f"b{i}"], f"h{i}")
        net.Tanh(f"h{i}", f"x{i + 1}")
    return gradviz.debug(net, [f"x{operators // 2}"], workspace=ws)


def test_its_document_is_ascii_and_says_the_same(session: gradviz.Session) -> None:
    document = replace(session.trace(), name="Σ ∂x → \U00020000 é \x7f \ud800".encode(errors="replace").decode())
    (packed,) = [text for one, text in Parts(page(document)).all("script") if one.get("id") == "gv-recording"]
    text = gzip.decompress(b64decode(packed))
    assert text.isascii()
    assert decode(text) == document


def test_it_holds_the_whole_document_and_opens_where_the_session_stands(session: gradviz.Session) -> None:
    session.run_to("Accumulated")
    html = page(session.trace(), session.position)
    assert document_of(html) == session.trace()
    scripts = Parts(html).all("script")
    assert [attributes.get("data-position") for attributes, _ in scripts] == [str(session.position), None]


def test_only_its_own_script_may_run_and_nothing_may_be_fetched(session: gradviz.Session) -> None:
    parts = Parts(page(session.trace()))
    (policy,) = [
        attributes["content"] or ""
        for attributes, _ in parts.all("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    (script,) = [text for attributes, text in parts.all("script") if not attributes]
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert rules == {
        "default-src": "'none'",
        "script-src": f"'sha256-{digest}'",
        "style-src": "'unsafe-inline'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    elements = {tag for tag, _, _ in parts.found}
    assert elements.isdisjoint({"iframe", "object", "embed", "img", "a", "form"})
    addresses = [
        value
        for _, attributes, _ in parts.found
        for name, value in attributes.items()
        if name in ("src", "href", "srcset", "action")
    ]
    assert all(address is not None and address.startswith("data:") for address in addresses)


def test_it_says_what_it_is_and_which_gradviz_made_it(session: gradviz.Session) -> None:
    parts = Parts(page(session.trace(), title="A <lesson> & more"))
    assert parts.one("title")[1] == "A <lesson> & more · gradviz"
    assert parts.one("h1")[1] == "A <lesson> & more"
    assert f"Made by gradviz {gradviz.__version__}" in page(session.trace())
    assert Parts(page(session.trace())).one("h1")[1] == "twice <b>read</b>"


def test_without_scripts_it_is_text(session: gradviz.Session) -> None:
    session.run_to("Accumulated")
    html = page(session.trace(), session.position)
    without = html[html.index("<noscript>") : html.index("</noscript>")]
    assert "s@0 = Sum(r@0, a@0)" in without
    assert f"event {session.position} of {len(session)}" in without


def test_names_are_text_wherever_they_stand(session: gradviz.Session) -> None:
    wicked = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    written = encode(session.trace()).decode()
    read = decode(written.replace("twice <b>read</b>", wicked).replace("x@0", f"{wicked}@0"))
    parts = Parts(page(read, 3))
    assert len(parts.all("script")) == 2
    assert parts.all("img") == []
    assert parts.one("h1")[1] == wicked
    assert not any(name.startswith("on") for _, attributes, _ in parts.found for name in attributes)


def test_two_hundred_operators_take_less_than_a_megabyte() -> None:
    session = chain(200)
    html = page(session.trace(), questions=session)
    assert len(html.encode()) <= 1_000_000
    assert "To keep the page small" not in html


def test_the_same_recording_gives_the_same_page(session: gradviz.Session) -> None:
    assert page(session.trace()) == page(session.trace())


def values_of(document: Trace) -> list[Value]:
    return [*document.values.values(), *document.arrays]


@pytest.mark.parametrize("recorded", [lambda: chain(10), lambda: gradviz.debug(*loop()[:2], workspace=loop()[2])])
def test_what_the_budget_leaves_out_is_said_and_never_a_zero(recorded: Any) -> None:
    whole = recorded().trace()
    sizes = []
    for budget in (10**7, 12_000, 7_500, 4_000, 0):
        html = page(whole, budget=budget)
        kept = document_of(html)
        told = Parts(html).all("p")[0][1]
        sizes.append(len(html))
        assert ("To keep the page small" in told) == (kept != whole)
        assert kept.events == whole.events
        assert kept.values.keys() == whole.values.keys()
        for value, full in zip(values_of(kept), values_of(whole), strict=True):
            assert (value.shape, value.dtype, value.nan, value.inf, value.zero) == (
                full.shape, full.dtype, full.nan, full.inf, full.zero,
            )  # fmt: skip
            assert value.norm in (full.norm, None)
            assert value.preview == [row[: len(value.preview[0])] for row in full.preview[: len(value.preview)]]
    assert sizes == sorted(sizes, reverse=True)
    assert all(value.norm is None and value.preview == [] for value in values_of(kept) if value.stack is None)
    assert "all numbers of values were left out" in told


def test_a_document_that_no_browser_would_take_is_refused(
    session: gradviz.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MOST_DOCUMENT", 1000)
    (tmp_path / "page.html").write_text("older")
    with pytest.raises(FileError, match="a page holds at most") as raised:
        session.to_html(tmp_path / "page.html")
    assert raised.value.kind == "too_large"
    assert (tmp_path / "page.html").read_text() == "older"


def test_a_session_writes_its_page(session: gradviz.Session, tmp_path: Path) -> None:
    session.run_to("Accumulated")
    session.to_html(tmp_path / "page.html", title="Lesson")
    assert (tmp_path / "page.html").read_text() == page(
        session.trace(), session.position, questions=session, title="Lesson"
    )


def test_the_script_has_nothing_that_would_end_it_early() -> None:
    script = (pages.STATIC / "page.js").read_text()
    assert re.search(r"</script|<!--|\r", script, re.IGNORECASE) is None
    assert re.search(r"</style|@import|url\((?!#)", (pages.STATIC / "page.css").read_text()) is None
