"""An engine in the way learners write one: numbers that remember what they were computed from."""

from __future__ import annotations

import math
from collections.abc import Callable


class Value:
    """A number, its gradient, what it was computed from, and how a gradient goes on to there."""

    def __init__(
        self,
        data: float,
        name: str = "",
        op: str = "",
        sources: tuple[Value, ...] = (),
        share: Callable[[float], tuple[float, ...]] = lambda g: (),
    ) -> None:
        self.data = data
        self.grad = 0.0
        self.name = name
        self.op = op
        self.sources = sources
        self.share = share

    def __add__(self, other: Value) -> Value:
        return Value(self.data + other.data, op="Add", sources=(self, other), share=lambda g: (g, g))

    def __mul__(self, other: Value) -> Value:
        x, y = self.data, other.data
        return Value(x * y, op="Mul", sources=(self, other), share=lambda g: (g * y, g * x))

    def tanh(self) -> Value:
        t = math.tanh(self.data)
        return Value(t, op="Tanh", sources=(self,), share=lambda g: (g * (1 - t * t),))

    def order(self) -> list[Value]:
        """All that this was computed from, each after its own sources, and itself last."""
        found: list[Value] = []
        seen: set[int] = set()

        def visit(value: Value) -> None:
            if id(value) not in seen:
                seen.add(id(value))
                for source in value.sources:
                    visit(source)
                found.append(value)

        visit(self)
        return found

    def backward(self) -> None:
        """Set the gradient of everything that this was computed from."""
        order = self.order()
        for value in order:
            value.grad = 0.0
        self.grad = 1.0
        for value in reversed(order):
            for source, part in zip(value.sources, value.share(value.grad), strict=True):
                source.grad += part
