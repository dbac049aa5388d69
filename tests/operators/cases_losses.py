"""Calls of losses with soft labels, logits, margins; of Accuracy; and of the steps of recurrent networks."""

from typing import Any

import numpy as np

from tests.operators.case import Array, Case, floats, integers, probabilities

X, SIGNS = floats(3, 4), integers(1, -1, 1, 1, -1, -1)


def coins(*shape: int, seed: int = 0) -> Array:
    """Random numbers between 0 and 1."""
    return floats(*shape, seed=seed, low=0.1, high=0.9, signed=False)


def logits(about: str, shape: tuple[int, ...], **args: Any) -> list[Case]:
    """Calls of the cross entropies of logits."""
    inputs = {"x": floats(*shape), "t": coins(*shape)}
    weighted = {**inputs, "w": coins(*shape, seed=3)}
    calls = [Case("SigmoidCrossEntropyWithLogits", about, inputs, args, constants=["t"])]
    if not args:
        calls.append(Case("WeightedSigmoidCrossEntropyWithLogits", about, weighted, constants=["t", "w"]))
    return calls


def lstm(about: str, timestep: int, lengths: bool = True, **args: Any) -> Case:
    """A call of LSTMUnit."""
    state = {"h": floats(1, 3, 2), "c": floats(1, 3, 2, seed=1), "gates": floats(1, 3, 8)}
    time = {**({"lengths": integers(3, 1, 2)} if lengths else {}), "t": integers(timestep)}
    if not lengths:
        args["sequence_lengths"] = 0
    return Case("LSTMUnit", about, {**state, **time}, args, writes=("hidden", "cell"))


def gru(about: str, timestep: int, lengths: bool = True, **args: Any) -> Case:
    """A call of GRUUnit."""
    state = {"h": floats(1, 3, 2), "gates": floats(1, 3, 6)}
    time = {**({"lengths": integers(3, 1, 2)} if lengths else {}), "t": integers(timestep)}
    if not lengths:
        args["sequence_lengths"] = 0
    return Case("GRUUnit", about, {**state, **time}, args)


CASES = [
    Case("CrossEntropy", "plain", {"x": probabilities(3, 4), "t": probabilities(3, 4, seed=1)}, constants=["t"]),
    Case("CrossEntropy", "vector", {"x": probabilities(4), "t": probabilities(4, seed=1)}, constants=["t"]),
    Case("CrossEntropy", "below the floor", {"x": -X, "t": np.abs(X) / 2}, constants=["t"]),
    Case("CrossEntropy", "no rows", {"x": floats(0, 4), "t": floats(0, 4)}, constants=["t"]),
    *logits("matrix", (3, 4)),
    *logits("vector", (4,)),
    *logits("3 dims", (2, 3, 2)),
    *logits("scalar", ()),
    *logits("no rows", (0, 3)),
    *logits("no columns", (3, 0)),
    *logits("log D trick", (3, 4), log_D_trick=1),
    *logits("unjoined", (3, 4), unjoined_lr_loss=1),
    Case("BernoulliJSD", "plain", {"x": coins(5), "t": coins(5, seed=1)}, constants=["t"]),
    Case("BernoulliJSD", "sure targets", {"x": coins(2), "t": np.array([0.0, 1.0])}, constants=["t"]),
    Case("MakeTwoClass", "vector", {"x": coins(5)}),
    Case("MakeTwoClass", "matrix", {"x": coins(2, 3)}),
    Case("MakeTwoClass", "empty", {"x": coins(0)}),
    Case("CosineEmbeddingCriterion", "plain", {"s": floats(6), "y": SIGNS}),
    Case("CosineEmbeddingCriterion", "margin", {"s": floats(6), "y": SIGNS}, {"margin": 0.15}),
    Case("MarginRankingCriterion", "plain", {"a": floats(6), "b": floats(6, seed=1), "y": SIGNS}),
    Case("MarginRankingCriterion", "margin", {"a": floats(6), "b": floats(6, seed=1), "y": SIGNS}, {"margin": 0.1}),
    Case("PairWiseLoss", "plain", {"x": floats(5), "y": integers(1, 3, 2, 2, 0) * 1.0}, constants=["y"]),
    Case("PairWiseLoss", "columns", {"x": floats(3, 1), "y": integers(1, 3, 2)[:, None] * 1.0}, constants=["y"]),
    Case(
        "PairWiseLoss",
        "sessions",
        {"x": floats(5), "y": integers(1, 3, 2, 2, 0) * 1.0, "lengths": integers(3, 0, 2)},
        constants=["y"],
    ),
    Case("PairWiseLoss", "no rows", {"x": floats(0), "y": floats(0)}, constants=["y"]),
    Case("Accuracy", "plain", {"x": X, "labels": integers(2, 0, 3)}),
    Case("Accuracy", "top 2", {"x": X, "labels": integers(2, 0, 3)}, {"top_k": 2}),
    Case("Accuracy", "no rows", {"x": floats(0, 4), "labels": integers()}),
    lstm("all run", 0),
    lstm("some are over", 1),
    lstm("dropped", 2, drop_states=1),
    lstm("forget bias", 1, forget_bias=0.7),
    lstm("no lengths", 5, lengths=False),
    gru("all run", 0),
    gru("some are over", 1),
    gru("dropped", 2, drop_states=1),
    gru("no lengths", 5, lengths=False),
]
