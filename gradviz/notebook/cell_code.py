"""Arrays, operators and names as code that a cell has."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pprint import pformat
from typing import Any

import msgspec
import numpy as np

from ..gradient import Ys
from ..operators import lookup
from ..operators.arguments import own_arguments
from ..program import Operator
from ..program.net import plain_argument

WIDTH = 110


def array_code(array: np.ndarray[Any, Any]) -> str:
    """``np.array([[1.5, nan]], dtype="float32")``: every element to the last bit; `nan` and `inf` are names."""
    if array.size == 0:
        return f'np.zeros({array.shape}, dtype="{array.dtype}")'
    if array.dtype.kind == "c":  # numpy writes nanj, which is no name, and a sum, which has no zero below zero
        return f'{array_code(np.stack([array.real, array.imag], -1))}.view("{array.dtype}")[..., 0]'
    with np.printoptions(threshold=sys.maxsize, floatmode="unique", linewidth=WIDTH, legacy=False):
        elements = np.array2string(array, separator=", ", prefix="np.array(")
    return f'np.array({elements}, dtype="{array.dtype}")'


def operator_code(op: Operator) -> str:
    """An operator as code; one with nested nets comes out of a net's JSON form."""
    form: dict[str, Any] = msgspec.to_builtins(op, enc_hook=plain_argument)
    if any(isinstance(value, dict) for value in form.get("args", {}).values()):
        net = pformat({"ops": [form]}, width=WIDTH, sort_dicts=False)
        return f"gradviz.Net.from_dict({net}).ops[0]"
    args = plain(op).args
    args = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in args.items()}
    given = [f"args={pformat(args, width=WIDTH, sort_dicts=False)}"] if args else []
    device = [device_code(op)] if op.device else []
    return f"gradviz.Operator({', '.join([quoted(op.type), listed(op.inputs), listed(op.outputs), *given, *device])})"


def call_code(op: Operator) -> str:
    """``FC(["x", "w", "b"], "h")``: what adds an operator to a net, without its device; of a user's any name is one."""
    operator_type = lookup(op.type)
    if operator_type is None or operator_type.args is None:
        return f"ops.append({operator_code(op)})"
    names = [quoted(some[0]) if len(some) == 1 else listed(some) for some in (op.inputs, op.outputs)]
    args = [f"{name}={pformat(value, width=WIDTH, sort_dicts=False)}" for name, value in plain(op).args.items()]
    return f"{op.type}({', '.join([*names, *args])})"


def device_code(op: Operator) -> str:
    return "" if op.device is None else f'device="{op.device}"'


def ys_code(ys: Ys) -> str:
    if not isinstance(ys, Mapping):
        return listed(list(ys))
    given = {y: quoted(one) if isinstance(one, str) else one and f"gradviz.{one}" for y, one in ys.items()}
    return f"{{{', '.join(f'{quoted(y)}: {one}' for y, one in given.items())}}}"


def quoted(text: str) -> str:
    """A text as code, whatever is in it."""
    return json.dumps(text, ensure_ascii=False)


def listed(names: list[str]) -> str:
    return f"[{', '.join(map(quoted, names))}]"


def plain(op: Operator) -> Operator:
    """An operator with nothing but what the cells say of it."""
    operator_type = lookup(op.type)
    return Operator(op.type, op.inputs, op.outputs, own_arguments(op, operator_type and operator_type.args), op.device)
