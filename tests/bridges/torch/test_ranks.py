"""The ranks of a distributed job, recorded by each and looked at side by side."""

import json
import os
import shutil
import socket
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import gradviz
from gradviz import GradvizError
from gradviz.bridges import torch as bridge
from gradviz.debugger import CursorError
from tests.random_cases import counts


class Branches(nn.Module):
    """One of two branches, and a layer that no rank uses."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.left = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
        self.right = nn.Linear(4, 1)
        self.never = nn.Linear(2, 2)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x, rank):
        h = torch.tanh(self.first(x))
        if rank == 0:
            return self.left(h) * self.scale
        return self.right(h)


class Backwardless(torch.autograd.Function):
    """A product, whose backward sends all there is, or none to the second factor, or fails."""

    @staticmethod
    def forward(ctx, x, w, rank):
        ctx.save_for_backward(x, w)
        ctx.rank = rank
        return x * w

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        if ctx.rank == 2:
            raise ValueError("no way back")
        return dy * w, None if ctx.rank else dy * x, None


def _rank(rank, port, folder):
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = Branches()
    parallel = DistributedDataParallel(model)
    for name, same in (("branches", False), ("same", True)):
        torch.manual_seed(1 if same else rank)
        with gradviz.torch.capture(model):
            loss = parallel(torch.randn(5, 3), 1 if same else rank).square().mean()
        gradviz.debug(loss).save(f"{folder}/{name}/")
    wrong = parallel(torch.full((5, 3), np.nan if rank else 1.0), 1).square().mean()
    (Path(folder) / "nan").mkdir(exist_ok=True)
    gradviz.debug(wrong).save(Path(folder) / "nan")
    w, v = (torch.ones(2, requires_grad=True) for _ in range(2))
    for name, how in (("none", rank), ("failed", 2 * rank)):
        product = Backwardless.apply(v * 2, w, how)
        gradviz.debug(product.sum()).save(f"{folder}/{name}/")
    dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What two ranks have saved."""
    folder = tmp_path_factory.mktemp("ranks")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(_rank, (port, str(folder)), nprocs=2)
    return folder


@pytest.fixture
def copy(folder, tmp_path):
    """A copy of the folder of two ranks, to be spoilt."""
    return Path(shutil.copytree(folder / "branches", tmp_path / "copy"))


def test_a_rank_that_never_used_a_branch_is_named_with_module_and_line(folder):
    ranks = gradviz.ranks(folder / "branches")
    unused = {one.module: one for one in ranks.findings if one.kind == "unused"}
    assert set(unused) == {"left", "right", "never", ""}
    left = unused["left"]
    assert (left.ranks, left.names) == ((1,), ("left.0.weight", "left.0.bias", "left.2.weight", "left.2.bias"))
    assert (left.line.file, left.line.text) == ("test_ranks.py", "return self.left(h) * self.scale")
    assert left.sentence == (
        "On rank 1 left.0.weight, left.0.bias, left.2.weight and left.2.bias of the module left are unused: no loss "
        f"leads back to them. On rank 0 one does, in {left.line}."
    )
    assert "On rank 0 right.weight and right.bias of the module right are unused" in unused["right"].sentence
    assert unused["right"].line.text == "return self.right(h)"
    never = unused["never"].sentence
    assert (
        never == "On every rank never.weight and never.bias of the module never are unused: no loss leads back to them."
    )
    assert unused[""].sentence.startswith("On rank 1 scale is unused: no loss leads back to it. On rank 0 one does")
    assert "find_unused_parameters=True" in str(ranks)
    assert all(one.harm for one in unused.values())


def test_gradients_are_compared_by_name(folder):
    ranks = gradviz.ranks(folder / "branches")
    by_name = {one.name: one for one in ranks.gradients}
    first = [ranks[rank].trace().values["first.weight_grad@0"].norm for rank in range(2)]
    assert by_name["first.weight"].norms == pytest.approx(first)
    assert by_name["first.weight"].difference > 0
    assert by_name["left.0.bias"].norms[1] is None
    assert by_name["left.0.bias"].difference is None
    (differs,) = [one for one in ranks.findings if one.kind == "differs"]
    assert not differs.harm
    assert "2 gradients of 2 differ between ranks before they are averaged" in differs.sentence
    assert "none" in str(ranks)
    assert json.loads(json.dumps(ranks.to_dict()))["answer"] == "ranks"


def test_each_rank_is_a_session(folder):
    ranks = gradviz.ranks(str(folder / "branches"))
    assert len(ranks) == len(list(ranks)) == 2
    ranks[1].run_to("right.weight_grad")
    assert "right" in ranks[1].narration
    assert "<caption>Norms of the gradients" in ranks._repr_html_()


def test_gradients_that_are_the_same_to_the_bit_are_remarked_on(folder):
    ranks = gradviz.ranks(folder / "same")
    assert [one.kind for one in ranks.findings if not one.harm] == ["same"]
    assert all(one.difference in (0, None) for one in ranks.gradients)


def test_a_gradient_that_is_not_finite_is_found_on_its_rank(folder):
    wrong = [one for one in gradviz.ranks(folder / "nan").findings if one.kind == "not_finite"]
    assert {one.ranks for one in wrong} == {(1,)}
    assert wrong[0].sentence.startswith("On rank 1 the gradient of ")


def test_a_gradient_that_is_not_sent_on_one_rank_is_told_from_a_parameter_that_is_not_used(folder):
    (one,) = [one for one in gradviz.ranks(folder / "none").findings if one.harm]
    assert (one.kind, one.ranks, one.names) == ("no_gradient", (1,), ("w",))
    assert one.sentence == "Rank 1 used w, and no gradient came: ranks[1].why_none says why."


def test_a_rank_whose_pass_stopped_says_with_what_and_nothing_is_missed_on_it(folder):
    (one,) = [one for one in gradviz.ranks(folder / "failed").findings if one.harm]
    assert (one.kind, one.ranks) == ("failed", (1,))
    assert "no way back" in one.sentence


def test_a_process_without_a_rank_needs_the_name_of_a_file(tmp_path):
    session = gradviz.debug(torch.ones(2, requires_grad=True).sum())
    for path in (tmp_path, f"{tmp_path}/new/"):
        with pytest.raises(GradvizError, match="this process has no rank") as caught:
            session.save(path)
        assert caught.value.kind == "no_rank"
        assert "init_process_group" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_session_read_from_a_file_has_no_gradients_to_save(folder, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=0, world_size=1)
    try:
        with pytest.raises(CursorError, match="no gradients to compare"):
            gradviz.ranks(folder / "branches")[0].save(tmp_path)
        gradviz.debug(torch.ones(2, requires_grad=True).sum()).save(tmp_path)
    finally:
        dist.destroy_process_group()
    (alone,) = gradviz.ranks(tmp_path)
    assert len(alone) > 0


@pytest.fixture
def job(tmp_path, monkeypatch):
    """What ranks give that each record the loss which a function computes of its number, one after the other."""

    def record(loss_of, count=2):
        for rank in range(count):
            monkeypatch.setattr(bridge, "rank", lambda rank=rank: (rank, count))
            gradviz.debug(loss_of(rank)).save(f"{tmp_path}/")
        return gradviz.ranks(tmp_path)

    return record


def kinds(ranks):
    return [one.kind for one in ranks.findings]


class Experts(nn.Module):
    """One layer for each rank, by names that blobs cannot have."""

    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleDict({"of-0": nn.Linear(2, 2), "of-1": nn.Linear(2, 2)})

    def forward(self, x, rank):
        return self.experts[f"of-{rank}"](x)


def test_ranks_that_use_none_of_the_same_parameters_are_still_ranks_of_one_model(job):
    model = Experts()

    def loss_of(rank):
        with gradviz.torch.capture(model):
            return model(torch.ones(3, 2), rank).sum()

    unused = {one.module: (one.ranks, one.names) for one in job(loss_of).findings}
    assert unused == {
        "experts.of_0": ((1,), ("experts.of_0.weight", "experts.of_0.bias")),
        "experts.of_1": ((0,), ("experts.of_1.weight", "experts.of_1.bias")),
    }


def test_another_model_that_was_captured_and_has_a_parameter_of_the_same_name_is_not_meant(job):
    other, model = nn.Linear(2, 2), nn.Linear(2, 2, bias=False)

    def loss_of(rank):
        with gradviz.torch.capture(model):
            loss = model(torch.full((1, 2), 1.0 + rank)).sum()
        with gradviz.torch.capture(other):
            other(torch.ones(1, 2))
        return loss

    ranks = job(loss_of)
    assert [one.name for one in ranks.gradients] == ["weight"]
    assert kinds(ranks) == ["differs"]


def test_data_of_other_sizes_on_each_rank_are_no_other_model(job):
    model = nn.Linear(2, 2)

    def loss_of(rank):
        x = torch.ones(1 + rank, 2, requires_grad=True)
        with gradviz.torch.capture(model):
            return model(x).sum()

    data = next(one for one in job(loss_of).gradients if one.name not in ("weight", "bias"))
    assert None not in data.norms
    assert data.difference is None


def test_the_gradients_of_complex_parameters_are_compared_as_complex_numbers(job):
    w = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    (one,) = job(lambda rank: (w * (3 + 4j * rank)).real.sum(), 3).gradients
    assert one.difference == 8
    assert one.relative == pytest.approx(8 / np.hypot(3, 8))


@pytest.mark.parametrize("factor", [None, float("nan"), float("inf")])
def test_gradients_are_not_called_the_same_where_one_is_missing_or_not_finite(job, factor):
    w, v = (torch.ones(2, requires_grad=True) for _ in range(2))

    def loss_of(rank):
        of_v = 0 if factor is None else (v * factor).sum()
        return w.sum() + (of_v if rank == 1 else (v * 1.0).sum())

    assert kinds(job(loss_of, 3)) == ["unused" if factor is None else "not_finite"]


def test_infinities_that_are_the_same_are_no_difference_and_large_numbers_are_finite(job):
    w, v = (torch.ones(2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    infinite = torch.tensor([float("inf"), 1.0])
    ranks = job(lambda rank: (w * infinite).sum() + (v * (1.7e308 if rank else 1.6e308)).sum())
    assert [one.difference for one in ranks.gradients] == [0, pytest.approx(1e307)]
    assert [one.names for one in ranks.findings if one.kind == "not_finite"] == [(ranks.gradients[0].name,)]


def test_of_many_ranks_the_least_and_the_greatest_norm_are_found_beside_a_nan(job):
    w = torch.ones(1, requires_grad=True)
    ranks = job(lambda rank: (w * (float("nan") if rank % 3 == 1 else 20.0 - rank)).sum(), 9)
    assert "12 on rank 8  nan on rank 7" in str(ranks)


def test_what_a_rank_used_behind_a_cut_is_not_said_to_be_unused(job):
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))

    def loss_of(rank):
        with gradviz.torch.capture(model):
            h = model[0](torch.ones(1, 2))
            return model[1](h.detach() if rank else h).sum()

    (cut,) = [one for one in job(loss_of).findings if one.harm]
    assert cut.sentence.startswith("On rank 1 0.weight and 0.bias of the module 0 are unused: no loss leads back")
    assert "detach()" in cut.ways_out[0]


def refused(folder):
    with pytest.raises(GradvizError) as caught:
        gradviz.ranks(folder)
    return caught.value.kind, str(caught.value)


def test_a_folder_without_recordings_is_refused(tmp_path):
    (tmp_path / "other.gradviz.json").write_text("{}")
    for folder, says in ((tmp_path, "holds no recordings of ranks"), (tmp_path / "nowhere", "There is no folder")):
        kind, said = refused(folder)
        assert kind == "no_recordings"
        assert says in said


def rename(folder, old, new):
    for path in list(folder.glob(f"{old}.*")):
        path.rename(path.with_name(path.name.replace(old, new)))


def test_a_missing_rank_is_named(copy):
    rename(copy, "rank-0-of-2", "rank-0-of-4")
    rename(copy, "rank-1-of-2", "rank-2-of-4")
    kind, said = refused(copy)
    assert kind == "missing_rank"
    assert "holds no recording of ranks 1 and 3, of 4 ranks" in said


def test_a_file_of_a_rank_that_the_job_did_not_have_is_named(copy):
    for path in list(copy.glob("rank-1-of-2.*")):
        shutil.copy(path, path.with_name(path.name.replace("rank-1", "rank-7")))
    kind, said = refused(copy)
    assert kind == "bad_name"
    assert "rank-7-of-2.gradviz.json is of no rank: those of 2 begin with 0" in said


def test_a_job_of_no_ranks_is_none(copy):
    rename(copy, "rank-0-of-2", "rank-0-of-0")
    (copy / "rank-1-of-2.gradviz.json").unlink()
    assert refused(copy)[0] == "no_recordings"


@pytest.mark.parametrize(
    ("names", "array"), [(["x"], ["text"]), ([["x"]], [1.0]), ([1], [1.0]), ("x", [1.0]), ([], [1.0])]
)
def test_a_file_of_something_else_is_no_file_of_gradients(copy, names, array):
    empty = np.array([], str) if names else np.array([1])
    np.savez(copy / "rank-1-of-2.npz", array, names=np.array(names), parameters=empty)
    assert refused(copy)[0] == "bad_file"


@counts(40)
def test_whatever_numpy_and_zip_say_of_damage_it_is_a_bad_file(copy, count):
    gradients = copy / "rank-1-of-2.npz"
    whole = bytearray(gradients.read_bytes())
    for place in range(0, 40, 40 // count):
        entry = whole.index(b"PK\x01\x02") + place
        gradients.write_bytes(whole[:entry] + bytes([whole[entry] ^ 0x5F]) + whole[entry + 1 :])
        with suppress(GradvizError):
            gradviz.ranks(copy)


def test_recordings_of_several_jobs_are_refused(copy):
    rename(copy, "rank-1-of-2", "rank-1-of-3")
    kind, said = refused(copy)
    assert kind == "several_jobs"
    assert "of 2 ranks and 3 ranks" in said


@pytest.mark.parametrize("name", ["rank-1-of-2.npz", "rank-1-of-2.gradviz.json"])
def test_gradients_of_another_job_than_the_recording_beside_them_are_refused(folder, copy, name):
    shutil.copy(folder / "same" / name, copy / name)
    kind, said = refused(copy)
    assert kind == "several_jobs"
    assert f"{copy / 'rank-1-of-2.npz'} holds the gradients of another recording than rank-1-of-2.gradviz.json" in said


@pytest.mark.parametrize(
    ("gradients", "says"),
    [
        ({"first.weight": (4, 5)}, "first.weight has the shape (4, 3) on rank 0 and (4, 5) on rank 1"),
        ({"second.weight": (4, 3)}, "rank 1 has no parameter of rank 0"),
    ],
)
def test_recordings_of_different_models_are_refused(copy, gradients, says):
    arrays = [np.zeros(shape) for shape in gradients.values()]
    np.savez(copy / "rank-1-of-2.npz", *arrays, names=np.array([*gradients]), parameters=np.array([], str))
    kind, said = refused(copy)
    assert kind == "different_models"
    assert says in said


def test_a_damaged_file_is_named(copy):
    gradients, recording = copy / "rank-1-of-2.npz", copy / "rank-1-of-2.gradviz.json"
    whole = gradients.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"no zip", None):
        os.unlink(gradients)
        if content is not None:
            gradients.write_bytes(content)
        kind, said = refused(copy)
        assert kind == "bad_file"
        assert "rank-1-of-2.npz cannot be read" in said
        assert "pickle" not in said
        gradients.touch()
    gradients.write_bytes(whole)
    recording.write_bytes(recording.read_bytes()[:500])
    kind, said = refused(copy)
    assert kind == "not_json"
    assert str(recording) in said
