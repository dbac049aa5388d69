"""Where things are in a picture: what the tests of pictures measure."""

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, fromstring

from gradviz.drawing import LIGHT
from gradviz.drawing.theme import label_width

SVG = "{http://www.w3.org/2000/svg}"
Rectangle = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def groups(source: str) -> dict[str, Element]:
    return {group.get("id", ""): group for group in fromstring(source).iter(f"{SVG}g")}


def rectangle(element: Element) -> Rectangle:
    x, y, width, height = (float(element.get(name, "")) for name in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def box(group: Element) -> Rectangle:
    """Where a node is."""
    found = group.find(f"{SVG}rect")
    if found is not None:
        return rectangle(found)
    circle = group.find(f"{SVG}ellipse")
    assert circle is not None
    x, y, r = (float(circle.get(name, "")) for name in ("cx", "cy", "rx"))
    return x - r, y - r, x + r, y + r


def line_of(group: Element) -> str:
    """The path of an edge."""
    path = group.find(f"{SVG}path")
    assert path is not None
    return path.get("d", "")


def points(path: str) -> Iterator[tuple[float, float]]:
    """Points of a path, two pixels apart or less."""
    x = y = 0.0
    for command, numbers in re.findall(r"([MLHVQ])([^MLHVQ]+)", path):
        given = [float(number) for number in re.findall(r"-?[\d.]+", numbers)]
        if command == "M":
            x, y = given
        given = {"H": [*given, y], "V": [x, *given]}.get(command, given)
        (u, v), (end_x, end_y) = given[:2], given[-2:]
        if command != "Q":
            u, v = (x + end_x) / 2, (y + end_y) / 2
        steps = 1 + int(abs(u - x) + abs(v - y) + abs(end_x - u) + abs(end_y - v))
        for t in (step / steps for step in range(1, steps + 1)):
            a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t * t
            yield a * x + b * u + c * end_x, a * y + b * v + c * end_y
        x, y = end_x, end_y


def text_boxes(group: Element) -> list[Rectangle]:
    """Where the lines of an edge's label are."""
    size = LIGHT.label_size
    found = []
    for text in group.iter(f"{SVG}text"):
        x, y, width = float(text.get("x", "")), float(text.get("y", "")), label_width([text.text or ""], size)
        left = x - width if text.get("text-anchor") == "end" else x
        found.append((left, y - 0.7 * size, left + width, y))
    return found


def overlap(a: Rectangle, b: Rectangle) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def within(inner: Rectangle, outer: Rectangle, slack: float = 0.0) -> bool:
    lows = all(inner[side] >= outer[side] - slack for side in (0, 1))
    return lows and all(inner[side] <= outer[side] + slack for side in (2, 3))
