"""The benchmarks' command line: ``python -m tests.benchmarks [--json] [--quick] [NAME ...]``.

Figures are of CPU time on one thread. Those of a peer come from the same run, so a ratio means more than a figure.
"""

import argparse
import json
import os
from importlib import import_module
from typing import Any

from tests.benchmarks.figures import Answer, Figure, Skipped, table
from tests.benchmarks.timing import FULL, QUICK, Effort

SUBJECTS = (
    "generation",
    "execution",
    "mlp",
    "convnet",
    "networks",
    "eager",
    "control_flow",
    "recording",
    "live",
    "large",
    "pytorch",
    "checking",
    "widget",
)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def main() -> None:
    """Measure what the command line asks for and print it."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Time gradviz beside its peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to measure: {', '.join(SUBJECTS)} (all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--quick", action="store_true", help="a few seconds: shorter programs, fewer repetitions")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in SUBJECTS]
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(SUBJECTS)}")
    # Libraries of linear algebra read these once, when numpy loads them: set before the subjects import it.
    os.environ.update(dict.fromkeys(THREADS, "1"))
    report = measured(arguments.names or SUBJECTS, QUICK if arguments.quick else FULL)
    print(as_json(*report) if arguments.json else as_text(*report))


def measured(names: tuple[str, ...] | list[str], effort: Effort) -> tuple[dict[str, Any], list[Answer]]:
    """The machine, and what the subjects of these names answer."""
    machine: dict[str, Any] = import_module(".machine", __package__).machine()
    answers: list[Answer] = []
    for name in dict.fromkeys(names):
        answers += import_module(f".{name}", __package__).measure(effort)
    return machine, answers


def as_json(machine: dict[str, Any], answers: list[Answer]) -> str:
    """One JSON object: machine, figures, skipped."""
    figures = [answer.to_dict() for answer in answers if isinstance(answer, Figure)]
    skipped = [vars(answer) for answer in answers if isinstance(answer, Skipped)]
    return json.dumps({"machine": machine, "figures": figures, "skipped": skipped}, indent=1)


def as_text(machine: dict[str, Any], answers: list[Answer]) -> str:
    """The machine, a table, and a line for each peer that is not in it."""
    figures = [answer for answer in answers if isinstance(answer, Figure)]
    about = ", ".join(f"{name} {value}" for name, value in machine.items())
    skipped = [f"{a.name}: without {a.peer}, {a.why}" for a in answers if isinstance(a, Skipped)]
    return "\n".join([about, "", table(figures), *skipped])


if __name__ == "__main__":
    main()
