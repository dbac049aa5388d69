"""What all tests of the bridge to PyTorch share."""

import gc

import pytest

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Small tensors gain nothing by several."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="package")
def few_objects():
    """Optimizers and modules are looked for among all objects, and a million of them are those of imported modules."""
    gc.freeze()
    yield
    gc.unfreeze()
