"""Units that measure on devices: Ray gives each one a device of its own. The devices are declared, not there; a program that
takes the place of ``aoe`` notes which one it sees, and simulates."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator

import pytest
from conftest import RESNET50
from test_fleet import SMALL

import libaoe

pytest.importorskip("ray", reason="ray is not installed")

#: A device on which a unit finds another one at work has been given away twice.
PROGRAM = """#!/bin/sh
device="{notes}/$ASCEND_RT_VISIBLE_DEVICES"
mkdir "$device.busy" || exit 3
echo "$*" >>"$device.units"
for word; do
    shift
    case $word in --backend=ascend) word=--backend=simulator ;; esac
    set -- "$@" "$word"
done
"{program}" "$@"
status=$?
rmdir "$device.busy"
exit $status
"""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the program notes what it saw; workers inherit the variable that names its prefix."""
    folder, prefix, real = tmp_path / "notes", tmp_path / "prefix", libaoe.prefix()
    for needed in (folder, prefix / "bin"):
        needed.mkdir(parents=True)
    for name in ("lib", "include"):
        (prefix / name).symlink_to(real / name)
    program = prefix / "bin" / "aoe"
    program.write_text(PROGRAM.format(notes=folder, program=real / "bin" / "aoe"))
    program.chmod(0o755)
    monkeypatch.setenv("AOE_PREFIX", str(prefix))
    return folder


@pytest.fixture
def cluster(notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A node with processors only, and one with two devices."""
    for name, value in {"TMPDIR": str(tmp_path), "RAY_TMPDIR": "/tmp", "RAY_USAGE_STATS_ENABLED": "0"}.items():
        monkeypatch.setenv(name, value)
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    made.add_node(num_cpus=4, resources={"NPU": 2})
    yield made
    made.shutdown()


def test_each_unit_sees_one_device_that_no_other_uses(cluster: Any, notes: Path, tmp_path: Path) -> None:
    units = [str(SMALL), str(RESNET50), "--soc", "Ascend910B2,Ascend310P3", "--job_type", "2", "--option", "max_tuning_count=50"]
    command = [sys.executable, "-m", "libaoe.ray", *units, "--bank", str(tmp_path / "bank"), "--backend", "ascend"]
    told = subprocess.run([*command, "--address", cluster.address], capture_output=True, text=True)
    assert told.returncode == 0 and told.stdout.endswith("4 units in the bank\n"), told.stdout + told.stderr
    seen = {path.stem: path.read_text().splitlines() for path in notes.glob("*.units")}
    assert set(seen) <= {"0", "1"} and sum(map(len, seen.values())) == 4, seen
    assert all("--backend=ascend" in line for lines in seen.values() for line in lines), seen
    assert not list(notes.glob("*.busy"))


def test_without_a_device_nothing_is_asked_of_one(cluster: Any, notes: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "libaoe.ray", str(SMALL), "--soc", "Ascend910B2", "--job_type", "2", "--bank", str(tmp_path / "bank")]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ASCEND_")}
    told = subprocess.run([*command, "--address", cluster.address], capture_output=True, text=True, env=environment)
    assert told.returncode == 0, told.stdout + told.stderr
    assert [path.name for path in notes.glob("*.units")] == [".units"], "a simulator run has seen a device"
