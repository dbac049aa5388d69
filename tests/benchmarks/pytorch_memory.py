"""The peak memory of a process that goes backward through ResNet-18, by itself or recorded: a run is a process.

``python -m tests.benchmarks.pytorch_memory alone`` or ``recorded`` prints the peak, and the bytes of the gradients that
a recording keeps and the pass alone does not.
"""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import gradviz

STATUS = Path("/proc/self/status")
"""Where Linux says how much memory a process has had at most."""


class Peak(NamedTuple):
    """Bytes: the most that a process had, and what it keeps in gradients beside those of parameters."""

    peak: int
    kept: int


def peak_of(how: str) -> Peak:
    """The peak of a pass in a process of its own, ``"alone"`` or ``"recorded"``."""
    command = [sys.executable, "-m", "tests.benchmarks.pytorch_memory", how]
    return Peak(*json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def main(how: str) -> Peak:
    """Go backward once, and look."""
    torch = import_module("torch")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    gradviz.debug((torch.ones(2, requires_grad=True) * 2).sum())  # what is loaded then does not count
    model = import_module("tests.bridges.torch.models").ResNet18(64)
    loss = model(torch.randn(8, 3, 64, 64)).square().mean()
    parameters = list(model.parameters())
    if how == "alone":
        torch.autograd.grad(loss, parameters)
        return Peak(_peak(), 0)
    session = gradviz.debug(loss)
    session.finish()
    peak = _peak()
    engine, watch = (import_module(f"gradviz.bridges.torch.{name}") for name in ("engine", "watch"))
    notes = engine.Pass(loss).run(watch.Notes())
    visits = [one for one in notes.happened if hasattr(one, "sent")]
    gradients = [one.tensor.untyped_storage() for visit in visits for one in (*visit.sent, *visit.arrived) if one]
    kept = {one.data_ptr(): one.nbytes() for one in gradients}
    return Peak(peak, sum(kept.values()) - sum(one.nbytes for one in parameters))


def _peak() -> int:
    (said,) = [line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM")]
    return 1024 * int(said.split()[1])


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
