"""Fleets whose workers run elsewhere: what a unit takes along, and what comes back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SURE
from test_fleet import QUICK, SMALL, run, runs  # noqa: F401  # One is a fixture.

from libaoe import _program, _units, fleet
from libaoe._errors import Error
from libaoe._storage import absolute, open_store
from libaoe._units import Result


def test_an_address_is_the_same_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute("bank") == absolute("file:bank") == str(tmp_path / "bank")
    assert absolute("s3://bucket/path") == "s3://bucket/path"
    with pytest.raises(Error, match="ends with the process"):
        open_store("memory://bank")


def test_units_that_are_not_in_the_bank_are_an_error(tmp_path: Path, runs: list[tuple[Result, bytes]], capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    here, there = open_store(str(tmp_path / "here")), open_store(str(tmp_path / "there"))
    fleet.keep(here, *runs[0])
    fleet.keep(there, *runs[1])
    assert fleet.finish(here, [runs[0][0], runs[1][0]]) == 1
    told = capsys.readouterr()
    assert told.out == "1 units in the bank\n" and runs[1][0].unit in told.err and "share" in told.err


def test_a_calibration_goes_where_its_unit_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, str]] = []
    told: list[bytes] = []

    def ran(arguments: list[str], warnings: list[str], environment: dict[str, str], **_: object) -> str:
        given.append(environment)
        told.append(Path(environment["AOE_CALIBRATION"]).read_bytes() if environment["AOE_CALIBRATION"] else b"")
        raise _units.NothingToTune("nothing", 8, "AOE_ERROR_NON_OPTIMIZE_GRAPH")

    file = tmp_path / "calibration.json"
    file.write_bytes(b"{}")
    monkeypatch.setenv("AOE_CALIBRATION", str(file))
    ((unit, _),) = fleet.units_of([SMALL], ["Ascend910B2"], ["2"], [])
    # The worker's own is another, and counts for nothing.
    monkeypatch.setenv("AOE_CALIBRATION", str(tmp_path / "none.json"))
    monkeypatch.setattr(_program, "told", ran)
    assert _units.tune_unit(unit, SMALL.read_bytes())[0].error is None
    with pytest.raises(Error, match="none.json cannot be read"):
        fleet.units_of([SMALL], ["Ascend910B2"], ["2"], [])
    monkeypatch.delenv("AOE_CALIBRATION")
    ((plain, _),) = fleet.units_of([SMALL], ["Ascend910B2"], ["2"], [])
    assert plain.key != unit.key
    _units.tune_unit(plain, SMALL.read_bytes())
    assert told == [b"{}", b""]


def test_a_run_that_cannot_be_read_is_set_aside(tmp_path: Path, runs: list[tuple[Result, bytes]], monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    store = open_store(str(tmp_path / "bank"))
    for one in runs[:2]:
        fleet.keep(store, *one)
    name, read = f"runs/{runs[0][0].unit}.tar", store.read

    def denied(asked: str) -> "bytes | None":
        if asked == name:
            raise PermissionError(13, "Permission denied", asked)
        return read(asked)

    monkeypatch.setattr(store, "read", denied)
    assert fleet.finished(store) == {runs[1][0].unit}
    made = fleet.join(store)
    assert made.units == 1 and made.keys == {runs[1][0].unit} and "Permission denied" in made.aside[name]


def test_empty_paths_of_a_command_line_are_refused(tmp_path: Path) -> None:
    for words in (["run", "", "--soc", "Ascend910B2", "--bank", "bank"], ["pull", "bank", ""]):
        told = run(*words)
        assert told.returncode == 2 and "a path is empty" in told.stderr, told


def test_a_name_that_the_terminal_cannot_show_ends_nothing(tmp_path: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    for name in ("é.onnx", "z.onnx"):
        (models / name).write_bytes(SURE.read_bytes())
    command = [sys.executable, "-m", "libaoe.fleet", "run", str(models), "--soc", "Ascend910B2", "--bank", str(tmp_path / "bank"), "--job_type", "2", *QUICK]
    told = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert told.returncode == 0 and told.stdout.endswith(b"2 units in the bank\n"), told


def test_a_fleet_that_is_interrupted_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    assert fleet.guarded(interrupted) == 130
    assert "--resume" in capsys.readouterr().err
