"""Work that is cut into tasks gives the same results in the same order, whatever becomes of a task."""

import _thread
import os
import signal
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from time import perf_counter

import pytest

from gradviz import GradvizError
from gradviz.runtime.pace import Pace
from gradviz.runtime.tasks import AT_ONCE, FIRST, LONG, TRIES, Work, results

MANY = 5_000


def square(item):
    return item * item


def slow(item):
    """A function that keeps a core for a millisecond."""
    end = perf_counter() + 1e-3
    while perf_counter() < end:
        pass
    return item


def end_once(mark, item):
    """Ends the process that comes to item 7 first."""
    if item == 7 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item


def end_always(item):
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item


def fail_twice(folder, item):
    tries = len(list(folder.glob(f"{item}-*")))
    (folder / f"{item}-{tries}").touch()
    if item == 3 and tries < TRIES - 1:
        raise OSError("the line went down")
    return item * item


def ask(works, executor):
    return results(works, executor, Pace(None))


class Counted(ThreadPoolExecutor):
    """Threads, and how many items each task had."""

    def __init__(self):
        super().__init__(2)
        self.sizes = []

    def submit(self, function, /, *args):
        self.sizes.append(len(args[-1]))
        return super().submit(function, *args)


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_results_are_those_of_one_core_in_their_order(pool):
    works = [Work(square, range(MANY)), Work(abs, [-1, 2, -3]), Work(abs, [])]
    with pool(2) as executor:
        assert ask(works, executor) == ask(works, None) == [[i * i for i in range(MANY)], [1, 2, 3], []]


def test_tasks_are_sized_by_how_long_the_first_items_took():
    with Counted() as executor:
        ask([Work(slow, range(1_000))], executor)
    first, rest = executor.sizes[:FIRST], executor.sizes[FIRST:]
    assert set(first) == {1}
    assert sum(rest) == 1_000 - FIRST
    # Each of a millisecond or more; the last has what is left.
    assert 0.2 / 1e-3 < rest[0] <= LONG / 1e-3
    assert len(rest) < 1_000 * 1e-3 / 0.2


def test_a_few_items_of_unknown_length_are_tasks_of_their_own():
    with Counted() as executor:
        ask([Work(square, range(AT_ONCE))], executor)
    assert executor.sizes == [1] * AT_ONCE


def test_when_a_process_of_a_pool_dies_the_rest_runs_in_another_one(tmp_path):
    work = Work(partial(end_once, tmp_path / "ended"), range(MANY))
    with ProcessPoolExecutor(2) as executor, pytest.warns(RuntimeWarning, match="has died: the rest runs in another"):
        assert ask([work], executor) == [[i * i for i in range(MANY)]]


def test_an_item_that_ends_each_process_is_found_and_the_others_have_results():
    with ProcessPoolExecutor(2) as executor, pytest.warns(RuntimeWarning, match="has died"):
        (found,) = ask([Work(end_always, range(8))], executor)
    error = found.pop(3)
    assert found == [0, 1, 4, 16, 25, 36, 49]
    assert error.kind == "task_failed"
    assert "BrokenProcessPool" in str(error)


def test_a_pool_that_was_broken_before_is_not_used():
    with ProcessPoolExecutor(1) as executor:
        assert executor.submit(end_always, 3).exception() is not None
        with pytest.warns(RuntimeWarning, match="has died"):
            assert ask([Work(square, [1, 2])], executor) == [[1, 4]]


def test_a_task_that_fails_is_run_again(tmp_path):
    with ThreadPoolExecutor(2) as executor:
        assert ask([Work(partial(fail_twice, tmp_path), range(6))], executor) == [[0, 1, 4, 9, 16, 25]]
    assert len(list(tmp_path.glob("3-*"))) == TRIES


def test_what_fails_each_time_says_why():
    with ThreadPoolExecutor(2) as executor:
        (found,) = ask([Work(lambda item: 1 // item, [1, 0, 2])], executor)
    assert (found[0], found[2]) == (1, 0)
    assert "3 times and failed: ZeroDivisionError: " in str(found[1])
    assert isinstance(found[1].__cause__, ZeroDivisionError)


def end_program(item):
    return sys.exit(3) if item == 1 else item


def test_a_function_that_ends_its_program_ends_the_task_alone():
    with ProcessPoolExecutor(1) as executor:
        (found,) = ask([Work(end_program, [0, 1, 2])], executor)
    assert (found[0], found[2]) == (0, 2)
    assert "failed: SystemExit: 3" in str(found[1])


def test_where_everything_fails_it_ends():
    with ThreadPoolExecutor(2) as executor:
        (found,) = ask([Work(lambda item: 1 // 0, range(2 * FIRST))], executor)
    assert [one.kind for one in found] == ["task_failed"] * 2 * FIRST


def test_what_cannot_be_sent_to_a_process_is_named_and_threads_take_it():
    kernel = lambda item: -item  # noqa: E731
    work = Work(kernel, [1, 2], {"The kernel of Own": kernel})
    with ProcessPoolExecutor(1) as executor:
        with pytest.raises(GradvizError, match=r"The kernel of Own cannot be sent .*lambda") as caught:
            ask([work], executor)
        assert executor.submit(square, 3).result() == 9
    assert caught.value.kind == "not_sendable"
    assert "ThreadPoolExecutor" in str(caught.value)
    with ThreadPoolExecutor(1) as executor:
        assert ask([work], executor) == [[-1, -2]]


def test_what_takes_no_tasks_is_refused():
    with ThreadPoolExecutor(1) as closed:
        pass
    for executor, says in ((closed, "shutdown"), (7, "int is no executor")):
        with pytest.raises(GradvizError, match=says) as caught:
            ask([Work(square, [1])], executor)
        assert caught.value.kind == "bad_executor"


def test_an_interrupt_leaves_nothing_running():
    begun, ended = [], []

    def work(item):
        begun.append(item)
        if item == 3:
            _thread.interrupt_main()
        slow(item)
        ended.append(item)

    with ThreadPoolExecutor(2) as executor:
        with pytest.raises(KeyboardInterrupt):
            ask([Work(work, range(MANY))], executor)
        assert len(begun) == len(ended) < MANY
        assert executor.submit(threading.active_count).result() > 0
        assert len(begun) == len(ended)
