"""Every differentiable call of the operator table, in place inside a block: its gradients are those of the call apart.

The operator writes an output over one of its inputs. Its gradient may read both: the workspace of the block keeps what
is overwritten. In single assignment form, where nothing is, the gradients are the same.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress

import msgspec
import numpy as np
import pytest

from gradviz import Net, Operator, RunError
from gradviz.operators.randomness import draws_by_name
from tests.handwritten import dense
from tests.operators.cases import Array, Case
from tests.operators.test_gradients import DIFFERENTIABLE, generated, run, seeds

TYPES = sorted({case.type for case in DIFFERENTIABLE})
BLOCKS = ("Do", "If", "While")


def in_place(case: Case, values: Mapping[str, Array]) -> Iterator[tuple[str, str, Operator]]:
    """The call with one of its outputs, at which a gradient arrives, written over one of its inputs; and these two.

    Arithmetic with ``broadcast`` may not change a shape in place: such calls are left out.
    """
    op = case.op
    args = {**op.args, "drawn_for": op.outputs[0]} if draws_by_name(op) else op.args
    for blob in dict.fromkeys(op.inputs):
        for output in seeds(case, values) if values[blob].dtype.kind == "f" else ():
            outputs = [blob if name == output else result_name(name) for name in op.outputs]
            changed = msgspec.structs.replace(op, outputs=outputs, args=args)
            with suppress(RunError):
                run(Net("alone", [changed]), values)
                yield blob, output, changed


def result_name(output: str) -> str:
    return f"{output}_result"


def block(kind: str, op: Operator, copied: str, fed: str) -> Net:
    """A net that copies `fed` and runs `op` in place of the copy, in a block of one kind."""
    net = Net(kind)
    net.Copy(fed, copied)
    new = [name for name in op.outputs if name != copied]
    if kind == "Do":
        with net.Do(outputs=new):
            net._put([op])
        return net
    for name in new:  # what a block may leave as it is must be there before
        net.ConstantFill([], name, value=0.0)
    if kind == "If":
        with net.If("yes"):
            net._put([op])
        return net
    net.Copy("yes", "go")
    with net.While("go"):
        net._put([op])
        net.Not("go", "go")
    return net


def gradient_of(net: Net, blob: str, ys: Mapping[str, str], feeds: Mapping[str, Array]) -> Array:
    """The gradient of what is fed as `blob`."""
    gradients = net.add_gradient_operators(dict(ys))
    return dense(run(net, feeds), gradients.get(blob), feeds[blob])


@pytest.mark.parametrize("type", TYPES)
def test_gradients_in_place_are_those_apart(type: str) -> None:
    for place, case in enumerate(case for case in DIFFERENTIABLE if case.type == type):
        values = case.values()
        workspace, truth = generated(case, values)
        given = seeds(case, values)
        feeds = {**values, **{f"given_{name}": array for name, array in given.items()}, "yes": np.array(True)}
        for number, (blob, output, op) in enumerate(in_place(case, values)):
            expected = workspace[truth[blob]] if blob in truth else np.zeros_like(values[blob])
            starts = {blob if name == output else result_name(name): f"given_{name}" for name in given}
            fed = {"fed": values[blob], **{name: array for name, array in feeds.items() if name != blob}}
            for kind in BLOCKS if place == number == 0 else (BLOCKS[(place + number) % 3],):
                net = block(kind, op, blob, "fed")
                for form in (net.to_ssa(), net):
                    program = str(form)
                    actual = gradient_of(form, "fed", starts, fed)
                    np.testing.assert_array_equal(actual, expected, err_msg=f"{case} in a {kind}:\n{program}")
