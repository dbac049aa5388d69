"""Copies: a value under another name, or on another device. Each goes back by a copy."""

from ..program import GradientSlice, Operator
from ..program.crossing import TO_CPU, TO_GPU
from ..program.operator import parts_of
from .gradients import gradient_name, gradient_operator, op_gradient, shape_source
from .inference import like_first
from .registry import Array, Gradients, RuleAnswer, operator, register_gradient


@operator("Copy", "x -> y", "y = x", "dx = dy", infer=like_first)
def copy(op: Operator, x: Array) -> Array:
    """x under another name."""
    return x


@operator("CopyOnDeviceLike", "x, like -> y", "y = x", "dx = dy", infer=like_first)
def copy_on_device_like(op: Operator, x: Array, like: Array) -> Array:
    """x on the device of `like`; the executor brings all inputs of an operator to one device."""
    return x


@operator("CopyCPUToGPU", "x -> y", "y = x", "dx = dy", infer=like_first)
def copy_to_gpu(op: Operator, x: Array) -> Array:
    """x on the GPU that is the operator's device, by default the first one."""
    return x


@operator("CopyGPUToCPU", "x -> y", "y = x", "dx = dy", infer=like_first)
def copy_to_cpu(op: Operator, x: Array) -> Array:
    """x on the host; the operator's device says on which GPU it lies."""
    return x


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
    return [gradient_operator(op, back, [part], [made]) for part, made in pairs], [returned]
