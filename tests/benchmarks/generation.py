"""Generation: what making the backward pass takes a forward operator, without events and with all of them kept."""

import tracemalloc
from collections.abc import Callable, Iterator

from gradviz import IR, Operator
from gradviz.debugger import record
from gradviz.program import NetDef
from tests.benchmarks.figures import Figure, Target
from tests.benchmarks.timing import Effort, best_seconds

MOST_MICROSECONDS = {"pass": 10.0, "record": 25.0}
LONGEST_TIMED = 10_000
"""Operators up to which those hold; beyond, growth has a target."""

MOST_GROWTH = 1.5
MOST_BYTES = 2048.0
MOST_SECONDS_TO_LOAD = 0.2


def chain(operators: int) -> list[Operator]:
    """Tanh after Tanh."""
    return [Operator("Tanh", [f"x{at}"], [f"x{at + 1}"]) for at in range(operators)]


def layers(operators: int) -> list[Operator]:
    """FC and Relu in turn, each FC with weights and a bias of its own."""
    ops: list[Operator] = []
    for at in range(operators // 2 + 1):
        x, y = f"x{at}", f"y{at}"
        ops += [Operator("FC", [x, f"w{at}", f"b{at}"], [y]), Operator("Relu", [y], [f"x{at + 1}"])]
    return ops[:operators]


def in_place(operators: int) -> list[Operator]:
    """One blob that every operator writes in place."""
    return [Operator("Negative", ["x"], ["x"]) for _ in range(operators)]


def branching(operators: int) -> list[Operator]:
    """Diamonds in a row: Tanh and Sigmoid of one blob, which Add joins; every joint accumulates two gradients."""
    ops: list[Operator] = []
    for at in range(operators // 3 + 1):
        x, t, s = f"x{at}", f"t{at}", f"s{at}"
        ops += [Operator("Tanh", [x], [t]), Operator("Sigmoid", [x], [s]), Operator("Add", [t, s], [f"x{at + 1}"])]
    return ops[:operators]


def fan_out(operators: int) -> list[Operator]:
    """One blob that all operators but the last read; the last sums what they write."""
    readers = [Operator("Tanh", ["x"], [f"y{at}"]) for at in range(operators - 1)]
    return [*readers, Operator("Sum", [op.outputs[0] for op in readers], ["y"])]


SHAPES: dict[str, Callable[[int], list[Operator]]] = {
    "chain": chain,
    "layers": layers,
    "branching": branching,
    "fan-out": fan_out,
    "in place": in_place,
}


def measure(effort: Effort) -> Iterator[Figure]:
    """Microseconds and bytes a forward operator for each shape and length, and how the time grows with the length.

    ``play`` is ``IR(operators)``, ``pass`` its ``get_backward_pass(ys)``, ``generate`` both, ``record`` both with every
    event kept.
    """
    programs = {(shape, length): make(length) for length in effort.operators for shape, make in SHAPES.items()}
    each: dict[tuple[str, str, int], float] = {}
    for length in effort.operators:
        contenders = {
            (verb, shape, length): call(programs[shape, length])
            for verb, call in (("play", playing), ("generate", generating), ("record", recording))
            for shape in SHAPES
        }
        seconds = best_seconds(contenders, effort.for_length(length))
        each |= {key: 1e6 * taken / length for key, taken in seconds.items()}
        # A pass uses its IR up: what it takes is what playing and passing take together, less playing.
        each |= {
            ("pass", shape, length): each["generate", shape, length] - each["play", shape, length] for shape in SHAPES
        }
    for (verb, shape, length), microseconds in each.items():
        most = MOST_MICROSECONDS.get(verb) if length <= LONGEST_TIMED else None
        yield Figure(
            f"{verb} {shape}",
            f"{length:,} operators",
            microseconds,
            "us/operator",
            target=Target("figure", most) if most else None,
        )
    *_, short, long = effort.operators
    for shape in SHAPES:
        yield Figure(
            f"growth of {shape}",
            f"{long:,} operators",
            each["generate", shape, long],
            "us/operator",
            f"{short:,} operators",
            each["generate", shape, short],
            Target("ratio", MOST_GROWTH),
        )
        held = bytes_held(programs[shape, short]) / short
        yield Figure(
            f"memory of {shape}", f"{short:,} operators", held, "B/operator", target=Target("figure", MOST_BYTES)
        )
    yield loading(programs["layers", short], effort)


def playing(operators: list[Operator]) -> Callable[[], object]:
    """Numbers the versions that the program reads and writes."""
    return lambda: IR(operators)


def generating(operators: list[Operator]) -> Callable[[], object]:
    """Plays the program and generates the backward pass of its last output, every event consumed."""
    ys = [operators[-1].outputs[0]]
    return lambda: IR(operators).get_backward_pass(ys)


def recording(operators: list[Operator]) -> Callable[[], object]:
    """The same with every event kept, as the debugger does."""
    net, ys = NetDef("net", operators), [operators[-1].outputs[0]]
    return lambda: record(net, ys)


def bytes_held(operators: list[Operator]) -> int:
    """What the IR and the gradient operators that it made take in memory, the forward operators left out."""
    ir, ys = None, [operators[-1].outputs[0]]
    tracemalloc.start()
    try:
        ir = IR(operators)
        ir.get_backward_pass(ys)
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        del ir


def loading(operators: list[Operator], effort: Effort) -> Figure:
    """Seconds to read a net from its JSON text."""
    text = NetDef("net", operators).to_json()
    seconds = best_seconds({"load": lambda: NetDef.from_json(text)}, effort)["load"]
    target = Target("figure", MOST_SECONDS_TO_LOAD)
    return Figure("load JSON", f"{len(operators):,} operators", seconds, "s", target=target)
