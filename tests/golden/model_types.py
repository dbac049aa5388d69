"""The operator types that exist for tests only: rules of several shapes, each with a meaning on vectors.

With w(i, j) = 1 + i/2 - j/4 for input i and output j, and n inputs:

    Direct       out_j = sum_i w(i, j)/n in_i        rule reads the output gradients
    UseInput     out_j = sum_i w(i, j) sin in_i      rule reads inputs and output gradients
    UseOutput    out_j = tanh sum_i w(i, j) in_i     rule reads outputs and output gradients
    TwoStep      out = sin s, s = sum_i w(i, 0) in_i rule of two operators
    PassThrough  out = sum of inputs                 rule without operators
    Nogradient, NeedNone  out = cos in_0             constant for the gradient
    SparseValues, SparseBoth, SparseTwoOps   out = table[index]; the table's gradient is a slice whose values, both
        halves by one operator, or both halves by two operators are made
"""

import numpy as np

from gradviz import GradientSlice, Operator, register_gradient, register_kernel


def weight(i, j):
    return 1 + i / 2 - j / 4


def _names(op):
    return [f"{name}_grad" for name in op.inputs]


def _outputs(op, function):
    made = tuple(function(j) for j in range(len(op.outputs)))
    return made[0] if len(made) == 1 else made


def _gradients(op, function, count):
    made = tuple(function(i) for i in range(count))
    return made[0] if count == 1 else made


def register() -> None:
    """Enter the types into gradviz's table."""

    @register_kernel("Direct")
    def direct(op, *xs):
        return _outputs(op, lambda j: sum(weight(i, j) / len(xs) * x for i, x in enumerate(xs)))

    @register_gradient("Direct")
    def direct_rule(op, g_output):
        names = _names(op)
        return Operator("DirectGradient", list(g_output), names, device=op.device), names

    @register_kernel("DirectGradient")
    def direct_gradient(op, *gs):
        n = len(op.outputs)
        return _gradients(op, lambda i: sum(weight(i, j) / n * g for j, g in enumerate(gs)), n)

    @register_kernel("UseInput")
    def use_input(op, *xs):
        return _outputs(op, lambda j: sum(weight(i, j) * np.sin(x) for i, x in enumerate(xs)))

    @register_gradient("UseInput")
    def use_input_rule(op, g_output):
        names = _names(op)
        return Operator("UseInputGradient", [*op.inputs, *g_output], names, device=op.device), names

    @register_kernel("UseInputGradient")
    def use_input_gradient(op, *arrays):
        n = len(op.outputs)
        xs, gs = arrays[:n], arrays[n:]
        return _gradients(op, lambda i: sum(weight(i, j) * np.cos(xs[i]) * g for j, g in enumerate(gs)), n)

    @register_kernel("UseOutput")
    def use_output(op, *xs):
        return _outputs(op, lambda j: np.tanh(sum(weight(i, j) * x for i, x in enumerate(xs))))

    @register_gradient("UseOutput")
    def use_output_rule(op, g_output):
        names = _names(op)
        return Operator("UseOutputGradient", [*op.outputs, *g_output], names, device=op.device), names

    @register_kernel("UseOutputGradient")
    def use_output_gradient(op, *arrays):
        half = len(arrays) // 2
        ys, gs = arrays[:half], arrays[half:]
        pairs = list(enumerate(zip(ys, gs, strict=True)))
        return _gradients(op, lambda i: sum(weight(i, j) * g * (1 - y * y) for j, (y, g) in pairs), len(op.outputs))

    @register_kernel("TwoStep")
    def two_step(op, *xs):
        return np.sin(sum(weight(i, 0) * x for i, x in enumerate(xs)))

    @register_gradient("TwoStep")
    def two_step_rule(op, g_output):
        local, names = f"{op.outputs[0]}_local", _names(op)
        first = Operator("TwoStepA", [*op.inputs, g_output[0]], [local])
        return [first, Operator("TwoStepB", [local], names)], names

    @register_kernel("TwoStepA")
    def two_step_a(op, *arrays):
        *xs, g = arrays
        return g * np.cos(sum(weight(i, 0) * x for i, x in enumerate(xs)))

    @register_kernel("TwoStepB")
    def two_step_b(op, local):
        return _gradients(op, lambda i: weight(i, 0) * local, len(op.outputs))

    @register_kernel("PassThrough")
    def pass_through(op, *xs):
        return sum(xs[1:], xs[0] + 0)

    @register_gradient("PassThrough")
    def pass_through_rule(op, g_output):
        return [], [g_output[0]] * len(op.inputs)

    for constant, answer in (("Nogradient", []), ("NeedNone", None)):
        register_kernel(constant)(lambda op, *xs: _outputs(op, lambda j: np.cos(xs[0])))
        register_gradient(constant)(lambda op, g_output, answer=answer: (answer, [None] * len(op.inputs)))

    for sparse in ("SparseValues", "SparseBoth", "SparseTwoOps"):
        register_kernel(sparse)(lambda op, table, index: table[index])
    for copy in ("SparseValuesGradient", "MakeValues"):
        register_kernel(copy)(lambda op, index, g: g + 0)
    register_kernel("SparseBothGradient")(lambda op, index, g: (index + 0, g + 0))
    register_kernel("MakeIndices")(lambda op, index: index + 0)

    @register_gradient("SparseValues")
    def sparse_values_rule(op, g_output):
        index, values = op.inputs[1], f"{op.inputs[0]}_grad_values"
        made = Operator("SparseValuesGradient", [index, g_output[0]], [values])
        return made, [GradientSlice(index, values), None]

    @register_gradient("SparseBoth")
    def sparse_both_rule(op, g_output):
        halves = [f"{op.inputs[0]}_grad_indices", f"{op.inputs[0]}_grad_values"]
        return Operator("SparseBothGradient", [op.inputs[1], g_output[0]], halves), [GradientSlice(*halves), None]

    @register_gradient("SparseTwoOps")
    def sparse_two_ops_rule(op, g_output):
        halves = [f"{op.inputs[0]}_grad_indices", f"{op.inputs[0]}_grad_values"]
        indices = Operator("MakeIndices", [op.inputs[1]], [halves[0]])
        values = Operator("MakeValues", [op.inputs[1], g_output[0]], [halves[1]])
        return [indices, values], [GradientSlice(*halves), None]

    @register_gradient("SparseFunHash")
    def sparse_fun_hash_rule(op, g_output):
        values, indices = f"{op.inputs[3]}_grad_values", f"{op.inputs[3]}_grad_indices"
        made = Operator("SparseFunHashGradient", [g_output[0], *op.inputs], [values, indices])
        return made, [None, None, None, GradientSlice(indices, values)]

    @register_gradient("BadScope")
    def bad_scope_rule(op, g_output):
        names = _names(op)
        return Operator("BadScopeGradient", ["not_there"], names), names

    @register_gradient("Raises")
    def raises_rule(op, g_output):
        raise RuntimeError("boom")
