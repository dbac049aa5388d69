"""CuPy for tests of devices: a stand-in everywhere, and the real one where there is a GPU (``pytest -m gpu tests``)."""

import sys
from typing import Any

import pytest

from tests.cupy_stand_in import stand_in


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
