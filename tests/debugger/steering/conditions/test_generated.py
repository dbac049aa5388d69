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
    table = "Readonly<Record<string, {}>>".format
    takes = "readonly [takes: readonly Type[], gives: Type]"
    return "".join([
        "// The words of conditions, made of those in gradviz/debugger/steering/conditions/language.py.\n",
        f"\nexport type Type = {types};\n",
        constant("Characters of a condition.", "LONGEST", "", language.LONGEST),
        constant("Nodes that may lie one inside the other.", "DEEPEST", "", language.DEEPEST),
        constant("Numbers that are known of a blob.", "STATISTICS", "readonly string[]", language.STATISTICS),
        constant("What is known of things.", "FIELDS", table(table("Type")), language.FIELDS),
        constant("The types of things.", "THINGS", table("Type"), language.THINGS),
        constant("What a word means.", "NAMES", table("readonly [string, string]"), language.NAMES),
        constant("What a function takes and gives.", "FUNCTIONS", table(takes), language.FUNCTIONS),
        constant("What stands for a condition.", "PHRASES", table("string"), language.PHRASES),
    ])  # fmt: skip


def test_the_words_of_the_extension_are_those_of_python():
    assert FILE.read_text() == generated()


if __name__ == "__main__":
    FILE.write_text(generated())
