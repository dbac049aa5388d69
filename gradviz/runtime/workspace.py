"""Workspace: named arrays, and running nets and operators on them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, Self
from weakref import WeakKeyDictionary

from ..operators.registry import NUMERIC, Array
from ..program import Device, GradientSlice, NetDef, Operator, RunError
from ..program.errors import count_of, meant, message_of, repr_of, shorten
from ..program.operator import check_name, check_operator
from .devices import CPU, as_array, available, copied, device_here, device_of, guarded, moved
from .executor import execute
from .pace import Progress
from .planning import Plan, plan


class Workspace:
    """Blobs by name. Every value is a read-only array: running writes new arrays, never into old ones.

    CuPy's arrays, which blobs on a GPU are, have no flag that keeps others from writing into them.

    Several threads may use it. A run works on the blobs as they are when it starts, and what it wrote is there at once
    when it ends. What others fed or ran meanwhile stays, but for blobs that it wrote, too: the last one to end counts.

    Args:
        device: where `feed` puts blobs, and where operators run for which nothing else says it: ``"cpu"``, or
            ``"cuda:0"`` with CuPy and a GPU; None: the device of the `gradviz.device` block around, else the CPU.
            `gradviz.program.crossing` has the whole rule.

    Raises:
        NetError: ``bad_device`` for what is no device.
        RunError: ``bad_device`` for a device that is not there; it says what is missing.
    """

    def __init__(self, device: str | Device | None = None) -> None:
        self.device = device_here() if device is None else available(Device.parse(device) or CPU)
        self._values: dict[str, Array] = {}
        self._changes = 0
        self._lock = Lock()
        self._plans: WeakKeyDictionary[NetDef, Plan] = WeakKeyDictionary()

    def feed(self, name: str, value: Any) -> None:
        """Store a copy of `value` as blob `name`, on the device of the workspace.

        Args:
            name: a legal blob name.
            value: a numpy or CuPy array or anything numpy makes a boolean or numeric array of; its dtype is kept.

        Raises:
            NetError: ``bad_name``.
            RunError: ``bad_value`` when it is not boolean or numeric; the blob keeps the value it had.
        """
        check_name(name, "blob")
        try:
            array = copied(as_array(value), self.device)
        except Exception as error:
            raise _not_numeric(name, f"no array on {self.device} can be made of it ({message_of(error)})") from error
        if array.dtype.kind not in NUMERIC:
            raise _not_numeric(name, f"its dtype is {array.dtype}")
        with self._lock:
            self._values[name] = array
            self._changes += 1

    def fetch(self, name: str, device: str | Device | None = "cpu") -> Array:
        """The blob `name`, as a numpy array that stays read-only, wherever the blob lies (copy it to change it).

        Args:
            device: where to have it, ``"cuda:0"`` as a CuPy array; None: where it lies, without a copy. CuPy cannot
                make arrays read-only: copy one before you write into it, for it may be the blob itself.

        Raises:
            RunError: ``undefined_blob``; ``bad_device`` for a device that is not there.
        """
        wanted = Device.parse(device)
        try:
            array = self._values[name]
        except (KeyError, TypeError):
            raise self._missing(name) from None
        return guarded(array if wanted is None else moved(array, available(wanted)))

    def run(self, net: NetDef, *, progress: Progress | None = None) -> None:
        """Run every operator of `net` in order.

        Shapes, names and types of the whole net are checked first. When anything raises, the workspace is as it was.
        `progress` is told how far it is if it takes long.

        Raises:
            RunError: see `gradviz.runtime.planning.plan` and `executor.run_step`; ``operator_index`` is the
                operator's in `net`.
        """
        if not isinstance(net, NetDef):
            raise RunError(
                f"{repr_of(net)} is no net to run.",
                kind="bad_net",
                ways_out=["Give a gradviz.Net; for an operator: run_operator."],
            )
        values, changes = self._now()
        ready = self._plans.get(net)
        if ready is None or not ready.fits(net.ops, values):
            ready = plan(net.ops, values, self.device)
            self._plans[net] = ready
        execute(ready.steps, values, progress)
        self._take(values, changes, ready.operators)

    def run_operator(self, op: Operator) -> None:
        """Run one operator at once. Raises RunError like `run`, with operator index 0."""
        if not isinstance(op, Operator):
            raise RunError(
                f"run_operator takes an operator, not {shorten(repr_of(op))}.",
                kind="bad_argument",
                ways_out=['gradviz.Operator("Tanh", ["x"], ["y"]) makes one.', "ws.run(net) runs a whole net."],
            )
        check_operator(op)
        values, changes = self._now()
        execute(plan([op], values, self.device).steps, values)
        self._take(values, changes, [op])

    def _now(self) -> tuple[dict[str, Array], int]:
        """A copy of the blobs as they are, for a run to work on, and how many changes led to them."""
        with self._lock:
            return self._values.copy(), self._changes

    def _take(self, values: dict[str, Array], changes: int, operators: Iterable[Operator]) -> None:
        """Take over what `operators` wrote, running on `values`, which were what so many `changes` had led to."""
        with self._lock:
            if changes == self._changes:
                self._values = values
            else:
                written = dict.fromkeys(name for op in operators for name in op.outputs if name in values)
                self._values.update((name, values[name]) for name in written)
            self._changes += 1

    def fork(self) -> Self:
        """A workspace with the same blobs (shared, since they are read-only) that can go its own way."""
        other = type(self)(self.device)
        other._values = self._values.copy()
        return other

    def __setitem__(self, name: str, value: Any) -> None:
        self.feed(name, value)

    def __getitem__(self, name: str) -> Array:
        return self.fetch(name)

    def __delitem__(self, name: str) -> None:
        """Let go of the blob `name`. Raises RunError ``undefined_blob``."""
        with self._lock:
            if name not in self._values:
                raise self._missing(name)
            del self._values[name]
            self._changes += 1

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        blobs = "".join(
            f"\n  {name}: {value.shape} {value.dtype}{self._elsewhere(value)}" for name, value in self._values.items()
        )
        return f"<Workspace on {self.device}, {count_of(len(self), 'blob')}>{blobs}"

    def _missing(self, name: object) -> RunError:
        if isinstance(name, GradientSlice):
            return RunError(
                f"{name} is a sparse gradient: it names two blobs.",
                kind="undefined_blob",
                blobs=[name.indices, name.values],
                ways_out=["Fetch both: ws.fetch(gradient.indices) and ws.fetch(gradient.values)."],
            )
        return RunError(
            f"The workspace has no blob {shorten(str(name))}.",
            kind="undefined_blob",
            blobs=[str(name)],
            ways_out=[*meant(str(name), self._values, 3), "Feed it, or run the net that writes it."],
        )

    def _elsewhere(self, value: Array) -> str:
        device = device_of(value)
        return "" if device == self.device else f" on {device}"


def _not_numeric(name: str, why: str) -> RunError:
    return RunError(
        f"{shorten(name)} cannot be fed: {why}.",
        kind="bad_value",
        blobs=[name],
        ways_out=["Feed numbers or booleans: an array, a list of equal rows, a scalar."],
    )


_current: ContextVar[Workspace | None] = ContextVar("gradviz_immediate", default=None)


@contextmanager
def immediate(workspace: Workspace) -> Iterator[Workspace]:
    """Run every operator that is added to a net inside this block on `workspace`, as it is added.

    An operator that fails to run is not added.

    Raises:
        RunError: ``bad_value``: it is no workspace.

    Example:
        >>> with immediate(ws):
        ...     y = net.Tanh("x", "y")
        >>> ws["y"]
    """
    if not isinstance(workspace, Workspace):
        raise RunError(
            f"Operators run at once on a gradviz.Workspace, and not on {type(workspace).__name__}.",
            kind="bad_value",
            ways_out=["ws = gradviz.Workspace(); with gradviz.immediate(ws): ..."],
        )
    token = _current.set(workspace)
    try:
        yield workspace
    finally:
        _current.reset(token)


def immediate_workspace() -> Workspace | None:
    """The workspace of the innermost `immediate` block, None outside of one."""
    return _current.get()
