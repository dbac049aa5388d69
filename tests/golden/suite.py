"""The recordings of real frameworks: how a case is read, and how arrays and operators are compared."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parent / "data"

Case = dict[str, Any]


@cache
def cases(suite: str) -> list[Case]:
    """Every case of a suite."""
    with gzip.open(DATA / f"{suite}.json.gz", "rt", encoding="utf-8") as file:
        return json.load(file)["cases"]


def cases_of(*suites: str) -> list[Case]:
    """Every case of several suites, those recorded later included."""
    return [case for suite in (*suites, "caffe2-more") for case in cases(suite) if case["suite"] in suites]


def facts(name: str) -> dict[str, Any]:
    """Single facts that were observed, by what was tried."""
    with gzip.open(DATA / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        return json.load(file)["facts"]


def array(data: dict[str, Any]) -> np.ndarray:
    """An array from its JSON form: dtype, shape, data in row-major order."""
    return np.array(data["data"], dtype=data["dtype"]).reshape(data["shape"])


def form(op: dict[str, Any]) -> tuple[Any, ...]:
    """What two gradient operators must share to be called equal."""
    device = {key: value for key, value in op.get("device", {}).items() if key in ("type", "id")}
    if device.get("type") == "cpu":
        device = {}
    return op["type"], op["inputs"], op["outputs"], op.get("args", {}), device, op.get("is_gradient", False)


def operator_types(case: Case) -> set[str]:
    """The types of the case's forward operators."""
    return {op["type"] for op in case["net"]["ops"]}
