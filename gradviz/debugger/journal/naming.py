"""Words for the names that a pass makes up: people read of a gradient, and not of ``_x_grad_autosplit_0``."""

import re
from collections.abc import Mapping

from ...program.control_flow import INNER_GRADIENT, INNER_RESULT, RUNNING_SUM

INNER: Mapping[str, str] = {INNER_RESULT: ", handed out", RUNNING_SUM: ", summed", INNER_GRADIENT: ""}
"""Suffixes of the names that gradients have in the net of a Do -> what follows ``gradient of x`` in words."""

SPLIT = re.compile(r"[^ ]+_autosplit_\d+@\d+")

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def inner_words(blob: str) -> str | None:
    """What a Do calls a gradient in its net: ``gradient of x``; None: it is another name."""
    for suffix, word in INNER.items():
        name, separator, version = blob.partition(suffix)
        if separator:
            return f"gradient of {name}{word}" + (f" (version {version[1:]})" if version[1:] not in ("", "0") else "")
    return None


def is_part(blob: str) -> bool:
    """Whether a blob version is called so only because several gradients of one blob are added."""
    return SPLIT.fullmatch(blob) is not None


def part_words(blob: str, number: int, count: int | None) -> str:
    """``gradient of x@0, second of 2 parts``.

    Args:
        blob: whose gradients are added.
        number: of this one, from 0.
        count: how many there are; None: more may come.
    """
    if number >= len(ORDINALS):
        return f"gradient of {blob}, part {number + 1}{'' if count is None else f' of {count}'}"
    return f"gradient of {blob}, {ORDINALS[number]}{' part' if count is None else f' of {count} parts'}"
