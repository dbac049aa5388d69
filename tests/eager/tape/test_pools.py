"""Name pools: a name is in use once, is taken again in turn, and leads nowhere when it was given back."""

import gc
import threading
from typing import Any

import numpy as np
import pytest

from gradviz import (
    Function,
    FunctionHook,
    GradientError,
    OperatorPool,
    RunError,
    TensorPool,
    Variable,
    functions,
    register_buffers,
)


@pytest.fixture(autouse=True)
def pools(monkeypatch: pytest.MonkeyPatch) -> tuple[TensorPool, OperatorPool]:
    """Pools that nothing has taken names from."""
    made = TensorPool(), OperatorPool()
    monkeypatch.setattr(TensorPool, "_current", made[0])
    monkeypatch.setattr(OperatorPool, "_current", made[1])
    return made


class Watch(FunctionHook):
    """What the pools held at each function that ran backward."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []
        self.names: list[str] = []

    def backward_preprocess(self, function: Function, in_data: Any, out_grad: Any) -> None:
        tensors, operators = TensorPool.current(), OperatorPool.current()
        self.seen.append((tensors.occupancy()["join"].in_use, len(operators)))
        self.names = [name for name in ("join/tensor:0", "Tanh:0", "Mul:0") if name in tensors or name in operators]
        assert operators["Mul:0"].label == "Mul"


def test_each_kind_of_tensor_has_its_scope(pools: Any) -> None:
    pool, x = pools[0], Variable(1.0)
    constant = Variable(2.0, requires_grad=False)
    assert [pool.name(v) for v in (x, x * x, constant, constant * constant)] == [
        "numpy/tensor:0", "join/tensor:0", "numpy/tensor:1", "detach/tensor:0"
    ]  # fmt: skip
    cut = x * x
    cut.unchain()
    assert pool.name(cut) == "numpy/tensor:2"
    assert pool.name(x) == "numpy/tensor:0"


def test_a_name_reads_the_data_of_its_tensor(pools: Any) -> None:
    x = Variable([1.0, 2.0])
    name = pools[0].name(x)
    assert pools[0][name] is x.data
    x.data = [3.0]
    np.testing.assert_array_equal(pools[0][name], [3])


def test_names_are_taken_in_the_order_in_which_they_were_given_back(pools: Any) -> None:
    pool = pools[0]
    names = [pool.take() for _ in range(3)]
    for name in (names[1], names[0]):
        pool.release(name)
    assert pool.free("detach") == [names[1], names[0]]
    assert [pool.take() for _ in range(3)] == [names[1], names[0], "detach/tensor:3"]


def test_a_name_is_released_once(pools: Any) -> None:
    for pool, name in ((pools[0], pools[0].take()), (pools[1], pools[1].take("Mul"))):
        pool.release(name)
        with pytest.raises(RunError, match=f"is called {name} now: it was released") as caught:
            pool.release(name)
        assert caught.value.kind == "undefined_blob"
        assert caught.value.blobs == (name,)
        with pytest.raises(RunError, match="it was never given"):
            pool.release("join/tensor:99")
        with pytest.raises(RunError, match="it was released"):
            pool[name]


def test_a_variable_that_is_deleted_gives_its_name_back_once(pools: Any) -> None:
    pool = pools[0]
    x = Variable(1.0)
    name = pool.name(x)
    pool.release(name)
    other = Variable(2.0)
    assert pool.name(other) == name
    del x
    gc.collect()
    assert name in pool
    assert pool[name] is other.data
    del other
    assert name not in pool
    assert pool.free("numpy") == [name]


def test_a_released_variable_takes_a_new_name_when_it_is_asked_for(pools: Any) -> None:
    x = Variable(1.0)
    pools[0].release(pools[0].name(x))
    assert pools[0].taken_name(x) is None
    assert pools[0].name(x) == "numpy/tensor:0"


def test_a_pass_takes_names_and_gives_them_back(pools: Any) -> None:
    tensors, operators = pools
    x = Variable([1.0, 2.0])
    y = functions.tanh(x * x).sum()
    assert len(tensors) == len(operators) == 0
    with Watch() as watch:
        y.backward(schedule="tape")
    assert watch.seen == [(3, 3)] * 3
    assert watch.names == ["join/tensor:0", "Tanh:0", "Mul:0"]
    assert {scope: tuple(told) for scope, told in tensors.occupancy().items()} == {"join": (0, 3), "numpy": (1, 0)}
    assert all(told == (0, 1) for told in operators.occupancy().values())
    assert "join: 0 in use, 3 free" in repr(tensors)


def test_the_other_schedule_and_forward_runs_take_none(pools: Any) -> None:
    x = Variable([1.0, 2.0])
    functions.tanh(x * x).sum().backward()
    assert [repr(pool) for pool in pools] == ["<TensorPool empty>", "<OperatorPool empty>"]


def test_names_are_given_back_when_a_pass_fails(pools: Any) -> None:
    x = Variable([1.5])
    y = functions.apply("Floor", x)
    name = pools[0].name(y)
    with pytest.raises(GradientError, match="no gradient rule"):
        y.backward(gradient=np.ones(1), schedule="tape")
    assert name not in pools[0]
    assert pools[0].occupancy()["join"].in_use == len(pools[1]) == 0


def test_an_output_that_has_a_name_keeps_it_until_the_pass_is_over(pools: Any) -> None:
    tensors = pools[0]
    x = Variable([1.0])
    y = x * x
    name = tensors.name(y)
    z = functions.tanh(y)

    class Reader(FunctionHook):
        def backward_preprocess(self, function: Function, in_data: Any, out_grad: Any) -> None:
            assert tensors[name] is y.data
            assert tensors.occupancy()["join"].in_use == 2

    with Reader():
        z.backward(schedule="tape")
    assert name not in tensors


def test_many_passes_use_the_same_names(pools: Any) -> None:
    x = Variable([1.0])
    for _ in range(20):
        functions.tanh(x * x).backward(schedule="tape")
    assert len(pools[0].free("join")) == len(set(pools[0].free("join"))) == 2


def test_buffers_are_given_back_after_the_next_pass(pools: Any) -> None:
    names = register_buffers(3)
    assert names == [f"detach/tensor:{k}" for k in range(3)]
    with pytest.raises(RunError, match="holds nothing yet"):
        pools[0][names[0]]
    assert set(register_buffers(1)).isdisjoint(names)
    pools[0].release(names[1])
    functions.exp(Variable(1.0)).backward(schedule="tape")
    assert pools[0].free("detach") == [names[1], names[0], names[2], "detach/tensor:3"]
    assert register_buffers(0) == []


@pytest.mark.parametrize("bad", [-1, 1.5, "2", None, True])
def test_a_number_of_buffers_that_is_none_is_refused(bad: Any) -> None:
    with pytest.raises(RunError, match="is no number of buffers") as caught:
        register_buffers(bad)
    assert caught.value.kind == "bad_argument"
    assert len(TensorPool.current()) == 0


def test_a_scope_that_there_is_not_is_refused(pools: Any) -> None:
    with pytest.raises(RunError, match="Choose one of numpy, leaf, join, detach") as caught:
        pools[0].take("nowhere")
    assert caught.value.kind == "bad_argument"


def test_threads_never_get_one_name_twice(pools: Any) -> None:
    pool, taken = pools[0], []

    def work() -> None:
        for _ in range(300):
            names = [pool.take() for _ in range(3)]
            taken.append(pool.free("detach").count(names[0]))
            for name in names:
                pool.release(name)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(taken) == {0}
    free = pool.free("detach")
    assert len(free) == len(set(free))
    assert len(pool) == 0
