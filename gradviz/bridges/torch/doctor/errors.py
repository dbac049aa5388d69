"""What errors of PyTorch are about: each by words of its message, with the rules that find out more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from ....program.code_line import CodeLine
from ....program.errors import code, count_of, listed, message_of
from ..graph import Tensor, is_leaf_tensor
from .case import Case, capitalized, in_line, where
from .causes import IN_PLACE
from .damage import freed, overwritten
from .diagnosis import Finding
from .no_gradient import parameters_without
from .no_loss import loss_without, no_tensor
from .not_finite import not_finite
from .scene import Scene, scene_of, value_in
from .structure import computed_once, hidden_modules, plain_tensors
from .training import no_leaves, not_scalar, second_derivatives

Rule = Callable[[Case], Iterator[Finding]]
"""Looks at a case and yields what it finds."""


class About(NamedTuple):
    """What an error is about.

    Attributes:
        what: in words.
        names: of tensors, or of a Function.
        line: where it is; None: where the error was raised.
    """

    what: str = "a tensor"
    names: Sequence[str] = ()
    line: CodeLine | None = None


class Meaning(NamedTuple):
    """What an error means.

    Attributes:
        kind: of the finding.
        words: a pattern that its message has.
        says: the sentence where `rules` find nothing: {at} is the line, {what} what it is about.
        ways_out: that belong to the sentence.
        rules: that find out more, by the loss.
        about: what it is about.
    """

    kind: str
    words: str
    says: str
    ways_out: tuple[str, ...]
    rules: Sequence[Rule] = ()
    about: Callable[[Scene, Case], About] = lambda scene, case: About()

    def finding(self, scene: Scene, case: Case) -> Finding:
        """The finding without the rules, with what PyTorch says."""
        what, names, line = self.about(scene, case)
        sentence = capitalized(self.says.format(at=in_line(scene.line), what=what))
        evidence = (f"PyTorch says: {first_sentence(scene.message)}",)
        return Finding(self.kind, sentence, tuple(names), line or scene.line, True, evidence, self.ways_out)


def findings_of(error: BaseException) -> list[Finding] | None:
    """What an error tells; None: it is no known error about gradients."""
    scene = scene_of(error)
    meaning = next((one for one in MEANINGS if re.search(one.words, said_by(error))), None)
    if meaning is None or (meaning.kind == "dtype" and not scene.roots):
        return _about_none(scene, error) or _in_a_pass(scene, error)
    case = Case(scene.roots, (), [frame for frame, _ in scene.frames])
    by_rules = [one for rule in meaning.rules for one in rule(case) if one.harm]
    return [_placed(one, scene) for one in by_rules] or [meaning.finding(scene, case)]


def _placed(one: Finding, scene: Scene) -> Finding:
    """A finding of unknown line, with that on which the error was raised."""
    if one.line is not None or scene.line is None:
        return one
    if one.kind in ("overwritten", "no_grad", "detached", "integer"):
        raised = f"The error is raised in {scene.line}: {scene.line.text}"
        return msgspec.structs.replace(one, evidence=(raised, *one.evidence))
    return msgspec.structs.replace(one, line=scene.line)


def said_by(error: BaseException) -> str:
    """The type of an error and what it says, without a full stop."""
    return f"{type(error).__name__}: {message_of(error)}".strip().rstrip(".:")


def first_sentence(message: str) -> str:
    """What PyTorch says, without its hints."""
    return re.split(r"(?<=[a-z)\].])(?:\. |\n)", message, maxsplit=1)[0].strip()


def _first(fits: Callable[[Tensor], bool]) -> Callable[[Scene, Case], About]:
    """About the first tensor on the line that fits."""

    def about(scene: Scene, case: Case) -> About:
        names = scene.tensors(fits)[:1]
        return About(code(names[0]), names) if names else About()

    return about


def _leaf(scene: Scene, case: Case) -> About:
    leaves = scene.tensors(lambda one: one.requires_grad and is_leaf_tensor(one))
    names = leaves or scene.tensors(lambda one: one.requires_grad)
    what = "a leaf that requires a gradient"
    return About(f"{code(names[0])} is {what} and", names[:1]) if names else About(what)


def _integers(scene: Scene, case: Case) -> About:
    names = scene.tensors(lambda one: not one.is_floating_point())
    what = "a tensor of integers or booleans"
    return About(f"{code(names[0])} is {what} and", names) if names else About(f"{what} is")


def _unused_inputs(scene: Scene, case: Case) -> About:
    names = [name for one in scene.inputs if not case.is_leaf(one) and (name := case.name(one))]
    whom = listed(list(map(code, names))) if names else "One of the tensors that gradients are asked of"
    return About(f"{whom} {'were' if len(names) > 1 else 'was'}", names)


def _input(scene: Scene, case: Case) -> About:
    """What requires no gradient; rather what was asked for one."""
    names = scene.tensors(lambda one: not one.requires_grad)
    if scene.roots and all(root.requires_grad for root in scene.roots):
        asked = {id(one) for one in scene.inputs}
        names = [name for name in names if id(value_in(scene.frames[0][0], name.split("."))) in asked] or names
    return About(code(names[0]), names[:1]) if names else About()


def _own_backward(scene: Scene, case: Case) -> About:
    """A Function of the user's gave back what does not fit."""
    match = re.search(r"(?:Function )?(\w+?)Backward\w* returned", scene.message)
    name = match[1] if match else ""
    line = next((case.rule_line(one) for one in case.graph.nodes if one.name() == f"{name}Backward"), None)
    got = re.search(r"at index (\d+) - (.*)", scene.message)
    counts = re.search(r"expected (\d+), got (\d+)", scene.message)
    how = "a gradient that does not fit"
    if got:
        how = f"a gradient that does not fit for its input {got[1]}: {got[2].strip().rstrip('.')}"
    elif counts:
        how = f"{count_of(int(counts[2]), 'gradient')}, and forward has {count_of(int(counts[1]), 'input')}"
    whose = f"{code(name) if name else 'a Function'}{where(line or scene.line)}"
    return About(f"{whose} returns {how}", [name] if name else [], line)


def _number(case: Case) -> Iterator[Finding]:
    """backward() of a number: a capture may have seen how it left PyTorch."""
    return (one for one in no_tensor(case, 0.0) if one.line is not None)


def _again(case: Case) -> Iterator[Finding]:
    yield from computed_once(case)
    yield from freed(case, again=True)


def _hidden(case: Case) -> Iterator[Finding]:
    """What a model hides from an optimizer that is given no parameters."""
    if case.near:
        model = Case((), case.near[:1], case.frames)
        yield from hidden_modules(model)
        yield from plain_tensors(model)


NEW = "Make a new tensor in place of writing into it: y = x + 1, not x += 1."
NO_WRITING = (NEW, "Write into a copy: clone() it first.")

MEANINGS = (
    Meaning(
        "overwritten",
        r"modified by an inplace operation",
        "A tensor that an operator kept for the backward pass was overwritten before backward(){at}.",
        (NEW, "A capture around the forward pass tells the line: with gradviz.torch.capture(): ..."),
        (overwritten,),
    ),
    Meaning(
        "view_in_place",
        r"its base or another view of its base has been modified inplace",
        "{what} cannot be used{at}: it is a view of a tensor that was written into since, itself or by another view.",
        ("clone() the view before that, or take it anew afterwards.", *NO_WRITING),
        about=_first(lambda tensor: tensor._is_view()),
    ),
    Meaning(
        "view_in_place",
        r"[Vv]iew .*is being modified inplace",
        "{what} is written into{at}, and is a view through which a gradient could not go back then.",
        NO_WRITING,
        about=_first(lambda tensor: tensor._is_view()),
    ),
    Meaning(
        "freed",
        r"backward through the graph a second time",
        "backward() goes through the graph a second time{at}, and the first time has freed it.",
        ("Add the losses and call backward() once.", "Say retain_graph=True the first time."),
        (_again,),
    ),
    Meaning(
        "not_scalar",
        r"implicitly created only for scalar outputs",
        "backward() goes from a tensor of several elements{at}: only a single number needs no gradient of its own.",
        ("Sum it up or take the mean: loss.mean().backward().",),
        (not_scalar,),
    ),
    Meaning(
        "double_backward",
        r"once_differentiable",
        "The gradient of a gradient is asked for{at}, and a Function on the way is marked once_differentiable.",
        ("Take once_differentiable away and write backward with operations of torch alone.",),
        (second_derivatives,),
    ),
    Meaning(
        "unused_input",
        r"appears to not have been used in the graph",
        "{what} not used for what is differentiated{at}.",
        (
            "Say allow_unused=True to get None for it.",
            "Look whether the tensor that was used is this one, or a copy, a view or a detached one.",
        ),
        about=_unused_inputs,
    ),
    Meaning(
        "not_connected",
        r"does not require grad|element \d+ of (variables|tensors)",
        "{what} requires no gradient, and one is asked for{at}.",
        (
            "Compute it from tensors that require a gradient, outside of torch.no_grad() and without detach().",
            "Call requires_grad_() on inputs before they are used.",
        ),
        (loss_without,),
        _input,
    ),
    Meaning(
        "leaf_in_place",
        r"leaf Variable that requires grad",
        "{what} is written into{at}; that would change what the gradient is of.",
        (
            "To change it without a history: with torch.no_grad(): w -= lr * w.grad.",
            "Else make a new tensor: y = x + 1, or write into x.clone().",
        ),
        about=_leaf,
    ),
    Meaning(
        "integer",
        r"nly Tensors of floating point|only require gradients for.*floating",
        "{what} asked to require a gradient{at}: only floating-point numbers have one.",
        ("Make it floating point first: torch.tensor([1.0, 2.0]), x.float(), dtype=torch.float32.",),
        about=_integers,
    ),
    Meaning(
        "shape",
        r"returned an (invalid gradient|incorrect number of gradients)",
        "The backward of {what}.",
        (
            "Return one gradient for each input of forward, of that input's shape, and None where there is none.",
            "Where forward broadcasts, sum over what was broadcast: grad.sum_to_size(x.shape).",
        ),
        about=_own_backward,
    ),
    Meaning(
        "shape",
        r"Mismatch in (shape|dtype): grad_output",
        "The gradient that a backward pass is to start with{at} is not like the tensor that it is of.",
        ("Give one of the shape and the dtype of the tensor: y.backward(torch.ones_like(y)).",),
    ),
    Meaning(
        "hook",
        r"hook '.*' has changed the \w+ of value|but hook returned",
        "A hook that backward() calls{at} gives back what cannot be a gradient there.",
        ("Return a tensor of the shape, the dtype and the device of what the hook is given, or None to leave that.",),
    ),
    Meaning(
        "nan",
        r"returned nan values in its",
        "NaN is born in the backward pass{at}.",
        ("Call diagnose before backward(): the operator that made it is found.",),
        (not_finite,),
    ),
    Meaning(
        "detached",
        r"Can't call numpy\(\) on Tensor that requires grad",
        "{what} requires a gradient, and an array is asked of it{at}: arrays have no history.",
        ("To look at it only: x.detach().numpy().", "To go on computing, use operations of torch."),
        about=_first(lambda tensor: tensor.requires_grad),
    ),
    Meaning(
        "non_leaf",
        r"can't optimize a non-leaf Tensor|change requires_grad flags of leaf",
        "A leaf is wanted{at}, and the tensor was computed from others, as by to(), cuda() or arithmetic.",
        ("Make it a leaf: x.detach().requires_grad_(), after to(), cuda() and arithmetic.",),
    ),
    Meaning(
        "non_leaf",
        r"deepcopy protocol",
        "deepcopy(){at} copies leaves alone, and comes to what was computed, as a hidden state that a module keeps.",
        ("Keep x.detach() in attributes.", "Make a new model, and load_state_dict(model.state_dict()) of the old one."),
    ),
    Meaning(
        "no_grad",
        r"Inference tensors cannot|inference tensor",
        "{what} was computed under torch.inference_mode() and is used where gradients are needed{at}.",
        ("Compute it outside of inference mode, or under torch.no_grad().", "clone() it outside of inference mode."),
        about=_first(lambda tensor: tensor.is_inference()),
    ),
    Meaning(
        "detached",
        r"object has no attribute 'backward'",
        "backward() is asked of what is no tensor{at}: numbers and arrays have no history.",
        ("Leave item(), float() and numpy() out of the loss: they are for looking at it.",),
        (_number,),
    ),
    Meaning(
        "no_derivative",
        r"derivative for .* is not implemented",
        "An operator without a derivative is on the way{at}.",
        ("Use another one, or detach() what need not be trained.",),
    ),
    Meaning(
        "module_list",
        r"optimizer got an empty parameter list",
        "The optimizer is given no parameters{at}.",
        ("Give it model.parameters().", "Parts of a model must be attributes, an nn.ModuleList or an nn.ModuleDict."),
        (_hidden,),
    ),
    Meaning(
        "freed",
        r"compiled with non-empty donated buffers",
        "What torch.compile has compiled writes over what it saved as it goes backward{at}, so that it does so once.",
        (
            "That one pass is recorded by gradviz.debug(loss, write=True), or say backward() without retain_graph.",
            "Or write torch._functorch.config.donated_buffer = False before the model is called first.",
        ),
    ),
    Meaning(
        "unused",
        r"Expected to have finished reduction in the prior iteration",
        "Some parameters got no gradient in the pass before{at}, and DistributedDataParallel waits for them.",
        ("Use every parameter in forward, or say find_unused_parameters=True.",),
        (parameters_without,),
    ),
    Meaning(
        "reentrant_checkpoint",
        r"checkpoint is incompatible with \.grad\(\)",
        "Gradients of some tensors alone are asked for{at}, and a reentrant checkpoint on the way gives all or none.",
        ("Call checkpoint(..., use_reentrant=False).", "Call backward() without inputs."),
    ),
    Meaning(
        "dtype",
        r"Found dtype \w+ but expected|expected scalar type|must have the same dtype|to have the same dtype",
        "Tensors of different types meet{at}.",
        (
            "Bring them to one type: x.to(y.dtype).",
            "In a Function's backward return gradients of the type of its inputs.",
        ),
    ),
)
"""From the first whose words are in the message."""


def _about_none(scene: Scene, error: BaseException) -> list[Finding] | None:
    """An error that comes from a ``grad`` that is None."""
    if "NoneType" not in message_of(error) or not scene.frames or ".grad" not in scene.frames[0][1].text:
        return None
    frame, line = scene.frames[0]
    for name in re.findall(r"([A-Za-z_]\w*(?:\.\w+)*?)\.grad\b", line.text):
        tensor = value_in(frame, name.split("."))
        if isinstance(tensor, Tensor) and (not (is_leaf_tensor(tensor) or tensor.retains_grad) or tensor.grad is None):
            break
    else:
        return None
    if not tensor.requires_grad:
        why, kind = "it requires no gradient", "frozen"
        ways: tuple[str, ...] = (
            f"Call {name}.requires_grad_() before it is used; what is computed under no_grad needs it again.",
        )
    elif is_leaf_tensor(tensor):
        why, kind = "no backward() has come to it", "unused"
        ways = ("Call backward() first, and look whether the loss is computed from it.",)
    else:
        others = [one for one in no_leaves(Case([tensor], (), [each for each, _ in scene.frames])) if name in one.names]
        if others:
            return [_placed(one, scene) for one in others]
        why, kind = "it is no leaf: it was computed from other tensors", "non_leaf"
        ways = (
            f"To look at its gradient: {name}.retain_grad() before backward().",
            IN_PLACE.format(name=name),
            f"Or make it a leaf: {name} = {name}.detach().requires_grad_().",
        )
    sentence = f"{name}.grad is None{in_line(line)}: {why}."
    evidence = (f"Python says: {error}",)
    return [Finding(kind, f"{code(name)} has no gradient; {sentence}", (name,), line, True, evidence, ways)]


def _in_a_pass(scene: Scene, error: BaseException) -> list[Finding] | None:
    """An error of code of the user's that a backward pass has called."""
    if not scene.is_called:
        return None
    frame, line = scene.frames[0]
    name = frame.f_code.co_qualname.rpartition("<locals>.")[2]
    whose = f"what it calls{where(line)}" if "<" in name else f"{code(name)}{where(line)}, which it calls"
    return [Finding("fails", f"backward() fails in {whose}: {said_by(error)}.", (), line)]
