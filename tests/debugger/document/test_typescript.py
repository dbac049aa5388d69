"""The TypeScript of the trace document is what its structs make today."""

from tests.debugger.document.typescript import PATH, typescript


def test_the_types_and_the_table_in_typescript_are_those_of_the_structs():
    message = "a struct has changed: run python -m tests.debugger.document.typescript, then build extension/"
    assert PATH.read_text(encoding="utf-8") == typescript(), message
