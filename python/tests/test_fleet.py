"""Fleets: units apart, stores in folders and buckets, joins that need no lock."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Iterator

import pytest
from conftest import BERT, PART, RESNET50, SURE, TRAINING

import libaoe
from libaoe import _units, fleet
from libaoe._storage import open_store
from libaoe._units import Result, Unit

SMALL = Path(__file__).parent / "small.onnx"
QUICK = ["--option", "max_tuning_count=10"]


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The address of an S3 server on this machine."""
    pytest.importorskip("moto.server", reason="moto is not installed")
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-c", f"from moto.server import main; main(['-H', '127.0.0.1', '-p', '{port}'])"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stderr is not None
    while "Running on" not in server.stderr.readline():
        assert server.poll() is None, "the server has ended"
    threading.Thread(target=server.stderr.read, daemon=True).start()
    yield f"http://127.0.0.1:{port}"
    server.terminate()
    server.wait()


_buckets = itertools.count()


@pytest.fixture
def bucket(s3: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new bucket."""
    for name, value in {"AWS_ENDPOINT_URL": s3, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    import s3fs

    name = f"bank{next(_buckets)}"
    # Instances are kept by their arguments, with the server's address of another test.
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdir(name)
    return name


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Result, bytes]]:
    """Some units, tuned."""
    units = fleet.units_of([SMALL], ["Ascend910B2"], ["2"], ["--max_tuning_count=10"])
    # One whose gain is sure, so that the bank has a record.
    units += fleet.units_of([SURE], ["Ascend910B2"], ["2"], ["--max_tuning_count=60"])
    # One whose gains a device has to decide about.
    units += fleet.units_of([BERT], [PART], ["2"], ["--max_tuning_count=100"])
    units += fleet.units_of([RESNET50], ["Ascend310P3"], ["1,2"], ["--max_tuning_count=10"])
    found = []
    for unit, model in units:
        result, packed = _units.tune_unit(unit, model.read_bytes())
        assert result.error is None and packed is not None
        found.append((result, packed))
    return found


def tree(bank: Path) -> dict[str, bytes]:
    """The bank's files with their content."""
    files = _units.bank_files(bank)
    return {str(f.relative_to(bank)): f.read_bytes() for f in files if f.relative_to(bank).parts[0] not in ("runs", "results")}


def joined(folder: Path, runs: list[tuple[Result, bytes]]) -> Path:
    store = open_store(str(folder))
    for result, packed in runs:
        fleet.keep(store, result, packed)
    assert fleet.join(store).units == len(runs)
    return folder


def test_the_bank_is_the_same_whatever_the_order_in_which_units_end(tmp_path: Path, runs: list[tuple[Result, bytes]]) -> None:
    one = tree(joined(tmp_path / "one", runs))
    assert tree(joined(tmp_path / "two", runs[::-1])) == one
    assert any(name.startswith("Ascend910B2/") for name in one)
    assert any(name.startswith(f"aoe_bank_to_measure/{PART}/") for name in one)
    # The joined bank is one that tuning reads.
    assert libaoe.Bank(tmp_path / "one", soc="Ascend910B2").records()


def test_a_unit_gives_the_same_bytes_on_every_machine(runs: list[tuple[Result, bytes]], tmp_path: Path) -> None:
    ((unit, model),) = fleet.units_of([SMALL], ["Ascend910B2"], ["2"], ["--max_tuning_count=10"])
    assert _units.tune_unit(unit, model.read_bytes()) == runs[0]
    other = Unit(unit.name, unit.digest, unit.soc, unit.job, ("--max_tuning_count=11",))
    assert other.key != unit.key


def test_gradients_are_a_job_of_fleets_too(tmp_path: Path) -> None:
    ((unit, model),) = fleet.units_of([TRAINING], ["Ascend910B2"], ["4"], [])
    result, packed = _units.tune_unit(unit, model.read_bytes())
    assert result.error is None and result.before_us is not None and result.after_us is not None
    assert result.after_us < result.before_us and result.to_measure_us == 0.0
    assert "Ascend910B2_gradient_fusion.json" in tree(joined(tmp_path / "bank", [(result, packed or b"")]))


def test_a_join_leaves_one_object_that_knows_its_units_and_joins_on(tmp_path: Path, runs: list[tuple[Result, bytes]]) -> None:
    store = open_store(str(tmp_path / "bank"))
    fleet.keep(store, *runs[0])
    assert fleet.join(store).units == 1 and fleet.join(store).units == 1
    for run in runs[1:]:
        fleet.keep(store, *run)
    assert fleet.join(store).units == len(runs)
    (name,) = store.names("runs")
    assert name.startswith("runs/joined-") and fleet.finished(store) == {result.unit for result, _ in runs}
    assert len(store.names("results")) == len(runs)
    # Nothing is lost by joining in two steps.
    at_once = joined(tmp_path / "at once", runs)
    ours, theirs = (libaoe.Bank(bank, soc="Ascend910B2").records() for bank in (tmp_path / "bank", at_once))
    assert sorted(repr((r.op, r.info_dict, r.knowledge)) for r in ours) == sorted(repr((r.op, r.info_dict, r.knowledge)) for r in theirs)


def test_joins_at_the_same_time_lose_nothing(tmp_path: Path, runs: list[tuple[Result, bytes]]) -> None:
    store = open_store(str(tmp_path / "bank"))
    for run in runs:
        fleet.keep(store, *run)
    threads = [threading.Thread(target=fleet.join, args=[store]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fleet.join(store).units == len(runs)
    assert tree(tmp_path / "bank").keys() == tree(joined(tmp_path / "other", runs)).keys()


def test_a_join_that_dies_half_way_is_done_again(tmp_path: Path, runs: list[tuple[Result, bytes]], monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(str(tmp_path / "bank"))
    for run in runs:
        fleet.keep(store, *run)
    for step in ("_publish", "pack", "_merge_tree"):
        with monkeypatch.context() as broken:
            broken.setattr(fleet, step, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                fleet.join(store)
    with monkeypatch.context() as broken:
        broken.setattr(type(store), "delete", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            fleet.join(store)
    assert fleet.join(store).units == len(runs)
    assert tree(tmp_path / "bank") == tree(joined(tmp_path / "other", runs))


def test_a_bucket_holds_what_a_folder_holds(tmp_path: Path, bucket: str, runs: list[tuple[Result, bytes]]) -> None:
    folder = joined(tmp_path / "bank", runs)
    for scheme in ("s3", "obs"):
        store = open_store(f"{scheme}://{bucket}/{scheme}/bank")
        for run in runs:
            fleet.keep(store, *run)
        assert fleet.finished(store) == {result.unit for result, _ in runs}
        assert fleet.join(store).units == len(runs) and len(store.names("runs")) == 1
        fleet.pull(store, tmp_path / scheme)
        assert tree(tmp_path / scheme) == tree(folder)
        assert store.read("nothing") is None


def test_a_store_that_cannot_be_reached_is_named(bucket: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert fleet.main(["join", "nowhere://bank"]) == 1
    assert "nowhere://bank is neither a folder nor" in capsys.readouterr().err
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    assert fleet.main(["join", f"s3://{bucket}/bank"]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"[ERROR] {bucket}/bank/runs: ") and "redential" in told


def test_a_store_that_takes_nothing_is_told_before_anything_is_tuned(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    with socket.create_server(("127.0.0.1", 0)) as server:
        nobody = server.getsockname()[1]
    places = [("s3://no-such-bucket/bank", "create the bucket"), (str(tmp_path / "file"), "cannot be written"), ("/proc/bank", "cannot be written")]
    for place, said in [*places, (f"s3://{bucket}/bank", f"127.0.0.1:{nobody}")]:
        if place.startswith(f"s3://{bucket}"):
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{nobody}")
            monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
            import s3fs

            s3fs.S3FileSystem.clear_instance_cache()
        assert fleet.main(["run", str(SMALL), "--soc", "Ascend910B2", "--bank", place]) == 1
        told = capsys.readouterr()
        where = place[len("s3://") :] if "://" in place else place
        assert told.err.startswith(f"[ERROR] {where}") and said in told.err and told.out == "", told
    # Where it takes something, nothing stays of the trial.
    open_store("bank").prepare()
    assert not [path for path in Path("bank").rglob("*") if path.is_file()]


def test_a_path_and_its_url_are_one_store(tmp_path: Path) -> None:
    open_store(str(tmp_path / "a b")).write("runs/x.tar", b"1")
    store = open_store(f"file://{tmp_path}/a%20b")
    assert store.names("runs") == ["runs/x.tar"] and store.read("runs/x.tar") == b"1"
    store.delete("runs/x.tar")
    store.delete("runs/x.tar")
    assert store.names("runs") == []


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "libaoe.fleet", *arguments], capture_output=True, text=True)


def test_the_command_tunes_joins_and_resumes(tmp_path: Path) -> None:
    shutil.copy(SMALL, tmp_path / "b.onnx")
    (tmp_path / "a.onnx").write_bytes(b"no model")
    told = run("run", str(tmp_path), "--soc", "Ascend910B2", "--bank", "bank", "--job_type", "2", *QUICK)
    assert told.returncode == 1, told.stderr
    assert "a.onnx for Ascend910B2, job 2: failed" in told.stdout and "1 units in the bank, 1 failed" in told.stdout
    (tmp_path / "a.onnx").unlink()
    again = run("run", str(tmp_path), "--soc", "Ascend910B2", "--bank", "bank", "--job_type", "2", *QUICK, "--resume")
    assert (again.returncode, again.stdout) == (0, "1 units in the bank\n"), again.stderr
    assert run("pull", "bank", "mine").returncode == 0 and tree(tmp_path / "mine") == tree(tmp_path / "bank")
    assert run("join", "bank").stdout == "1 units in the bank\n"
    nothing = run("pull", "bnak", "mine")
    assert nothing.returncode == 1 and "nothing is stored there" in nothing.stderr
    results = [json.loads(path.read_text()) for path in Path("bank/results").iterdir()]
    assert sorted(result["error"] is None for result in results) == [False, True]
    assert run("fly").returncode == 2


def test_what_a_killed_worker_had_started_ends_with_it(tmp_path: Path) -> None:
    script = f"""
from libaoe import _program, _native
import libaoe
from pathlib import Path
print("begin", flush=True)
_program.run(["--model={RESNET50}", "--job_type=2", "--soc_version=Ascend910B2", "--backend=simulator", "--max_tuning_count=1000000",
              "--algorithm=random", "--work_path={tmp_path}"], {{"TUNE_BANK_PATH": "{tmp_path}"}}, dies_with_us=True)
"""
    worker = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None and worker.stdout.readline() == "begin\n"

    def children() -> list[int]:
        listed = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
        return [int(pid) for pid in listed if "max_tuning_count" in Path(f"/proc/{pid}/cmdline").read_text()]

    while not (started := children()):
        assert worker.poll() is None
        os.sched_yield()
    descriptor = os.pidfd_open(started[0])
    worker.kill()
    worker.wait()
    import select

    assert select.select([descriptor], [], [], 60)[0], "the tuning goes on though nobody waits for it"
