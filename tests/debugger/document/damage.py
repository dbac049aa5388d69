"""Trace documents that nobody recorded: those of every engine, damaged at random."""

import copy
import json
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any

import numpy as np

import gradviz
from gradviz import functions as F
from gradviz.debugger.document import encode
from tests.debugger.conftest import fed_workspace, skip_net
from tests.debugger.loops import fed, gated

Place = tuple[Any, Any]
"""A list or an object, and an index or a key of it."""

DEEP = 400

NUMBERS = (
    *(-1, 0, 1, 2, 3, 7, 64, 65, 10**6, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1),
    *(0.5, -0.0, 1e-320, 1e308, -1e308, 1.5, True, False),
)
TEXTS = (
    *("", "\\", "`", "@", "@0", "x", "x@", "x@0", "x@-1", "x@999999999", "x@00", "@@0", "a\nb@1", "nan", "inf", "-inf"),
    *("f0", "f99", "b0", "p0", "s0", "s0.f0", "g0", "#0", "#", "0.net", "2.loop_net[0]", "<script>", "’" * 500, "\0@0"),
    *("Ran", "Failed", "forward", "passed", "gradient", "accumulation", "net", "loop_net", "workspaces", "complex64"),
)
OTHERS = (None, [], {}, [[]], [[[0]]], {"": {}}, [None], ["x@0"], {"x": "x@0"}, {"ops": [{"type": "While"}]})


def net() -> gradviz.Session:
    """A sum of gradients, and all has run."""
    session = gradviz.debug(skip_net(), ["loss"], workspace=fed_workspace())
    session.break_on("Accumulated", when="n > 1")
    session.break_on("norm > 0.5 and op == 'Relu'", log="{x} {norm}")
    session.watch("a_grad.norm * 2")
    return session


def loop() -> gradviz.Session:
    """A branch in a loop."""
    return gradviz.debug(gated(), ["loss"], workspace=fed(2))


def rows() -> gradviz.Session:
    """Sparse gradients whose rows are merged."""
    net = gradviz.Net("rows")
    net.Gather(["table", "i"], "a")
    net.Gather(["table", "j"], "b")
    net.Mul(["a", "b"], "y")
    ws = gradviz.Workspace()
    ws.feed("table", np.arange(8.0).reshape(4, 2))
    ws.feed("i", np.array([1, 1, 3]))
    ws.feed("j", np.array([0, 2, 2]))
    return gradviz.debug(net, ["y"], workspace=ws, deduplicate="sum")


def typo() -> gradviz.Session:
    """A program that cannot be run."""
    net = gradviz.Net("typo")
    net.Tanh("x", "a")
    net.Mul(["aa", "a"], "y")
    return gradviz.debug(net, ["y"], workspace=gradviz.Workspace())


def code(schedule: str) -> gradviz.Session:
    """Code that has run, backward by one of the schedules."""
    x = gradviz.Variable(np.array([0.5, -1.0]), name="x")
    return gradviz.debug(F.sum(F.tanh(x) * x + F.exp(x[0:1])), schedule=schedule)


RECORDINGS: dict[str, Callable[[], gradviz.Session]] = {
    "net": net,
    "loop": loop,
    "rows": rows,
    "typo": typo,
    "by rank": lambda: code("rank"),
    "by tape": lambda: code("tape"),
}


@cache
def written(recording: str) -> str:
    """The text of its document."""
    return encode(RECORDINGS[recording]().trace()).decode()


def places(value: Any) -> Iterator[Place]:
    """Every list or object of a document with every key of it."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield value, key
        yield from places(entry)


def some(found: list[Place], chance: Random) -> Place:
    """A place: first a part of the document, so that long ones do not hide the others."""
    parts: dict[str, list[Place]] = {}
    for holder, key in found:
        parts.setdefault(str(key) if isinstance(holder, dict) else "", []).append((holder, key))
    return chance.choice(parts[chance.choice(sorted(parts))] if chance.random() < 0.7 else found)


def replaced(found: list[Place], chance: Random) -> None:
    """Something is another thing: of its type, of any type, or one that stands elsewhere."""
    holder, key = some(found, chance)
    value = holder[key]
    pool = NUMBERS if isinstance(value, int | float) else TEXTS if isinstance(value, str) else OTHERS
    other, at = some(found, chance)
    holder[key] = chance.choice(
        [chance.choice(pool), chance.choice((*NUMBERS, *TEXTS, *OTHERS)), copy.deepcopy(other[at])]
    )


def swapped_for_a_like(found: list[Place], chance: Random) -> None:
    """Something is what stands elsewhere under the same key."""
    holder, key = some(found, chance)
    likes = [(one, at) for one, at in found if (at == key or isinstance(one, list)) and type(one) is type(holder)]
    other, at = chance.choice(likes)
    holder[key] = copy.deepcopy(other[at])


def nudged(found: list[Place], chance: Random) -> None:
    """A number is another one, or a text has another character, or one less."""
    holder, key = some([(one, at) for one, at in found if isinstance(one[at], str | int | float)], chance)
    value = holder[key]
    if isinstance(value, str):
        at = chance.randrange(len(value) + 1)
        holder[key] = value[:at] + chance.choice(["", "@", "0", "_", "\\", "`", " ", "["]) + value[at + 1 :]
    else:
        holder[key] = chance.choice([value + 1, value - 1, -value, value * 2, value * 10**12, value / 2])


def removed(found: list[Place], chance: Random) -> None:
    """Something is missing."""
    holder, key = some(found, chance)
    del holder[key]


def renamed(found: list[Place], chance: Random) -> None:
    """Something stands under another name."""
    holder, key = some([(one, at) for one, at in found if isinstance(one, dict)], chance)
    holder[chance.choice([*TEXTS, *(str(at) for _, at in chance.sample(found, min(5, len(found))))])] = holder.pop(key)


def repeated(found: list[Place], chance: Random) -> None:
    """A part of a list stands there once more, or the list is in another order."""
    holder, key = some([(one, at) for one, at in found if isinstance(one, list)], chance)
    if chance.random() < 0.5:
        holder.insert(chance.randrange(len(holder) + 1), copy.deepcopy(holder[key]))
    else:
        chance.shuffle(holder)


def nested(found: list[Place], chance: Random) -> None:
    """Something is lists in lists, or objects in objects."""
    holder, key = some(found, chance)
    inside = holder[key]
    for _ in range(chance.choice([1, 2, 50, DEEP])):
        inside = [inside] if chance.random() < 0.5 else {"a": inside}
    holder[key] = inside


def text_damaged(text: str, chance: Random) -> str:
    """Some bits of the text are others, or a part of it is gone, or it stands there twice, or a number is none."""
    at = chance.randrange(len(text))
    end = at + chance.choice([1, 1, 2, 10, 1000])
    match chance.randrange(5):
        case 0:
            return text[:at] + chr(ord(text[at]) ^ (1 << chance.randrange(7))) + text[at + 1 :]
        case 1:
            return text[:at] + text[end:]
        case 2:
            return text[:at] + text[at:end] + text[at:]
        case 3:
            return text[:at]
        case _:
            start = text.find(":", at) + 1
            return (
                text[:start]
                + chance.choice(["NaN", "Infinity", "1e999", "-1e999", "9" * 400, '"\\ud800"', '"\\u0000"'])
                + text[start + 1 :]
            )


TREE_DAMAGES = (replaced, replaced, replaced, swapped_for_a_like, swapped_for_a_like, nudged, nudged, removed, renamed,
                repeated, nested)  # fmt: skip


def damaged(recording: str, chance: Random) -> str:
    """The text of the document of a recording, damaged in one place or a few."""
    if chance.random() < 0.1:
        return text_damaged(written(recording), chance)
    document = json.loads(written(recording))
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        found = list(places(document))
        if found:
            chance.choice(TREE_DAMAGES)(found, chance)
    return json.dumps(document)
