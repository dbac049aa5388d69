"""Conditions: a small language of expressions about an event, its operator and a blob; nothing of Python runs in it.

A condition is text that comes from a person or from a file. It is parsed into nodes with types, and evaluated by a
walk over them, in all rows of a recording at once: there are no assignments, no loops, no calls but those listed here,
and no way out to the program.

Grammar (spaces, tabs and ends of lines stand between tokens as one likes):

    condition   = and { "or" and }
    and         = not { "and" not }
    not         = "not" not | comparison
    comparison  = sum { ( "<" | "<=" | ">" | ">=" | "==" | "!=" | "in" | "not" "in" ) sum }
    sum         = product { ( "+" | "-" ) product }
    product     = unary { ( "*" | "/" | "%" ) unary }
    unary       = "-" unary | attribute
    attribute   = primary { "." name }
    primary     = number | text | blob | name | name "(" condition ")" | "(" condition ")"
                | "[" [ condition { "," condition } ] "]"
    number      = digits [ "." digits ] [ ( "e" | "E" ) [ "+" | "-" ] digits ] | "." digits [ exponent as above ]
    text        = characters between ' or between " ; a backslash takes the next character as it is
    blob        = name "@" digits | characters between backticks: "h@1", "`a/b`", "`a/b@1`"
    name        = a letter of ASCII or "_", then letters of ASCII, digits, "_"

Types are number, text, truth, list, and the things event, op, blob and inputs; they are checked when a text is parsed.
`language.py` has the words. `x` is a blob that the event writes, or else the first one that it is about; of an event
that writes several, a condition holds where it holds for one of them. `g` is x where that is a gradient. A name that is
no word is a blob of the recording: the value of it that was written last, by then.

Meaning:

* A comparison, a sum or a call of what was not computed is unknown, which is never 0. `and`, `or` and `not` of unknown
  truths are those of Kleene's logic: unknown and false is false, unknown or true is true, else unknown. A condition
  that is unknown does not hold.
* `a < b < c` is `a < b and b < c`. Only numbers have an order. `==` of two types is false.
* A thing stands for its name: an event for its kind, an operator for its type, a blob for its version "a@1".
* A text "a@1" also equals "a": a name without a version means each.
* `in` looks into a list; in a text it looks for a part of it.
* Numbers are those of IEEE 754 with 64 bits: dividing by 0 gives an infinity or NaN, and NaN equals nothing.
  `a % b` is a - b * floor(a / b).

At most 500 characters, nested at most 32 deep.
"""

from .columns import NOTHING, Column, Result, column_of, evaluate, shown
from .language import FIELDS, NAMES, PHRASES, ConditionError, Field, Node, mentioned
from .parser import WORDS, parse, truth

__all__ = [
    "FIELDS", "NAMES", "NOTHING", "PHRASES", "WORDS", "Column", "ConditionError", "Field", "Node", "Result",
    "column_of", "evaluate", "mentioned", "parse", "shown", "truth",
]  # fmt: skip
