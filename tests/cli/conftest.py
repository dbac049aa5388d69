"""Files that the commands are given."""

from pathlib import Path

import numpy as np
import pytest

import gradviz


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A saved recording in a folder of its own."""
    net = gradviz.Net("lesson")
    net.Tanh("x", "a")
    net.Sum(["a", "a"], "y")
    ws = gradviz.Workspace()
    ws.feed("x", np.ones((2, 3)))
    path = tmp_path / "lesson.gradviz.json"
    gradviz.debug(net, ["y"], workspace=ws).save(path)
    return path
