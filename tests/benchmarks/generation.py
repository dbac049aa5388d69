"""Generation: what the IR takes for each forward operator to make the backward pass, its events consumed."""

from collections import deque
from collections.abc import Callable, Iterator

from gradviz import IR, Operator
from tests.benchmarks.figures import Figure, Target
from tests.benchmarks.timing import Effort, best_seconds

MOST_MICROSECONDS = 30.0
MOST_GROWTH = 1.5


def chain(operators: int) -> list[Operator]:
    """Tanh after Tanh."""
    return [Operator("Tanh", [f"x{at}"], [f"x{at + 1}"]) for at in range(operators)]


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


SHAPES: dict[str, Callable[[int], list[Operator]]] = {"chain": chain, "branching": branching, "fan-out": fan_out}


def measure(effort: Effort) -> Iterator[Figure]:
    """Microseconds a forward operator for each shape and length, and how they grow with the length."""
    programs = {(shape, length): make(length) for shape, make in SHAPES.items() for length in effort.operators}
    seconds = best_seconds({key: generating(operators) for key, operators in programs.items()}, effort)
    each = {key: 1e6 * seconds[key] / len(operators) for key, operators in programs.items()}
    for (shape, length), microseconds in each.items():
        yield Figure(
            f"generate {shape}",
            f"{length:,} operators",
            microseconds,
            "us/operator",
            target=Target("figure", MOST_MICROSECONDS),
        )
    *_, short, long = effort.operators
    for shape in SHAPES:
        yield Figure(
            f"growth of {shape}",
            f"{long:,} operators",
            each[shape, long],
            "us/operator",
            f"{short:,} operators",
            each[shape, short],
            Target("ratio", MOST_GROWTH),
        )


def generating(operators: list[Operator]) -> Callable[[], object]:
    """Plays the program, generates the backward pass of its last output and takes every event."""
    ys = [operators[-1].outputs[0]]
    return lambda: deque(IR(operators).backward_events(ys), maxlen=0)
