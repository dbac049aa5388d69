"""The graph that autograd has kept: who computed what from what, in the order of the forward pass.

What PyTorch hides in names of its own is asked for here alone, and each may be gone one day: then less is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from heapq import heapify, heappop, heappush
from operator import attrgetter
from threading import get_ident
from typing import Any, NamedTuple, cast

import torch
from torch.autograd.graph import Node

from ...operators import lookup

Tensor = torch.Tensor

SAVED = "_raw_saved_"

DISABLED = torch._C.DisableTorchFunction
"""While it lasts, calls are not noted: who looks at what a capture saw is no part of that."""


class Output(NamedTuple):
    """What an operator returned: output `slot` of the one that `node` is the backward of; a leaf has a node too."""

    node: Node
    slot: int


class Saved(NamedTuple):
    """A tensor that an operator kept for its backward.

    Attributes:
        name: what the operator calls it.
        of: which output it is; None: nothing that a gradient goes to.
    """

    name: str
    tensor: Tensor
    of: Output | None


class Graph:
    """What was computed on the way to tensors.

    Attributes:
        roots: what was asked for, in order.
        unordered_nodes: the nodes of operators, in any order.
        leaves: the node of each leaf -> its tensor.
        ends: what each leaf is, by its identity.

    Args:
        roots: tensors that require a gradient.
    """

    def __init__(self, roots: Iterable[Tensor]) -> None:
        self.roots = [output_of(root) for root in roots]
        self.leaves: dict[Node, Tensor] = {}
        self.unordered_nodes: list[Node] = []
        for node in reached(root.node for root in self.roots):
            if is_leaf(node):
                self.leaves[node] = cast(Any, node).variable
            else:
                self.unordered_nodes.append(node)
        self.ends = {id(leaf): Output(node, 0) for node, leaf in self.leaves.items()}
        self._inside: dict[Node, list[Output]] = {}

    @cached_property
    def nodes(self) -> list[Node]:
        """The nodes of operators, each after those whose outputs it read."""
        return _ordered(self.unordered_nodes)

    def inputs(self, node: Node) -> list[Output | None]:
        """What an operator read, that inside of a checkpoint last; None: it needs no gradient."""
        before = [None if one is None else Output(one, slot) for one, slot in node.next_functions]
        return [*before, *self._inside.get(node, ())]

    def asked(self, inputs: Iterable[Tensor] | None) -> dict[Output, Tensor]:
        """The tensors that gradients are asked for; None: every leaf."""
        if inputs is None:
            return {Output(node, 0): leaf for node, leaf in self.leaves.items()}
        return {self.output_of(tensor): tensor for tensor in inputs}

    def output_of(self, tensor: Tensor) -> Output:
        """What a tensor is in the graph."""
        # PyTorch is slow to tell of a leaf, and names another end where it has been moved to another type or device.
        return self.ends.get(id(tensor)) or output_of(tensor)

    def on_the_way(self, asked: Iterable[Output]) -> set[Node]:
        """The nodes that the engine runs when these are asked for."""
        ends, reaching = {one.node for one in asked}, set[Node]()
        for node in self.nodes:
            if any(one is not None and (one.node in reaching or one.node in ends) for one in self.inputs(node)):
                reaching.add(node)
        return reaching

    def send_inside(self, node: Node, leaf: Tensor) -> None:
        """A checkpoint has read a leaf."""
        one = output_of(leaf)
        self.leaves[one.node] = leaf
        self.ends[id(leaf)] = one
        self._inside.setdefault(node, []).append(one)

    @cached_property
    def index(self) -> dict[Node, int]:
        """The number of each operator."""
        return {node: number for number, node in enumerate(self.nodes)}

    @cached_property
    def functions(self) -> list[Node]:
        """Those of Functions that somebody wrote in Python."""
        return list(filter(is_function, self.unordered_nodes))

    @cached_property
    def checkpoints(self) -> list[Node]:
        """Those of reentrant checkpoints, which run a backward pass of their own inside."""
        return [node for node in self.functions if node.name() == "CheckpointFunctionBackward"]

    @cached_property
    def outputs(self) -> dict[Node, int]:
        """How many outputs each operator has, as far as somebody reads them."""
        count = dict.fromkeys(self.nodes, 1)
        for one in [*self.roots, *(one for node in self.nodes for one in self.inputs(node))]:
            if one is not None and one.node in count:
                count[one.node] = max(count[one.node], one.slot + 1)
        return count


def is_leaf(node: Node) -> bool:
    """Whether a node stands for a leaf."""
    return type(node).__name__ == "AccumulateGrad"


def output_of(tensor: Tensor) -> Output:
    """What a tensor is in the graph that it belongs to."""
    if (node := tensor.grad_fn) is not None:
        return Output(node, tensor.output_nr)
    if tensor.layout is torch.strided and not tensor.is_nested:
        return Output(cast(Any, torch.autograd.graph).get_gradient_edge(tensor).node, 0)
    with torch.enable_grad():  # of others there is no view to ask
        return Output(cast(Any, tensor.clone().grad_fn).next_functions[0][0], 0)


def maker_of(tensor: Tensor) -> Node | None:
    """The node of the operator that returned a tensor; None: there is none, or it is not known any more."""
    try:
        return tensor.grad_fn
    except RuntimeError:  # of a view of what was written into where gradients were off
        return None


def refusal_of(tensor: Tensor) -> RuntimeError | None:
    """Why PyTorch does not say what has made a tensor, as of a view whose base was written into; None: it does."""
    try:
        tensor.grad_fn  # noqa: B018
    except RuntimeError as error:
        return error
    return None


def is_leaf_tensor(tensor: Tensor) -> bool:
    """Whether a tensor is a leaf; one whose maker is not known any more is none."""
    try:
        return tensor.is_leaf
    except RuntimeError:
        return False


def saved_by(node: Node, output_of: Callable[[Tensor], Output] = output_of) -> list[Saved]:
    """The tensors that an operator has kept and that nobody has written into since; `output_of` tells what they are.

    Those that a hook packed are left out: to unpack them may compute them again.
    """
    saved: list[Saved] = []
    for name, packed, unpacked in _saves(type(node)):
        try:
            value = None if _is_hooked(packed(node)) else unpacked(node)
        except (RuntimeError, AttributeError):  # by what was overwritten, or freed
            continue
        is_one = isinstance(value, Tensor)
        for number, tensor in enumerate([value] if is_one else value or ()):
            if tensor is not None:
                of = output_of(tensor) if tensor.requires_grad else None
                saved.append(Saved(name if is_one else f"{name}.{number}", tensor, of))
    return saved


class Raw(NamedTuple):
    """A tensor that an operator kept, whatever has become of it; `is_overwritten`: PyTorch knows that it was written
    into since."""

    tensor: Tensor
    is_overwritten: bool


def raw_saved_by(node: Node) -> Iterator[Raw]:
    """The tensors that an operator has kept, overwritten or not; those that a hook packed are left out."""
    for save, packed in _packed(node):
        if _is_hooked(packed):
            continue
        error = _refusal(node, save)
        moved = re.search(r"is at version (\d+)", error)
        for one in packed:
            if one is not None and one.data is not None:
                is_it = moved is not None and one.data._version == int(moved[1])
                yield Raw(one.data, "inplace" in error and is_it)


def is_freed(node: Node) -> bool:
    """Whether a backward pass has freed what an operator had kept."""
    hooked = {save for save, packed in _packed(node) if _is_hooked(packed)}
    return any("second time" in _refusal(node, save) for save in _saves(type(node)) if save not in hooked)


class Save(NamedTuple):
    """What the nodes of a type keep under a name: as it is kept, and as it was, which may be refused."""

    name: str
    packed: Callable[[Node], Any]
    unpacked: Callable[[Node], Any]


@cache
def _saves(type: type[Node]) -> list[Save]:
    """What the nodes of a type keep."""
    names = [name.removeprefix(SAVED) for name in dir(type) if name.startswith(SAVED)]
    own = {"tensors": "saved_tensors"}
    return [Save(name, attrgetter(SAVED + name), attrgetter(own.get(name, f"_saved_{name}"))) for name in names]


def _packed(node: Node) -> Iterator[tuple[Save, Sequence[Any]]]:
    """What an operator has kept, as it keeps it."""
    for save in _saves(type(node)):
        try:
            packed = save.packed(node)
        except (RuntimeError, AttributeError):  # by what was freed
            continue
        yield save, packed if isinstance(packed, (list, tuple)) else (packed,)


def _is_hooked(packed: Any) -> bool:
    """Whether to unpack it, or one of several, may compute it again."""
    if isinstance(packed, (list, tuple)):
        return any(map(_is_hooked, packed))
    return packed is not None and getattr(packed, "unpack_hook", packed) is not None


def is_hooked(node: Node) -> bool:
    """Whether reading what an operator has kept may compute it again."""
    return any(_is_hooked(packed) for _, packed in _packed(node))


def _refusal(node: Node, save: Save) -> str:
    """Why what an operator has kept cannot be read; empty: it can."""
    try:
        save.unpacked(node)
    except RuntimeError as error:
        return str(error)
    return ""


class Kind(NamedTuple):
    """What a tensor was like."""

    dtype: torch.dtype
    layout: torch.layout
    shape: torch.Size
    device: torch.device

    @property
    def is_sparse(self) -> bool:
        """Whether it held rows alone."""
        return self.layout is torch.sparse_coo


Like = Tensor | Kind
"""What tells what a tensor is like, without its elements."""


def hooks_of(tensor: Tensor) -> list[Callable[..., Any]]:
    """The hooks of a tensor, in the order in which they run."""
    hooks = getattr(tensor, "_backward_hooks", None)
    return list(hooks.values()) if hooks else []


def version_of(tensor: Tensor) -> int:
    """How often a tensor has been written into; -1: it does not say so, as one of inference mode."""
    try:
        return tensor._version
    except (RuntimeError, AttributeError):
        return -1


def fits(tensor: Like, one: Output) -> bool:
    """Whether a gradient is of the shape and type of an output; the engine makes it so before it adds it."""
    like = _metadata(one)
    is_of_shape = like is None or tensor.layout is not torch.strided or tensor.shape == torch.Size(like.shape)
    return like is None or (is_of_shape and tensor.dtype == like.dtype)


def fitted(tensor: Tensor, one: Output) -> Tensor:
    """A gradient as the engine makes it fit an output."""
    like = _metadata(one)
    if tensor.layout is torch.strided:
        tensor = tensor.sum_to_size(tuple(like.shape))
    return tensor.to(like.dtype)


def gradients_of(node: Node, given: Mapping[int, Tensor]) -> list[Tensor | None]:
    """What a node takes when it is called: a gradient for each output, or None."""
    likes = enumerate(cast(Any, node)._input_metadata)
    return [given[slot].to(like.device, like.dtype) if slot in given else None for slot, like in likes]


def dtype_of(one: Output) -> torch.dtype | None:
    """The type of the elements of an output; None: it is not known."""
    return getattr(_metadata(one), "dtype", None)


def shape_of(one: Output) -> tuple[int, ...]:
    """The shape of an output; empty, as of a single number, where it is not known."""
    return tuple(getattr(_metadata(one), "shape", ()))


def _metadata(one: Output) -> Any:
    """What the engine makes gradients of an output fit; None: it is not known."""
    metadata = getattr(one.node, "_input_metadata", ())
    return metadata[one.slot] if one.slot < len(metadata) else None


def is_nested(node: Node, *, strided: bool = False) -> bool:
    """Whether an operator returned a nested tensor; `strided`: one of the layout that tells no shape."""
    of_kind = attrgetter("is_cpp_nested_tensor" if strided else "is_nested_tensor")
    return any(map(of_kind, getattr(node, "_input_metadata", ())))


def dim_of(node: Node) -> int | None:
    """The dimension that an operator goes along, as it was given; None: it is not known."""
    dim = getattr(node, "_saved_dim", None)
    return dim if dim is None or dim < 1 << 63 else dim - (1 << 64)


def number_of(node: Node) -> int:
    """Which operator of its thread it was: the engine takes those that came last first; -1: it is not known."""
    number: int = getattr(node, "_sequence_nr", lambda: -1)()
    return number


task: Callable[[], int] = getattr(torch._C, "_current_graph_task_id", lambda: 0)
"""The number of the backward pass that this thread is in, of which several may run at once; 0: it is not known."""


next_number: Callable[[], int] = getattr(torch.autograd, "_get_sequence_nr", lambda: 0)
"""The number that the next operator of this thread will have; always the same: it is not known."""


def type_of(node: Node) -> str:
    """What the operator of a node is called: ``addmm``; a Function of the user's as its class."""
    return _type_of(node.name(), is_function(node))


@cache
def _type_of(name: str, is_own: bool) -> str:
    name = re.sub(r"Backward\d*$", "", name.rpartition("::")[2])
    if not is_own:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])", "_", name).lower()
    name = re.sub(r"[^\w.]", "_", name) or "operator"
    return name if lookup(name) is None else f"torch.{name}"


def function_of(node: Node) -> type[torch.autograd.Function] | None:
    """The Function in Python that a node belongs to; None: it belongs to none, or it is not known."""
    return getattr(node, "_forward_cls", None) if is_function(node) else None


def unwrapped(tensor: Tensor) -> Tensor:
    """What function transforms of torch.func, as vmap, have wrapped; the tensor itself where none has, or none says."""
    is_wrapped = getattr(_FUNCTORCH, "is_functorch_wrapped_tensor", lambda one: False)
    while is_wrapped(tensor):
        tensor = cast(Any, _FUNCTORCH).get_unwrapped(tensor)
    return tensor


def transform_level() -> int | None:
    """How deep the innermost function transform of torch.func is; None: there is none, or none says."""
    level: int | None = getattr(_FUNCTORCH, "maybe_current_level", lambda: None)()
    return level


_FUNCTORCH = getattr(torch._C, "_functorch", None)


def waits_for_grad(leaf: Tensor) -> bool:
    """Whether hooks wait for ``grad`` of a leaf to be written."""
    return bool(getattr(leaf, "_post_accumulate_grad_hooks", None))


def is_function(node: Node) -> bool:
    """Whether a node belongs to a Function that somebody wrote in Python."""
    return isinstance(node, torch.autograd.function.BackwardCFunction)


@contextmanager
def applied(hook: Callable[[int], None]) -> Iterator[None]:
    """While it lasts, `hook` is called with the number of each Function in Python that this thread applies."""
    if _CREATED is not None:
        with _CREATED(lambda node: hook(number_of(node)) if is_function(node) else None):
            yield
        return
    mine = get_ident(), hook
    _HOOKS.append(mine)
    try:
        yield
    finally:
        _HOOKS.remove(mine)


_CREATED = getattr(torch.autograd.graph, "node_creation_hook", None)
"""Of torch 2.15: tells of every node that is made."""

_HOOKS: list[tuple[int, Callable[[int], None]]] = []
"""Called, in these threads, with the numbers of Functions where PyTorch itself tells nobody of them."""


def _begin(node: Node, *_: Any) -> None:
    """A Function in Python is being applied."""
    for thread, hook in list(_HOOKS):
        if thread == get_ident():
            hook(number_of(node) if _has_begun(node) else next_number())


def _has_begun(node: Node) -> bool:
    """Whether the engine has numbered a node whose Function is being applied: older PyTorch does so after that, and
    does not survive to be asked for the number before."""
    try:
        return node.next_functions is not None
    except RuntimeError:
        return False


if _CREATED is None:
    # Once and for all: to put it on and off while another thread applies a Function is not safe.
    cast(Any, torch.autograd.function.BackwardCFunction).__init__ = _begin


def reached(roots: Iterable[Node], stops: Callable[[Node], bool] | None = None) -> Iterator[Node]:
    """Every node on the way from the roots, once, but none that is only behind those that stop it."""
    stack = list(dict.fromkeys(roots))
    seen = set(stack)
    while stack:
        node = stack.pop()
        yield node
        if stops is not None and stops(node):
            continue
        for before, _ in node.next_functions:
            if before is not None and before not in seen:
                seen.add(before)
                stack.append(before)


def _ordered(nodes: list[Node]) -> list[Node]:
    """Nodes, each after those that it read; of those that are free to come, the first that was called."""
    inside = set(nodes)
    readers: dict[Node, list[Node]] = {node: [] for node in nodes}
    waits_for = dict.fromkeys(nodes, 0)
    for node in nodes:
        for before, _ in node.next_functions:
            if before in inside:
                readers[before].append(node)
                waits_for[node] += 1
    place = {node: at for at, node in enumerate(nodes)}
    free = [(number_of(node), place[node]) for node in nodes if not waits_for[node]]
    heapify(free)
    ordered = []
    while free:
        node = nodes[heappop(free)[1]]
        ordered.append(node)
        for reader in readers[node]:
            waits_for[reader] -= 1
            if not waits_for[reader]:
                heappush(free, (number_of(reader), place[reader]))
    return ordered


def described(tensor: Tensor) -> str:
    """``3 x 4 float32``."""
    shape = " × ".join(map(str, tensor.shape)) or "a single"
    return f"{shape} {str(tensor.dtype).removeprefix('torch.')}"
