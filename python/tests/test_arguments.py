"""What users give by keyword: said once, named when it cannot be, and a path whatever it begins with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Callable

import pytest
from conftest import LLAMA, RESNET50, SURE

import libaoe
from libaoe import _program

CASE = {"op": "MatMul", "m": 64, "k": 64, "n": 64, "dtype": "float16"}
QUICK: "dict[str, Any]" = {"progress": False, "max_tuning_count": 5}
PART, OTHER = "Ascend910B2", "Ascend310P3"


def tune(**given: Any) -> libaoe.Tuning:
    return libaoe.tune(given.pop("model", SURE), **{"soc": PART, "jobs": 2, **QUICK, **given})


def llm(**given: Any) -> libaoe.Served:
    return libaoe.llm(given.pop("config", LLAMA), **{"soc": PART, "batch": 1, "prompt": 64, "trials": 0, "bank": "bank", **given})


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: tune(soc_version=OTHER), ("soc=", "soc_version=")),
        (lambda: tune(job_type=1), ("jobs=", "job_type=")),
        (lambda: tune(bank="a", **{"ge.op_bank_path": "b"}), ("bank=", "ge.op_bank_path=")),
        (lambda: tune(bank="a", **{"ge.mdl_bank_path": "b"}), ("bank=", "ge.mdl_bank_path=")),
        (lambda: tune(bank="a", install=True), ("bank=", "install=")),
        (lambda: libaoe.simulate(CASE, soc=PART, soc_version=OTHER), ("soc=", "soc_version=")),
        (lambda: libaoe.tiling(CASE, soc=PART, soc_version=OTHER), ("soc=", "soc_version=")),
        (lambda: libaoe.candidates(CASE, soc=PART, soc_version=OTHER), ("soc=", "soc_version=")),
        (lambda: libaoe.kernels(RESNET50, soc=PART, soc_version=OTHER), ("soc=", "soc_version=")),
        (lambda: libaoe.kernels(RESNET50, soc=PART, output="kernels.json"), ("output=", "leave it out")),
        (lambda: libaoe.kernels(RESNET50, soc=PART, cases=True), ("cases=", "leave it out")),
        (lambda: libaoe.Bank(".", soc=PART, soc_version=OTHER), ("soc=", "soc_version=")),
        (lambda: llm(soc_version=OTHER), ("soc=", "soc_version=")),
        (lambda: llm(json=True), ("json=", "leave it out")),
        (lambda: llm(install=True), ("bank=", "install=")),
        (lambda: libaoe.search({"x": [1]}, float, 5, max_tuning_count=6), ("budget=", "max_tuning_count=")),
    ],
)
def test_arguments_that_contradict_each_other_are_errors_that_name_both(call: Callable[[], object], names: "tuple[str, str]") -> None:
    with pytest.raises(libaoe.InvalidOption) as raised:
        call()
    assert raised.value.code == 11 and all(name in str(raised.value) for name in names), raised.value
    assert not list(Path().iterdir()), "it was begun"


def test_an_option_may_be_said_by_its_own_name_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert tune(soc=None, soc_version=OTHER, jobs=None, job_type="2", bank="a").soc == OTHER
    assert libaoe.simulate(CASE, soc_version=OTHER) == libaoe.simulate(CASE, soc=OTHER) != libaoe.simulate(CASE, soc=PART)
    # Flags of the program are truth values here.
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert llm(bank=None, install=True, dry_run=True, trials=5).soc == PART
    dry = tune(bank="a", dry_run=True)
    assert dry.bank is None, "it would name a folder that is gone"


def test_the_bank_of_a_language_model_beside_another_in_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNE_BANK_PATH", "other")
    with pytest.raises(libaoe.InvalidOption, match="bank=.*TUNE_BANK_PATH=other"):
        llm()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: tune(bank=""), "bank"),
        (lambda: tune(output=""), "output"),
        (lambda: tune(model=""), "model"),
        (lambda: tune(soc=""), "soc"),
        (lambda: libaoe.simulate(CASE, soc=""), "soc"),
        (lambda: libaoe.kernels(""), "model"),
        (lambda: libaoe.kernels(RESNET50, against=""), "against"),
        (lambda: llm(bank=""), "bank"),
        (lambda: llm(config=""), "config"),
        (lambda: llm(output=""), "output"),
        (lambda: libaoe.Bank(""), "path"),
        (lambda: libaoe.Bank(".", soc=""), "soc"),
        (lambda: libaoe.merge("", "into"), "sources"),
        (lambda: libaoe.merge([], "into"), "sources"),
        (lambda: libaoe.merge(".", ""), "into"),
        (lambda: libaoe.merge(".", "into", built_in=""), "built_in"),
    ],
)
def test_an_empty_path_is_refused_by_name(call: Callable[[], object], name: str) -> None:
    with pytest.raises(libaoe.InvalidParam, match=f"^{name} is empty: ") as raised:
        call()
    assert raised.value.code == 2 and not list(Path().iterdir())


def test_a_bank_that_cannot_be_made_is_a_file_error() -> None:
    Path("bank").write_text("no folder")
    for call in (tune, llm):
        with pytest.raises(libaoe.FileError, match="bank=.*/bank") as raised:
            call(bank="bank")
        assert raised.value.code == 1004


def test_a_path_that_begins_with_a_dash_is_a_path() -> None:
    shutil.copy(SURE, "-json.onnx")
    assert libaoe.kernels("-json.onnx", soc=PART).groups == libaoe.kernels(SURE, soc=PART).groups
    assert tune(model="-json.onnx", bank="-bank", max_tuning_count=60).kernels == tune(bank="bank", max_tuning_count=60).kernels
    assert llm(config=LLAMA).soc == PART
    Path("-config.json").write_text(json.dumps(LLAMA))
    assert llm(config="-config.json").points == llm().points
    records = libaoe.Bank(Path("-bank"), soc=PART).records()
    assert len(records) == 1 and [r.info_dict for r in records] == [r.info_dict for r in libaoe.Bank("bank", soc=PART).records()]
    bank = Path("-bank", PART, "unified_bank")
    assert libaoe.merge(bank, into="-into").added == 1
    with pytest.raises(libaoe.FileError, match="-nowhere"):
        libaoe.kernels("-nowhere", soc=PART)


def test_a_job_is_a_whole_number_or_a_name() -> None:
    for wrong in (1.0, True, [2, 1.0], object()):
        with pytest.raises(libaoe.InvalidParam, match="^jobs: .* is no job"):
            tune(jobs=wrong)
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    assert tune(jobs=numpy.int64(2), bank="a").kernels == tune(jobs="2", bank="b").kernels == tune(jobs=iter([2]), bank="c").kernels


def test_numbers_of_numpy_are_taken_in_configurations_and_options() -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    config = {name: numpy.int64(value) if isinstance(value, int) else value for name, value in LLAMA.items()}
    plain = llm(batch=[1, 2])
    assert llm(config=config).points == llm().points
    assert llm(config=config, batch=numpy.array([1, 2])).points == llm(batch=range(1, 3)).points == plain.points


def dynamic() -> bytes:
    """A model whose batch is open."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    value = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", 8])  # noqa: E731
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "open", [value("x")], [value("y")])
    return bytes(onnx.helper.make_model(graph).SerializeToString())


def test_errors_of_the_program_have_the_code_of_the_status(tmp_path: Path) -> None:
    Path("open.onnx").write_bytes(dynamic())
    Path("bad.onnx").write_bytes(b"no model")
    damaged = {**LLAMA, "num_attention_heads": 0}
    cases: "list[tuple[Callable[[], object], type[libaoe.Error], int]]" = [
        (lambda: libaoe.kernels("open.onnx", soc=PART), libaoe.DynamicGraph, 9),
        (lambda: libaoe.kernels(dynamic(), soc=PART), libaoe.DynamicGraph, 9),
        (lambda: libaoe.kernels("bad.onnx", soc=PART), libaoe.InvalidGraph, 7),
        (lambda: libaoe.kernels(b"no model", soc=PART), libaoe.InvalidGraph, 7),
        (lambda: libaoe.kernels("nowhere.onnx", soc=PART), libaoe.FileError, 1004),
        (lambda: libaoe.kernels(RESNET50, soc="Ascend1"), libaoe.InvalidOption, 11),
        (lambda: libaoe.kernels(RESNET50, soc=PART, no_such_option=1), libaoe.InvalidOption, 11),
        (lambda: llm(config=damaged), libaoe.FileError, 1004),
        (lambda: llm(batch=0), libaoe.InvalidOption, 11),
        (lambda: llm(config="nowhere"), libaoe.FileError, 1004),
    ]
    for number, (call, kind, code) in enumerate(cases):
        with pytest.raises(libaoe.Error) as raised:
            call()
        assert (type(raised.value), raised.value.code) == (kind, code), (number, raised.value)
        assert raised.value.name.startswith("AOE_ERROR_") and "libaoe-" not in str(raised.value), raised.value
    # So it is for whatever else runs the program, as the units of a fleet do.
    with pytest.raises(libaoe.NothingToTune):
        _program.run([f"--model={RESNET50}", "--job_type=4", f"--soc_version={PART}"])


def _itself() -> "dict[str, Any]":
    mapping: "dict[str, Any]" = {"op": "MatMul"}
    mapping["m"] = mapping
    return mapping


def _deep() -> "dict[str, Any]":
    mapping: "dict[str, Any]" = {"op": "MatMul"}
    inner = mapping
    for _ in range(100_000):
        inner["m"] = {}
        inner = inner["m"]
    return mapping


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: tune(bank=5), "bank=5 is no path"),
        (lambda: tune(bank="\0"), "bank="),
        (lambda: tune(output="\0"), "output="),
        (lambda: tune(model="\ud800"), "model="),
        (lambda: tune(bank="\ud800"), "bank="),
        (lambda: tune(input_shape="\ud800"), "UTF-8"),
        (lambda: tune(**{"\ud800": 1}), "UTF-8"),
        (lambda: libaoe.Bank("\0", soc=PART), "path="),
        (lambda: libaoe.merge([None], into="all"), "sources=None is no path"),  # type: ignore[list-item]
        (lambda: libaoe.simulate(_itself()), "JSON"),
        (lambda: libaoe.simulate(_deep()), "JSON"),
        (lambda: libaoe.search({"x": [1]}, lambda _: [1.0, 2.0], 5), "a cost is a number"),  # type: ignore[arg-type,return-value]
        (lambda: llm(batch=[1] * 100_000), "too long"),
    ],
)
def test_what_no_argument_can_be_is_named_as_a_parameter(call: Callable[[], object], said: str) -> None:
    with pytest.raises(libaoe.InvalidParam) as raised:
        call()
    assert raised.value.code == 2 and said in str(raised.value), raised.value
