"""A real JupyterLab server for a test run: its own folders, its own port, stopped over its REST API."""

import contextlib
import json
import os
import secrets
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

REPOSITORY = Path(__file__).resolve().parents[2]

# Unsteady otherwise: what JupyterLab shows or fetches on its own, and cells that exist only while on the screen.
SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
}


class JupyterServer:
    """JupyterLab started in the folder `root` by `command`; a context manager, running inside its `with`.

    Everything it reads and writes lies under `folder`: configuration, data, runtime files, workspaces, its log.
    gradviz and its labextension are the working tree's, whatever is installed.
    """

    def __init__(self, folder: Path, command: tuple[str, ...] = ("-m", "jupyterlab")) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.log = folder / "server.log"
        self.token = secrets.token_hex(16)
        self._browser = folder / "browser"
        self._shown = folder / "shown-in-browser"
        self.url = ""
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._write_settings()
        self._write_browser()
        self._link_labextension()
        self.root.mkdir()
        options = ["--port=0", f"--IdentityProvider.token={self.token}", "--allow-root"]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, *self._command, *options],
                cwd=self.root,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            self.url = self._address()
            self._wait_until_it_answers()
        except BaseException:
            self._process.kill()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._process is not None
        try:
            self.request("POST", "/api/shutdown")
            with contextlib.suppress(subprocess.TimeoutExpired):  # it waits for kernels that a busy machine ends slowly
                self._process.wait(timeout=60)
        finally:
            self._process.kill()
            self._process.wait()

    def opened_in_browser(self) -> str:
        """The address that the server, once it was up, asked the user's browser to show."""
        return self._read_when_written(self._shown, lambda text: text)

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """The JSON that the server answers to one request of its REST API, None where it answers nothing."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=json.dumps(body).encode() if body is not None else (b"" if method == "POST" else None),
            headers={"Authorization": f"token {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            text = response.read()
        return json.loads(text) if text else None

    def start_session(self, notebook: str) -> None:
        """Starts a kernel for the notebook at this path below the root."""
        kernel = {"name": "python3"}
        self.request(
            "POST", "/api/sessions", {"path": notebook, "name": notebook, "type": "notebook", "kernel": kernel}
        )

    def _environment(self) -> dict[str, str]:
        own = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
            "IPYTHONDIR": "ipython",
        }
        paths = {name: str(self.folder / folder) for name, folder in own.items()}
        return (
            os.environ
            | paths
            | {
                "BROWSER": f"{self._browser} %s",
                "JUPYTER_PATH": str(self.folder / "share"),
                "PYTHONPATH": str(REPOSITORY),
            }
        )

    def _write_settings(self) -> None:
        for name, settings in SETTINGS.items():
            path = self.folder / "settings" / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(settings))
        # Lets the page be asked for the notebook's model, whose outputs say more than their rendering.
        page_config = self.folder / "config" / "labconfig" / "page_config.json"
        page_config.parent.mkdir(parents=True)
        page_config.write_text(json.dumps({"exposeAppInBrowser": True}))

    def _write_browser(self) -> None:
        """The browser of this server's user: it notes the address that it is asked to show."""
        self._browser.write_text(f"#!/bin/sh\nprintf %s \"$1\" >'{self._shown}'\n")
        self._browser.chmod(0o755)

    def _link_labextension(self) -> None:
        extensions = self.folder / "share" / "labextensions"
        extensions.mkdir(parents=True)
        (extensions / "gradviz").symlink_to(REPOSITORY / "gradviz" / "labextension", target_is_directory=True)

    def _address(self) -> str:
        """The server's address, from the file that it writes shortly before it listens."""
        assert self._process is not None
        file = self.folder / "runtime" / f"jpserver-{self._process.pid}.json"
        return self._read_when_written(file, lambda text: json.loads(text)["url"].rstrip("/"))

    def _read_when_written(self, file: Path, read: Callable[[str], str], seconds: float = 60) -> str:
        """What `read` makes of a file that the server is about to write, as soon as it makes something of it."""
        value = ""

        def is_written() -> bool:
            nonlocal value
            with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
                value = read(file.read_text())
            return value != ""

        self._wait_until(is_written, f"{file.name} was not written", seconds)
        return value

    def _wait_until_it_answers(self) -> None:
        def answers() -> bool:
            with contextlib.suppress(urllib.error.URLError):
                return "version" in self.request("GET", "/api")
            return False

        self._wait_until(answers, "the server does not answer")

    def _wait_until(self, holds: Callable[[], bool], otherwise: str, seconds: float = 60) -> None:
        assert self._process is not None
        end = time.monotonic() + seconds
        pause = threading.Event()
        while not holds():
            assert self._process.poll() is None, f"the server ended:\n{self.log.read_text()}"
            assert time.monotonic() < end, f"{otherwise} within {seconds} s:\n{self.log.read_text()}"
            pause.wait(0.05)
