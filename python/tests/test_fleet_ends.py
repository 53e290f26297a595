"""How units of a fleet end: what they are warned of is told, and nothing of them stays behind."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BERT, SURE
from test_fleet import QUICK, SMALL, run

from libaoe import _units, fleet
from libaoe._storage import open_store

ONE = ["--soc", "Ascend910B2", "--bank", "bank", "--job_type", "2"]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders lie."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


def test_a_fleet_that_is_terminated_leaves_no_folder(temporary: Path) -> None:
    endless = ["--option", "max_tuning_count=1000000", "--option", "algorithm=random"]
    command = [sys.executable, "-m", "libaoe.fleet", "run", str(BERT), *ONE, *endless]
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not list(temporary.glob("libaoe-unit-*/bank")):
        assert driver.poll() is None, driver.communicate()
        os.sched_yield()
    driver.send_signal(signal.SIGTERM)
    out, err = driver.communicate(timeout=60)
    assert driver.returncode == 143 and "Traceback" not in err, out + err
    assert not list(temporary.iterdir())


def test_the_folders_of_killed_units_are_swept_away_and_no_others(temporary: Path, tmp_path: Path) -> None:
    # Who opened this would wait for a writer.
    os.mkfifo(tmp_path / "lock")
    (temporary / "libaoe-unit-linked").symlink_to(tmp_path)
    for name in ("libaoe-unit-killed", "libaoe-unit-at-work", "libaoe-unit-foreign", "another"):
        (temporary / name).mkdir()
    for name in ("libaoe-unit-killed", "libaoe-unit-at-work", "another"):
        (temporary / name / "lock").touch()
    with open(temporary / "libaoe-unit-at-work" / "lock", "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        ((unit, model),) = fleet.units_of([SMALL], ["Ascend910B2"], ["2"], ["--max_tuning_count=5"])
        assert _units.tune_file(unit, model)[0].error is None
    assert sorted(path.name for path in temporary.iterdir()) == [
        *("another", "libaoe-unit-at-work", "libaoe-unit-foreign", "libaoe-unit-linked")
    ]


def test_models_with_the_longest_names_are_units(tmp_path: Path) -> None:
    names = ["m" * 249 + ".onnx", "m" * 248 + "n.onnx", "é" * 124 + ".onnx"]
    for name in names:
        shutil.copy(SURE, tmp_path / name)
    told = run("run", *names, *ONE, *QUICK)
    assert told.returncode == 0 and told.stdout.endswith("3 units in the bank\n"), told.stdout + told.stderr
    again = run("run", *names, *ONE, *QUICK, "--resume")
    assert (again.returncode, again.stdout) == (0, "3 units in the bank\n"), again.stderr


def test_what_a_unit_is_warned_of_is_told_and_kept_the_same_everywhere(tmp_path: Path) -> None:
    # An option without effect here.
    told = run("run", str(SURE), *ONE, *QUICK, "--option", "buffer_optimize=l2_optimize")
    assert told.returncode == 0, told.stderr
    assert "[WARNING] product.onnx for Ascend910B2, job 2: " in told.stderr and "buffer_optimize" in told.stderr
    store = open_store("bank")
    (name,) = store.names("results")
    (warning,) = json.loads(store.read(name) or b"")["warnings"]
    assert "buffer_optimize" in warning and "libaoe-unit-" not in told.stderr
