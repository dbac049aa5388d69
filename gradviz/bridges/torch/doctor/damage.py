"""Damage before the backward pass: what operators have kept for it was overwritten since, or freed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from torch.autograd.graph import Node

from ....program.errors import code, listed
from ..flow import PASSES, Seen, Step, storage_of
from ..graph import Raw, Tensor, described, is_freed, raw_saved_by
from .case import Case, in_line, where
from .diagnosis import Finding
from .reach import slice_of
from .structure import computed_once

MOST_SHOWN = 3
"""Operators that a sentence names."""


def overwritten(case: Case) -> Iterator[Finding]:
    """Saved tensors that were written into, by the call that did it."""
    together: dict[object, list[tuple[Node, Raw, Step | None]]] = {}
    for node in case.graph.nodes:
        for raw in [] if is_freed(node) else raw_saved_by(node):
            writer = _writer(case, node, raw)
            if raw.is_overwritten or writer is not None:
                is_step = writer is not None and writer.function == "step"
                key = 0 if is_step else storage_of(raw.tensor), None if writer is None else writer.call
                together.setdefault(key, []).append((node, raw, writer))
    for rows in together.values():
        yield _overwritten(case, rows)


def _writer(case: Case, node: Node, raw: Raw) -> Step | None:
    """The first call that wrote into a tensor after an operator had kept it."""
    saved, storage = _saved_at(case, node, raw), storage_of(raw.tensor)
    if saved is None or not storage:
        return None
    for step in case.writers.get(storage, ()):
        if step.number <= saved:
            continue
        if any(one.storage == storage for one in step.writes) and _overlaps(step, raw.tensor):
            return step
        if step.function == "step" and raw.is_overwritten and any(one.storage == storage for one in step.reads):
            return step
    return None


def _saved_at(case: Case, node: Node, raw: Raw) -> int | None:
    """The number of the call that kept a tensor; of a Function's, which is not seen, of the last call before it."""
    if (saver := case.step_of(node)) is not None:
        return saver.number
    before = [case.step_of(one) for one, _ in node.next_functions if one is not None]
    numbers = [one.number for one in before if one is not None]
    return max(numbers) if numbers else -1 if raw.is_overwritten else None


def _overlaps(step: Step, tensor: Tensor) -> bool:
    """Whether a call may have written elements of a tensor; of a tensor that is gone, all that it shares."""
    begin, end = _span(tensor)
    for one in step.writes:
        written = one.ref()
        if written is None or one.storage != storage_of(tensor):
            continue
        first, last = _span(written)
        if first < end and begin < last:
            return True
    return all(one.ref() is None for one in step.writes)


def _span(tensor: Tensor) -> tuple[int, int]:
    """The addresses of its elements."""
    begin = tensor.data_ptr()
    reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size)
    return begin, begin + (reach + 1) * tensor.element_size()


def _overwritten(case: Case, rows: Sequence[tuple[Node, Raw, Step | None]]) -> Finding:
    _, raw, writer = rows[0]
    is_noticed = any(one.is_overwritten for _, one, _ in rows)
    names = list(dict.fromkeys(_name(case, one.tensor, by) for _, one, by in rows))
    name = names[0]
    called = code(name) if name else f"A tensor of {described(raw.tensor)}"
    line = case.line(writer)
    is_step = writer.function == "step" if writer is not None else _is_optimized(case, raw.tensor)
    by = f" by {_by(writer)}" if writer is not None else ", most likely by an optimizer's step()," if is_step else ""
    needs = dict.fromkeys(f"{case.operator(one)}{where(case.line(one))}" for one, _, _ in rows)
    need = listed(list(needs)[:MOST_SHOWN])
    after = f"after {need} kept it for the backward pass"
    silently = "through `.data`, which PyTorch does not notice: the gradients are wrong"
    ends = "so backward() fails" if is_noticed else silently
    sentence = f"{called} is overwritten{by}{in_line(line)} {after}, {ends}."
    ways_out = [
        f"Make a new tensor in place of writing into {called if name else 'it'}: y = x + 1, not x += 1 or x.add_(1).",
        "Write into a copy: clone() it first.",
    ]
    if is_step:
        ways_out = [
            "Call step() after every backward() that needs the old values.",
            "Compute the forward pass again after step().",
            CARRIED,
        ]
    around = "that goes on up to backward()" if case.captures else "around the forward pass, and what comes behind it,"
    hint = f"A capture {around} tells which line writes: with gradviz.torch.capture(): ..."
    evidence = (hint,) if line is None else ()
    place = case.place(rows[-1][0])
    return Finding("overwritten", sentence, tuple(filter(None, names)), line, True, evidence, tuple(ways_out), place)


def _is_optimized(case: Case, tensor: Tensor) -> bool:
    """Whether a tensor lies in the memory of what an optimizer holds."""
    return any(id(one) in case.optimized and storage_of(one) == storage_of(tensor) for one in case.leaves)


def _by(step: Step) -> str:
    special = {
        "step": "the optimizer's `step()`",
        "__setitem__": "an assignment to a part of it",
        "backward": "backward()",
        "autograd.backward": "torch.autograd.backward()",
        "autograd.grad": "torch.autograd.grad()",
    }
    return special.get(step.function, code(f"{step.function}()"))


def _name(case: Case, tensor: Tensor, writer: Step | None) -> str:
    """What the user calls what was overwritten: as the writer's line does, else as variables do."""
    storage = storage_of(tensor)
    if writer is not None:
        for one in (*writer.reads, *writer.writes):
            if one.storage == storage and (name := case.name_seen(one)):
                return name
        for step in case.steps:
            for one in step.makes:
                if one.storage == storage and step.number <= writer.number and (name := case.name_seen(one)):
                    return name
    return next(case.sharing(tensor), "")


CARRIED = "What an earlier pass has left, such as a hidden state, detach() before it is read again."

STOPPED = (
    "A backward() that stops with an error has freed what it went through, too: then that error is the cause, and "
    "gradviz.explain(error) says what it means. Compute the loss again, and diagnose it before backward()."
)


def freed(case: Case, *, again: bool = False) -> Iterator[Finding]:
    """A graph, or a part of it, that an earlier backward pass has freed.

    Args:
        again: whether a second pass has failed by that; else a graph that is freed is one whose pass is over.
    """
    if not case.freed:
        return
    gone = set(case.freed)
    is_part = any(node not in gone and any(raw_saved_by(node)) for node in case.graph.nodes)
    backward = _backward(case)
    # The loss was computed after that, on what it had freed.
    is_other = backward is not None and any(one.step > backward.number for one in case.seen_roots)
    if not (again or is_part or is_other) or next(computed_once(case), None) is not None:
        return
    if not again and next(overwritten(case), None) is not None:
        return  # that has ended the pass that freed a part
    line = case.line(backward)
    carried = None if is_part or is_other else _carried(case)
    shared = _shared(case, backward) if is_part or is_other else case.name_seen(carried) if carried is not None else ""
    what = f"the part of the graph behind {code(shared)}" if shared else "the graph" if not is_part else "a part of it"
    if backward is not None and not case.leads.isdisjoint(backward.makes):
        sentence = (
            f"{_by(backward)}{in_line(line)} was not told create_graph=True: its result, a part of the loss, has no "
            "gradient, and it has freed the graph, so backward() fails."
        )
        way_out = "Say torch.autograd.grad(..., create_graph=True)."
        yield Finding("double_backward", sentence, (shared,) if shared else (), line, ways_out=(way_out,))
        return
    by = f"{_by(backward)}{in_line(line)}" if backward is not None else "an earlier backward()"
    sentence = f"backward() goes through the graph a second time and fails: {by} has freed {what}."
    ways_out = (
        "Add the losses and call backward() once.",
        "Say retain_graph=True in the backward() that comes first.",
        "Compute what both share again, or detach() it where no gradient need pass.",
    )
    reads = Counter(one.node for node in case.graph.nodes for one in case.graph.inputs(node) if one is not None)
    if carried is not None or any(reads[leaf] > 1 for leaf in case.graph.leaves):  # as by a model called in both passes
        ways_out = (CARRIED, *ways_out[:2])
    maker = case.maker(carried)
    maker_line = case.line(maker) if maker is not None and maker.function else None
    what = code(shared) if shared else "What this pass was given of an earlier one"
    evidence = (f"{what} comes from {maker_line}: {maker_line.text}",) if maker_line is not None else ()
    if is_part and backward is None:
        evidence = (*evidence, STOPPED)
    yield Finding("freed", sentence, (shared,) if shared else (), line, True, evidence, ways_out)


def _backward(case: Case) -> Step | None:
    """The backward pass that has freed what is freed: the last that went through one of those operators."""
    makers = {step.number for node in case.freed if (step := case.step_of(node)) is not None}
    results = {one for step in case.steps if step.number in makers for one in step.makes}
    passes = [step for step in case.steps if step.function in PASSES and step.frees]
    differentiable = [one for one in case.steps if one.is_tracked and any(result.requires_grad for result in one.makes)]
    for step in passes:
        before = [one for one in differentiable if one.number < step.number]
        if not slice_of(before, step.reads[:1]).isdisjoint(results):
            return step
    return None


def _carried(case: Case) -> Seen | None:
    """What the last capture was given with a history, as a hidden state of an earlier pass; rather what has a name."""
    carried = [
        seen
        for one in case.captures[-1:]
        for step in one.flow.steps
        for seen in step.reads
        if seen.requires_grad and not seen.is_leaf and seen.step < one.flow.steps[0].number
    ]
    return next(filter(case.name_seen, carried), carried[0] if carried else None)


def _shared(case: Case, backward: Step | None) -> str:
    """What the user calls the last freed result that something not freed reads; else what only passes such ones on.

    Args:
        backward: that has freed them; what was called later another pass has freed, that has failed.
    """
    steps = {node: case.step_of(node) for node in case.freed}
    gone = {one for one, step in steps.items() if not (step and backward) or step.number < backward.number}
    for _ in range(2):
        for node in reversed(case.graph.nodes):
            for one in case.graph.inputs(node):
                if one is not None and one.node in gone and node not in gone and (name := case.output_name(one)):
                    return name
        for node in case.graph.nodes:
            reads = [one.node for one in case.graph.inputs(node) if one is not None]
            if reads and gone.issuperset(reads) and not any(raw_saved_by(node)):
                gone.add(node)
    return ""
