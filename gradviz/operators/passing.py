"""Values that pass unchanged, some to another device or no further; in another dtype: Cast."""

from typing import Any

import numpy as np

from ..program import GradientSlice, Operator, RunError
from ..program.crossing import TO_CPU, TO_GPU
from ..program.operator import parts_of
from .fill import asked_dtype
from .gradients import by, gradient_name, gradient_of, gradient_operator, op_gradient, shape_source
from .inference import like_first, misfit
from .registry import Array, Arrays, ArraySpec, Gradients, RuleAnswer, Specs, operator, register_gradient


def passing(type: str, doc: str, derivative: str = "dx = dy", signature: str = "x -> y", **about: Any) -> None:
    """Define an operator that gives its first input as it is; see `operator`."""
    operator(type, signature, "y = x", derivative, infer=like_first, doc=doc, **about)(lambda op, x, *_: x)


passing("Alias", "x under another name.", "dx = dy, passed through")
passing("Copy", "x under another name.")
passing(
    "CopyOnDeviceLike",
    "x on the device of `like`; the executor brings all inputs of an operator to one device.",
    signature="x, like -> y",
)
passing("CopyCPUToGPU", "x on the GPU that is the operator's device, by default the first one.")
passing("CopyGPUToCPU", "x on the host; the operator's device says on which GPU it lies.")
passing("EnsureDense", "x; its gradient is dense even where that of y is sparse.", "dx = dy, made dense")
passing(
    "NegateGradient",
    "x unchanged; its gradient comes back with the other sign.",
    "dx = -dy",
    rule=by("Negative", "dy -> dx"),
)
passing("StopGradient", "x unchanged, a constant for the gradient.", "0: no gradient passes here", constant=True)


@register_gradient("Alias")
def alias_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return [], [g_output[0]]


@register_gradient("Copy")
@register_gradient("CopyOnDeviceLike")
def copy_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return op_gradient(op, [g_output[0], shape_source(op, 0)], type="CopyOnDeviceLike")


@register_gradient("CopyCPUToGPU")
@register_gradient("CopyGPUToCPU")
def crossing_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    back = TO_CPU if op.type == TO_GPU else TO_GPU
    arriving = g_output[0]
    if not isinstance(arriving, GradientSlice):
        return op_gradient(op, [arriving], type=back)
    name = gradient_name(op.inputs[0])
    returned = GradientSlice(f"{name}_indices", f"{name}_values")
    pairs = zip(parts_of(arriving), parts_of(returned), strict=True)
    return [gradient_operator(op, back, [part], [copy]) for part, copy in pairs], [returned]


@register_gradient("EnsureDense")
def ensure_dense_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    dy = g_output[0]
    if not isinstance(dy, GradientSlice):
        return [], [dy]
    return op_gradient(op, [dy.indices, dy.values, shape_source(op, 0)], type="SparseToDense")


def nothing(op: Operator, x: ArraySpec) -> Specs:
    """Inference of operators without outputs."""
    return ()


@operator("ZeroGradient", "x -> ", "x is used up", "dx = 0", infer=nothing)
def zero_gradient(op: Operator, x: Array) -> Arrays:
    """Nothing; it gives x a gradient of zeros, which other uses of x add to."""
    return ()


@register_gradient("ZeroGradient")
def zero_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return op_gradient(op, [op.inputs[0]], type="ConstantFill", args={**op.args, "value": 0.0})


@operator("Print", "x -> ", "x is looked at", infer=nothing, args={"to_file": 0, "limit": 0, "every_n": 1})
def print_(op: Operator, x: Array) -> Arrays:
    """Nothing: a workspace and a session show every blob, so nothing is written anywhere. The arguments are unread."""
    return ()


@operator(
    "NanCheck",
    "x, others... -> y",
    "y = x, all finite",
    "dx = dy, all finite",
    infer=like_first,
    rule=by("NanCheck", "dy -> dx"),
)
def nan_check(op: Operator, x: Array, *others: Array) -> Array:
    """x unchanged if every element is finite; else the run stops here. The other inputs are unread.

    Raises:
        RunError: ``bad_value``.
    """
    finite = np.isfinite(x)
    if not finite.all():
        raise RunError(
            f"{op.inputs[0]} has {int(np.count_nonzero(~finite))} elements that are nan or infinite.",
            kind="bad_value",
            ways_out=["Step back through the operators that it comes from, to the first that makes one."],
        )
    return x


CAST_NAMES = {"float": "float32", "double": "float64", "byte": "uint8"}


def cast_dtype(op: Operator, name: str = "to") -> "np.dtype[Any]":
    """The dtype that an argument of a Cast tells: Caffe2's number or name, or numpy's name."""
    asked = op.args.get(name)
    if not isinstance(asked, int):
        asked = str(asked).lower()
        asked = CAST_NAMES.get(asked, asked)
    return asked_dtype(op, name, asked, "is no dtype")


def cast_spec(op: Operator, x: ArraySpec) -> ArraySpec:
    if "from_type" in op.args:
        cast_dtype(op, "from_type")
    return ArraySpec(x.shape, cast_dtype(op))


@operator(
    "Cast",
    "x -> y",
    "y = x, in the dtype `to`",
    "dx = dy, in the dtype of x; none where y is not floating-point",
    infer=cast_spec,
    args={"to": None, "from_type": None},
)
def cast(op: Operator, x: Array) -> Array:
    """x in another dtype. `to`: Caffe2's number or name (1, "FLOAT") or numpy's name ("float32")."""
    return x.astype(cast_dtype(op))


def cast_gradient_spec(op: Operator, dy: ArraySpec, x: ArraySpec) -> ArraySpec:
    if dy.shape != x.shape:
        raise misfit(f"dy must have the shape of x {x.shape}, got {dy.shape}.")
    return ArraySpec(dy.shape, x.dtype if x.dtype.kind == "f" else dy.dtype)


def cast_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """With the argument `from_type` a Cast back to it, as it says what x was."""
    if cast_dtype(op).kind != "f":
        return [], [None]
    if "from_type" not in op.args:
        return op_gradient(op, [g_output[0], shape_source(op, 0)])
    back = {"to": op.args["from_type"], "from_type": op.args["to"]}
    return op_gradient(op, [g_output[0]], type="Cast", args={**op.args, **back})


@gradient_of(
    "Cast",
    "dy, x -> dx",
    formula="dx = dy, in the dtype of x",
    derivative="∂dy = ∂dx, in the dtype of dy",
    infer=cast_gradient_spec,
    second=by("CastGradient", "∂dx, dy -> ∂dy"),
    rule=cast_rule,
)
def cast_gradient(op: Operator, dy: Array, x: Array) -> Array:
    """Gradient of Cast. Gradients are floating-point: where x is not, dx keeps the dtype of dy."""
    return dy.astype(x.dtype) if x.dtype.kind == "f" else dy
