"""Session: what a person debugs with. A cursor over a recording, with every way to look at it."""

from functools import cached_property
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Self

import msgspec

from . import notebook
from .debugger import Cursor, Recording, document, record
from .debugger.trace import Trace, decode, encode
from .drawing import LIGHT, Opened, Theme, digraph, render
from .gradient import Ys
from .net import Net
from .notebook.display import mimebundle
from .program import NetDef
from .program.events import Aggregator
from .runtime import Workspace

if TYPE_CHECKING:
    import graphviz


class Session(Cursor):
    """Steps through the generation of a backward pass and its execution, forward and back in time.

    In a notebook a session shows itself as a widget; its verbs move every widget that shows it.

    Attributes:
        id: a short string that tells this session from others of the kernel.
    """

    def __init__(self, trace: Trace, recording: Recording | None = None) -> None:
        super().__init__(trace, recording)
        self.id = token_hex(4)
        notebook.announce(self)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The session in a ``*.gradviz.json`` file that `save` wrote.

        It steps and answers as the saved one did; of the values it has the statistics. Nothing in the file is executed.

        Raises:
            TraceError: the file is cut off, of a newer version, or no trace.
        """
        return cls(decode(Path(path).read_bytes()))

    def save(self, path: str | Path) -> None:
        """Write the trace document, picture included, to `path` (by custom ``*.gradviz.json``)."""
        Path(path).write_bytes(encode(self.trace()))

    def trace(self) -> Trace:
        """The trace document with its graph: all that the widget shows."""
        return self._drawn

    @cached_property
    def _drawn(self) -> Trace:
        if self._trace.graph.svg is not None:
            return self._trace
        return msgspec.structs.replace(self._trace, graph=render(self._trace))

    @property
    def net(self) -> Net:
        """The whole program as a net of its own: the forward operators, then the gradient operators made."""
        forward = NetDef.from_dict(self._trace.net)
        if self._recording is None:
            return Net(self.name, forward.ops)
        return Net(self.name, self._recording.operators)

    def graph(self, theme: Theme = LIGHT, *, opened: Opened | None = None) -> "graphviz.Digraph":
        """The graph at the current position: what is current, new, and not made yet.

        Args:
            opened: operators to draw with their nested nets, by the ids of their lines (``"f2"``) or nets (``"s0"``),
                or ``"all"``; None: those that the position is in.

        Raises:
            DrawingError: something that cannot open is named.
        """
        return digraph(self._trace, self.position, theme, opened)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        return mimebundle(self)


def debug(
    net: NetDef,
    ys: Ys,
    *,
    workspace: Workspace | None = None,
    skip: int = 0,
    deduplicate: Aggregator | None = None,
) -> Session:
    """Record how the gradients of `ys` come into being and, where the net's inputs are fed, their execution.

    Args:
        net: the forward net; it stays as it is.
        ys: blobs to differentiate, as in `Net.add_gradient_operators`.
        workspace: blobs to run on; it stays as it is. None: only the generation is recorded.
        skip: the first `skip` operators take no part in the backward pass.
        deduplicate: ``"sum"`` or ``"mean"`` to merge, after the pass, the rows of equal index in each sparse gradient
            of an input of the net, as `Net.deduplicate_gradient_slices` does.

    Raises:
        NetError: `net` is no net, or `deduplicate` neither ``"sum"`` nor ``"mean"``.
        GradientError: nothing could be recorded, because `ys` or the net are malformed. A fault met on the way does
            not raise: it is the last event of the session, so that one can step up to it.
        RunError: a given gradient holds a NaN, or is a slice whose indices and values do not belong together.
    """
    recording = record(net, ys, workspace=workspace, skip=skip, deduplicate=deduplicate)
    return Session(document(recording), recording)


def load(path: str | Path) -> Session:
    """The session in a ``*.gradviz.json`` file, see `Session.load`."""
    return Session.load(path)
