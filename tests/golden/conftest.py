"""The golden suites run with the test-only operator types in the table, which is put back afterwards."""

import pytest

from gradviz.operators import registry
from tests.golden import model_types


@pytest.fixture(autouse=True, scope="module")
def model_operator_types():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_TABLE", dict(registry._TABLE))
        model_types.register()
        yield
