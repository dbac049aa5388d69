"""SVG as a page can take it in: only shapes and text pass, and nodes get the look that DOT cannot say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import cast
from xml.etree.ElementTree import Element, ParseError, SubElement, XMLPullParser, tostring

from .limits import DrawingError
from .theme import Theme

SVG = "http://www.w3.org/2000/svg"
MAX_DEPTH = 16

_ELEMENTS = frozenset(["svg", "g", "title", "path", "polygon", "polyline", "ellipse", "circle", "rect", "line", "text"])
_PLACES = ["d", "points", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "ry", "width", "height", "viewBox"]
_PENS = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity"]
_TEXTS = ["text-anchor", "font-family", "font-size", "font-weight", "letter-spacing"]
_ATTRIBUTES = frozenset(["id", "class", "role", "transform", *_PLACES, *_PENS, *_TEXTS])
_VALUE = re.compile(r"[\w\s#.,;:()'+\-Σ]*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def clean(source: str) -> Element:
    """The tree of an SVG picture with nothing but plain shapes, text, ids and classes in it.

    Whatever could load, link, style or execute is dropped, also what is not known. Raises DrawingError where `source`
    is no SVG.
    """
    start = source.find("<svg")
    if start < 0:
        raise DrawingError("This is no SVG: it has no <svg> element.", kind="bad_svg")
    try:
        return _rebuild(_events(source[start:]))
    except ParseError as error:
        raise DrawingError(f"This is no SVG: {error}.", kind="bad_svg") from None


def dressed(
    source: str, theme: Theme, titles: Mapping[str, str] = MappingProxyType({}), background: str | None = None
) -> str:
    """A picture that Graphviz laid out, cleaned, with its fonts, crisp boxes, bars and tool tips.

    `titles` tells by id what a node or edge is called; one that is not told gets no title. Without a `background` it is
    transparent. Raises DrawingError where `source` is no SVG.
    """
    picture = clean(source)
    _measure(picture, background)
    for group in picture.iter("g"):
        _dress(group, theme, titles.get(group.get("id", "")))
    return tostring(picture, encoding="unicode")


def _events(source: str) -> Iterator[tuple[str, Element]]:
    """The starts and ends of elements; what stands outside of the root, such as a document type, was cut off."""
    parser: XMLPullParser[Element] = XMLPullParser(["start", "end"])
    parser.feed(source)
    parser.close()
    return cast(Iterator[tuple[str, Element]], parser.read_events())


def _rebuild(events: Iterator[tuple[str, Element]]) -> Element:
    """A tree of allowed elements only; a dropped element takes its content with it."""
    root: Element | None = None
    path: list[Element | None] = []
    for event, element in events:
        if event == "end":
            kept = path.pop()
            if kept is not None and kept.tag in ("title", "text"):
                kept.text = element.text
            continue
        if len(path) >= MAX_DEPTH:
            raise DrawingError(f"This SVG is nested deeper than {MAX_DEPTH} levels.", kind="bad_svg")
        tag = element.tag.removeprefix(f"{{{SVG}}}")
        parent = path[-1] if path else None
        copy: Element | None = None
        if tag in _ELEMENTS and (parent is not None or not path):
            attributes = {name: value for name, value in element.attrib.items() if _allowed(name, value)}
            if parent is None:
                root = copy = Element(tag, {"xmlns": SVG} | attributes)
            else:
                copy = SubElement(parent, tag, attributes)
        path.append(copy)
    if root is None or root.tag != "svg":
        raise DrawingError("This is no SVG.", kind="bad_svg")
    return root


def _allowed(name: str, value: str) -> bool:
    return name in _ATTRIBUTES and "url(" not in value.lower() and _VALUE.fullmatch(value) is not None


def _dress(group: Element, theme: Theme, name: str | None) -> None:
    kind = group.get("class", "").split()
    for title in group.findall("title"):
        group.remove(title)
    if name:
        title = Element("title")
        title.text = name
        group.insert(0, title)
    if "lane" in kind:
        group.set("class", "lane")
        for text in group.findall("text"):
            text.set("font-family", theme.sans)
            text.set("font-weight", "600")
    elif "node" in kind:
        _dress_node(group, not {"forward", "passed", "port"} & set(kind), theme)
    elif "cluster" in kind:
        for text in group.findall("text"):
            text.set("font-family", theme.sans)
    elif "edge" in kind:
        for text in group.findall("text"):
            text.set("font-family", theme.mono)
    else:
        for shape in group.findall("polygon"):
            group.remove(shape)


def _measure(picture: Element, background: str | None) -> None:
    """One unit of the drawing is one CSS pixel."""
    _, _, width, height = picture.get("viewBox", "0 0 0 0").split()
    if background is not None:
        picture.insert(
            0, Element("rect", {"class": "background", "width": width, "height": height, "fill": background})
        )
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
        text.set("font-family", theme.sans)
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
    for name, value in (
        ("x", left),
        ("y", top),
        ("width", right - left),
        ("height", bottom - top),
        ("rx", theme.corner),
    ):
        box.set(name, f"{value:g}")
    ends = {"x1": left + 4, "x2": left + 4, "y1": top + 4, "y2": bottom - 4}
    look = {"class": "bar", "stroke": box.get("stroke", "none"), "stroke-width": "2.5"}
    return Element("line", look | {name: f"{value:g}" for name, value in ends.items()})
