"""One step of a recurrent network: LSTMUnit and GRUUnit, from the sums that enter the gates.

Rows whose sequence is over (timestep >= length) carry their state on, or drop it to 0 with drop_states=1.
Sources: Hochreiter and Schmidhuber, Long Short-Term Memory (1997); Cho et al., arXiv:1406.1078 (2014).
"""

from math import prod
from typing import Any

import numpy as np

from ..program import Operator
from .gradients import Steps, gradient_of
from .inference import described, like_forward, misfit, need_floats, need_integers, result_dtype
from .registry import Array, Arrays, ArraySpec, Gradients, RuleAnswer, in_single, operator
from .smooth_activations import logistic, logistic_slope, tanh_slope

GRU_ARGS: dict[str, Any] = {"drop_states": 0, "sequence_lengths": 1}
GRU_GATES = "with gates = [r, u, o]"
LSTM_GATES = "with gates = [i, f, o, g]"
LSTM_DELTA = "δ = dcell + dhidden σ(o) (1 - tanh² cell)"


def running(op: Operator, like: Array, *time: Array) -> Array:
    """Which rows still run, truth values (n, 1); `time`: the lengths, if any, and the timestep."""
    *lengths, timestep = time
    if not lengths:
        return np.ones_like(like, shape=(like.shape[-2], 1), dtype=bool)
    return (timestep.reshape(-1)[:1] < lengths[0].reshape(-1)).reshape((-1, 1))


def carried(op: Operator, on: Array, new: Array, old: Array) -> Array:
    """`new` in rows that still run; in those that are over `old`, or 0 with drop_states, whatever stands in `new`."""
    return np.where(on, new, np.zeros_like(old) if op.args.get("drop_states", 0) else old)


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
    for name, spec in zip(names, time, strict=True):
        size = prod(state.shape[:-1]) if name == "lengths" else 1
        need_integers(spec, f"{name} must be integers ({size},)")
        if prod(spec.shape) != size:
            raise misfit(f"{name} must be integers ({size},), got {described(spec)}.")


def lstm_spec(op: Operator, h: ArraySpec, c: ArraySpec, gates: ArraySpec, *time: ArraySpec) -> Any:
    need_floats(op, (h, c, gates))
    if h.shape != c.shape:
        raise misfit(f"hidden and cell must have one shape, got {h.shape} and {c.shape}.")
    check_step(op, c, gates, 4, *time)
    return ArraySpec(c.shape, result_dtype(h, c, gates)), ArraySpec(c.shape, result_dtype(c, gates))


def lstm_gates(op: Operator, gates: Array) -> tuple[Array, Array, Array, Array]:
    """How far the input, forget and output gates are open, and the candidate."""
    i, f, o, g = np.split(gates, 4, axis=-1)
    return logistic(i), logistic(f + op.args.get("forget_bias", 0.0)), logistic(o), np.tanh(g)


def lstm_slopes(op: Operator, gates: Array) -> tuple[Array, Array, Array, Array]:
    """The derivatives of `lstm_gates`."""
    i, f, o, g = np.split(gates, 4, axis=-1)
    return logistic_slope(i), logistic_slope(f + op.args.get("forget_bias", 0.0)), logistic_slope(o), tanh_slope(g)


@operator(
    "LSTMUnit",
    "hidden_prev, cell_prev, gates, lengths?, timestep -> hidden, cell",
    f"cell = σ(f) cell_prev + σ(i) tanh g, hidden = σ(o) tanh cell, {LSTM_GATES}",
    f"{LSTM_DELTA}; dcell_prev = δ σ(f), di = δ tanh(g) σ'(i), df = δ cell_prev σ'(f), "
    f"do = dhidden tanh(cell) σ'(o), dg = δ σ(i) (1 - tanh² g), {LSTM_GATES}",
    infer=lstm_spec,
    args={**GRU_ARGS, "forget_bias": 0.0},
)
@in_single
def lstm_unit(op: Operator, h: Array, c: Array, gates: Array, *time: Array) -> tuple[Array, Array]:
    """One step of a long short-term memory. h, c: (1, n, d), gates: (1, n, 4 d) -> hidden, cell: (1, n, d).

    lengths: integers (n,), left out with sequence_lengths=0; timestep: one integer. `forget_bias` is added to f.
    """
    i, f, o, g = lstm_gates(op, gates)
    on = running(op, c, *time)
    cell = f * c + i * g
    return carried(op, on, o * np.tanh(cell), h), carried(op, on, cell, c)


@gradient_of(
    "LSTMUnit",
    "hidden_prev, cell_prev, gates, lengths?, timestep, hidden, cell, dhidden, dcell "
    "-> dhidden_prev, dcell_prev, dgates",
    "∂δ = ∂dcell_prev σ(f) + ∂di tanh(g) σ'(i) + ∂df cell_prev σ'(f) + ∂dg σ(i) (1 - tanh² g); ∂dcell = ∂δ, "
    "∂dhidden = ∂δ σ(o) (1 - tanh² cell) + ∂do tanh(cell) σ'(o), ∂cell_prev = ∂df δ σ'(f), "
    "∂cell = dhidden (1 - tanh² cell) (∂do σ'(o) - 2 ∂δ σ(o) tanh cell), "
    "∂i = δ (∂di tanh(g) σ''(i) + ∂dg (1 - tanh² g) σ'(i)), ∂f = δ (∂dcell_prev σ'(f) + ∂df cell_prev σ''(f)), "
    "∂o = dhidden (∂δ (1 - tanh² cell) σ'(o) + ∂do tanh(cell) σ''(o)), "
    "∂g = δ (1 - tanh² g) (∂di σ'(i) - 2 ∂dg σ(i) tanh g), "
    f"{LSTM_DELTA}, {LSTM_GATES}",
    infer=like_forward(
        "dhidden_prev: dhidden; dcell_prev: gates cell dhidden dcell; dgates: cell_prev gates cell dhidden dcell",
        integers="lengths timestep",
    ),
)
@in_single
def lstm_unit_gradient(op: Operator, h: Array, c: Array, gates: Array, *rest: Array) -> tuple[Array, Array, Array]:
    """Gradients of LSTMUnit. Rows that are over hand theirs to the states that they carried on."""
    *time, _, cell, dh, dc = rest
    (i, f, o, g), (di, df, do, dg) = lstm_gates(op, gates), lstm_slopes(op, gates)
    on = running(op, c, *time)
    delta = dc + dh * o * tanh_slope(cell)
    dgates = [delta * g * di, delta * c * df, dh * np.tanh(cell) * do, delta * i * dg]
    return (
        carried(op, on, np.zeros_like(dh), dh),
        carried(op, on, delta * f, dc),
        np.where(on, np.concatenate(dgates, axis=-1), 0),
    )


def lstm_unit_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """hidden is not read, and its gradient of zeros is there because LSTMUnit wants one of each output."""
    do = Steps(op)
    *_, hidden, _, _, _ = op.inputs
    arrived = do.or_zeros(g_output, op.inputs[:3])
    g_c, g_gates, g_cell, g_dh, g_dc = do.several(5, "LSTMUnitGradientGradient", *op.inputs, *arrived, **op.args)
    time = [None] * (len(op.inputs) - 7)
    return do.answer(None, g_c, g_gates, *time, do.fill(hidden, 0.0), g_cell, g_dh, g_dc)


@gradient_of(
    "LSTMUnitGradient",
    "hidden_prev, cell_prev, gates, lengths?, timestep, hidden, cell, dhidden, dcell, "
    "∂dhidden_prev, ∂dcell_prev, ∂dgates -> ∂cell_prev, ∂gates, ∂cell, ∂dhidden, ∂dcell",
    infer=like_forward(
        "∂cell_prev: gates cell dhidden dcell ∂dgates; ∂gates: cell_prev gates cell dhidden dcell ∂dcell_prev ∂dgates; "
        "∂cell: cell_prev gates cell dhidden ∂dcell_prev ∂dgates; "
        "∂dhidden: cell_prev gates cell ∂dhidden_prev ∂dcell_prev ∂dgates; ∂dcell: cell_prev gates ∂dcell_prev ∂dgates",
        integers="lengths timestep",
    ),
    rule=lstm_unit_gradient_rule,
)
@in_single
def lstm_unit_gradient_gradient(op: Operator, h: Array, c: Array, gates: Array, *rest: Array) -> Arrays:
    *time, _, cell, dh, dc, g_dh, g_dc, g_dgates = rest
    (i, f, o, g), (di, df, do, bend_g) = lstm_gates(op, gates), lstm_slopes(op, gates)
    g_di, g_df, g_do, g_dg = np.split(g_dgates, 4, axis=-1)
    on, tanh_c, bend_c = running(op, c, *time), np.tanh(cell), tanh_slope(cell)
    delta = dc + dh * o * bend_c
    g_delta = g_dc * f + g_di * g * di + g_df * c * df + g_dg * i * bend_g
    g_gates = [
        delta * di * (g_di * g * (1 - 2 * i) + g_dg * bend_g),
        delta * df * (g_dc + g_df * c * (1 - 2 * f)),
        dh * do * (g_delta * bend_c + g_do * tanh_c * (1 - 2 * o)),
        delta * bend_g * (g_di * di - 2 * g_dg * i * g),
    ]
    return (
        np.where(on, g_df * delta * df, 0),
        np.where(on, np.concatenate(g_gates, axis=-1), 0),
        np.where(on, dh * bend_c * (g_do * do - 2 * g_delta * o * tanh_c), 0),
        carried(op, on, g_delta * o * bend_c + g_do * tanh_c * do, g_dh),
        carried(op, on, g_delta, g_dc),
    )


def gru_spec(op: Operator, h: ArraySpec, gates: ArraySpec, *time: ArraySpec) -> ArraySpec:
    need_floats(op, (h, gates))
    check_step(op, h, gates, 3, *time)
    return ArraySpec(h.shape, result_dtype(h, gates))


@operator(
    "GRUUnit",
    "hidden_prev, gates, lengths?, timestep -> hidden",
    f"hidden = σ(u) hidden_prev + (1 - σ(u)) tanh o, {GRU_GATES}",
    "dhidden_prev = dhidden σ(u), du = dhidden (hidden_prev - tanh o) σ'(u), "
    f"do = dhidden (1 - σ(u)) (1 - tanh² o), dr = 0, {GRU_GATES}",
    infer=gru_spec,
    args=GRU_ARGS,
)
@in_single
def gru_unit(op: Operator, h: Array, gates: Array, *time: Array) -> Array:
    """One step of a gated recurrent unit. h: (1, n, d), gates: (1, n, 3 d) -> hidden: (1, n, d).

    The reset gate r has done its work before: o holds what it let pass. Lengths and timestep as in LSTMUnit.
    """
    _, u, o = np.split(gates, 3, axis=-1)
    return carried(op, running(op, h, *time), logistic(u) * h + logistic(-u) * np.tanh(o), h)


@gradient_of(
    "GRUUnit",
    "hidden_prev, gates, lengths?, timestep, hidden, dhidden -> dhidden_prev, dgates",
    "∂dhidden = ∂dhidden_prev σ(u) + ∂du (hidden_prev - tanh o) σ'(u) + ∂do (1 - σ(u)) (1 - tanh² o), "
    "∂hidden_prev = ∂du dhidden σ'(u), ∂r = 0, "
    "∂u = dhidden (∂dhidden_prev σ'(u) + ∂du (hidden_prev - tanh o) σ''(u) - ∂do (1 - tanh² o) σ'(u)), "
    f"∂o = -dhidden (1 - tanh² o) (∂du σ'(u) + 2 ∂do (1 - σ(u)) tanh o), {GRU_GATES}",
    infer=like_forward("dhidden_prev: gates dhidden; dgates: hidden_prev gates dhidden", integers="lengths timestep"),
)
@in_single
def gru_unit_gradient(op: Operator, h: Array, gates: Array, *rest: Array) -> tuple[Array, Array]:
    """Gradients of GRUUnit. Rows that are over hand theirs to the state that they carried on."""
    *time, _, dh = rest
    _, u, o = np.split(gates, 3, axis=-1)
    on = running(op, h, *time)
    du, do = dh * (h - np.tanh(o)) * logistic_slope(u), dh * logistic(-u) * tanh_slope(o)
    dgates = np.concatenate([np.zeros_like(do), du, do], axis=-1)
    return carried(op, on, dh * logistic(u), dh), np.where(on, dgates, 0)


@gradient_of(
    "GRUUnitGradient",
    "hidden_prev, gates, lengths?, timestep, hidden, dhidden, ∂dhidden_prev, ∂dgates -> ∂hidden_prev, ∂gates, ∂dhidden",
    infer=like_forward(
        "∂hidden_prev: gates dhidden ∂dgates; ∂gates: hidden_prev gates dhidden ∂dhidden_prev ∂dgates; "
        "∂dhidden: hidden_prev gates ∂dhidden_prev ∂dgates",
        integers="lengths timestep",
    ),
)
@in_single
def gru_unit_gradient_gradient(op: Operator, h: Array, gates: Array, *more: Array) -> tuple[Array, Array, Array]:
    *time, _, dh, g_dh, g_dgates = more
    _, u, o = np.split(gates, 3, axis=-1)
    _, g_du, g_do = np.split(g_dgates, 3, axis=-1)
    update, new, on = logistic(u), np.tanh(o), running(op, h, *time)
    slope, bend, rest = logistic_slope(u), tanh_slope(o), logistic(-u)
    g_run = g_dh * update + g_du * (h - new) * slope + g_do * rest * bend
    g_u = dh * slope * (g_dh + g_du * (h - new) * (1 - 2 * update) - g_do * bend)
    g_o = -dh * bend * (g_du * slope + 2 * g_do * rest * new)
    g_gates = np.concatenate([np.zeros_like(g_u), g_u, g_o], axis=-1)
    return np.where(on, g_du * dh * slope, 0), np.where(on, g_gates, 0), carried(op, on, g_run, g_dh)
