"""The text of the user's code around the lines that called operators, and of the rules that were applied.

It is read when the document is made, and stays in it. A cell of a notebook is what it was when it ran. A file may have
been edited since: where it does not have the lines that the recording has, only these lines are shown.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from textwrap import dedent
from tokenize import TokenError

from ...program.code_line import CodeLine, lines_of
from ..document import LONGEST_SOURCE, MOST_SOURCES, Source

MOST_LINES = 400
"""Of a function or a class of a file, and of a rule. Of a longer one the function inside of it is shown."""

AROUND = 10
"""Lines before and behind one that stands in nothing so short."""

GAP = 3
"""Stretches with fewer lines between them are one."""

DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

MOST_TEXT = 1_000_000
"""Characters of all stretches."""


def sources_of(codes: Iterable[CodeLine]) -> list[Source]:
    """The stretches of text around some lines: the whole of a cell, of a file the functions and classes around them.

    Statements at the top of a file that follow each other are one stretch.
    """
    sources: list[Source] = []
    size = 0
    for file, named in groupby(sorted(set(codes), key=lambda one: (one.file, one.number)), lambda one: one.file):
        for stretch in _of_file(file, list(named)):
            size += len(stretch.text)
            if size > MOST_TEXT or len(sources) == MOST_SOURCES:
                return sources
            sources.append(stretch)
    return sources


def rules_of(places: Iterable[str]) -> dict[str, str]:
    """The text of the rules at some places; a rule whose text is not there has none."""
    rules = ((place, _rule(place)) for place in dict.fromkeys(places))
    return dict(islice(((place, text) for place, text in rules if text), MOST_SOURCES))


def _of_file(file: str, codes: Sequence[CodeLine]) -> Iterator[Source]:
    text = lines_of(file)
    if any(not 0 < one.number <= len(text) or text[one.number - 1].strip() != one.text for one in codes):
        yield from (Source(file, one.number, one.text[:LONGEST_SOURCE]) for one in codes if one.number and one.text)
        return
    is_cell = file.startswith("cell ") and sum(map(len, text)) + len(text) <= LONGEST_SOURCE
    for first, last in [(1, len(text))] if is_cell else _joined(_around(text, [one.number for one in codes])):
        yield Source(file, first, "\n".join(text[first - 1 : last])[:LONGEST_SOURCE])


def _around(text: Sequence[str], numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """For each of some lines the first and last line of what it stands in."""
    try:
        whole = ast.parse("\n".join(text))
    except (SyntaxError, ValueError, RecursionError):
        whole = ast.Module([], [])
    for number in numbers:
        short = (one for one in _inwards(whole, number) if one[1] - one[0] < MOST_LINES)
        yield next(short, (max(1, number - AROUND), min(number + AROUND, len(text))))


def _inwards(node: ast.AST, number: int) -> Iterator[tuple[int, int]]:
    """What a line stands in, from the outside in, by first line, with decorators, and last: a statement at the top of
    the file, then functions and classes."""
    for inner in node.body if isinstance(node, (ast.Module, *DEFINITIONS, ast.If, ast.With, ast.Try)) else ():
        first = min(one.lineno for one in (inner, *getattr(inner, "decorator_list", ())))
        last = inner.end_lineno or first
        if first <= number <= last:
            if isinstance(node, ast.Module) or isinstance(inner, DEFINITIONS):
                yield first, last
            yield from _inwards(inner, number)


def _joined(stretches: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The same in their order, those as one that overlap or have few lines between them."""
    begin, end = 0, -GAP
    for first, last in sorted(stretches):
        if first > end + GAP:
            if begin:
                yield begin, end
            begin = first
        end = max(end, last)
    if begin:
        yield begin, end


def _rule(place: str) -> str:
    """The text of the function at a place, ``gradviz/operators/linear.py:95``; empty: it is not there."""
    file, _, number = place.rpartition(":")
    text = lines_of(file)[max(0, int(number) - 1) :] if number.isdecimal() else []
    try:
        block = inspect.getblock([f"{line}\n" for line in text])
    except (SyntaxError, TokenError):
        block = text[:1]
    return dedent("".join(block[:MOST_LINES]))[:LONGEST_SOURCE].rstrip()
