"""Gradients that are zero throughout: the operator that let nothing through, and whether it always does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch.autograd.graph import Node

from ....program.errors import code, listed
from ..graph import Output, Saved, dim_of, dtype_of, reached, saved_by, type_of
from ..origins import Origin
from .case import Case, each_of, in_line, subject, them, where
from .diagnosis import Finding
from .gradients import Birth, births, is_not_finite, is_zero, leaf_gradients
from .hooks import hook_of

FLAT = {"round", "floor", "ceil", "trunc", "sign", "sgn", "heaviside", "bernoulli"}
"""With the derivative zero everywhere."""

OF_TWO = {"maximum", "minimum", "fmax", "fmin"}
"""That take one of two numbers, and hand the gradient on to it."""

CUTS = OF_TWO | {
    "relu", "threshold", "clamp", "clamp_min", "clamp_max", "hardtanh", "hardsigmoid", "hardswish", "relu6",
}  # fmt: skip
"""With the derivative zero in a part of where they exist."""

SATURATES = {
    "sigmoid", "tanh", "softmax", "log_softmax", "erf", "gelu", "silu", "mish", "elu", "log_sigmoid", "celu",
    "selu", "exp", "softplus",
}  # fmt: skip
"""With a derivative that becomes zero far out."""

LOSSES = {"binary_cross_entropy", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "pow", "abs"}
"""With the derivative zero where the prediction is the target."""

PASS_ON = {
    "view", "unsafe_view", "reshape", "t", "transpose", "permute", "expand", "mean", "adaptive_avg_pool2d",
    "max_pool2d_with_indices", "avg_pool2d", "native_dropout", "squeeze", "unsqueeze", "select", "slice", "mul",
    "clone", "cat",
}  # fmt: skip
"""Operators that leave zeros zeros."""


def zeros(case: Case) -> Iterator[Finding]:
    """Parameters whose gradient is zero throughout."""
    leaves = case.graph.leaves
    zero = [node for node, one in leaf_gradients(case).items() if is_zero(one)]
    zero_leaves = [(node, name) for node in zero if (name := case.name(leaves[node]))]
    if case.notes is None:
        likely = list(_always(case, zero_leaves))
        yield from likely or _unexplained(case, [name for _, name in zero_leaves])
        return
    born = births(case, is_zero, every=True)
    by_node: dict[Node, tuple[Birth, list[str]]] = {}
    flat = _behind(case, zero_leaves, lambda node: type_of(node) in FLAT)
    for node, name in zero_leaves:
        if flat is not None and name in flat.names:  # whatever comes after that
            born[Output(node, 0)] = [Birth(flat.node, None, "sent")]
        for birth in born.get(Output(node, 0), []):
            origin = birth.node if birth.how != "sent" else _dead_before(case, birth.node) or birth.node
            by_node.setdefault(origin, (birth, []))[1].append(name)
    in_findings: set[str] = set()
    for node, (birth, names) in sorted(by_node.items(), key=lambda row: _rank(case, row[0])):
        if own := [name for name in names if name not in in_findings]:
            in_findings.update(own)
            finding = _zero(case, birth, node, own)
            if finding.harm or not any(map(is_not_finite, case.graph_roots)):
                yield finding


def _rank(case: Case, node: Node) -> int:
    """How much an operator explains of zeros that were born at several: the least explains most."""
    type = type_of(node)
    return 0 if type in FLAT else 1 if _cuts(node) else 2 if type in SATURATES else 3 if _factors(case, node) else 4


def _cuts(node: Node) -> bool:
    """Whether an operator cuts gradients off, and does not hand them on to the other of two."""
    hands_on = type_of(node) in OF_TWO and all(one is not None for one, _ in node.next_functions)
    return type_of(node) in CUTS and not hands_on


def _dead_before(case: Case, node: Node) -> Node | None:
    """The operator whose zeros another one multiplies by, such as a dead ReLU before a layer."""
    for one in saved_by(node):
        if one.of is None or not is_zero(one.tensor):
            continue
        before: Node | None = one.of.node
        for _ in range(6):
            if before is None:
                break
            if _cuts(before):
                return before
            if type_of(before) not in PASS_ON:
                break
            before = next((each for each, _ in before.next_functions if each is not None), None)
    return None


def _is_lost_in_float16(birth: Birth) -> bool:
    visited = () if birth.visit is None else birth.visit.sent
    sent = next((one.tensor for one in visited if one is not None and is_zero(one.tensor)), None)
    if sent is None or sent.dtype != torch.float16:
        return False
    factors = [one.tensor for one in saved_by(birth.node) if one.tensor.is_floating_point()]
    return not any(is_zero(one) for one in factors)


def _zero(case: Case, birth: Birth, node: Node, names: Sequence[str]) -> Finding:
    type, line = type_of(node), case.line(node)
    gets = f"{subject(names, case.parameters, 'get')} a gradient of zeros"
    operator, at = case.operator(node), in_line(line)
    is_done = _is_done(case)
    ways: tuple[str, ...] = ()
    kind, harm = "zero", True
    if birth.how == "hook":
        hook, line = hook_of(case, node)
        why, harm = f"a hook{hook}{where(line)} makes it zero", False
    elif type == "BackwardHookFunction":
        whose = case.origins.get(node, Origin()).module
        why, harm = f"a backward hook of {code(whose) if whose else 'a module'} makes it zero", False
    elif birth.how == "sum":
        why, harm = "what is sent to it, or to what is computed from it, adds up to zero", False
    elif type in FLAT or getattr(node, "_saved_rounding_mode", None):
        why = f"{operator}{at} is flat, its derivative is 0 everywhere"
        ways = (STRAIGHT,)
    elif type in LOSSES and is_done:
        why, harm = "the loss is 0, there is nothing left to learn", False
    elif type not in SATURATES and (never := _never(case, names)):
        why, harm, line, ways = _are_zeros(case, never), not is_done, None, (DRAW,)
    elif _cuts(node):
        why = f"{operator}{at} cuts every element off, and its derivative is 0 there"
        why += " (a dead ReLU)" if type in ("relu", "threshold") else ""
        harm = not is_done
        ways = (
            (
                "Look at what it is given: a large negative bias or a too large step leaves it dead.",
                "Use leaky_relu, gelu or silu.",
            )
            if type in ("relu", "threshold")
            else ("Widen its limits, or leave it out while training.",)
        )
    elif type == "native_layer_norm" and all(one == 1 for one in getattr(node, "_saved_normalized_shape", (0,))):
        why = f"{operator}{at} normalizes single elements, and of one element nothing is left"
        ways = ("Give it the features to normalize over: nn.LayerNorm(features).",)
    elif type in SATURATES and (one_class := _of_one(node)):
        why = f"{operator}{at} goes over {one_class}, and is 1 whatever it is given"
        ways = ("Give softmax the dimension of the classes.", "For a single output use sigmoid.")
    elif type in SATURATES and _is_far_out(node) and not _is_lost_in_float16(birth):
        why = f"{operator}{at} is saturated: every element lies so far out that its derivative is 0"
        ways = (
            "Make what it is given smaller, by normalization or smaller weights.",
            "Use a loss on logits, such as cross_entropy or binary_cross_entropy_with_logits.",
        )
    elif _is_lost_in_float16(birth):
        kind = "underflow"
        why = f"it underflows in the backward of {operator}{at}, below 6e-8 float16 has only 0"
        ways = HALF
    else:
        line = case.rule_line(node)
        why, harm = f"{_zero_factor(case, birth, node, them(names))}{in_line(line)}", False
    return Finding(kind, f"{gets}: {why}.", tuple(names), line, harm, each_of(names), ways, case.place(node))


def _are_zeros(case: Case, never: Sequence[str]) -> str:
    """That weights are all zeros, in words."""
    return f"{subject(never, case.parameters, 'are')} all zeros, and so is what is computed with {them(never)}"


def _never(case: Case, names: Sequence[str]) -> list[str]:
    """Weights of zeros that stay so; where others of zeros get a gradient, it comes to these one step later."""
    gets = (case.graph.leaves[node] for node, one in leaf_gradients(case).items() if not is_zero(one))
    is_later = any(one.dim() > 1 and is_zero(one) for one in gets)
    return [] if is_later else [name for name in names if _makes_zeros(case, name)]


def _makes_zeros(case: Case, name: str) -> bool:
    """Whether something is a weight that is all zeros, and so is its bias, if it has one."""
    one, bias = case.parameters.get(name), case.parameters.get(re.sub("weight$", "bias", name))
    return one is not None and one.dim() > 1 and is_zero(one) and (bias is None or is_zero(bias))


def _zero_factor(case: Case, birth: Birth, node: Node, it: str) -> str:
    """That an operator multiplies by zeros, and which, or only that it sends zeros, to `it` at least."""
    if factors := _factors(case, node):
        are = "are" if len(factors) > 1 else "is"
        return f"{case.operator(node)} multiplies by {listed(factors)} that {are} all zeros"
    sent = [] if birth.visit is None else [one.tensor for one in birth.visit.sent if one is not None]
    where_to = "" if all(is_zero(one) or not one.numel() for one in sent) else f" on the way to {it}"
    return f"the backward of {case.operator(node)} sends only zeros{where_to}"


def _factors(case: Case, node: Node) -> list[str]:
    """What an operator has kept and multiplies by that is all zeros, in words."""
    if type_of(node) in OF_TWO:
        return []
    saved = [one for one in saved_by(node) if one.tensor.is_floating_point() and one.name not in ("bias", "result")]
    return list(dict.fromkeys(_called(case, one) for one in saved if is_zero(one.tensor)))


def _called(case: Case, saved: Saved) -> str:
    """What an operator has kept, in words."""
    name = case.output_name(saved.of) if saved.of is not None else ""
    if name := name or next(case.sharing(saved.tensor), ""):
        return code(name)
    is_result = saved.of is not None and saved.of.node in case.graph.index
    return f"what {case.operator(saved.of.node)} returned" if is_result and saved.of is not None else "something"


NEAR = 1e-6
"""How far a probability is from 0 or 1 at most where softmax is saturated."""


def _is_far_out(node: Node) -> bool:
    """Whether an operator is saturated: a softmax sends zeros also where all that it is multiplied by is the same."""
    if type_of(node) not in ("softmax", "log_softmax"):
        return True
    results = [one.tensor for one in saved_by(node) if one.name == "result"]
    shares = [one.exp() if type_of(node) == "log_softmax" else one for one in results]
    return all(bool(((one < NEAR) | (one > 1 - NEAR)).all()) for one in shares)


def _of_one(node: Node) -> str:
    """The dimension of one element that a softmax goes over, in words; empty: it is a longer one."""
    if type_of(node) not in ("softmax", "log_softmax"):
        return ""
    result = next((one.tensor for one in saved_by(node) if one.name == "result"), None)
    dim = dim_of(node)
    if result is None or dim is None or not result.dim():
        return ""
    return f"dimension {dim} of {' × '.join(map(str, result.shape))}, of one element" if result.shape[dim] == 1 else ""


STRAIGHT = "Let the gradient pass straight through: y = x + (x.round() - x).detach(), with your operator for round."
DRAW = "Draw initial weights at random: of zeros nothing is learnt but biases."
HALF = ("Scale the loss up while going backward: torch.amp.GradScaler.", "Use bfloat16 or float32.")


def _always(case: Case, zero_leaves: Sequence[tuple[Node, str]]) -> Iterator[Finding]:
    """After a pass: those to which every way leads through an operator that may be why, the most certain first."""
    if behind := _behind(case, zero_leaves, lambda node: type_of(node) in FLAT):
        yield _after(case, "zero", behind, "{operator} is flat, its derivative is 0 everywhere", STRAIGHT)
        return
    if _is_done(case):
        return
    behind = _behind(case, zero_leaves, is_half)
    others = len(leaf_gradients(case)) - len(zero_leaves)
    if behind and others == len(_open(case, is_half).intersection(leaf_gradients(case))) and not _is_zeroed(case):
        why = "most likely it underflows in the backward of {operator}, below 6e-8 float16 has only 0"
        yield _after(case, "underflow", behind, why, *HALF)
        return
    shut = _shut(case, {node for node, _ in zero_leaves})
    behind = _behind(case, zero_leaves, lambda node: node in shut)
    is_by_zero_grad = behind is not None and not others and len(behind.names) < len(zero_leaves)
    if behind is None or is_by_zero_grad or any(name not in case.parameters for name in behind.names):
        return
    # What is sent to a bias may add up to zero.
    are_biases = all(case.parameters[name].dim() < 2 for name in behind.names)
    if not are_biases and not any(is_zero(one) for name, one in case.parameters.items() if not _is_bias(name)):
        why = "most likely {operator} cuts every element off"
        yield _after(case, "zero", behind, why, "Call diagnose before backward(): then the operator is found.")


def _is_bias(name: str) -> bool:
    """Whether a parameter is a bias: others of zeros, as a gate, multiply by them."""
    return "bias" in name.rpartition(".")[2]


def _shut(case: Case, zero: set[Node]) -> set[Node]:
    """The operators that may cut every element off: gradients of zeros have come to all leaves behind them."""
    alive = case.graph.on_the_way(Output(leaf, 0) for leaf in leaf_gradients(case) if leaf not in zero)
    return {node for node in case.graph.nodes if _cuts(node) and node not in alive}


def _unexplained(case: Case, names: list[str]) -> Iterator[Finding]:
    """After a pass: those of zeros while others are not, so that it is not by zero_grad() that they are."""
    leaves = [case.parameters[name] for name in names if name in case.parameters]
    # What is sent to a bias may add up to zero.
    if any(one.dim() > 1 for one in leaves) and len(names) < len(leaf_gradients(case)) and not _is_done(case):
        if never := _never(case, names):
            sentence = f"{subject(names, case.parameters, 'hold')} a gradient of zeros: {_are_zeros(case, never)}."
            yield Finding("zero", sentence, tuple(names), None, True, each_of(names), (DRAW,))
            return
        sentence = f"{subject(names, case.parameters, 'hold')} a gradient of zeros; why is not known after backward()."
        ways_out = ("Call diagnose before backward(): then what made it zero is found.",)
        yield Finding("zero", sentence, tuple(names), harm=False, evidence=each_of(names), ways_out=ways_out)


def is_half(node: Node) -> bool:
    """Whether an operator sends a gradient of float16."""
    sends = [Output(before, slot) for before, slot in node.next_functions if before is not None]
    return any(dtype_of(one) == torch.float16 for one in sends)


def _is_zeroed(case: Case) -> bool:
    """Whether gradients were put to zero since the last pass that was seen."""
    seen = [step.function for step in case.steps if step.function in ("zero_grad", "backward")]
    return seen[-1:] == ["zero_grad"]


class _Behind(NamedTuple):
    """Leaves that are behind operators that stop gradients, and the last such operator."""

    names: list[str]
    node: Node


def _after(case: Case, kind: str, behind: _Behind, why: str, *ways_out: str) -> Finding:
    """A finding after a pass."""
    names, line = behind.names, case.line(behind.node)
    why = why.format(operator=f"{case.operator(behind.node)}{in_line(line)}")
    sentence = f"{subject(names, case.parameters, 'have')} a gradient of zeros: {why}."
    return Finding(kind, sentence, tuple(names), line, True, each_of(names), ways_out)


def _behind(case: Case, zero_leaves: Sequence[tuple[Node, str]], stops: Callable[[Node], bool]) -> _Behind | None:
    """The leaves that are behind operators that stop gradients; None: there are none."""
    still_open = _open(case, stops)
    names = [name for node, name in zero_leaves if node not in still_open]
    last = next((node for node in reversed(case.graph.nodes) if stops(node)), None)
    return _Behind(names, last) if names and last is not None else None


def _open(case: Case, stops: Callable[[Node], bool]) -> set[Node]:
    """What gradients come to on ways that pass no operator that stops them."""
    nodes = reached((one.node for one in case.graph.roots), stops)
    return {node for node in nodes if node in case.graph.leaves or not stops(node)}


def _is_done(case: Case) -> bool:
    """Whether there is nothing left to learn."""
    return all(not bool(root.detach().any()) for root in case.graph_roots)
