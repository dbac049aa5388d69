"""One step of a recurrent network: LSTMUnit and GRUUnit, from the sums that enter the gates.

Rows whose sequence is over (timestep >= length) carry their state on, or drop it to 0 with drop_states=1.
Sources: Hochreiter and Schmidhuber, Long Short-Term Memory (1997); Cho et al., arXiv:1406.1078 (2014).
"""

from math import prod
from typing import Any

import numpy as np

from ..program import Operator
from .inference import described, misfit, need_floats, need_integers, result_dtype
from .registry import (
    Array,
    ArraySpec,
    Gradients,
    RuleAnswer,
    op_gradient,
    operator,
    register_gradient,
)
from .smooth_activations import logistic

GRU_ARGS: dict[str, Any] = {"drop_states": 0, "sequence_lengths": 1}
LSTM_ARGS: dict[str, Any] = {**GRU_ARGS, "forget_bias": 0.0}


def running(op: Operator, like: Array, *time: Array) -> Array:
    """Which rows still run, 1 or 0 in the dtype of `like`, (n, 1); `time`: the lengths, if any, and the timestep."""
    *lengths, timestep = time
    if not lengths:
        return np.ones_like(like, shape=(like.shape[-2], 1))
    return (timestep.reshape(-1)[:1] < lengths[0].reshape(-1)).reshape((-1, 1)).astype(like.dtype)


def carried(op: Operator, on: Array) -> Array:
    """How much of its old state a row keeps for being over: 1 - on, or 0 with drop_states."""
    return 0 * on if op.args.get("drop_states", 0) else 1 - on


def check_step(op: Operator, state: ArraySpec, gates: ArraySpec, count: int, *time: ArraySpec) -> None:
    """Raise unless gates are `count` times as wide as the state, and the lengths one a row."""
    wanted = (*state.shape[:-1], count * state.shape[-1]) if len(state.shape) >= 2 else None
    if wanted is None or gates.shape != wanted:
        raise misfit(
            f"states must be (1, n, d) and gates (1, n, {count} d); got {described(state)} and {described(gates)}."
        )
    if (len(time) == 2) != bool(op.args.get("sequence_lengths", 1)):
        raise misfit(
            "the lengths of the sequences belong before the timestep, except with sequence_lengths=0.",
            "Give them, or set sequence_lengths=0.",
        )
    names = ("lengths", "timestep")[-len(time) :]
    for position, (name, spec) in enumerate(zip(names, time, strict=True)):
        size = prod(state.shape[:-1]) if name == "lengths" else 1
        need_integers(op, spec, position, f"{name} must be integers ({size},)")
        if prod(spec.shape) != size:
            raise misfit(f"{name} must be integers ({size},), got {described(spec)}.")


def lstm_spec(op: Operator, h: ArraySpec, c: ArraySpec, gates: ArraySpec, *time: ArraySpec) -> Any:
    """Inference of LSTMUnit."""
    need_floats(op, (h, c, gates))
    if h.shape != c.shape:
        raise misfit(f"hidden and cell must have one shape, got {h.shape} and {c.shape}.")
    check_step(op, c, gates, 4, *time)
    return ArraySpec(c.shape, result_dtype(h, c, gates)), ArraySpec(c.shape, result_dtype(c, gates))


def lstm_gates(op: Operator, gates: Array) -> tuple[Array, Array, Array, Array]:
    """How far the input, forget and output gates are open, and the candidate."""
    i, f, o, g = np.split(gates, 4, axis=-1)
    return logistic(i), logistic(f + op.args.get("forget_bias", 0.0)), logistic(o), np.tanh(g)


@operator(
    "LSTMUnit",
    "hidden_prev, cell_prev, gates, lengths?, timestep -> hidden, cell",
    formula="c = σ(f) c₀ + σ(i) tanh g, h = σ(o) tanh c, with gates = [i, f, o, g]",
    derivative="δ = dc + dh σ(o) (1 - tanh² c); dc₀ = δ σ(f), di = δ tanh(g) σ'(i), df = δ c₀ σ'(f), "
    "do = dh tanh(c) σ'(o), dg = δ σ(i) (1 - tanh² g)",
    infer=lstm_spec,
    args=LSTM_ARGS,
)
def lstm_unit(op: Operator, h: Array, c: Array, gates: Array, *time: Array) -> tuple[Array, Array]:
    """One step of a long short-term memory. h, c: (1, n, d), gates: (1, n, 4 d) -> hidden, cell: (1, n, d).

    lengths: integers (n,), left out with sequence_lengths=0; timestep: one integer. `forget_bias` is added to f.
    """
    i, f, o, g = lstm_gates(op, gates)
    on = running(op, c, *time)
    cell = f * c + i * g
    keep = carried(op, on)
    return on * (o * np.tanh(cell)) + keep * h, on * cell + keep * c


def lstm_gradient_spec(op: Operator, h: ArraySpec, c: ArraySpec, gates: ArraySpec, *rest: ArraySpec) -> Any:
    """Inference of LSTMUnitGradient."""
    *time, hidden, cell, dh, dc = rest
    lstm_spec(op, h, c, gates, *time)
    if not hidden.shape == cell.shape == dh.shape == dc.shape == c.shape:
        raise misfit(f"gradients of hidden and cell must be {c.shape}, got {described(dh)} and {described(dc)}.")
    of_cell, of_gates = result_dtype(gates, cell, dh, dc), result_dtype(c, gates, cell, dh, dc)
    return ArraySpec(h.shape, dh.dtype), ArraySpec(c.shape, of_cell), ArraySpec(gates.shape, of_gates)


@operator(
    "LSTMUnitGradient",
    "hidden_prev, cell_prev, gates, lengths?, timestep, hidden, cell, dhidden, dcell "
    "-> dhidden_prev, dcell_prev, dgates",
    formula="δ = dc + dh σ(o) (1 - tanh² c); dc₀ = δ σ(f), di = δ tanh(g) σ'(i), df = δ c₀ σ'(f), "
    "do = dh tanh(c) σ'(o), dg = δ σ(i) (1 - tanh² g)",
    infer=lstm_gradient_spec,
    args=LSTM_ARGS,
)
def lstm_unit_gradient(op: Operator, h: Array, c: Array, gates: Array, *rest: Array) -> tuple[Array, Array, Array]:
    """Gradients of LSTMUnit. Rows that are over hand theirs to the states that they carried on."""
    *time, _, cell, dh, dc = rest
    i, f, o, g = lstm_gates(op, gates)
    on = running(op, c, *time)
    keep = carried(op, on)
    tanh_c = np.tanh(cell)
    delta = on * (dc + dh * o * (1 - tanh_c * tanh_c))
    dgates = [delta * g * i * (1 - i), delta * c * f * (1 - f), on * dh * tanh_c * o * (1 - o), delta * i * (1 - g * g)]
    return keep * dh, delta * f + keep * dc, np.concatenate(dgates, axis=-1)


@register_gradient("LSTMUnit")
def lstm_unit_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return op_gradient(op, [*op.inputs, *op.outputs, *g_output], wanted=(0, 1, 2))


def gru_spec(op: Operator, h: ArraySpec, gates: ArraySpec, *time: ArraySpec) -> ArraySpec:
    """Inference of GRUUnit."""
    need_floats(op, (h, gates))
    check_step(op, h, gates, 3, *time)
    return ArraySpec(h.shape, result_dtype(h, gates))


@operator(
    "GRUUnit",
    "hidden_prev, gates, lengths?, timestep -> hidden",
    formula="h = σ(u) h₀ + (1 - σ(u)) tanh o, with gates = [r, u, o]",
    derivative="dh₀ = dh σ(u), du = dh (h₀ - tanh o) σ'(u), do = dh (1 - σ(u)) (1 - tanh² o), dr = 0",
    infer=gru_spec,
    args=GRU_ARGS,
)
def gru_unit(op: Operator, h: Array, gates: Array, *time: Array) -> Array:
    """One step of a gated recurrent unit. h: (1, n, d), gates: (1, n, 3 d) -> hidden: (1, n, d).

    The reset gate r has done its work before: o holds what it let pass. Lengths and timestep as in LSTMUnit.
    """
    _, u, o = np.split(gates, 3, axis=-1)
    update, on = logistic(u), running(op, h, *time)
    return on * (update * h + (1 - update) * np.tanh(o)) + carried(op, on) * h


def gru_gradient_spec(op: Operator, h: ArraySpec, gates: ArraySpec, *rest: ArraySpec) -> Any:
    """Inference of GRUUnitGradient."""
    *time, hidden, dh = rest
    gru_spec(op, h, gates, *time)
    if not hidden.shape == dh.shape == h.shape:
        raise misfit(f"the gradient of hidden must be {h.shape}, got {described(dh)}.")
    return ArraySpec(h.shape, result_dtype(gates, dh)), ArraySpec(gates.shape, result_dtype(h, gates, dh))


@operator(
    "GRUUnitGradient",
    "hidden_prev, gates, lengths?, timestep, hidden, dhidden -> dhidden_prev, dgates",
    formula="dh₀ = dh σ(u), du = dh (h₀ - tanh o) σ'(u), do = dh (1 - σ(u)) (1 - tanh² o), dr = 0",
    infer=gru_gradient_spec,
    args=GRU_ARGS,
)
def gru_unit_gradient(op: Operator, h: Array, gates: Array, *rest: Array) -> tuple[Array, Array]:
    """Gradients of GRUUnit. Rows that are over hand theirs to the state that they carried on."""
    *time, _, dh = rest
    _, u, o = np.split(gates, 3, axis=-1)
    update, new, on = logistic(u), np.tanh(o), running(op, h, *time)
    run = on * dh
    du, do = run * (h - new) * update * (1 - update), run * (1 - update) * (1 - new * new)
    return run * update + carried(op, on) * dh, np.concatenate([0 * do, du, do], axis=-1)


@register_gradient("GRUUnit")
def gru_unit_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return op_gradient(op, [*op.inputs, *op.outputs, *g_output], wanted=(0, 1))
