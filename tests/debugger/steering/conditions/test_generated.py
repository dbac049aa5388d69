"""The words of conditions that the extension reads are those of Python: `python -m` this module writes them."""

import json
from pathlib import Path
from typing import get_args

from gradviz.debugger.steering.conditions import language

FILE = Path(__file__).parents[4] / "extension/src/model/filters/conditions/language.gen.ts"


def generated():
    """The text of the file."""

    def constant(about, name, type_, value):
        text = json.dumps(value, ensure_ascii=False)
        return f"\n/** {about} */\nexport const {name}{': ' if type_ else ''}{type_} = {text};\n"

    types = " | ".join(map(json.dumps, get_args(language.Type)))
    texts, fields = "readonly string[]", "Readonly<Record<string, Readonly<Record<string, Type>>>>"
    return "".join([
        "// The words of conditions, made of gradviz/debugger/steering/conditions/language.py by the test that compares them.\n",
        f"\nexport type Type = {types};\n",
        constant("Characters of a condition.", "LONGEST", "", language.LONGEST),
        constant("Nodes that may lie one inside the other.", "DEEPEST", "", language.DEEPEST),
        constant("Numbers that are known of a blob, each a function of a blob, too.", "STATISTICS", texts, language.STATISTICS),
        constant("What is known of the things of a type.", "FIELDS", fields, language.FIELDS),
        constant("The types of things.", "THINGS", "Readonly<Record<string, Type>>", language.THINGS),
        constant("What a word means: a thing, or a field of one.", "NAMES", "Readonly<Record<string, readonly [thing: string, attribute: string]>>", language.NAMES),
        constant("The types that a function takes, and the one it gives.", "FUNCTIONS", "Readonly<Record<string, readonly [takes: readonly Type[], gives: Type]>>", language.FUNCTIONS),
        constant("What stands for a condition.", "PHRASES", "Readonly<Record<string, string>>", language.PHRASES),
    ])  # fmt: skip


def test_the_words_of_the_extension_are_those_of_python():
    assert FILE.read_text() == generated()


if __name__ == "__main__":
    FILE.write_text(generated())
