"""A fleet on a real Ray cluster of three nodes on this machine, with everything killed that can be."""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Iterator

import pytest
from conftest import BERT, PART, SURE
from test_fleet import SMALL, bucket, s3, tree  # noqa: F401  # Two are fixtures.

from libaoe import _program, fleet
from libaoe import ray as on_ray
from libaoe._errors import Error
from libaoe._storage import open_store

pytest.importorskip("ray", reason="ray is not installed")

#: A folder with other models, for a longer run.
MODELS = sorted(Path(os.environ["LIBAOE_TEST_FLEET"]).glob("*.onnx")) if "LIBAOE_TEST_FLEET" in os.environ else [SURE, BERT]
UNITS = [*map(str, MODELS), "--soc", f"{PART},Ascend310P3", "--job_type", "2", "--job_type", "1", "--option", "max_tuning_count=2000"]
EXPECTED = 4 * len(MODELS)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head that runs nothing and two nodes for one task each; what their tasks write lies below `tmp_path`."""
    # Sockets have short paths, and nobody is told of this cluster.
    for name, value in {"TMPDIR": str(tmp_path), "RAY_TMPDIR": "/tmp", "RAY_USAGE_STATS_ENABLED": "0"}.items():
        monkeypatch.setenv(name, value)
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    made.workers = [made.add_node(num_cpus=1) for _ in range(2)]
    yield made
    made.shutdown()


def started(units_below: Path) -> "dict[int, int]":
    """The tunings that run, with the workers that have started them."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"/bin/aoe") and any(os.fsencode(units_below) in word for word in words):
                found[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            continue
    return found


def drive(cluster: Any, bank: Path, *more: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "libaoe.ray", *UNITS, "--bank", str(bank), "--address", cluster.address, *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def next_result(driver: "subprocess.Popen[str]") -> None:
    """Waits for a unit to end. Ray says on the same stream what has died."""
    assert driver.stdout is not None
    while True:
        line = driver.stdout.readline()
        assert line, driver.communicate()
        if " -> " in line:
            return


def test_a_killed_worker_a_killed_node_and_a_killed_driver_lose_nothing(cluster: Any, tmp_path: Path) -> None:
    bank = tmp_path / "bank"
    driver = drive(cluster, bank)
    while not (running := started(tmp_path)):
        assert driver.poll() is None, driver.communicate()
    os.kill(next(iter(running.values())), signal.SIGKILL)
    next_result(driver)
    cluster.remove_node(cluster.workers.pop(), allow_graceful=False)
    next_result(driver)
    driver.kill()
    driver.wait()
    cluster.add_node(num_cpus=1)
    # What was joined already is one object that knows its units.
    done = fleet.finished(open_store(str(bank)))
    assert 2 <= len(done) < EXPECTED, "the driver was to be killed half way"

    again = drive(cluster, bank, "--resume")
    out, err = again.communicate()
    assert again.returncode == 0, out + err
    told = [line for line in out.splitlines() if " -> " in line]
    assert len(told) <= EXPECTED - len(done) and out.endswith(f"{EXPECTED} units in the bank\n"), out

    serial = tmp_path / "serial"
    subprocess.run([sys.executable, "-m", "libaoe.fleet", "run", *UNITS, "--bank", str(serial)], check=True)
    found = tree(serial)
    assert any(name.startswith("Ascend") for name in found) and any("to_measure" in name for name in found), "nothing is compared"
    assert tree(bank) == found
    assert sorted(p.read_bytes() for p in (bank / "results").iterdir()) == sorted(p.read_bytes() for p in (serial / "results").iterdir())


def test_workers_store_in_a_bucket_what_one_machine_stores_in_a_folder(bucket: str, cluster: Any, tmp_path: Path) -> None:
    # The bucket comes first: workers inherit the variables that name its server.
    units = [str(SMALL), str(SURE), "--soc", "Ascend910B2", "--job_type", "2", "--option", "max_tuning_count=60"]
    url = f"s3://{bucket}/bank"
    command = [sys.executable, "-m", "libaoe.ray", *units, "--bank", url, "--address", cluster.address]
    told = subprocess.run(command, capture_output=True, text=True)
    assert told.returncode == 0 and told.stdout.endswith("2 units in the bank\n"), told.stdout + told.stderr
    fleet.pull(open_store(url), tmp_path / "pulled")
    subprocess.run([sys.executable, "-m", "libaoe.fleet", "run", *units, "--bank", str(tmp_path / "serial")], check=True)
    found = tree(tmp_path / "serial")
    assert any(name.startswith("Ascend910B2/") for name in found) and tree(tmp_path / "pulled") == found


def test_on_a_cluster_the_part_s_file_is_sent_and_what_is_no_run_is_left_by_name(cluster: Any, tmp_path: Path) -> None:
    part = json.loads(_program.run(["soc", "Ascend910B2"]))
    (tmp_path / "my.json").write_text(json.dumps(part))
    bank = tmp_path / "bank"
    words = [str(SMALL), str(tmp_path / "nowhere.onnx"), "--soc", str(tmp_path / "my.json"), "--job_type", "2", "--option", "max_tuning_count=5"]

    def ray(*more: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "libaoe.ray", *words, "--bank", str(bank), "--address", cluster.address, *more]
        return subprocess.run(command, capture_output=True, text=True)

    first = ray()
    assert first.returncode == 1 and first.stdout.endswith("1 units in the bank, 1 failed\n"), first.stdout + first.stderr
    assert "nowhere.onnx for my.json, job 2: failed: FileNotFoundError" in first.stdout
    (tmp_path / "nowhere.onnx").write_bytes(SURE.read_bytes())
    (run,) = (bank / "runs").iterdir()
    (bank / "runs" / "notes.txt").write_text("notes")
    (bank / "runs" / "half.tar").write_bytes(run.read_bytes()[:2000])
    second = ray("--resume")
    assert second.returncode == 1 and second.stdout.count(" us") <= 2, second.stdout + second.stderr
    assert second.stdout.endswith("2 units in the bank\n") and "small.onnx" not in second.stdout
    assert second.stderr.count("[ERROR] runs/") == 2 and "Traceback" not in second.stderr, second.stderr
    for odd in ("notes.txt", "half.tar"):
        (bank / "runs" / odd).unlink()
    # Another content under the same name is another part.
    (tmp_path / "my.json").write_text(json.dumps({**part, "hbm_gb_s": part["hbm_gb_s"] / 2}))
    third = ray("--resume")
    assert third.returncode == 0 and third.stdout.count("for my.json") == 2, third.stdout + third.stderr
    assert third.stdout.endswith("4 units in the bank\n")


def test_a_unit_that_fails_is_told_and_the_others_are_joined(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    command = [str(SMALL), str(tmp_path / "broken.onnx"), "--soc", "Ascend910B2", "--job_type", "2", "--bank", str(tmp_path / "bank")]
    told = subprocess.run(
        [sys.executable, "-m", "libaoe.ray", *command, "--address", cluster.address], capture_output=True, text=True
    )
    assert told.returncode == 1 and "broken.onnx for Ascend910B2, job 2: failed" in told.stdout, told.stdout + told.stderr
    assert told.stdout.endswith("1 units in the bank, 1 failed\n")
    # What cannot be stored is told in the words of the worker's own error.
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "runs").touch()
    command = [str(SMALL), "--soc", "Ascend910B2", "--job_type", "2", "--bank", str(tmp_path / "other")]
    told = subprocess.run(
        [sys.executable, "-m", "libaoe.ray", *command, "--address", cluster.address], capture_output=True, text=True
    )
    assert told.returncode == 1 and f"failed: Error: {tmp_path}/other/runs/small" in told.stdout, told.stdout + told.stderr


@pytest.mark.parametrize("address", ["nohost", "127.0.0.1:1", "no.such.host.invalid:6379", "127.0.0.1:port", "ray://127.0.0.1:1"])
def test_a_cluster_that_does_not_answer_is_named_at_once(address: str) -> None:
    command = [sys.executable, "-m", "libaoe.ray", str(SMALL), "--soc", "Ascend910B2", "--bank", "bank", "--address", address]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert told.returncode == 1 and told.stderr.startswith(f"[ERROR] --address {address}: no Ray cluster answers there "), told
    assert told.stderr.count("\n") == 1 and not told.stdout


@pytest.fixture
def silent() -> Iterator[str]:
    """A port that takes connections, behind which nobody says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("named", ["by its address", "as the last one that ran here"])
def test_a_cluster_that_takes_connections_and_says_nothing_is_named_in_bounded_time(
    named: str, silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    address = silent
    if named != "by its address":
        address = "auto"
        (tmp_path / "ray").mkdir()
        (tmp_path / "ray" / "ray_current_cluster").write_text(silent)
    monkeypatch.setattr(on_ray, "_JOIN_S", 15.0)
    begin = time.monotonic()
    with pytest.raises(Error, match=f"^--address {address}: no Ray cluster answers there .*joined within 15 seconds"):
        on_ray._connect(importlib.import_module("ray"), address)
    assert time.monotonic() - begin < 60


def test_a_bank_is_in_the_folder_of_the_driver_and_not_of_its_workers(cluster: Any, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    command = [str(SMALL), "--soc", "Ascend910B2", "--job_type", "2", "--option", "max_tuning_count=10", "--bank", "bank"]
    told = subprocess.run(
        [sys.executable, "-m", "libaoe.ray", *command, "--address", cluster.address], cwd=here, capture_output=True, text=True
    )
    assert told.returncode == 0 and told.stdout.endswith("1 units in the bank\n"), told.stdout + told.stderr
    assert fleet.finished(open_store(str(here / "bank")))
    device = subprocess.run(
        [sys.executable, "-m", "libaoe.ray", *command, "--address", cluster.address, "--backend", "ascend"],
        cwd=here, capture_output=True, text=True,
    )
    assert device.returncode == 1 and "resource NPU" in device.stderr, device.stdout + device.stderr
