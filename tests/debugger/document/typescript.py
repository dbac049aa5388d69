"""Writes the TypeScript of the trace document from its structs: types, the table that its reader goes by, and a number.

``python -m tests.debugger.document.typescript`` writes it anew, which is all that a change of a struct needs. It stands
with the tests, since one of them compares and nobody who uses gradviz needs it. In the table a type is

    "text", "whole", "real", "flag", "null", "any"
    "text lines"                   a leaf that follows a rule of `bounds`; "?text" may be null
    "Line", "Gradient versions"    another entry of the table, with a rule for its texts
    {least: n}                     a whole number, at least n
    {most: n, of: type}            a list or a text of at most this length
    {list: type}, {map: type, keys: type}, {row: [type, ...]}, {one: [literal, ...]}
    {either: {string: type, list: type, ...}}, by what JSON has there
    {fields: {name: type}, isRow: true}, an object or a list of its fields; one with a default is [type, default]
"""

import ast
import textwrap
import types
from collections.abc import Iterator
from inspect import getsource
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import inspect

from gradviz.debugger.document import parts, schema
from gradviz.debugger.document.bounds import LARGEST
from gradviz.debugger.document.schema import Trace, WrittenTrace
from gradviz.notebook.session_protocol import PROTOCOL

MODULE = "tests.debugger.document.typescript"
PATH = Path(__file__).parents[3] / "extension" / "src" / "model" / "schema" / "trace.gen.ts"

NAMED = {
    name: value
    for module in (parts, schema)
    for name, value in vars(module).items()
    if get_origin(value) in (Literal, Union, types.UnionType)
}
"""Choices and unions with names of their own."""

LEAVES: dict[type[inspect.Type], tuple[str, str]] = {
    inspect.StrType: ("string", "text"),
    inspect.IntType: ("number", "whole"),
    inspect.FloatType: ("number", "real"),
    inspect.BoolType: ("boolean", "flag"),
    inspect.AnyType: ("unknown", "any"),
    inspect.NoneType: ("null", "null"),
}
"""What a leaf is called in TypeScript, and in the table."""

Part = inspect.StructType | inspect.NamedTupleType


def name_of(type: inspect.Type) -> str | None:
    """The name of a choice or a union that has one."""
    return next((name for name, value in NAMED.items() if inspect.type_info(value) == type), None)


def typescript() -> str:
    """The whole file."""
    found: dict[str, Part] = {}
    for root in (WrittenTrace, parts.Marked, Trace):
        for part in parts_in(inspect.type_info(root)):
            found[part.cls.__name__] = part
    choices = [name for name, value in NAMED.items() if get_origin(value) is Literal]
    table = {name: f"{{ one: {name} }}" for name in choices}
    table |= {name: code(inspect.type_info(NAMED[name])) for name in NAMED if name not in choices}
    table |= {name: entry(part) for name, part in found.items() if name != Trace.__name__}
    return "\n".join(
        [
            f"// Made from gradviz/debugger/document by `python -m {MODULE}`: change it there.",
            "",
            *(f"export const {name} = {json(get_args(NAMED[name]))} as const;" for name in choices),
            *(f"export type {name} = (typeof {name})[number];" for name in choices),
            *(
                f"export type {name} = {type_of(inspect.type_info(NAMED[name]))};"
                for name in NAMED
                if name not in choices
            ),
            "",
            *(line for name, part in found.items() if name != Trace.__name__ for line in interface(part)),
            *interface(found[Trace.__name__], but_for=found[WrittenTrace.__name__]),
            "/** What Python and its views speak; see gradviz/notebook/session_protocol.py. */",
            f"export const PROTOCOL: number = {PROTOCOL};",
            "",
            "/** What the reader goes by. */",
            "export const TABLE = {",
            *(f"  {name}: {written}," for name, written in table.items()),
            "} as const;",
            "",
        ]
    )


def parts_in(type: inspect.Type) -> Iterator[Part]:
    """The parts that a type consists of, inner ones first."""
    if isinstance(type, Part):
        for field in type.fields:
            yield from parts_in(field.type)
        yield type
    for name in ("type", "item_type", "key_type", "value_type"):
        if isinstance(inside := getattr(type, name, None), inspect.Type):
            yield from parts_in(inside)
    for name in ("types", "item_types"):
        for inside in getattr(type, name, ()):
            yield from parts_in(inside)


def interface(part: Part, but_for: Part | None = None) -> Iterator[str]:
    """A part as TypeScript has it, where nothing is left out; like another one but for some fields, these alone."""
    yield comment(part.cls.__doc__ or "", "")
    same = {field.name: named_type(field.type) for field in but_for.fields} if but_for else {}
    fields = [field for field in part.fields if same.get(field.name) != named_type(field.type)]
    others = " | ".join(json(field.name) for field in fields)
    base = f" extends Omit<{but_for.cls.__name__}, {others}>" if but_for else ""
    yield f"export interface {part.cls.__name__}{base} {{"
    told = docs(part.cls)
    for field in fields:
        if field.name in told:
            yield comment(told[field.name], "  ")
        yield f"  {field.name}: {named_type(field.type)};"
    yield "}\n"


def docs(cls: type) -> dict[str, str]:
    """What stands below the fields of a class and of those that it is made from."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if not base.__module__.startswith("gradviz"):
            continue
        (tree,) = ast.parse(textwrap.dedent(getsource(base))).body
        body = tree.body if isinstance(tree, ast.ClassDef) else []
        for field, below in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
                found[field.target.id] = ast.literal_eval(below.value)
    return found


def comment(text: str, margin: str) -> str:
    """A text as TSDoc."""
    lines = [line.strip() for line in text.strip().splitlines()]
    if len(lines) == 1:
        return f"{margin}/** {lines[0]} */"
    return "\n".join([f"{margin}/**", *(f"{margin} * {line}".rstrip() for line in lines), f"{margin} */"])


def named_type(type: inspect.Type) -> str:
    """A type as TypeScript writes it, by its name if it has one."""
    return name_of(type) or type_of(type)


def type_of(type: inspect.Type) -> str:
    """A type as TypeScript writes it."""
    match type:
        case inspect.Metadata(type=inner):
            return named_type(inner)
        case inspect.StructType(cls=cls) | inspect.NamedTupleType(cls=cls):
            return cls.__name__
        case inspect.LiteralType(values=values):
            return " | ".join(json(value) for value in values)
        case inspect.ListType(item_type=item):
            inside = named_type(item)
            return f"({inside})[]" if "|" in inside else f"{inside}[]"
        case inspect.TupleType(item_types=items):
            return f"[{', '.join(map(named_type, items))}]"
        case inspect.DictType(value_type=item):
            return f"Record<string, {named_type(item)}>"
        case inspect.UnionType(types=several) if some := without_null(type):
            return f"{named_type(some)} | null"
        case inspect.UnionType(types=several):
            return " | ".join(dict.fromkeys(map(named_type, several)))
    return LEAVES[type.__class__][0]


def without_null(type: inspect.UnionType) -> inspect.Type | None:
    """What a type is where it is not null; None: it is never null."""
    others = tuple(one for one in type.types if not isinstance(one, inspect.NoneType))
    if len(others) == len(type.types):
        return None
    return others[0] if len(others) == 1 else inspect.UnionType(others)


def entry(part: Part) -> str:
    """A part in the table."""
    is_row = isinstance(part, inspect.NamedTupleType) or part.array_like
    fields = "".join(f"\n    {field.name}: {field_code(field)}," for field in part.fields)
    return f"{{{' isRow: true,' if is_row else ''} fields: {{{fields}\n  }} }}"


def field_code(field: inspect.Field) -> str:
    """A field in the table."""
    written = named_code(field.type)
    if field.required:
        return written
    default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    return f"[{written}, {json(default)}]"


def named_code(type: inspect.Type, rule: str = "") -> str:
    """A type in the table, by its name if it has one."""
    return with_rule(name, rule) if (name := name_of(type)) else code(type, rule)


def with_rule(name: str, rule: str) -> str:
    """The name of a type whose texts and whole numbers follow a rule, if one is given."""
    return json(f"{name} {rule}".strip())


def code(type: inspect.Type, rule: str = "") -> str:
    """A type in the table; a rule around it is its own."""
    match type:
        case inspect.Metadata(type=inner, extra=extra):
            extra = extra or {}
            inside = named_code(inner, extra.get("rule", rule))
            return f"{{ most: {extra['most']}, of: {inside} }}" if "most" in extra else inside
        case inspect.StructType(cls=cls) | inspect.NamedTupleType(cls=cls):
            return with_rule(cls.__name__, rule)
        case inspect.LiteralType(values=values):
            return f"{{ one: {json(values)} }}"
        case inspect.ListType(item_type=item):
            return f"{{ list: {named_code(item, rule)} }}"
        case inspect.TupleType(item_types=items):
            return f"{{ row: [{', '.join(named_code(item, rule) for item in items)}] }}"
        case inspect.DictType(key_type=key, value_type=item):
            keys = f", keys: {code(key, rule)}" if code(key, rule) != '"text"' else ""
            return f"{{ map: {named_code(item, rule)}{keys} }}"
        case inspect.UnionType() if (some := without_null(type)) and (written := named_code(some, rule))[0] == '"':
            return f'"?{written[1:]}'
        case inspect.UnionType(types=several):
            kinds = {kind(one): named_code(one, rule) for one in sorted(several, key=is_real)}
            return f"{{ either: {{ {', '.join(f'{each}: {written}' for each, written in kinds.items())} }} }}"
        case inspect.IntType(ge=least) if least not in (None, -LARGEST):
            return f"{{ least: {least} }}"
    leaf = LEAVES[type.__class__][1]
    return with_rule(leaf, rule if leaf in ("text", "whole") else "")


def is_real(type: inspect.Type) -> bool:
    """Whether it is any number: among whole ones it comes last, and stands for them."""
    return isinstance(type, inspect.FloatType)


def kind(type: inspect.Type) -> str:
    """What JSON has where this type is."""
    match type:
        case inspect.Metadata(type=inner):
            return kind(inner)
        case inspect.LiteralType(values=values):
            return "string" if isinstance(values[0], str) else "number"
        case inspect.NamedTupleType() | inspect.StructType(array_like=True) | inspect.ListType() | inspect.TupleType():
            return "list"
        case inspect.StructType() | inspect.DictType():
            return "object"
    return LEAVES[type.__class__][0]


def json(value: Any) -> str:
    """Plain data as TypeScript writes it."""
    return msgspec.json.format(msgspec.json.encode(value), indent=-1).decode().replace('","', '", "')


if __name__ == "__main__":
    PATH.write_text(typescript(), encoding="utf-8")
