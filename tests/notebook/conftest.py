"""Fixtures of the notebook tests: a small session, and a real kernel with this process as its front end."""

import os
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

import gradviz

REPOSITORY = Path(__file__).resolve().parents[2]
TIMEOUT = 60  # s, on a busy machine


@pytest.fixture
def session() -> gradviz.Session:
    """A recording with an accumulation, at its beginning."""
    net = gradviz.Net("twice <b>read</b>")
    net.FC(["x", "w", "b"], "a")
    net.Relu("a", "r")
    net.Sum(["r", "a"], "s")
    ws = gradviz.Workspace()
    for name, shape in {"x": (2, 3), "w": (4, 3), "b": (4,)}.items():
        ws.feed(name, np.ones(shape, np.float32))
    made = gradviz.debug(net, ["s"], workspace=ws)
    made.restart()
    return made


class Kernel:
    """A running kernel as a front end sees it."""

    def __init__(self, client: BlockingKernelClient) -> None:
        self._client = client

    def send(self, kind: str, **content: Any) -> list[dict[str, Any]]:
        """Send a shell message; returns the iopub messages up to the kernel's being idle again."""
        return self.answers(self.tell(kind, **content))

    def tell(self, kind: str, **content: Any) -> str:
        """Send a shell message; returns its id."""
        message = self._client.session.msg(kind, content)
        self._client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def run(self, code: str) -> list[dict[str, Any]]:
        """Run a cell; returns its iopub messages. AssertionError if it fails."""
        messages = self.send("execute_request", code=code, silent=False, store_history=True, allow_stdin=False)
        failures = [message["content"]["traceback"] for message in messages if message["msg_type"] == "error"]
        assert not failures, "\n".join(failures[0])
        return messages

    def begin(self, code: str) -> str:
        """Run a cell as a person does who can be asked; returns the id of the message."""
        return self.tell("execute_request", code=code, silent=False, store_history=True, allow_stdin=True)

    def until(self, is_it: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        """The iopub messages up to the first that is it."""
        messages = []
        while not messages or not is_it(messages[-1]):
            messages.append(self._client.get_iopub_msg(timeout=TIMEOUT))
        return messages

    def answers(self, request: str) -> list[dict[str, Any]]:
        """The iopub messages that a message brings, up to the kernel's being idle again."""
        messages = []
        while True:
            message = self._client.get_iopub_msg(timeout=TIMEOUT)
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return messages
            messages.append(message)


class Panel:
    """The side panel's end of the channel: a comm of the target "gradviz".

    Attributes:
        greeting: what it heard first.
        active: the id of the session that was active then.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.comm = uuid.uuid4().hex
        self._kernel = kernel
        self.greeting = self.heard(kernel.send("comm_open", comm_id=self.comm, target_name="gradviz", data={}))
        self.active: str | None = self.greeting[-1].get("id")

    def heard(self, messages: list[dict[str, Any]]) -> list[Any]:
        """What of `messages` was said to this panel."""
        return [
            message["content"]["data"]
            for message in messages
            if message["msg_type"] == "comm_msg" and message["content"]["comm_id"] == self.comm
        ]

    def say(self, data: Any) -> list[dict[str, Any]]:
        """Say something to the kernel; returns all iopub messages that it brought about."""
        return self._kernel.send("comm_msg", comm_id=self.comm, data=data)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel that has imported gradviz and has `net`, `ws` and `debug()`, which makes a new session."""
    folder = tmp_path_factory.mktemp("kernel")
    manager = KernelManager(kernel_name="python3", connection_file=str(folder / "kernel.json"))
    # The interpreter of this run, whatever kernel a machine has registered under the name.
    manager.kernel_spec.argv[0] = sys.executable
    manager.start_kernel(env=os.environ | {"PYTHONPATH": str(REPOSITORY), "IPYTHONDIR": str(folder)}, cwd=str(folder))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=TIMEOUT)
        running = Kernel(client)
        running.run(PREPARE)
        yield running
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


PREPARE = """
import gradviz, numpy as np
net = gradviz.Net("twice")
net.Tanh("x", "a")
net.Sum(["a", "a"], "s")
ws = gradviz.Workspace()
ws.feed("x", np.ones((2, 3), np.float32))
def debug():
    session = gradviz.debug(net, ["s"], workspace=ws)
    session.restart()
    return session
"""
