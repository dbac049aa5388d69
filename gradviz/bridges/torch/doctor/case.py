"""The case: a loss, the model it is of, what captures know, and what is looked up of them once."""

from __future__ import annotations

import inspect
import linecache
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from types import CodeType, FrameType
from typing import Any

import torch
from torch.autograd.graph import Node

from ....program import GradvizError
from ....program.code_line import CodeLine, line_at, stored
from ....program.errors import code, listed
from ..capture import (
    REMEMBERED,
    Module,
    capture,
    captures,
    dotted,
    ids_of_parts,
    module_name,
    named_parameters,
    paths_of,
    tensors_on,
    whole,
    with_hooks,
)
from ..flow import Seen, Step, look_up, parameters_of, sources_of, storage_of
from ..frames import Call, named_tensors, variables_of
from ..graph import Graph, Output, Tensor, described, function_of, is_freed, maker_of, number_of, type_of
from ..instances import instances
from ..origins import Origin, origins
from ..run import run
from ..watch import Notes, Visit
from .diagnosis import Place
from .reach import ends, slice_of


def _counts(graph: Graph) -> list[tuple[Node, int]]:
    """How many hold each leaf."""
    return [(node, sys.getrefcount(leaf)) for node, leaf in graph.leaves.items()]


with torch.inference_mode(False), torch.enable_grad():  # wherever gradviz is asked first
    _FEWEST = max(count for _, count in _counts(Graph([torch.zeros(1, requires_grad=True) * 2])))
    """The count for a leaf that nobody holds."""


INNER = {"addmm", "mm", "bmm", "baddbmm", "t", "to_copy", "convolution", "native_layer_norm", "native_batch_norm",
         "unsafe_view", "mkldnn_rnn_layer"}  # fmt: skip
"""Operators that the user's calls are made of and that are called otherwise there."""


class Case:
    """What is to be diagnosed.

    Args:
        roots: the loss, or several tensors.
        models: of the user; none: they are looked for in captures and variables.
        frames: of the user's code, the nearest first.

    Attributes:
        graph: what autograd has kept; empty where the loss requires no gradient.
    """

    def __init__(self, roots: Sequence[Tensor], models: Sequence[Module], frames: Sequence[FrameType]) -> None:
        self.roots = roots
        self.frames = frames
        self.graph = Graph(self.graph_roots)
        self._nobodys = {node for node, count in _counts(self.graph) if count <= _FEWEST}
        self._given = [whole(one) for one in models]
        self.models = self._called(self._given or self._outermost_models())

    def _outermost_models(self) -> list[Module]:
        """The outermost modules that captures and variables know, of which something is in the graph or was called."""
        around = [model for one in self.captures for model in one.models]
        models = list({id(one): one for one in map(whole, around or self.near)}.values())
        parts = ids_of_parts(models)
        called = {id(module) for step in self.steps for module in step.modules}
        return [
            one
            for one in models
            if id(one) not in parts
            and (id(one) in called or not self.has_graph or any(map(self.is_leaf, one.parameters())))
            and next(one.parameters(), None) is not None
        ]

    def _called(self, models: Iterable[Module]) -> dict[Module, str]:
        """Models, and what they are called: in a capture, else in the user's code."""
        captured = {whole(model): name for one in self.captures for model, name in one.models.items()}
        frame = next(iter(self.frames), None)
        return {model: captured.get(model) or module_name(model, frame) for model in models}

    @property
    def has_graph(self) -> bool:
        """Whether there is something to go backward from."""
        return bool(self.graph.roots)

    @property
    def is_given(self) -> bool:
        """Whether the user has said which model it is."""
        return bool(self._given)

    @cached_property
    def _captured(self) -> Mapping[Node, capture]:
        return captures(self.graph)

    @cached_property
    def captures(self) -> list[capture]:
        """Those that saw something of the loss; if it has no graph, else the last one that the model was called in."""
        of_graph = set(self._captured.values())
        of_loss = [one for one in REMEMBERED if one in of_graph or self._saw_a_root(one)]
        if of_loss or self.has_graph or not REMEMBERED:
            return of_loss
        own = {id(part) for model in self._given or self.near for part in model.modules()}
        last = REMEMBERED[-1]
        return [last] if any(id(module) in own for step in last.flow.steps for module in step.modules) else []

    @property
    def near(self) -> list[Module]:
        """The modules that variables hold."""
        return [value for _, value in self.variables if isinstance(value, Module)]

    @property
    def saw_loss(self) -> bool:
        """Whether a capture saw how the loss was computed."""
        return any(map(self._saw_a_root, self.captures))

    def _saw_a_root(self, one: capture) -> bool:
        roots = set(self.seen_roots)
        return any(not roots.isdisjoint(step.makes) for step in one.flow.steps)

    @cached_property
    def seen_roots(self) -> list[Seen]:
        """The roots as captures have seen them."""
        return list(filter(None, map(look_up, self.roots)))

    @cached_property
    def steps(self) -> list[Step]:
        """What the captures have seen, in order, and those that returned what they read."""
        chosen = list(self.captures)
        read = {seen for one in chosen for step in one.flow.steps for seen in step.reads}
        for one in reversed([other for other in REMEMBERED if other not in chosen]):
            if not read.isdisjoint(seen for step in one.flow.steps for seen in step.makes):
                chosen.append(one)
                read.update(seen for step in one.flow.steps for seen in step.reads)
        return sorted((step for one in chosen for step in one.flow.steps), key=lambda step: step.number)

    @cached_property
    def read_before(self) -> set[int]:
        """The identities of the tensors that earlier captures have seen read."""
        others = (one for one in REMEMBERED if one not in self.captures)
        reads = (seen.ref() for one in others for step in one.flow.steps for seen in step.reads)
        return {id(one) for one in reads if one is not None}

    @property
    def longest(self) -> Sequence[Step]:
        """What the capture has seen that saw most: between two of them there may be a zero_grad()."""
        return max((one.flow.steps for one in self.captures), key=len, default=())

    @property
    def last_step(self) -> Step | None:
        """The last step of an optimizer among these."""
        return next((one for one in reversed(self.longest) if one.function == "step"), None)

    @cached_property
    def leads(self) -> set[Seen]:
        """What the loss was computed from, as captures have seen it."""
        flows = [one.flow for one in self.captures]
        start = self.seen_roots or [seen for root in self.roots for seen in sources_of(root, flows)]
        return slice_of(self.steps, start or ([] if self.has_graph else ends(self.steps)))

    @property
    def leaves(self) -> list[Tensor]:
        """The leaves that the loss was computed from, as far as gradients go."""
        return list(self.graph.leaves.values())

    def is_leaf(self, tensor: Tensor) -> bool:
        """Whether a tensor is one of them."""
        return id(tensor) in self.graph.ends

    @cached_property
    def nobodys(self) -> list[Tensor]:
        """The parameters that nobody holds."""
        leaves = (self.graph.leaves[node] for node in self._nobodys)
        return [one for one in leaves if isinstance(one, torch.nn.Parameter)]

    @cached_property
    def only_readers(self) -> list[Node]:
        """Of each leaf that nobody holds, and that is no parameter, the one operator that reads it."""
        own = [node for node in self._nobodys if not isinstance(self.graph.leaves[node], torch.nn.Parameter)]
        readers_of_leaves = [self.readers(node) for node in own]
        return [readers[0] for readers in readers_of_leaves if len(readers) == 1]

    def readers(self, node: Node) -> list[Node]:
        """The operators that read what another one returned."""
        return [one for one in self.graph.nodes if any(before is node for before, _ in one.next_functions)]

    @cached_property
    def freed(self) -> list[Node]:
        """The operators whose saved tensors have been freed."""
        return list(filter(is_freed, self.graph.nodes))

    @cached_property
    def is_over(self) -> bool:
        """Whether a backward pass has gone through the graph and freed it."""
        return bool(self.freed)

    @cached_property
    def notes(self) -> Notes | None:
        """What the engine does when it goes backward, nothing being written; None: it cannot."""
        roots = self.graph_roots
        if not roots or self.is_over or any(root.grad_fn is None for root in roots):
            return None
        seeds = [torch.ones_like(root) for root in roots]
        try:
            tensors = with_hooks(tensors_on(self.graph, self._captured))
            return run(self.graph, roots, seeds, None, tensors=tensors, create_graph=False, write=False)
        except (GradvizError, RuntimeError):
            return None

    @cached_property
    def visits(self) -> list[Visit]:
        """Each operator that the engine went through, in order."""
        return [] if self.notes is None else [one for one in self.notes.happened if isinstance(one, Visit)]

    @property
    def graph_roots(self) -> list[Tensor]:
        """Those of the roots that require a gradient."""
        return [one for one in self.roots if one.requires_grad]

    @cached_property
    def variables(self) -> list[tuple[str, Any]]:
        """The variables of each frame and what they hold."""
        return [variable for frame in self.frames for variable in variables_of(frame).items()]

    @cached_property
    def parameters(self) -> dict[str, Tensor]:
        """The parameters of the models by their paths, behind what a model is called where there are several."""
        return dict(named_parameters(self.models))

    @property
    def trainable(self) -> dict[str, Tensor]:
        """Those of them that require a gradient."""
        return {name: one for name, one in self.parameters.items() if one.requires_grad}

    @property
    def trained(self) -> dict[str, Tensor]:
        """Those of them that the pass brings gradients."""
        return {name: one for name, one in self.parameters.items() if self.is_leaf(one)}

    @cached_property
    def modules(self) -> dict[Module, str]:
        """The modules of the models by their paths."""
        return paths_of(self.models)

    def variable(self, value: object) -> str:
        """The variable that holds something; empty: none does."""
        return next((name for name, one in self.variables if one is value and name != "self"), "")

    @cached_property
    def _names(self) -> dict[int, str]:
        captured = chain.from_iterable(one.parameters() for one in self.captures)
        return {id(one): name for name, one in reversed([*self.parameters.items(), *captured])}

    def name(self, tensor: Tensor) -> str:
        """What the user calls a tensor; empty: it is not known."""
        named = self._names.get(id(tensor)) or self.variable(tensor) or self._elements.get(id(tensor))
        if name := named or self._attribute(tensor):
            return name
        seen = look_up(tensor)
        return "" if seen is None else self.name_seen(seen)

    @cached_property
    def _elements(self) -> dict[int, str]:
        return {id(one): name for name, one in reversed([*self.tensors_of_variables()])}

    def _attribute(self, tensor: Tensor) -> str:
        for module, path in self.modules.items():
            for name, value in chain(vars(module).items(), module._buffers.items()):
                if value is tensor:
                    return dotted(path, name)
        return ""

    def name_seen(self, seen: Seen) -> str:
        """What the user calls a tensor that was seen; empty: it is not known."""
        tensor = seen.ref()
        if tensor is not None and (name := self._names.get(id(tensor))):
            return name
        if seen.name:
            return seen.name
        step = self._makers.get(seen)
        named = "" if step is None or step.call is None or self._goes_on(step) else stored(*step.call)
        return named or ("" if tensor is None else self.variable(tensor))

    def _goes_on(self, step: Step) -> bool:
        """Whether the call in the user's code that a step is a part of goes on after it."""
        place = bisect_right(self.steps, step.number, key=lambda one: one.number)
        after = self.steps[place] if place < len(self.steps) else None
        return after is not None and after.call == step.call and after.function != step.function

    def tensors_of_variables(self) -> Iterator[tuple[str, Tensor]]:
        """The tensors that variables hold, in lists and dicts too."""
        return named_tensors(self.variables)

    def maker(self, seen: Seen | None) -> Step | None:
        """The call that returned a tensor."""
        return self._makers.get(seen)

    @cached_property
    def _makers(self) -> dict[Seen | None, Step]:
        makers: dict[Seen | None, Step] = {}
        for step in self.steps:
            for one in step.makes:
                makers.setdefault(one, step)
        return makers

    def called(self, tensor: Tensor) -> str:
        """A tensor in words."""
        return code(name) if (name := self.name(tensor)) else f"a tensor of {described(tensor)}"

    @cached_property
    def origins(self) -> Mapping[Node, Origin]:
        """Where operators come from."""
        return origins(self._captured)

    def line(self, at: Node | Step | Call | None) -> CodeLine | None:
        """The line of the user's code that something was called on; None: it is not known."""
        if isinstance(at, Step):
            at = at.call
        elif at is not None and not isinstance(at, Call):  # PyTorch denies that an operator of TorchScript is a Node
            at = self.origins.get(at, Origin()).call
        return None if at is None else line_at(*at)

    def rule_line(self, node: Node) -> CodeLine | None:
        """The line of the backward of a Function of the user's; of another operator that of its call."""
        function = function_of(node)
        is_own = function is not None and not function.__module__.startswith("torch.")
        return (line_of(function.backward) if is_own else None) or self.line(node)  # type: ignore[union-attr]

    def operator(self, node: Node) -> str:
        """An operator in words, with its module where it has one."""
        module = self.origins.get(node, Origin()).module
        step = self.step_of(node) if type_of(node) in INNER else None
        name = step.function if step is not None and step.function.isidentifier() else type_of(node)
        name = name.removeprefix("torch.").removeprefix("native_")
        return f"{code(name)}{f' in {code(module)}' if module else ''}"

    def place(self, node: Node, *, is_backward: bool = True) -> Place | None:
        """Where a recording shows an operator; None: nowhere."""
        number = self.graph.index.get(node)
        return None if number is None else Place(number, is_backward)

    def step_of(self, node: Node) -> Step | None:
        """The call that made an operator."""
        return self._by_number.get(number_of(node))

    @cached_property
    def _by_number(self) -> dict[int, Step]:
        return {number: step for step in self.steps for number in range(*step.numbers)}

    @cached_property
    def writers(self) -> dict[int, list[Step]]:
        """The calls that wrote into what lies at an address, optimizers' steps too."""
        writers: dict[int, list[Step]] = {}
        for step in self.steps:
            for storage in {one.storage for one in (step.reads if step.function == "step" else step.writes)}:
                writers.setdefault(storage, []).append(step)
        return writers

    def output_name(self, one: Output) -> str:
        """What the user calls what an operator returned; empty: it is not known."""
        if one.node in self.graph.leaves:
            return self.name(self.graph.leaves[one.node])
        for name, value in self.tensors_of_variables():
            if maker_of(value) is one.node and value.output_nr == one.slot:
                return name
        if name := self.origins.get(one.node, Origin()).name:
            return name
        step = self.step_of(one.node)
        return "" if step is None or not step.makes else self.name_seen(step.makes[-1])

    def sharing(self, tensor: Tensor) -> Iterator[str]:
        """The parameters and variables that lie in the memory of a tensor."""
        storage = storage_of(tensor)
        for name, one in chain(self.parameters.items(), self.variables):
            if storage and isinstance(one, Tensor) and storage_of(one) == storage:
                yield name

    @cached_property
    def optimized(self) -> set[int]:
        """The identities of what optimizers hold."""
        return {id(one) for each in self.optimizers for one in parameters_of(each)}

    @cached_property
    def optimizers(self) -> list[torch.optim.Optimizer]:
        """Those that there are; to find them takes time."""
        return instances(torch.optim.Optimizer)


def where(line: CodeLine | None) -> str:
    """`` (net.py:12)``; nothing where the line is not known."""
    return "" if line is None else f" ({line})"


def in_line(line: CodeLine | None) -> str:
    """`` in net.py:12``; nothing where the line is not known."""
    return "" if line is None else f" in {line}"


def line_of(function: Any) -> CodeLine | None:
    """The line on which a function begins."""
    code_object = getattr(inspect.unwrap(function), "__code__", None)
    return None if code_object is None else line_of_code(code_object)


def line_of_code(code_object: CodeType) -> CodeLine:
    """The line on which a function of some code begins, below its decorators."""
    line = line_at(code_object, 0)
    for number in range(line.number, line.number + 9):
        text = linecache.getline(code_object.co_filename, number).strip()
        if text.startswith(("def ", "async def ")):
            return CodeLine(line.file, number, text)
        if not text.startswith("@"):
            break
    return line


def grouped(names: Sequence[str], parameters: Iterable[str]) -> str:
    """Parameters in words: those of a module of which all are there by the module."""
    all_names = list(parameters)
    if len(names) == 1:
        return code(names[0])
    chosen = set(names)
    if len(names) > 2 and chosen == set(all_names):
        return f"all {len(names)} parameters"
    wholes: dict[str, int] = {}
    rest = []
    for name in names:
        for prefix in _prefixes(name):
            inside = [one for one in all_names if one.startswith(f"{prefix}.")]
            if len(inside) > 1 and chosen.issuperset(inside):
                wholes[prefix] = len(inside)
                break
        else:
            rest.append(name)
    parts = [f"the {count} parameters of {code(prefix)}" for prefix, count in wholes.items()] + list(map(code, rest))
    if len(parts) > 4:
        return f"{', '.join(parts[:3])} and {len(parts) - 3} more"
    return listed(parts)


def subject(names: Sequence[str], parameters: Iterable[str], verb: str) -> str:
    """``The 2 parameters of `encoder` get``: parameters at the beginning of a sentence, and what they do."""
    one = {"are": "is", "have": "has"}.get(verb, f"{verb}s")
    return f"{capitalized(grouped(names, parameters))} {one if len(names) == 1 else verb}"


def them(names: Sequence[str]) -> str:
    """``it`` or ``them``."""
    return "it" if len(names) == 1 else "them"


def _prefixes(name: str) -> Iterator[str]:
    """``a``, ``a.b`` of ``a.b.weight``."""
    parts = name.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts)))


def each_of(names: Sequence[str], most: int = 8) -> tuple[str, ...]:
    """A sentence with each name, if there are several."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return () if len(names) == 1 else (f"They are {listed([code(name) for name in names[:most]])}{more}.",)


def capitalized(text: str) -> str:
    """As at the beginning of a sentence; a call stays as it is written."""
    return text if text.partition(" ")[0].endswith("()") else text[:1].upper() + text[1:]
