"""What the tests of Variables share."""

import pytest


@pytest.fixture(params=["rank", "tape"], scope="session")
def schedule(request: pytest.FixtureRequest) -> str:
    """Each of the schedules: what holds for one holds for the other."""
    name: str = request.param
    return name
