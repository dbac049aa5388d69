"""Why define-by-run code is refused: the errors, each with what was called on which arrays, and the ways out."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..gradient.rules import describe
from ..operators.registry import Array
from ..program import Device, GradientError, GradvizError, Operator, RunError
from ..program.errors import out_of_memory, raised, repr_of, wants_memory
from ..runtime.devices import CPU, device_of

if TYPE_CHECKING:
    from .function import Function
    from .variable import Variable


def described(array: Array) -> str:
    """``float32 (3, 4)``, with the device where that is not the CPU."""
    device = device_of(array)
    return f"{array.dtype} {array.shape}{'' if device.type == 'cpu' else f' on {device}'}"


def called(name: str, slots: Iterable[str], arrays: Iterable[Array]) -> str:
    """``matmul(a: float64 (3, 4), b: float64 (4, 5))``."""
    return f"{name}({', '.join(f'{slot}: {described(array)}' for slot, array in zip(slots, arrays, strict=False))})"


def named(x: "Variable") -> str:
    """How messages speak of a Variable: by its name, or by what it is."""
    return x.name or f"a Variable {described(x.data)}"


def call_failed(error: Exception, call: str) -> Exception:
    """What to raise when `call` raised `error`: our own errors with the call in front, others as ``kernel_failed``."""
    if wants_memory(error):
        error = out_of_memory(error)
    if isinstance(error, RunError) and error.operator_index is None:
        return error.retold(f"{call}: {error.message}")
    if isinstance(error, GradvizError):
        return error
    return RunError(
        f"{call} raised {raised(error)}.",
        kind="kernel_failed",
        ways_out=["Look at the shapes and dtypes of what it is given."],
    )


def wrong_results(call: str, what: str, count: int) -> RunError:
    """A kernel or a forward method that did not return one array for each output."""
    wanted = "an array" if count == 1 else f"{count} arrays"
    return RunError(
        f"{call} returned {what} instead of {wanted}.",
        kind="kernel_failed",
        ways_out=["Return new arrays: one, or a tuple of one for each output."],
    )


def common_device(arrays: Sequence[Array], call: str) -> Device:
    """Where the arrays of `call` lie, the CPU where there are none. Raises RunError ``bad_device`` for several."""
    devices = [device_of(array) for array in arrays] or [CPU]
    if any(device != devices[0] for device in devices):
        raise RunError(
            f"{call}: its inputs lie on different devices.",
            kind="bad_device",
            ways_out=["Bring them together: x.to_gpu() or x.to_cpu().", "Make all arrays on one device."],
        )
    return devices[0]


def no_seed(y: "Variable") -> GradientError:
    """A backward pass that starts at an array of several elements without a gradient of it."""
    return GradientError(
        f"There is no gradient to start with at {named(y)}, which has {y.size} elements.",
        kind="missing_output_gradient",
        blobs=[y.name] if y.name else [],
        ways_out=[
            "Give one, of the shape and dtype of y.data: gradient=array, or grad_outputs=array of gradviz.grad.",
            "Start at one number: functions.sum(y).",
        ],
    )


def bad_gradient(x: "Variable", what: str, *ways_out: str) -> GradientError:
    """A gradient that does not fit the Variable it is meant for."""
    return GradientError(
        f"The gradient of {named(x)} {what}.", kind="bad_gradient", blobs=[x.name] if x.name else [], ways_out=ways_out
    )


def cannot_add(error: Exception) -> GradientError:
    """Gradients of one Variable that do not fit each other."""
    return GradientError(
        f"The gradients of a Variable cannot be added up: it got data of another shape while it was in use ({error}).",
        kind="bad_gradient",
        ways_out=["Replace data after the last backward pass.", "Make a new Variable of the new data."],
    )


def cycle(function: "Function", why: str = "a gradient reached it after it had been run backward") -> GradientError:
    """A function that comes before itself."""
    return GradientError(
        f"{function.label} depends on its own output: {why}.",
        kind="cycle",
        ways_out=["Do not change function.inputs by hand: what a function returns comes after what it reads."],
    )


def wrong_count(function: "Function", what: str) -> GradientError:
    """A backward method that does not return one gradient, or None, for each input."""
    count = len(function.inputs)
    return GradientError(
        f"The backward method of {function.label} returned {what} for {count} input{'s' if count > 1 else ''}.",
        kind="rule_failed",
        ways_out=["Return one gradient for each input, in their order, None where there is none."],
    )


def misfit(function: "Function", error: GradientError) -> GradientError:
    """A backward method that returned a gradient that does not fit its input, of which `error` speaks."""
    return error.retold(f"The backward method of {function.label} returned what does not fit. {error.message}")


def differentiable_once(function: "Function") -> GradientError:
    """The gradient of a gradient that a user's backward method computed on arrays."""
    return GradientError(
        f"The backward method of {function.label} works on arrays, so that its result cannot be differentiated again.",
        kind="no_gradient_rule",
        ways_out=[
            "Write it with functions of gradviz instead of a class of its own.",
            "Give it as an operator type with rules: gradviz.register_kernel, gradviz.register_gradient.",
        ],
    )


def data_replaced(function: "Function", x: "Variable") -> GradientError:
    """A gradient that shall be differentiated again, although an input got other data since the function ran."""
    return GradientError(
        f"{named(x)} got other data after {function.label} read it, so its gradient cannot be differentiated again.",
        kind="version_overwritten",
        blobs=[x.name] if x.name else [],
        ways_out=["Replace data after the last backward pass.", "Compute the output again from the new data."],
    )


def rule_failed(error: GradientError, op: Operator, call: str) -> GradientError:
    """An error of the rules, which speak of operator #0 of a net, `op`, said of `call`."""
    ways_out = [
        f"Take it out of what is differentiated: functions.stop_gradient(...) around {call.partition('(')[0]}(...)."
        if way.startswith("Put StopGradient")
        else way
        for way in error.ways_out
    ]
    message = error.message.replace(describe(op, 0), call)
    return error.retold(message, operator_index=None, ways_out=ways_out)


def no_buffers(schedule: str) -> GradientError:
    """Shared buffers are asked for where there are none."""
    return GradientError(
        f"The schedule {schedule!r} has no gradient buffers to share: it lets each gradient go when it has been used.",
        kind="bad_argument",
        ways_out=['Choose schedule="tape".', "Leave share_grads out."],
    )


def bad_schedule(schedule: Any, schedules: Iterable[str]) -> GradientError:
    """A schedule that there is not."""
    return GradientError(
        f"There is no schedule {repr_of(schedule)}.",
        kind="bad_argument",
        ways_out=[f"Choose one of {', '.join(map(repr, schedules))}."],
    )
