"""Fixtures of the browser tests: one server and one browser for the run, a page for each host, fresh ones for tests."""

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.browser.chromium import FLAGS, find_chromium
from tests.browser.hosts import SLOW_LAB, SLOW_NOTEBOOK, WIDE, Host, JupyterHost, PageHost
from tests.browser.jupyter_server import REPOSITORY, JupyterServer
from tests.browser.lab_page import LabPage, NotebookPage, file_name

ARTIFACTS = REPOSITORY / "tests" / "artifacts"
# On a busy machine what is soon true takes its time; only a test that fails waits for so many milliseconds.
expect.set_options(timeout=20_000)

CALL_FAILED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


class ByHost(LoadScopeScheduling):
    """Opens each Jupyter host once: one worker runs all its tests. All other tests are shared out by their files, those
    in Jupyter one by one: a lesson takes long.

    The hosts come first and then the files by name, so that no worker begins something long when the others are done.
    """

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        host = re.search(r"[\[-](jupyterlab|notebook)[\]-]", test)
        return host[1] if host else nodeid if "/jupyter/" in file else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByHost:
    config.option.loadscopereorder = False
    return ByHost(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call":
        item.stash[CALL_FAILED] = report.failed
    return report


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    with JupyterServer(tmp_path_factory.mktemp("jupyter")) as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        yield running
        running.close()


@contextmanager
def fresh_page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=WIDE, reduced_motion="reduce")
    ARTIFACTS.mkdir(exist_ok=True)
    yield context.new_page()
    context.close()


@contextmanager
def page_over(
    server: JupyterServer, browser: Browser, request: pytest.FixtureRequest, kind: type[LabPage] = LabPage
) -> Iterator[LabPage]:
    """A fresh page; the test that uses it fails if the page reports an error.

    When the test fails, a picture of the page and the server's log stay in tests/artifacts.
    """
    with fresh_page(browser) as page:
        opened = kind(server, page, file_name(request.node.name), ARTIFACTS)
        yield opened
        if request.node.stash.get(CALL_FAILED, True) or opened.errors:
            log = opened.shot("failure").with_suffix(".log")
            log.write_text("\n".join([*opened.errors, "", server.log.read_text()]))
    opened.close()
    assert not opened.errors, "the page reported errors:\n" + "\n".join(opened.errors)


@pytest.fixture
def lab(request: pytest.FixtureRequest, server: JupyterServer, browser: Browser) -> Iterator[LabPage]:
    """A page over the run's JupyterLab."""
    with page_over(server, browser, request) as page:
        yield page


@pytest.fixture(
    params=[pytest.param(LabPage, id="jupyterlab"), pytest.param(NotebookPage, id="notebook", marks=pytest.mark.slow)]
)
def opened(request: pytest.FixtureRequest, server: JupyterServer, browser: Browser) -> Iterator[LabPage]:
    """A page over JupyterLab, and over Notebook 7 in the slow set."""
    with page_over(server, browser, request, request.param) as page:
        yield page


@pytest.fixture
def gradviz_lab(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, browser: Browser
) -> Iterator[LabPage]:
    """A page over a JupyterLab that `gradviz lab` started in an empty folder."""
    folder = tmp_path_factory.mktemp("gradviz-lab")
    with JupyterServer(folder, ("-m", "gradviz", "lab")) as server, page_over(server, browser, request) as page:
        yield page


@pytest.fixture(scope="session", params=[SLOW_LAB, SLOW_NOTEBOOK, "page"])
def host_of_run(
    request: pytest.FixtureRequest, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Host]:
    """The page of one host, which lives as long as tests need that host."""
    with fresh_page(browser) as page:
        if request.param == "page":
            yield PageHost(page, tmp_path_factory.mktemp("pages"))
            return
        kind = LabPage if request.param == "jupyterlab" else NotebookPage
        opened = kind(request.getfixturevalue("server"), page, request.param, ARTIFACTS)
        yield JupyterHost(opened)
    opened.close()


@pytest.fixture
def host(request: pytest.FixtureRequest, host_of_run: Host) -> Iterator[Host]:
    """A page without a server, and what else `hosts` says of the test; an error that a host reports fails the test."""
    host_of_run.reset()
    yield host_of_run
    if request.node.stash.get(CALL_FAILED, True) or host_of_run.errors:
        host_of_run.page.screenshot(path=ARTIFACTS / f"{file_name(request.node.name)}-failure.png")
    assert not host_of_run.errors, "the page reported errors:\n" + "\n".join(host_of_run.errors)
