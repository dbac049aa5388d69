"""The table of all operator types as a document: signature, formula, derivative, arguments, what it does."""

from collections.abc import Iterator

from .registry import types

HEAD = """# Operators

Every operator type that gradviz defines, made by `gradviz operators`. A name with `?` may be left out, one with `...`
may be repeated. A gradient operator has a derivative too: there ∂a is the gradient of a, also where a is the gradient
dx. No derivative: the output is constant as far as gradients go, or nobody has written its rule.

Letters that mean the same everywhere: e and π are the numbers, σ is the logistic function, n says how many elements an
average is of, i, j, k, ... are indices. Weights that are left out are 1.

| type | inputs → outputs | formula | derivative | arguments | |
|---|---|---|---|---|---|
"""


def markdown() -> str:
    """The table in Markdown, a row for each type that gradviz itself defines, by name."""
    return HEAD + "".join(f"{row}\n" for row in _rows())


def _rows() -> Iterator[str]:
    for operator_type in types():
        if operator_type.inputs is None or operator_type.outputs is None:
            continue  # a user's own
        cells = [
            operator_type.type,
            f"{', '.join(operator_type.inputs.written())} → {', '.join(operator_type.outputs.written())}",
            operator_type.formula,
            operator_type.derivative,
            ", ".join(f"{name}={default!r}" for name, default in (operator_type.args or {}).items()),
            operator_type.doc.partition("\n\n")[0],
        ]
        yield f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
