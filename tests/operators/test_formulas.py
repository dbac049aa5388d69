"""The formulas of the operator table speak of nothing that their reader does not know.

A symbol of a formula is a slot or an argument of its operator, or the gradient of one; or the formula itself says what
it stands for; or it is a letter that always means the same (`ALWAYS`). What is no symbol is a word of a sentence: it
stands among words, away from signs of arithmetic, and has no index.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from gradviz.operators import OperatorType, lookup, types

ALWAYS = {"e", "π", "σ", "n", "fan in", "fan out"}
"""As the document of the table says: two numbers, the logistic function, how many are averaged; weights of a unit."""
FUNCTIONS = {
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "exp", "ln", "sign"),
    *("max", "min", "argmax", "argmin", "avg", "var", "softmax", "logit", "onehot", "normal", "uniform", "mod"),
}
NOUNS = {"row", "rows", "segment", "value", "stride", "dilation"}
"""What is followed by a letter says what the letter stands for: "the rows i of segment s"."""

LETTERS = "A-Za-zα-ωΦ"
INDICES = "₀-₉ᵢⱼₖₗₛᵣₙₘ"
TOKEN = re.compile(
    rf"`[^`]*`|fan (?:in|out)\b|[a-z]{{2,}}-[a-z]{{2,}}|∂?[{LETTERS}](?:[{LETTERS}0-9_]|\u0302)*"
    rf"|[{INDICES}]+|_[a-z](?:,[a-z])*|\d+(?:\.\d+)?|\S"
)
ARITHMETIC = set("+-·/<>≤≥≠∧∨¬⊻^~√∛Σ∫")


class Word(NamedTuple):
    """A word of a formula between its neighbours; `is_indexed`: an index, a bracket or a prime stands close behind."""

    text: str
    before: str
    behind: str
    is_indexed: bool


def words(formula: str) -> Iterator[Word]:
    found = list(TOKEN.finditer(formula))
    for before, here, behind in zip([None, *found], found, [*found[1:], None], strict=False):
        text, follows = here.group(), behind.group() if behind else ""
        if re.match(rf"∂?[{LETTERS}]", text):
            is_close = behind is not None and behind.start() == here.end()
            index = is_close and re.match(rf"[{INDICES}_\[(²³ᵀᵖ'|]", follows) is not None
            yield Word(text, before.group() if before else "", follows, index)


def is_symbol(word: Word) -> bool:
    """Whether it is no word of a sentence: "a" can be either."""
    if word.text == "a" and not word.is_indexed and re.fullmatch(r"[a-z]{2,}", word.behind):
        return False
    stem = re.sub(r"\u0302|\d", "", word.text.lstrip("∂"))
    is_beside = word.before in ARITHMETIC or word.behind in ARITHMETIC or word.behind == "="
    return len(stem) == 1 or word.text[0] == "∂" or word.is_indexed or is_beside


def defined(text: str) -> set[str]:
    """What a text says itself: "p = ...", "H(p) = ...", "logit p = ...", "rows i", "y[n, m]", indices, "∫ ... dt"."""
    name = rf"∂?[{LETTERS}](?:[{LETTERS}0-9_]|\u0302)*"
    found = set(re.findall(rf"(?:^|[,;:] |with |with is_test )({name})'?(?:[{INDICES}]*|\({name}\)| {name}) = ", text))
    found |= {letter for pair in re.findall(r"\w\((\w)\) = |\w'? (\w) = ", text) for letter in pair}
    found |= set(re.findall(rf"\b({name}) the |", text)) | set(re.findall(r"∫.* d([a-z])\b", text))
    found |= set(re.findall(rf"\b(?:{'|'.join(NOUNS)}) ([a-z])\b", text))
    for inside in re.findall(r"[\[(]([^\[\]]*)\]|_([a-z](?:,[a-z])*)", text):
        found |= set(re.findall(r"\b[a-z]\b", "".join(inside)))
    return found | {letter for index, letter in zip("ᵢⱼₖₗₛᵣₙₘ", "ijklsrnm", strict=True) if index in text}


def strangers(known: OperatorType, text: str, beside: str = "") -> set[str]:
    """The symbols of a text that nobody explains; it may use what the text `beside` it says."""
    assert known.inputs is not None
    assert known.outputs is not None
    own = {*known.inputs.names, *known.outputs.names, *(known.args or {}), *ALWAYS, *FUNCTIONS}
    own |= defined(text) | defined(beside)

    def is_known(symbol: str) -> bool:
        return symbol in own or (symbol[0] in "d∂" and len(symbol) > 1 and is_known(symbol[1:]))

    return {word.text for word in words(text) if is_symbol(word) and not is_known(word.text)}


OWN = [known for known in types() if known.inputs is not None]


def test_every_symbol_of_a_formula_is_a_slot_an_argument_or_explained() -> None:
    found = {known.type: strangers(known, known.formula) for known in OWN}
    assert {type: symbols for type, symbols in found.items() if symbols} == {}


def test_a_derivative_uses_no_more_than_that_and_what_its_formula_explains() -> None:
    found = {known.type: strangers(known, known.derivative, known.formula) for known in OWN}
    assert {type: symbols for type, symbols in found.items() if symbols} == {}


@pytest.mark.parametrize(
    ("formula", "symbols"),
    [
        ("loss = -scale · Σᵢ wᵢ ln pᵢₗ / Σᵢ wᵢ, l = labelᵢ", {"w", "label"}),
        ("p = softmax x where label = 1, else q", {"label", "q"}),
        ("p = x · t, t = tanh x", set()),
        ("p = the labels of a batch, as they are", set()),
        ("dx = dloss · dlabel", {"dlabel"}),
    ],
)
def test_what_is_a_stranger(formula: str, symbols: set[str]) -> None:
    known = lookup("SoftmaxWithLoss")
    assert known is not None
    assert strangers(known, formula) == symbols
