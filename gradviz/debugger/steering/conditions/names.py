"""The words of conditions: the things, what is known of them, and what each word means."""

from __future__ import annotations

from typing import get_args

from .nodes import Field, Node, Type, walk

STATISTICS = ("norm", "min", "max", "mean", "mean_abs", "nan", "inf", "subnormal", "zero", "size")

BLOB_FIELDS: dict[str, Type] = {
    "name": "text",
    "version": "number",
    **dict.fromkeys(STATISTICS, get_args(Type)[0]),
    "shape": "list",
    "dtype": "text",
    "device": "text",
}
FIELDS: dict[Type, dict[str, Type]] = {
    "event": {
        "kind": "text",
        "phase": "text",
        "path": "text",
        # The position after the event.
        "step": "number",
        # Of the innermost loop that is open, from 0: forward and backward passes count their own.
        "iteration": "number",
        "seconds": "number",
        # Of an accumulation: how many gradients are added, and how many of them are sparse and dense.
        "n": "number",
        "sparse": "number",
        "dense": "number",
    },
    "op": {"type": "text", "index": "number", "role": "text", "name": "text", "device": "text"},
    "blob": BLOB_FIELDS,
    # Of all that the operator of a Ran event reads: how many NaN, infinities and subnormal numbers; and on how many
    # devices it reads and writes.
    "inputs": {"nan": "number", "inf": "number", "subnormal": "number", "devices": "number"},
}
THINGS: dict[str, Type] = {"event": "event", "op": "op", "x": "blob", "g": "blob", "inputs": "inputs"}

NAMES: dict[str, tuple[str, str]] = {
    **{thing: (thing, "") for thing in THINGS},
    **{field: ("event", field) for field in FIELDS["event"]},
    **{field: ("x", field) for field in BLOB_FIELDS if field != "name"},
    "blob": ("x", ""),
    "devices": ("inputs", "devices"),
}
"""What a word means: a thing, or a field of one."""

FUNCTIONS: dict[str, tuple[tuple[Type, ...], Type]] = {
    "abs": (("number",), "number"),
    "log10": (("number",), "number"),
    "len": (("list", "text"), "number"),
    "isnan": (("number", "blob"), "truth"),
    "isinf": (("number", "blob"), "truth"),
}
"""The types that a function takes, and the one it gives. A statistic is a function of a blob, too: ``norm(h)``."""


def is_blob(thing: str) -> bool:
    """Whether a thing is a blob of the recording that the condition names."""
    return thing.startswith(":")


def mentioned(node: Node) -> list[Field]:
    """Each thing and field that a condition asks for."""
    return [one for one in walk(node) if isinstance(one, Field)]
