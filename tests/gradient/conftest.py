"""What the tests of gradients share."""

import pytest

from gradviz.operators import registry


@pytest.fixture
def own_types(monkeypatch):
    """A table of operator types that forgets what a test adds."""
    monkeypatch.setattr(registry, "_TABLE", dict(registry._TABLE))
