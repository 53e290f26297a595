"""Units of a fleet: what makes two of them different, what they refuse, and what one that fails does to the others."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import pytest
from conftest import SURE
from test_fleet import QUICK, SMALL, run, tree


from libaoe import _program, _units, fleet
from libaoe._storage import Store, open_store

ONE = ["--soc", "Ascend910B2", "--bank", "bank", "--job_type", "2", *QUICK]


def key(soc: str = "Ascend910B2", job: str = "2", option: str = "--seed=1", backend: str = "simulator", model: Path = SMALL) -> str:
    ((unit, _),) = fleet.units_of([model], [soc], [job], [option], backend)
    return unit.key


def test_whatever_changes_the_result_is_another_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part, switches, plugin = tmp_path / "my.json", tmp_path / "switches", tmp_path / "plugin.so"
    said = f"--fusion_switch_file={switches}"
    for file in (part, switches, plugin):
        file.write_text("1")
    before = [key(str(part)), key(option=said), key(backend=str(plugin))]
    elsewhere = tmp_path / "elsewhere" / "my.json"
    elsewhere.parent.mkdir()
    shutil.copy(part, elsewhere)
    assert key(str(elsewhere)) == before[0]
    for file in (part, switches, plugin):
        file.write_text("2")
    after = [key(str(part)), key(option=said), key(backend=str(plugin))]
    others = [key(), key(backend="ascend"), key("Ascend310P3"), key(job="1"), key(option="--seed=2"), key(model=SURE)]
    monkeypatch.setenv("AOE_CALIBRATION", str(switches))
    others.append(key())
    assert len({*before, *after, *others}) == len(before + after + others)


def test_resume_knows_the_backend_and_the_file_of_the_part() -> None:
    part = json.loads(_program.run(["soc", "Ascend910B2"]))
    Path("my.json").write_text(json.dumps(part))
    words = ["run", str(SMALL), "--soc", "my.json", "--bank", "bank", "--job_type", "2", *QUICK]
    assert run(*words).returncode == 0
    assert run(*words, "--resume").stdout == "1 units in the bank\n"
    Path("my.json").write_text(json.dumps({**part, "hbm_gb_s": part["hbm_gb_s"] / 2}))
    again = run(*words, "--resume")
    assert again.returncode == 0 and " -> " in again.stdout and again.stdout.endswith("2 units in the bank\n"), again.stdout + again.stderr
    # There is no device here: that it was asked for is what counts.
    device = run(*words, "--resume", "--backend", "ascend")
    assert device.returncode == 1 and device.stdout.endswith("2 units in the bank, 1 failed\n"), device.stdout + device.stderr


def test_the_file_of_a_part_goes_where_its_unit_goes(tmp_path: Path) -> None:
    part = tmp_path / "my.json"
    part.write_text(_program.run(["soc", "Ascend910B2"]))
    ((unit, model),) = fleet.units_of([SURE], [str(part)], ["2"], ["--max_tuning_count=60"])
    part.unlink()
    # As Ray sends it.
    result, packed = _units.tune_unit(pickle.loads(pickle.dumps(unit)), model.read_bytes())
    assert result.error is None and packed is not None and result.soc == "my.json"


def test_runs_with_keys_of_before_are_joined(tmp_path: Path) -> None:
    ((unit, model),) = fleet.units_of([SURE], ["Ascend910B2"], ["2"], ["--max_tuning_count=60"])
    _, packed = _units.tune_unit(unit, model.read_bytes())
    assert packed is not None
    old = "product-Ascend910B2-2-0123456789ab"
    _units.unpack(packed, tmp_path / "unpacked")
    store = open_store("bank")
    store.write(f"runs/{old}.tar", _units.pack(tmp_path / "unpacked", [old]))
    assert fleet.finished(store) == {old}
    assert fleet.join(store) == (1, {}, 0, {old}) and fleet.finished(store) == {old}


def test_a_unit_that_surprises_fails_by_name_and_the_rest_is_joined() -> None:
    models = Path("models")
    (models / "folder.onnx").mkdir(parents=True)
    shutil.copy(SMALL, models / "small.onnx")
    told = run("run", "models", "nowhere.onnx", *ONE)
    assert told.returncode == 1 and "Traceback" not in told.stderr, told.stderr
    assert "folder.onnx for Ascend910B2, job 2: failed: IsADirectoryError" in told.stdout
    assert "nowhere.onnx for Ascend910B2, job 2: failed: FileNotFoundError" in told.stdout
    assert told.stdout.endswith("1 units in the bank, 2 failed\n")


def test_what_a_tuning_leaves_out_is_a_failure_of_its_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_program, "told", lambda *_, **__: "")
    ((unit, model),) = fleet.units_of([SMALL], ["Ascend910B2"], ["2"], [])
    result, packed = _units.tune_unit(unit, model.read_bytes())
    assert packed is None and result.error is not None and result.error.startswith("FileNotFoundError")


def test_a_run_that_cannot_be_stored_is_a_failure_of_its_unit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    keep = fleet.keep

    def full(store: Store, result: _units.Result, packed: "bytes | None") -> None:
        if result.model == "small.onnx":
            raise OSError(28, "No space left on device")
        keep(store, result, packed)

    monkeypatch.setattr(fleet, "keep", full)
    assert fleet.main(["run", str(SMALL), str(SURE), *ONE]) == 1
    out = capsys.readouterr().out
    assert "small.onnx for Ascend910B2, job 2: failed: OSError" in out and out.endswith("1 units in the bank, 1 failed\n")


@pytest.mark.parametrize("option", ["help", "version", "V", "dry_run", "soc_version=A", "output=x", "--seed=1", "", "=1", "a b=1"])
def test_options_that_are_not_for_units_are_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    # Joined by =, so that one that begins with dashes is its value.
    words = ["--soc", "Ascend910B2", "--bank", "bank", f"--option={option}"]
    assert fleet.main(["run", str(SMALL), *words]) == 1
    assert capsys.readouterr().err.startswith("[ERROR] --option ") and not Path("bank").exists()


@pytest.mark.parametrize("named", [["--soc", "A,"], ["--soc", ""], ["--soc", " "], ["--job_type", ""], ["--bank", ""], ["--bank", "file:"]])
def test_an_empty_name_is_an_error(named: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert fleet.main(["run", str(SMALL), *ONE, *named]) == 1
    told = capsys.readouterr()
    assert told.err.startswith("[ERROR] ") and ("empty" in told.err or "names no folder" in told.err) and not told.out
    assert not Path("bank").exists()


def test_what_is_named_twice_is_one_unit(tmp_path: Path) -> None:
    twice = fleet.units_of([SMALL, SMALL], ["Ascend910B2", " Ascend910B2", "Ascend310P3 "], ["2", " 2"], [])
    assert [unit.soc for unit, _ in twice] == ["Ascend910B2", "Ascend310P3"]
    told = run("run", str(SMALL), str(SMALL), *ONE, "--soc", "Ascend910B2, Ascend910B2")
    assert told.returncode == 0 and told.stdout.count(" -> ") == 1 and told.stdout.endswith("1 units in the bank\n"), told.stderr


@pytest.mark.parametrize("url", ["s3://[bad", "file://host/x", "s3://b/x?y#z", "s3://b/x#z", "s3://", "obs:///x", "http://x", ""])
def test_an_address_that_cannot_be_one_is_named(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["join", url], ["pull", url, "mine"], ["run", str(SMALL), *ONE, "--bank", url]):
        assert fleet.main(words) == 1
        told = capsys.readouterr()
        assert told.err.startswith(f"[ERROR] {url or 'the address'} ") and told.err.count("\n") == 1 and not told.out, told


def test_a_place_with_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    open_store("only-results").write("results/x.json", b"{}")
    for place in ("nowhere", "only-results"):
        for words in (["join", place], ["pull", place, "mine"]):
            assert fleet.main(words) == 1
            assert "stored there" in capsys.readouterr().err
    assert not Path("nowhere").exists()


def test_pull_names_what_it_cannot_take_and_takes_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", str(SURE), *ONE, "--option", "seed=1").returncode == 0
    kept = tree(Path("bank"))
    Path("bank/letters/letters.txt").parent.mkdir()
    Path("bank/letters/letters.txt").write_text("letters")
    assert fleet.main(["pull", "bank", "mine"]) == 1
    assert "letters" in capsys.readouterr().err and tree(Path("mine")) == kept and kept
