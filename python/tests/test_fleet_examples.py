"""examples/fleet with the variables that a scheduler would set: each way gives the bank of one machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BERT, LLAMA, PART, ROOT, SURE

import libaoe

FLEET = ROOT / "examples" / "fleet"
PARTS = 2


def shared(folder: Path) -> Path:
    folder.mkdir()
    # One has sure gains, the other such that a device has to decide about.
    shutil.copy(BERT, folder / "net.onnx")
    (folder / "models.txt").write_text(f"{SURE}\nnet.onnx\n")
    return folder


def records(bank: Path, roots: "tuple[str, ...]" = (f"{PART}/", "aoe_bank_to_measure/")) -> "set[str]":
    """Of a bank, or of a part with its results; it has some below each root."""
    files = [path for path in bank.rglob("unified_bank/*.json") if ".aoe" not in path.parts]
    lines = {f"{path.relative_to(bank)}: {line}".replace("results/aoe_", "aoe_") for path in files for line in path.read_text().splitlines()}
    assert all(any(line.startswith(root) for line in lines) for root in roots)
    return lines


def run(command: "list[str]", folder: Path, **variables: str) -> str:
    path = f"{libaoe.prefix() / 'bin'}:{os.environ['PATH']}"
    options = "--job_type=2 --max_tuning_count=100"
    environment = {**os.environ, "PATH": path, "SHARED": str(folder), "SOC": PART, "AOE_OPTIONS": options, **variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


@pytest.fixture
def whole(tmp_path: Path) -> "set[str]":
    folder = shared(tmp_path / "whole")
    run([str(FLEET / "slurm.sh")], folder, SLURM_ARRAY_TASK_ID="1", SLURM_ARRAY_TASK_COUNT="1")
    return records(folder / "parts" / "1")


def test_a_slurm_array_and_its_join_give_the_records_of_one_machine(tmp_path: Path, whole: "set[str]") -> None:
    folder = shared(tmp_path / "shared")
    for task in range(1, PARTS + 1):
        told = run([str(FLEET / "slurm.sh")], folder, SLURM_ARRAY_TASK_ID=str(task), SLURM_ARRAY_TASK_COUNT=str(PARTS))
        assert f"shard {task}/{PARTS}: 1 of 2 models" in told
    # Of an array that is started again for one task alone, the scheduler counts that one only.
    told = run([str(FLEET / "slurm.sh")], folder, SLURM_ARRAY_TASK_ID=str(PARTS), SLURM_ARRAY_TASK_COUNT="1", PARTS=str(PARTS))
    assert f"shard {PARTS}/{PARTS}: 1 of 2 models" in told
    run([str(FLEET / "join.sh")], folder)
    assert records(folder / "bank") == whole


def test_the_pods_of_an_indexed_job_do_the_same(tmp_path: Path, whole: "set[str]") -> None:
    folder = shared(tmp_path / "shared")
    job = (FLEET / "kubernetes.yaml").read_text()
    found = re.search(r"args:\n +- \|\n((?: {14,}.*\n)+)", job)
    assert found is not None
    script = re.sub(r"^ {14}", "", found.group(1), flags=re.MULTILINE)
    for index in range(PARTS):
        run(["/bin/bash", "-c", script], folder, JOB_COMPLETION_INDEX=str(index), PARTS=str(PARTS))
    run([str(FLEET / "join.sh")], folder)
    assert records(folder / "bank") == whole


def test_a_makefile_makes_parts_once_and_joins_them(tmp_path: Path, whole: "set[str]") -> None:
    folder = shared(tmp_path / "a shared folder")
    command = ["make", "-f", str(FLEET / "Makefile"), f"SHARED={folder}", f"PARTS={PARTS}"]
    run([*command, "part-1"], folder)
    run([*command, "-j2"], folder)
    assert records(folder / "bank") == whole
    done = [(folder / "parts" / str(part) / ".done").stat().st_mtime_ns for part in range(1, PARTS + 1)]
    run(command, folder)
    assert done == [(folder / "parts" / str(part) / ".done").stat().st_mtime_ns for part in range(1, PARTS + 1)]


def test_a_part_that_fails_is_not_done_and_nothing_is_joined(tmp_path: Path) -> None:
    folder = shared(tmp_path / "a shared folder")
    with pytest.raises(AssertionError, match="no_such_option"):
        run(["make", "-f", str(FLEET / "Makefile"), f"SHARED={folder}", "PARTS=1", "AOE_OPTIONS=--no_such_option=1"], folder)
    assert not (folder / "parts" / "1" / ".done").exists() and not (folder / "bank").exists()


def test_the_commands_of_the_page_run(tmp_path: Path) -> None:
    folder = shared(tmp_path / "shared")
    (folder / "llama").mkdir()
    (folder / "llama" / "config.json").write_text(json.dumps(LLAMA))
    (folder / "bank-of-parts").mkdir()
    shutil.copy(SURE, folder / "resnet50.onnx")
    # What follows is for a cluster; test_ray.py has it.
    page = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8").split("## Ray")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    path = f"{libaoe.prefix() / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TUNE_BANK_PATH": str(folder / "bank-of-parts")}
    for command in "".join(blocks).splitlines():
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, command + done.stdout + done.stderr
    sure = ("Ascend910B2/",)
    assert records(folder / "mine", sure) == records(folder / "bank", sure)
