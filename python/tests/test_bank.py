"""Banks: looking up, listing, merging."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import threading
import warnings
from pathlib import Path

import pytest
from conftest import LLAMA, RESNET50, ROOT, SURE, TRAINING

import libaoe
from libaoe import _native, _program, _warned

PRODUCT = {"op": "MatMulV3", "m": 512, "k": 1024, "n": 2816, "dtype": "bfloat16"}


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    """The bank of a tuned network."""
    libaoe.tune(SURE, bank=tmp_path / "bank", soc="Ascend910B2", jobs=2, progress=False, max_tuning_count=60)
    return tmp_path / "bank"


WHOLE = ROOT / "tests" / "versions" / "0.1.0" / "bank"
STAND_INS = ROOT / "tests" / "command_line" / "stand_ins"


@pytest.mark.parametrize(
    ("path", "soc", "op"),
    [
        (WHOLE, "Ascend910B2", "Add"),
        (WHOLE, "Ascend910B2", "conv2d"),
        (STAND_INS / "Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json", None, "MatMulV3"),
        (STAND_INS / "Ascend910B1_25_AiCore_matmul.json", None, "matmul"),
    ],
)
def test_every_record_of_every_form_is_found_by_its_own_key(path: Path, soc: "str | None", op: str) -> None:
    opened = libaoe.Bank(path, soc=soc)
    records = opened.records(op)
    assert records and {record.op for record in records} == {op}
    for record in records:
        assert record.info_dict is not None
        assert opened.query(record.op, record.info_dict) == record.knowledge
        assert opened.query(record.op, {**record.info_dict, next(iter(record.info_dict)): 123456}) is None


def test_a_record_knows_what_it_has_gained() -> None:
    records = libaoe.Bank(WHOLE, soc="Ascend910B2").records("Add")
    assert len(records) == 4
    assert all(record.gain is not None and record.gain > 0 and record.backend == "simulator" for record in records)


def test_a_whole_bank_without_the_part_that_is_meant_is_not_found(tmp_path: Path) -> None:
    for path in (WHOLE, WHOLE / "Ascend910B2" / "unified_bank", STAND_INS / "Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json"):
        with pytest.raises(libaoe.NotFound, match="holds nothing of Ascend310P3: there is Ascend910B2 "):
            libaoe.Bank(path, soc="Ascend310P3")
        assert libaoe.Bank(path, soc="ascend910b2").records()
    with pytest.raises(libaoe.NotFound, match="is a whole bank, with Ascend910B2: say which part"):
        libaoe.Bank(WHOLE)
    # A directory of files of several parts: the one that is meant.
    for name in ("Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json", "Ascend910B1_25_AiCore_matmul.json"):
        shutil.copy(STAND_INS / name, tmp_path)
    with libaoe.Bank(tmp_path, soc="Ascend910B1") as opened:
        assert {(record.op, record.part) for record in opened.records()} == {("matmul", "Ascend910B1_25")}


def test_a_part_of_one_s_own_has_a_bank_of_its_name(tmp_path: Path) -> None:
    part = json.loads(_program.run(["soc", "Ascend910B2"]))
    (tmp_path / "mine.json").write_text(json.dumps(part))
    assert libaoe.Bank(WHOLE, soc=str(tmp_path / "mine.json")).records("Add")
    (tmp_path / "mine.json").write_text(json.dumps({**part, "name": "Mine1"}))
    with pytest.raises(libaoe.NotFound, match="holds nothing of Mine1: there is Ascend910B2"):
        libaoe.Bank(WHOLE, soc=str(tmp_path / "mine.json"))
    with pytest.raises(libaoe.FileError, match="none.json"):
        libaoe.Bank(WHOLE, soc=str(tmp_path / "none.json"))


def damaged(folder: Path) -> "tuple[Path, int]":
    """A bank of which the second record is cut, and how many records are whole."""
    folder.mkdir()
    name = "Ascend910B2_24_AiCore_Add_aoe_kb.json"
    lines = (WHOLE / "Ascend910B2" / "unified_bank" / name).read_text().splitlines()
    lines[1] = lines[1][:40]
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder, len(lines) - 1


def test_a_damaged_bank_is_told_by_warnings_and_its_whole_records_are_there(tmp_path: Path) -> None:
    bank, whole = damaged(tmp_path / "bank")
    with pytest.warns(libaoe.LibaoeWarning, match="_kb.json:2: ") as told:
        opened = libaoe.Bank(bank)
    assert len(told) == 1 and told[0].filename == __file__
    with pytest.warns(libaoe.LibaoeWarning, match="1 lines hold no record .*aoe bank verify"):
        assert len(opened.records()) == whole
    with pytest.warns(libaoe.LibaoeWarning, match="_kb.json:2: "):
        assert libaoe.merge(bank, tmp_path / "into").added == whole
    with warnings.catch_warnings():
        warnings.simplefilter("error", libaoe.LibaoeWarning)
        with pytest.raises(libaoe.LibaoeWarning):
            libaoe.Bank(bank)
        # Where nothing is wrong nothing is said.
        assert len(libaoe.Bank(tmp_path / "into").records()) == whole


def test_what_is_warned_of_in_one_thread_is_not_told_in_another(tmp_path: Path) -> None:
    bank, _ = damaged(tmp_path / "bank")
    heard: "dict[str, list[str]]" = {"damaged": [], "whole": []}

    def open_all(name: str, path: Path) -> None:
        for _ in range(20):
            with _warned.heard(heard[name]):
                bank = ctypes.c_void_p()
                _native.check(_native.library().AoeBankOpen(*_native.text_array([str(path)]), None, 0, ctypes.byref(bank)))
                _native.library().AoeBankClose(bank)

    others = [threading.Thread(target=open_all, args=args) for args in (("damaged", bank), ("whole", STAND_INS / "Ascend910B1_25_AiCore_matmul.json"))]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert (len(heard["damaged"]), heard["whole"]) == (20, [])


def test_a_bank_s_path_may_be_bytes_and_is_text(tmp_path: Path) -> None:
    bank = tmp_path / "bänk"
    shutil.copytree(WHOLE, bank)
    assert libaoe.Bank(os.fsencode(bank), soc="Ascend910B2").records() == libaoe.Bank(bank, soc="Ascend910B2").records()
    assert libaoe.merge(os.fsencode(bank / "Ascend910B2" / "unified_bank"), os.fsencode(tmp_path / "into")).added > 0
    odd = os.fsencode(tmp_path) + b"/b\xe4nk"
    os.rename(bank, odd)
    for path in (odd, os.fsdecode(odd)):
        with pytest.raises(libaoe.InvalidParam, match=r"path=b'.*/b\\xe4nk' is not UTF-8"):
            libaoe.Bank(path, soc="Ascend910B2")
        with pytest.raises(libaoe.InvalidParam, match="bank=b'.* is not UTF-8"):
            libaoe.tune(SURE, soc="Ascend910B2", bank=path, progress=False)


def test_what_is_not_recorded_is_none(bank: Path) -> None:
    with libaoe.Bank(bank, soc="Ascend910B2") as opened:
        assert opened.lookup(PRODUCT) is None
    with pytest.raises(ValueError, match="closed"):
        opened.lookup(PRODUCT)


def test_a_kernel_with_numbers_of_numpy_is_looked_up(bank: Path) -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    assert libaoe.Bank(bank, soc="Ascend910B2").lookup({**PRODUCT, "m": numpy.int64(512)}) is None


def test_a_bank_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(libaoe.NotFound) as raised:
        libaoe.Bank(tmp_path / "none", soc="Ascend910B2")
    assert raised.value.code == 1010


def test_a_bank_that_goes_away_is_a_file_error(bank: Path) -> None:
    with libaoe.Bank(bank, soc="Ascend910B2") as opened:
        bank.rename(bank.with_name("elsewhere"))
        with pytest.raises(libaoe.FileError, match="unified_bank") as raised:
            opened.records()
    assert (raised.value.code, raised.value.id) == (1004, "EG0011")


def test_a_merge_takes_all_of_one_bank_into_another_and_a_second_one_nothing(bank: Path, tmp_path: Path) -> None:
    records = len(libaoe.Bank(bank, soc="Ascend910B2").records())
    source, into = bank / "Ascend910B2" / "unified_bank", tmp_path / "merged"
    first = libaoe.merge([source], into)
    assert (first.added, first.kept) == (records, 0) and first.files > 0
    second = libaoe.merge([source], into)
    assert (second.added, second.kept, second.files) == (0, records, 0)


def test_a_language_model_is_priced_and_its_products_recorded(tmp_path: Path) -> None:
    served = libaoe.llm(LLAMA, soc="Ascend910B2", bank=tmp_path / "bank", batch=[1, 4], prompt=512, trials=20)
    assert [(point.batch, point.prompt) for point in served.points] == [(1, 512), (4, 512)]
    assert all(0 < point.tuned_tpot_us <= point.tpot_us for point in served.points)
    assert served.to_measure == [Path(file) for file in served.report["to_measure"]]
    assert served.products and all(file.is_relative_to(tmp_path / "bank") for file in served.files)
    with pytest.raises(libaoe.FileError, match="num_hidden_layers"):
        libaoe.llm({"model_type": "llama"})


def test_the_kernels_of_a_network_add_up() -> None:
    listed = libaoe.kernels(RESNET50, soc="Ascend910B2")
    assert sum(group.count for group in listed.groups) == listed.count == 76
    assert listed.total_us == pytest.approx(sum(group.count * group.us for group in listed.groups))
    assert libaoe.kernels(RESNET50.read_bytes(), soc="Ascend910B2").groups == listed.groups
    # What is in a model tells its format, in memory too.
    assert libaoe.kernels(TRAINING.read_bytes(), soc="Ascend910B2").groups == libaoe.kernels(TRAINING, soc="Ascend910B2").groups
    with pytest.raises(libaoe.InvalidGraph) as raised:
        libaoe.kernels(b"no model")
    assert raised.value.code == 7
    with pytest.raises(libaoe.InvalidOption):
        libaoe.kernels(RESNET50, no_such_option=1)


def test_one_source_is_a_path_and_not_its_letters(tmp_path: Path) -> None:
    libaoe.tune(SURE, soc="Ascend910B2", jobs=2, bank="one", progress=False, max_tuning_count=60)
    source = tmp_path / "one" / "Ascend910B2" / "unified_bank"
    for turn, given in enumerate((source, str(source), [source])):
        merged = libaoe.merge(given, into=tmp_path / "into" / str(turn))
        assert merged.added == 1, given
