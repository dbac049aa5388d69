"""Net: what a person builds programs with. It joins the rooms: operators, gradients, immediate mode."""

from collections.abc import Callable, Iterable
from typing import Any

from .gradient import IR, Ys
from .gradient.deduplication import merge_rows
from .operators import lookup, similar, types
from .program import Device, Gradient, GradientSlice, NetDef, NetError, Operator
from .program.events import Aggregator
from .program.operator import as_names, check_operator
from .runtime import immediate_workspace
from .runtime.faults import check_arity


class Net(NetDef):
    """A net under construction.

    Example:
        >>> net = Net("n")
        >>> net.FC(["x", "w", "b"], "y")
        'y'
        >>> net.add("Relu", "y", "z")
        'z'
        >>> net.add_gradient_operators(["z"])["x"]
        'x_grad'
    """

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
            type: operator type; a wrong one is answered with the nearest known.
            inputs, outputs: a blob name or several.
            device: where it runs, None: where its inputs are.
            name: free text.
            args: the operator's arguments.

        Returns:
            The output's name, a list of them where there are several.

        Raises:
            NetError: unknown type or argument, bad name. RunError: wrong number of inputs, or it failed to run in
                immediate mode. The net is left as it was.
        """
        index = len(self.ops)
        op = Operator(type, as_names(inputs, index), as_names(outputs, index), args, Device.parse(device), name)
        check_operator(op, index)
        self._check(op, index)
        workspace = immediate_workspace()
        if workspace is not None:
            workspace.run_operator(op)
        self.ops.append(op)
        return op.outputs[0] if len(op.outputs) == 1 else op.outputs

    def add_gradient_operators(self, ys: Ys, skip: int = 0) -> dict[str, Gradient]:
        """Append the operators that compute the gradients of `ys`.

        Args:
            ys: blobs to differentiate. A list: each starts from a gradient of ones. A dict: from the blob named,
                a GradientSlice, or ones where the value is None.
            skip: the first `skip` operators, which make data, take no part.

        Returns:
            Blob name -> name of its gradient (or a GradientSlice), for every blob that has one.

        Raises:
            GradientError: its `kind` says what is wrong, `explain()` also the ways out. The net is left as it was.
        """
        operators, gradients = IR(self.ops, skip).get_backward_pass(ys)
        workspace = immediate_workspace()
        if workspace is not None:
            workspace.run(NetDef(self.name, operators))
        self.ops.extend(operators)
        return gradients

    def deduplicate_gradient_slices(self, gradient: GradientSlice, aggregator: Aggregator = "sum") -> GradientSlice:
        """Append the operators that merge rows of equal index in a sparse gradient.

        Args:
            gradient: indices of shape (n,), values of shape (n, ...).
            aggregator: ``"sum"``, which keeps the gradient's meaning, or ``"mean"`` of the rows of equal index.

        Returns:
            The slice with each index once, sorted: indices of shape (m,), values of shape (m, ...).

        Raises:
            NetError: ``bad_argument`` when `gradient` is dense or the aggregator another. RunError: it failed to run in
                immediate mode. The net is left as it was.
        """
        merge = merge_rows(gradient, aggregator, {blob for op in self.ops for blob in (*op.inputs, *op.outputs)})
        made = NetDef(self.name, merge.operators)
        workspace = immediate_workspace()
        if workspace is not None:
            workspace.run(made)
        self.ops.extend(made.ops)
        return merge.gradient

    def _check(self, op: Operator, index: int) -> None:
        known = lookup(op.type)
        if known is None:
            raise NetError(
                f"There is no operator type {op.type!r} (operator #{index}).",
                kind="unknown_operator",
                operator_index=index,
                blobs=op.outputs,
                ways_out=similar(op.type),
            )
        check_arity(op, index, known)
        if known.args is not None:
            for name in op.args:
                if name not in known.args:
                    raise NetError(
                        f"{op.type} takes no argument {name!r} (operator #{index} {op}).",
                        kind="bad_argument",
                        operator_index=index,
                        blobs=op.outputs,
                        ways_out=[f"It takes {', '.join(known.args) or 'none'}."],
                    )

    def __getattr__(self, type: str) -> Callable[..., str | list[str]]:
        known = lookup(type)
        if known is None or type.startswith("_"):
            near = "" if type.startswith("_") else " ".join(similar(type))
            raise AttributeError(f"Net has no method or operator type {type!r}. {near}".strip())

        def add(inputs: str | Iterable[str], outputs: str | Iterable[str], **options: Any) -> str | list[str]:
            return self.add(type, inputs, outputs, **options)

        add.__name__ = type
        add.__doc__ = f"{known.doc}\n\n{known.formula}\n\nAppends the operator, like Net.add."
        return add

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(known.type for known in types())]
