"""Recordings of backward passes of PyTorch, by its own engine: beside the user's own, or instead of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial
from types import FrameType
from typing import Any
from weakref import ref

import torch
from torch.autograd.graph import Node

from ...debugger.journal import Budget, Folder, Progress, Recording, agreed
from ...program import GradientError, GradvizError
from ...program.errors import code, count_of, listed, message_of
from ...program.events import Accumulated, Failed
from ...runtime.store import Store
from ...runtime.watched import Journal, uncollected
from .again import Again
from .capture import Module, captures, tensors_on, with_hooks
from .copies import Copies
from .doctor import findings_of, first_sentence, without_gradient
from .frames import users
from .graph import Graph, Tensor, described, is_nested, refusal_of, saved_by
from .names import Called, called_in, hooks_on, named
from .origins import origins
from .run import run
from .tell import Backward, Forward, Seed
from .values import RecordedSave, Values, returned
from .watch import Notes, Stand, reference

EVENTS_A_NODE = 6
"""About so many."""

INTEGERS = "Integers have no gradient: go backward from what they come from."


def record(
    loss: Tensor | Sequence[Tensor],
    *,
    gradient: Any = None,
    inputs: Tensor | Iterable[Tensor] | None = None,
    create_graph: bool = False,
    write: bool = False,
    forward: Callable[[], Any] | None = None,
    budget: Budget = None,
    spill: Folder = None,
    progress: Progress | None = None,
) -> Recording:
    """Let the engine of PyTorch go backward from tensors, and keep what it does.

    Args:
        loss: where to start; from several, what they send to a tensor is added.
        gradient: that of the loss, a tensor of its shape; of several a list. None: ones, for a loss of one element.
        inputs: of what gradients are wanted; None: of every leaf.
        create_graph: whether the gradients can be differentiated again.
        write: whether this is the user's own ``backward()``: ``grad`` is written and the graph freed. Else every
            tensor stays as it is, its ``grad`` too; hooks of tensors run.
        forward: computes `loss` again, from the same parameters and data, and returns it: with it `Session.check` of a
            leaf runs the model many times on copies, and changes no tensor and no module that it calls.
        budget: the most bytes in memory for copies of what the engine makes, on the CPU, and with `write` of what the
            graph lets go; what does not fit is written to a file. None: all is kept by reference.
        spill: the folder of that file, see `gradviz.debug`.
        progress: is told how far the recording is, every now and then if it takes long.

    An interrupt (Ctrl+C) ends the recording with a last event `Failed` of the kind ``interrupted``; a second one raises
    KeyboardInterrupt, as one does that comes while a hook handles interrupts itself.

    Raises:
        GradientError: ``bad_ys``: there is nothing to start from; ``bad_inputs``; ``bad_argument``: `forward` is no
            function. A fault met on the way is the last event, `Failed`.
        StoreError: ``bad_budget``, ``bad_spill``.
    """
    if forward is not None and not callable(forward):
        raise GradientError(
            f"forward is {type(forward).__name__}, no function that computes the loss again.",
            kind="bad_argument",
            ways_out=["Give the function and do not call it: debug(loss, forward=compute)."],
        )
    with agreed(budget, spill, progress) as limits, uncollected():
        one = Pass(loss, gradient=gradient, inputs=inputs, create_graph=create_graph, write=write, store=limits.store)
        count = len(one.graph.unordered_nodes)
        notes = one.run(Notes(one.keep, limits, count))
        limits.pace.end(None, notes.visited, notes.visited)
    called = one.called(sys._getframe(1))

    def journal() -> Journal:
        backward = one.backward(called)
        with torch.no_grad():
            backward.go_on(notes.happened)
            backward.end(notes.error, notes.hooked)
        return one.journal(backward, summary, forward)

    return Recording(journal, limits.store, size=EVENTS_A_NODE * count)


class Pass:
    """A backward pass that is to be recorded; the arguments are those of `record`.

    Attributes:
        graph: through which it goes.
        keep: how what the engine makes is kept.

    Args:
        store: keeps it within a budget; None: it is kept by reference.
    """

    def __init__(
        self,
        loss: Tensor | Sequence[Tensor],
        *,
        gradient: Any = None,
        inputs: Tensor | Iterable[Tensor] | None = None,
        create_graph: bool = False,
        write: bool = False,
        store: Store | None = None,
    ) -> None:
        self._roots = [loss] if isinstance(loss, Tensor) else list(loss)
        given = [gradient] if isinstance(loss, Tensor) else [None] * len(self._roots) if gradient is None else gradient
        _check(self._roots, given := list(given))
        self.graph = Graph(self._roots)
        if nested := next((one for one in self.graph.unordered_nodes if is_nested(one, strided=True)), None):
            raise _bad_ys(
                f"{nested.name()} goes back through a nested tensor of strided layout, which tells no shapes.",
                "Make it with layout=torch.jagged.", "Pad its rows to one length.",
            )  # fmt: skip
        self._inputs = None if inputs is None else _asked(inputs, {} if write else self.graph.ends)
        self.keep = reference if store is None else Copies(store).keep
        self._saved = self._saved_by_nodes(lets_go=write)
        self._captured = captures(self.graph)
        self._starts = list(map(reference, self._roots))
        # To look for those that no capture has seen takes long, and is not needed where gradients are written anyway.
        is_captured = len(self._captured) == len(self.graph.unordered_nodes)
        there = tensors_on(self.graph, self._captured) if is_captured or not write else []
        self._returned = returned(self.graph, there)
        tensors = with_hooks(there)
        self._tensors = list(map(ref, tensors))
        self._hooks = hooks_on([*tensors, *self.graph.leaves.values()], self.graph)
        self._models: Sequence[ref[Module]] = ()
        self._create_graph = create_graph
        self._write = write
        self._seeds = [
            Seed(reference(torch.ones_like(root) if own is None else own), own is not None)
            for root, own in zip(self._roots, given, strict=True)
        ]

    def _saved_by_nodes(self, *, lets_go: bool) -> dict[Node, list[RecordedSave]]:
        """What operators have kept, of those that have; `lets_go`: until their nodes have run."""
        saves: dict[Node, list[RecordedSave]] = {}
        output_of, leaves = self.graph.output_of, self.graph.leaves
        for node in self.graph.unordered_nodes:
            if saved := saved_by(node, output_of):
                saves[node] = of_node = []
                for name, tensor, of in saved:
                    keep = self.keep if lets_go and (of is None or of.node not in leaves) else reference
                    of_node.append(RecordedSave(name, keep(tensor), of, id(tensor)))
        return saves

    def run(self, notes: Notes, stand: Stand | None = None) -> Notes:
        """Let the engine go backward; the arguments are those of `run`."""
        tensors = [tensor for one in self._tensors if (tensor := one()) is not None]
        notes = run(
            self.graph,
            self._roots,
            [seed.gradient.tensor for seed in self._seeds],
            self._inputs,
            tensors=tensors,
            create_graph=self._create_graph,
            write=self._write,
            notes=notes,
            stand=stand,
        )
        notes.error = notes.error and _explained(notes.error)
        return notes

    def called(self, frame: FrameType | None) -> Called:
        """What captures and the user's code call tensors; `frame`: of whoever has been called from there."""
        called = called_in(users(frame), self.graph, set(self._captured.values()))
        self._models = called.models
        return called

    def backward(self, called: Called) -> Backward:
        """What is to tell it, with what was called and what the roots start with."""
        graph, values, whence = self.graph, Values(self.keep), origins(self._captured)
        names = named(graph, called, whence)
        for root, start in zip(self._roots, self._starts, strict=True):
            values.keep((names[graph.output_of(root)], 0), start)
        forward = Forward(graph, names, self._returned, self._saved, called.data, whence, values)
        is_whole, asked = self._inputs is None and (self._write or graph.checkpoints), graph.asked(self._inputs)
        runs = graph.unordered_nodes if is_whole else graph.on_the_way(asked)
        backward = Backward(forward, runs, asked, values, self._hooks)
        backward.begin(self._seeds)
        return backward

    def journal(
        self, backward: Backward, summary: Callable[[Journal], str], forward: Callable[[], Any] | None = None
    ) -> Journal:
        """What happened so far; `forward` as of `record`."""
        journal = backward.journal(summary, Again(self.graph, backward.names, self._starts, forward, backward.changed))
        return journal._replace(beside=partial(without_gradient, self._roots, self._models))


def _check(roots: Sequence[Any], gradients: Sequence[Any]) -> None:
    """Refuse what there is no backward pass from."""
    if not roots or len(gradients) != len(roots):
        what = f"{count_of(len(gradients), 'gradient')} for {count_of(len(roots), 'tensor')}"
        raise _bad_ys(
            f"{what}: there is nothing to go backward from.", "Give one gradient for each tensor, None for 1."
        )
    for number, (root, gradient) in enumerate(zip(roots, gradients, strict=True)):
        if not isinstance(root, Tensor):
            raise _bad_ys(f"{type(root).__name__} is no tensor.", "Give a tensor or a list of them.")
        if root.is_inference():
            raise _bad_ys(
                "The tensor was computed in torch.inference_mode(), which keeps no graph.",
                "Compute it outside of that.",
            )
        if not root.requires_grad:
            raise _bad_ys(
                f"The tensor, {described(root)}, requires no gradient, nor does anything that it was computed from.",
                *([] if root.is_floating_point() else [INTEGERS]),
                "Compute it from parameters that require one, outside of torch.no_grad().",
                "detach(), item(), numpy(), argmax and casts to integers cut the way between.",
            )
        if (refusal := refusal_of(root)) is not None:
            raise _explained(refusal, "bad_ys")
        if root.grad_fn is None:
            raise _bad_ys("The tensor is a leaf: nothing was computed.", "Give what was computed from it, a loss.")
        if gradient is None and root.numel() != 1:
            raise _bad_ys(
                f"The tensor is {described(root)}: only a single number has a gradient of its own, 1.",
                "Give one: debug(y, gradient=torch.ones_like(y)).", "Sum it up first: debug(y.sum()).",
            )  # fmt: skip
        if gradient is None and root.is_complex():
            raise _bad_ys(
                f"The tensor is {described(root)}: only a real number has a gradient of its own, 1.",
                "Go back from a real number: debug(y.abs()) or debug(y.real).",
                "Give one: debug(y, gradient=torch.ones_like(y)).",
            )
        if any(root is other for other in roots[:number]):
            raise _bad_ys(
                f"The tensor at place {number}, {described(root)}, is there twice: PyTorch adds its gradients up.",
                "Give it once, with the sum of them as its gradient.",
            )
        if gradient is not None and (not isinstance(gradient, Tensor) or gradient.shape != root.shape):
            given = described(gradient) if isinstance(gradient, Tensor) else type(gradient).__name__
            raise _bad_ys(f"The gradient is {given}, and the tensor {described(root)}.", "Give a tensor of its shape.")


def _asked(inputs: Any, ends: Container[int]) -> list[Tensor]:
    """Of what gradients are wanted; refuses what can have none. The leaves of a graph, `ends`, may be frozen by now."""
    wanted = [inputs] if isinstance(inputs, Tensor) or not isinstance(inputs, Iterable) else list(inputs)
    if not wanted:
        raise _bad_inputs("There are no inputs: no gradient is wanted.", "Leave inputs out for those of all leaves.")
    for number, one in enumerate(wanted):
        if not isinstance(one, Tensor):
            raise _bad_inputs(
                f"The input at place {number} is {type(one).__name__}, no tensor.",
                "Give tensors, such as list(model.parameters()).",
            )
        if (refusal := refusal_of(one)) is not None:
            raise _explained(refusal, "bad_inputs")
        if not one.requires_grad and id(one) not in ends:
            raise _bad_inputs(
                f"The input at place {number}, {described(one)}, requires no gradient.",
                "Call requires_grad_() before the forward pass.",
            )
    return wanted


def _bad_inputs(message: str, *ways_out: str) -> GradientError:
    return GradientError(message, kind="bad_inputs", ways_out=ways_out)


def _explained(error: Exception, kind: str = "engine_failed") -> Exception:
    """An error of the engine in the words of the doctor, where that knows it; which hook it was says the recording."""
    findings = None if isinstance(error, GradvizError) else findings_of(error)
    if not findings or findings[0].kind in ("hook", "fails"):
        return error
    message = f"{findings[0].sentence} PyTorch says: {first_sentence(message_of(error)).removesuffix('.')}."
    return GradientError(message, kind=kind, ways_out=findings[0].ways_out)


def _bad_ys(message: str, *ways_out: str) -> GradientError:
    return GradientError(message, kind="bad_ys", ways_out=ways_out)


def summary(journal: Journal, following: str | None = None) -> str:
    """What a recording is about; `following`: the operator that a live pass stands before."""
    sentence = f"{count_of(len(journal.net.ops), 'operator')} led to {listed(list(map(code, journal.ys)))}"
    if isinstance(last := journal.events[-1], Failed):
        return f"{sentence}. The backward pass stops at the last event: {last.message}"
    sums = sum(isinstance(event, Accumulated) for event in journal.events)
    sentence += "; the engine of PyTorch goes backward through them, of those that are ready the one called last first"
    sentence += f", with {count_of(sums, 'accumulation')}, and hooks of tensors."
    if following is not None:
        return f"{sentence} It stands still before that of operator {following}: what is behind has not happened yet."
    return f"{sentence} Step to see who is next."
