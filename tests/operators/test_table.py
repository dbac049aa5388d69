"""The document that lists all operators is the table that runs."""

from pathlib import Path

from gradviz import operators
from gradviz.operators import types
from gradviz.operators.table import markdown


def test_the_document_is_what_the_table_says() -> None:
    written = Path(operators.__file__).with_name("README.md").read_text(encoding="utf-8")
    assert written == markdown(), "write it again: gradviz operators > gradviz/operators/README.md"


def test_every_type_tells_its_formula_and_what_it_does() -> None:
    own = [known for known in types() if known.inputs is not None]
    assert [known.type for known in own if not known.formula or not known.doc] == []
    assert len(own) >= 120


def test_what_an_operator_writes_is_not_called_as_what_it_reads() -> None:
    callable_types = [known for known in types() if known.inputs is not None and known.kernel is not None]
    shared = {known.type: {*known.inputs.names} & {*known.outputs.names} for known in callable_types}
    assert {type: names for type, names in shared.items() if names} == {}
