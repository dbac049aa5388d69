"""Generation: what making the backward pass takes for each forward operator, its events consumed or all kept."""

from collections.abc import Callable, Iterator

from gradviz import IR, Operator
from gradviz.debugger import record
from gradviz.program import NetDef
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
    contenders = {
        (verb, *key): call(operators)
        for key, operators in programs.items()
        for verb, call in (("generate", generating), ("record", recording))
    }
    seconds = best_seconds(contenders, effort)
    each = {
        (verb, shape, length): 1e6 * taken / len(programs[shape, length])
        for (verb, shape, length), taken in seconds.items()
    }
    for (verb, shape, length), microseconds in each.items():
        yield Figure(
            f"{verb} {shape}",
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
            each["generate", shape, long],
            "us/operator",
            f"{short:,} operators",
            each["generate", shape, short],
            Target("ratio", MOST_GROWTH),
        )


def generating(operators: list[Operator]) -> Callable[[], object]:
    """Plays the program and generates the backward pass of its last output, every event consumed."""
    ys = [operators[-1].outputs[0]]
    return lambda: IR(operators).get_backward_pass(ys)


def recording(operators: list[Operator]) -> Callable[[], object]:
    """The same with every event kept, as the debugger does."""
    net, ys = NetDef("net", operators), [operators[-1].outputs[0]]
    return lambda: record(net, ys)
