"""Banks: looking up, listing, merging."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import LLAMA, RESNET50, ROOT, SURE, TRAINING

import libaoe

PRODUCT = {"op": "MatMulV3", "m": 512, "k": 1024, "n": 2816, "dtype": "bfloat16"}


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    """The bank of a tuned network."""
    libaoe.tune(SURE, bank=tmp_path / "bank", soc="Ascend910B2", jobs=2, progress=False, max_tuning_count=60)
    return tmp_path / "bank"


def test_every_record_is_found_by_its_own_key() -> None:
    opened = libaoe.Bank(ROOT / "tests" / "versions" / "0.1.0" / "bank", soc="Ascend910B2")
    # In TBE's bank the order of the key's fields counts, which a listing does not keep.
    records = [record for record in opened.records() if record.file.name.endswith("_kb.json")]
    assert {record.op for record in records} == {"Add"} and len(records) == 4
    for record in records:
        assert record.info_dict is not None
        assert opened.query(record.op, record.info_dict) == record.knowledge
        assert record.gain is not None and record.gain > 0 and record.backend == "simulator"


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
