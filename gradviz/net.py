"""Net: what a person builds programs with. It joins the rooms: operators, gradients, immediate mode."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from .blocks import BlockNet
from .gradient import IR, Ys
from .gradient.deduplication import merge_rows
from .operators import lookup, similar, types
from .operators.arguments import check_names
from .operators.randomness import draws_by_name
from .program import Device, Gradient, GradientSlice, GradvizError, NetDef, NetError, Operator
from .program.code_line import UNKNOWN, Calls
from .program.control_flow import NETS, check_structure, nested_nets, within
from .program.crossing import with_copies
from .program.events import Aggregator
from .program.net import with_nets
from .program.operator import as_names, check_operator
from .program.single_assignment import without_overwriting
from .runtime.devices import device_of_block
from .runtime.executor import check_arity


class Net(BlockNet):
    """A net under construction.

    Operators are methods, called with the names of inputs and outputs; control flow is written in blocks.

    Raises:
        NetError: as NetDef; ``bad_argument`` where one of `ops` carries an argument that its type does not take.

    Example:
        >>> net = Net("n")
        >>> net.FC(["x", "w", "b"], "y")
        'y'
        >>> net.add("Scale", "y", "z", scale=2.0)
        'z'
        >>> with net.If("small"):
        ...     net.Tanh("z", "z")
        >>> net.add_gradient_operators(["z"])["x"]
        'x_grad'
    """

    def __init__(
        self,
        name: str = "net",
        ops: Iterable[Operator] = (),
        *,
        external_inputs: Iterable[str] = (),
        external_outputs: Iterable[str] = (),
    ) -> None:
        super().__init__(name, ops, external_inputs=external_inputs, external_outputs=external_outputs)
        for index, op in enumerate(self.ops):
            if op.args:
                _check_arguments(op, index)

    def add(
        self,
        type: str,
        inputs: str | Iterable[str],
        outputs: str | Iterable[str],
        *,
        device: Device | str | None = None,
        name: str = "",
        **args: Any,
    ) -> str | list[str]:
        """Append an operator; in immediate mode it runs first.

        Args:
            type: operator type; a wrong one is answered with the nearest ones.
            inputs, outputs: a blob name or several.
            device: where it runs; None: on the device of the `gradviz.device` block around, else where its inputs are.
            name: free text.
            args: the operator's arguments; a nested net as a net or in its JSON form.

        Returns:
            The output's name, a list of them where there are several.

        Raises:
            NetError: unknown type or argument, bad name; a control operator that is built wrong; a blob that is local
                to a block (``local_blob``). RunError: wrong number of inputs, or it failed to run in immediate mode.
                The net is left as it was.
        """
        index = len(self._level.ops)
        with self._located_in():
            if args:
                args = {name: value.copy() if isinstance(value, NetDef) else value for name, value in args.items()}
            where = device_of_block() if device is None else Device.parse(device)
            op = Operator(type, as_names(inputs, index), as_names(outputs, index), args, where, name)
            check_operator(op, index)
            if args:
                op = with_nets(op, index, self._level.depth)
            _check(op, index)
            self._check_not_local(op, index)
            self._put([op])
        return op.outputs[0] if len(op.outputs) == 1 else op.outputs

    def add_gradient_operators(self, ys: Ys, skip: int = 0) -> dict[str, Gradient]:
        """Append the operators that compute the gradients of `ys`.

        Where the net has ``copies = True``, what crosses from one device to another in it is copied by operators first.

        Args:
            ys: blobs to differentiate. A list: each starts from a gradient of ones. A dict: from the blob named,
                a GradientSlice, or ones where the value is None.
            skip: the first `skip` operators, which make data, take no part.

        Returns:
            Blob name -> name of its gradient (or a GradientSlice), for every blob that has one.

        Raises:
            GradientError: its `kind` says what is wrong, `explain()` also the ways out. NetError: ``open_block``;
                ``bad_device`` in immediate mode, where operators have run without the copies that they would need. The
                net is left as it was.
        """
        self._check_closed("gradients are added")
        net = self.copy()
        if self.copies:
            net, skip = with_copies(net, skip, {})
            if self._runs_on is not None and len(net.ops) > len(self.ops):
                raise NetError(
                    f"{self.name} crosses from one device to another, and its operators have run without copies.",
                    kind="bad_device",
                    ways_out=["Add the gradients outside of immediate mode.", "Add CopyCPUToGPU and CopyGPUToCPU."],
                )
        operators, gradients = IR(net.ops, skip).get_backward_pass(ys)
        self.ops[:], self.calls = net.ops, net.calls
        self._put(operators)
        return gradients

    def deduplicate_gradient_slices(self, gradient: GradientSlice, aggregator: Aggregator = "sum") -> GradientSlice:
        """Append the operators that merge rows of equal index in a sparse gradient.

        Args:
            gradient: indices of shape (n,), values of shape (n, ...).
            aggregator: ``"sum"``, which keeps the gradient's meaning, or ``"mean"`` of the rows of equal index.

        Returns:
            The slice with each index once, sorted: indices of shape (m,), values of shape (m, ...).

        Raises:
            NetError: ``bad_argument`` when `gradient` is dense or the aggregator another; ``open_block``. RunError: it
                failed to run in immediate mode. The net is left as it was.
        """
        self._check_closed("rows are merged")
        merge = merge_rows(gradient, aggregator, {blob for op in self.ops for blob in (*op.inputs, *op.outputs)})
        self._put(NetDef(self.name, merge.operators).ops)
        return merge.gradient

    def to_ssa(self) -> Self:
        """The same net with every version under its own name: nothing is overwritten, so nothing is lost for gradients.

        What the net reads from outside keeps its name; of a blob made inside, the last version keeps it. So it is in
        nested nets. The branches of an If copy what they leave as it is, and a blob that a While carries is copied for
        it. Scopes keep their names. Random operators draw what they drew before: ``drawn_for`` says under which name.

        Raises:
            NetError: ``open_block``.

        Example:
            >>> net = Net()
            >>> net.Mul(["t", "w"], "t")    # its gradient needs the t that it overwrites
            >>> str(net.to_ssa().ops[0])
            't_1 = Mul(t, w)'
        """
        self._check_closed("a net is put into SSA")
        calls = Calls()

        def became(op: Operator, operators: Sequence[Operator]) -> None:
            calls.update({id(one): (one, self.calls.of(op) or UNKNOWN) for one in operators})

        ssa = type(self)(self.name, without_overwriting(self.ops, draws_by_name, became))
        ssa.calls, ssa.copies = calls, self.copies
        ssa._note(ssa.ops, UNKNOWN)
        return ssa

    def _check_closed(self, what: str) -> None:
        if self._open:
            raise NetError(
                f"The block {self._level.name} is open: {what} where the whole net is known.",
                kind="open_block",
                ways_out=["Call it after the block."],
            )

    def __getattr__(self, type: str) -> Callable[..., str | list[str]]:
        operator_type = lookup(type)
        if operator_type is None or type.startswith("_"):
            near = "" if type.startswith("_") else " ".join(similar(type))
            raise AttributeError(f"Net has no method or operator type {type!r}. {near}".strip())

        def add(inputs: str | Iterable[str], outputs: str | Iterable[str], **options: Any) -> str | list[str]:
            return self.add(type, inputs, outputs, **options)

        add.__name__, add.__qualname__ = type, f"Net.{type}"
        add.__doc__ = f"{operator_type.doc}\n\n{operator_type.formula}\n\nAppends the operator, like Net.add."
        return add

    def __dir__(self) -> Iterable[str]:
        return {*super().__dir__(), *(operator_type.type for operator_type in types())}


def _check(op: Operator, index: int) -> None:
    """Raise unless `op`, and what is in its nested nets, fits the operators' types."""
    operator_type = lookup(op.type)
    if operator_type is None:
        raise NetError(
            f"There is no operator type {op.type!r} (operator #{index}).",
            kind="unknown_operator",
            operator_index=index,
            blobs=op.outputs,
            ways_out=similar(op.type),
        )
    check_arity(op, index, operator_type)
    check_names(op, index, operator_type.args, NetError)
    if op.type in NETS:
        check_structure(op, index)
        _check_nested(op, index, _check)


def _check_arguments(op: Operator, index: int) -> None:
    """Raise unless the types of `op`, and of what is in its nested nets, take the arguments that these carry."""
    operator_type = lookup(op.type)
    if operator_type is not None:
        check_names(op, index, operator_type.args, NetError)
    if op.type in NETS:
        _check_nested(op, index, _check_arguments)


def _check_nested(op: Operator, index: int, check: Callable[[Operator, int], None]) -> None:
    """Call `check` for each operator in the nested nets of `op`; what it raises tells the way there."""
    for argument, net in nested_nets(op).items():
        for place, nested in enumerate(net.ops):
            try:
                check(nested, place)
            except GradvizError as error:
                raise within(error, op, index, argument) from error
