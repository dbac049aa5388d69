"""The leaves of a program: what it is given and does not compute, and the gradients of that."""

from __future__ import annotations

from ...operators.registry import Array
from ...program.code_line import CodeLine
from ...runtime.devices import CPU, moved
from ..journal import Recording, Writing
from ..telling import MeasuredValues
from .flow import array_of, gradient_of, seeds
from .net_view import NetView
from .recorded import Recorded


def leaves(view: NetView) -> list[Writing]:
    """Those that have a gradient, in the order in which the program reads them."""
    read = dict.fromkeys(blob for statement in view.net.forward for blob in statement.inputs)
    return [blob for blob in read if blob.statement is None and blob.arrivals]


def leaf_gradients(recording: Recording) -> dict[str, Array]:
    """The gradient of each leaf by the leaf's name, on the CPU; of those that were computed."""
    view, gradients = _outermost(recording), {}
    for blob in leaves(view):
        sent = gradient_of(view, blob)
        if sent is not None and all(view.array(part) is not None for part in sent.parts):
            gradients[blob.name] = moved(array_of(view, blob, sent.parts), CPU)
    return gradients


def differentiated(recording: Recording) -> list[Array]:
    """What was differentiated, on the CPU; of what was computed."""
    view = _outermost(recording)
    return [moved(array, CPU) for y in seeds(view) if (array := view.array(y)) is not None]


def _outermost(recording: Recording) -> NetView:
    recorded = Recorded(recording, None, MeasuredValues(recording))
    return NetView(recorded, len(recording.events), recording.text.outermost)


def lines_reading(recording: Recording) -> dict[str, CodeLine | None]:
    """The line of the user's code that reads each leaf first, by the leaf's name; None: it is not known."""
    lines: dict[str, CodeLine | None] = {}
    for statement in recording.text.outermost.forward:
        lines |= {blob.name: lines.get(blob.name) or statement.code for blob in statement.inputs if not blob.statement}
    return lines
