"""What all tests of the bridge to PyTorch share."""

import pytest

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Small tensors gain nothing by several."""
    torch.set_num_threads(1)
