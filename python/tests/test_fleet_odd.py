"""What lies among the runs of a fleet and cannot be joined: it stays, by name, and the rest is joined."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest
from conftest import ROOT, SURE
from test_fleet import joined, run, runs, tree  # noqa: F401  # One is a fixture.

from libaoe import _units, fleet
from libaoe._storage import open_store
from libaoe._units import Result


def packed_with(content: dict[str, bytes]) -> bytes:
    """A tar with these members."""
    with tarfile.open(fileobj=(target := io.BytesIO()), mode="w") as archive:
        for name, data in content.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return target.getvalue()


def members(packed: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return archive.getnames()


def damaged(run: bytes, below: Path) -> bytes:
    """A run whose operator bank ends in the middle of a record."""
    units = _units.unpack(run, below)
    bank = next(path for path in below.rglob("*.json") if path.parent.name == "unified_bank")
    bank.write_bytes(bank.read_bytes()[:-20])
    return _units.pack(below, units)


def odd_runs(runs: list[tuple[Result, bytes]], below: Path) -> dict[str, bytes]:
    """What may lie below runs/ and is no run, or not a whole one."""
    whole = next(run for _, run in runs if b"unified_bank/" in run)
    shared = next(name for name in members(whole) if name.endswith("_runtime_kb.json"))
    return {
        ".DS_Store": b"\0\0\0\1Bud1",
        "notes.txt": b"notes",
        "zero.tar": b"",
        "cut.tar": whole[:700],
        # Between two members, where a tar is read as one that has no more of them.
        "cut-between.tar": whole[:1024],
        "backup.tar": packed_with({"letters.txt": b"letters"}),
        "backup.bak": whole,
        "more.tar": packed_with({"units.json": b'["a"]', "notes.aoe/letters": b"letters"}),
        "units.tar": packed_with({"units.json": b'{"a": 1}'}),
        "words.tar": packed_with({"units.json": b"[" * 100_000}),
        "outside.tar": packed_with({"units.json": b'["a"]', "bank/../../x": b"x"}),
        # After the run that has this file, so that the joined bank has it too.
        "without.tar": packed_with({"units.json": b'["a"]', shared: b""}),
        "unknown.tar": packed_with({"units.json": b'["a"]', "bank/Ascend910B2/unified_bank/letters.txt": b"letters"}),
        "damaged.tar": damaged(whole, below),
    }


def test_what_cannot_be_joined_is_set_aside_by_name(
    tmp_path: Path, runs: list[tuple[Result, bytes]], capsys: pytest.CaptureFixture[str]
) -> None:
    odd = odd_runs(runs, tmp_path / "unpacked")
    store = open_store(str(tmp_path / "bank"))
    for run in runs:
        fleet.keep(store, *run)
    for name, content in odd.items():
        store.write(f"runs/{name}", content)
    assert fleet.finished(store) == {result.unit for result, _ in runs}
    for _ in range(2):
        assert fleet.main(["join", str(tmp_path / "bank")]) == 1
        out, err = capsys.readouterr()
        assert out == f"{len(runs)} units in the bank\n"
        for name, content in odd.items():
            assert f"[ERROR] runs/{name}: it" in err and store.read(f"runs/{name}") == content, name
        assert len([line for line in err.splitlines() if line.startswith("[ERROR] runs/")]) == len(odd), err
    # Nothing of theirs is in the bank, nor beside it.
    assert tree(tmp_path / "bank") == tree(joined(tmp_path / "other", runs))


def test_the_unit_of_a_damaged_run_is_tuned_again(tmp_path: Path, runs: list[tuple[Result, bytes]]) -> None:
    words = ["run", str(SURE), "--soc", "Ascend910B2", "--bank", "bank", "--job_type", "2", "--option", "max_tuning_count=60"]
    store = open_store("bank")
    result, whole = next((result, run) for result, run in runs if b"unified_bank/" in run)
    fleet.keep(store, result, damaged(whole, tmp_path / "unpacked"))
    assert fleet.join(store).units == 0 and store.names("runs") == [f"runs/{result.unit}.tar"]
    told = run(*words, "--resume")
    assert told.returncode == 0 and " -> " in told.stdout, told.stdout + told.stderr
    assert tree(tmp_path / "bank") == tree(joined(tmp_path / "other", [(result, whole)]))


def test_records_that_would_not_compute_cost_a_run_nothing_else(
    tmp_path: Path, runs: list[tuple[Result, bytes]], capsys: pytest.CaptureFixture[str]
) -> None:
    result, whole = next((result, run) for result, run in runs if b"unified_bank/" in run)
    units = _units.unpack(whole, tmp_path / "unpacked")
    bank = next(path for path in (tmp_path / "unpacked").rglob("*_runtime_kb.json"))
    line = (ROOT / "tests" / "command_line" / "stand_ins" / bank.name).read_text()
    record = json.loads(line)
    record["knowledge"]["baseM"] = 8192
    bank.write_text(bank.read_text() + json.dumps(record, separators=(",", ":")) + "\n")
    store = open_store(str(tmp_path / "bank"))
    store.write("runs/old.tar", _units.pack(tmp_path / "unpacked", units))
    assert fleet.main(["join", str(tmp_path / "bank")]) == 0
    out, err = capsys.readouterr()
    assert out == "1 units in the bank\n" and err.startswith("[WARNING] 1 records of earlier runs would not compute"), err
    assert tree(tmp_path / "bank") == tree(joined(tmp_path / "other", [(result, whole)]))
