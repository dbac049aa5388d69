"""Values as Python code that makes them again."""

from __future__ import annotations

import json
import sys
from pprint import pformat
from typing import Any

import msgspec
import numpy as np

from ..operators import lookup
from ..operators.arguments import own_arguments
from ..program import Operator
from ..program.net import nested_to_dict

__all__ = ["array_code", "operator_code", "quoted"]

WIDTH = 110


def array_code(array: np.ndarray[Any, Any]) -> str:
    """``np.array([[1.5, nan]], dtype="float32")``: every element to the last bit; `nan` and `inf` are names."""
    if array.size == 0:
        return f'np.zeros({array.shape}, dtype="{array.dtype}")'
    if array.dtype.kind == "c" and not np.isfinite(array).all():  # numpy writes nanj, which is no name
        return f'{array_code(np.stack([array.real, array.imag], -1))}.view("{array.dtype}")[..., 0]'
    with np.printoptions(threshold=sys.maxsize, floatmode="unique", linewidth=WIDTH, legacy=False):
        elements = np.array2string(array, separator=", ", prefix="np.array(")
    return f'np.array({elements}, dtype="{array.dtype}")'


def operator_code(op: Operator) -> str:
    """An operator as code, without its device; one with nested nets comes out of a net's JSON form."""
    plain = msgspec.structs.replace(op, device=None)
    form: dict[str, Any] = msgspec.to_builtins(plain, enc_hook=nested_to_dict)
    if any(isinstance(value, dict) for value in _arguments(form)):
        net = pformat({"ops": [_without_devices(form)]}, width=WIDTH, sort_dicts=False)
        return f"gradviz.Net.from_dict({net}).ops[0]"
    known = lookup(op.type)
    args = own_arguments(op, known and known.args)
    arguments = f", args={pformat(args, width=WIDTH, sort_dicts=False)}" if args else ""
    return f"gradviz.Operator({quoted(op.type)}, {_listed(op.inputs)}, {_listed(op.outputs)}{arguments})"


def quoted(text: str) -> str:
    """A text as code, whatever is in it."""
    return json.dumps(text, ensure_ascii=False)


def _arguments(form: dict[str, Any]) -> list[Any]:
    """The values of the arguments of an operator's JSON form."""
    return list(form.get("args", {}).values())


def _without_devices(form: Any) -> Any:
    """A JSON form in which no operator says where it runs."""
    if isinstance(form, list):
        return [_without_devices(item) for item in form]
    if not isinstance(form, dict):
        return form
    return {key: _without_devices(item) for key, item in form.items() if key != "device" or "type" not in form}


def _listed(names: list[str]) -> str:
    return f"[{', '.join(map(quoted, names))}]"
