"""CuPy for tests of devices, a stand-in everywhere and the real one where there is a GPU (``pytest -m gpu tests``);
operator types of a test's own; Ctrl+C as in a terminal; and no warning of numpy's in what a person looks at.
"""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from gradviz.operators import registry
from gradviz.runtime.standing import Worker
from tests.cupy_stand_in import stand_in

QUIET = tuple(str(Path(__file__).parent / room) for room in ("debugger", "drawing", "notebook"))
"""Where overflow, an invalid value or a lost imaginary part is an error: no answer may leave one to its reader."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if str(item.path).startswith(QUIET):
            item.add_marker(pytest.mark.filterwarnings("error::RuntimeWarning"))


@pytest.fixture(params=["stand-in", pytest.param("cupy", marks=pytest.mark.gpu)])
def cupy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What ``import cupy`` gives: a stand-in with two GPUs, or the real one."""
    if request.param == "stand-in":
        monkeypatch.setitem(sys.modules, "cupy", stand_in(gpus=2))
        return sys.modules["cupy"]
    real = pytest.importorskip("cupy")
    if not real.cuda.is_available():
        pytest.skip("CuPy finds no GPU")
    return real


@pytest.fixture
def own_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of operator types that forgets what a test adds."""
    monkeypatch.setattr(registry, "_TABLE", dict(registry._TABLE))


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """An interrupt raises KeyboardInterrupt, here and in processes that a test starts.

    A shell lets what it runs in the background ignore interrupts.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def interrupting(monkeypatch: pytest.MonkeyPatch) -> Callable[[], AbstractContextManager[None]]:
    """A step of a live pass in this context is interrupted once its thread goes on, which runs to its next stop."""
    go = Worker.go

    def interrupted(worker: Worker[Any]) -> None:
        go(worker)
        raise KeyboardInterrupt

    @contextmanager
    def context() -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(Worker, "go", interrupted)
            yield

    return context
