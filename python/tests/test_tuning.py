"""Tuning: what comes back, what stays, how it is watched and stopped."""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BERT, PART, RESNET50, SURE, TRAINING

import libaoe
from libaoe._bar import Bar

QUICK = {"soc": "Ascend910B2", "jobs": 2, "progress": False, "max_tuning_count": 60}


def test_a_tuned_model_is_faster_and_its_records_are_in_the_bank_that_was_named(tmp_path: Path) -> None:
    tuning = libaoe.tune(SURE, bank=tmp_path / "bank", **QUICK)
    assert tuning.finished and tuning.soc == "Ascend910B2" and tuning.backend == "simulator"
    assert tuning.after_us < tuning.before_us
    assert tuning.improvement == pytest.approx((tuning.before_us - tuning.after_us) / tuning.after_us)
    assert tuning.before_us == pytest.approx(sum(k.before_us * k.count for k in tuning.kernels), rel=1e-5, abs=1e-3)
    assert tuning.bank == tmp_path / "bank" / "Ascend910B2" / "unified_bank"
    added = [kernel for kernel in tuning.kernels if kernel.status == "added"]
    assert added and all(kernel.after_us < kernel.before_us for kernel in added)
    assert len(libaoe.Bank(tmp_path / "bank", soc="Ascend910B2").records()) == len(added)


def test_what_a_device_has_to_decide_about_is_named_and_lies_apart(tmp_path: Path) -> None:
    sure = libaoe.tune(SURE, bank="bank", **QUICK)
    assert (sure.to_measure, sure.to_measure_us) == (None, 0.0)
    work = tmp_path / "a b's"
    doubtful = libaoe.tune(BERT, bank="bank", **{**QUICK, "soc": PART, "max_tuning_count": 100}, work_path=str(work))
    assert doubtful.to_measure == work / "aoe_bank_to_measure"
    assert libaoe.Bank(doubtful.to_measure, soc=PART).records()
    assert any(kernel.status == "to_measure" for kernel in doubtful.kernels) and doubtful.to_measure_us > 0


def test_a_model_in_memory_is_tuned_as_its_file_is(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    message = onnx.load(RESNET50, load_external_data=False)
    of_file = libaoe.tune(RESNET50, bank="a", **QUICK)
    assert libaoe.tune(message, bank="b", **QUICK).kernels == of_file.kernels
    assert libaoe.tune(RESNET50.read_bytes(), bank="c", **QUICK).kernels == of_file.kernels


def test_subgraphs_are_tuned_before_operators_when_nothing_is_said(tmp_path: Path) -> None:
    tuning = libaoe.tune(RESNET50, bank="bank", soc="Ascend310P3", progress=False, max_tuning_count=5)
    assert tuning.report["options"]["job_type"] == "1,2"
    assert tuning.report["subgraphs"]["distinct"] and tuning.kernels
    assert list(Path("bank").glob("*.json")), "the subgraph bank is in the directory itself"


def test_output_takes_reports_and_the_tuned_model(tmp_path: Path) -> None:
    libaoe.tune(RESNET50, bank="bank", output="out", **QUICK)
    assert Path("out/report.html").is_file() and list(Path("out").rglob("*.air"))
    assert not list(Path().glob("aoe_*")), "nothing lies beside it"


def test_without_output_no_model_is_written(tmp_path: Path) -> None:
    libaoe.tune(RESNET50, bank="bank", **QUICK)
    assert not list(tmp_path.rglob("*.air")) and not list(tmp_path.rglob("*.om"))


def test_results_are_tables_where_pandas_is_there() -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    tuning = libaoe.tune(RESNET50, bank="bank", **QUICK)
    frame = tuning.frame()
    assert len(frame) == len(tuning.kernels)
    assert (frame.before_us * frame["count"]).sum() == pytest.approx(tuning.before_us, rel=1e-5)


def test_progress_is_told_until_all_is_done() -> None:
    told: list[libaoe.Progress] = []
    libaoe.tune(RESNET50, bank="bank", **{**QUICK, "progress": told.append})
    assert told and told[-1].done == told[-1].total > 0
    assert [one.done for one in told] == sorted(one.done for one in told)


def test_a_progress_function_that_says_false_cancels() -> None:
    with pytest.raises(libaoe.Cancelled) as raised:
        libaoe.tune(BERT, bank="bank", jobs=2, soc="Ascend910B2", progress=lambda _: False, max_tuning_count=1000000, algorithm="random")
    assert (raised.value.code, raised.value.name) == (1002, "AOE_ERROR_CANCELLED")


def test_what_a_progress_function_raises_comes_out_and_the_library_can_be_used_again() -> None:
    class Mine(Exception):
        pass

    def fail(_: libaoe.Progress) -> None:
        raise Mine

    with pytest.raises(Mine):
        libaoe.tune(BERT, bank="bank", jobs=2, soc="Ascend910B2", progress=fail, max_tuning_count=1000000, algorithm="random")
    assert libaoe.tune(RESNET50, bank="other", **QUICK).finished


def test_ctrl_c_stops_at_once_and_keeps_what_was_found(tmp_path: Path) -> None:
    # The bank is written while tuning runs, so a second process can wait for its first record without guessing times.
    script = f"""
import itertools, libaoe, signal, sys
# A shell starts what runs in the background with the signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
def progress(state):
    if state.done >= 1:
        print("tuning", flush=True)
try:
    for turn in itertools.count():
        libaoe.tune({str(BERT)!r}, soc="Ascend910B2", jobs=2, bank=f"bank/{{turn}}", progress=progress, max_tuning_count=1000000, algorithm="random")
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(130)
"""
    # However fast the machine, it never comes to an end by itself.
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert child.stdout is not None and child.stdout.readline() == "tuning\n"
    child.send_signal(signal.SIGINT)
    rest = child.communicate(timeout=60)[0]
    assert child.returncode == 130 and rest.endswith("interrupted\n")
    # What was measured is kept, whether or not a gain of it is sure.
    assert list((tmp_path / "bank").rglob("*.trials/*.jsonl.gz"))
    last = max(tmp_path.glob("aoe_result_opat_*.json"))
    assert json.loads(last.read_text())[1]["OPAT"]["opat_tuning_result"] == "tuning incomplete"


@pytest.mark.parametrize("apart_s", [0.0, 0.001, 0.005, 0.02, 0.05])
def test_ctrl_c_pressed_again_and_again_is_one_interrupt(tmp_path: Path, apart_s: float) -> None:
    script = f"""
import libaoe, os, signal, threading, time
def interrupt(_, frame):
    # The script itself is none to be interrupted.
    while frame is not None:
        if frame.f_code.co_name == "tune":
            raise KeyboardInterrupt
        frame = frame.f_back
signal.signal(signal.SIGINT, interrupt)
begun = threading.Event()
def press():
    begun.wait()
    for _ in range(4):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep({apart_s})
def progress(_):
    begun.set()
presses = threading.Thread(target=press)
presses.start()
try:
    libaoe.tune({str(BERT)!r}, soc="Ascend910B2", jobs=2, bank="bank", progress=progress, max_tuning_count=1000000, algorithm="random")
except KeyboardInterrupt:
    pass
else:
    raise SystemExit("it ended by itself")
presses.join()
tuned = libaoe.tune({str(SURE)!r}, soc="Ascend910B2", jobs=2, bank="other", progress=False, max_tuning_count=5)
print("usable" if tuned.finished else "not")
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert (told.returncode, told.stdout) == (0, "usable\n"), told.stderr


@pytest.mark.parametrize(
    ("wrong", "kind", "code"),
    [
        ({"model": "/nowhere.onnx"}, libaoe.FileError, 1004),
        ({"model": b"no model"}, libaoe.InvalidGraph, 7),
        ({"soc": "Ascend1"}, libaoe.InvalidOption, 11),
        ({"max_tuning_count": 0}, libaoe.InvalidOption, 11),
        ({"no_such_option": 1}, libaoe.InvalidOption, 11),
        ({"backend": "/nowhere.so"}, libaoe.BackendError, 1006),
        ({"jobs": 4}, libaoe.InvalidOption, 11),
    ],
)
def test_errors_are_exceptions_with_the_code_of_the_status(wrong: dict[str, object], kind: type[libaoe.Error], code: int) -> None:
    with pytest.raises(kind) as raised:
        libaoe.tune(**{"model": RESNET50, "bank": "bank", **QUICK, **wrong})  # type: ignore[arg-type]
    assert raised.value.code == code and raised.value.name.startswith("AOE_ERROR_")
    again = pickle.loads(pickle.dumps(raised.value))
    assert (type(again), str(again), again.code) == (kind, str(raised.value), code)


def test_a_model_without_anything_to_tune_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TUNE_BANK_PATH", str(tmp_path))
    with pytest.raises(libaoe.NothingToTune) as raised:
        libaoe.tune(RESNET50, jobs=4, soc="Ascend910B2", progress=False)
    assert raised.value.code == 8 and "HcomAllReduce" in str(raised.value)


def test_gradients_are_tuned_into_the_bank_that_the_variable_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TUNE_BANK_PATH", str(tmp_path))
    tuning = libaoe.tune(TRAINING, jobs=4, soc="Ascend910B2", backend="simulator", progress=False)
    assert tuning.finished and tuning.report["gradients"]["tensors"] and tuning.after_us < tuning.before_us
    assert (tuning.to_measure, tuning.to_measure_us) == (None, 0.0)
    assert (tmp_path / "Ascend910B2_gradient_fusion.json").exists()


class Number:
    """Bytes can be made of a number: so many zeros."""

    def SerializeToString(self) -> int:
        return 5


def test_what_is_no_model_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="not int"):
        libaoe.tune(3, **QUICK)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="gives int, not bytes"):
        libaoe.tune(Number(), **QUICK)  # type: ignore[arg-type]
    # C would take the text before the zero byte for the whole.
    with pytest.raises(ValueError, match="zero byte"):
        libaoe.tune(f"{RESNET50}\0.air", **QUICK)
    with pytest.raises(ValueError, match="zero byte"):
        libaoe.tune(RESNET50, **{**QUICK, "soc": "Ascend910B2\0"})


def test_a_bank_beside_another_in_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TUNE_BANK_PATH", str(tmp_path))
    with pytest.raises(libaoe.InvalidOption, match="TUNE_BANK_PATH"):
        libaoe.tune(RESNET50, bank=tmp_path / "other", **QUICK)
    assert libaoe.tune(RESNET50, bank=tmp_path, **QUICK).bank == tmp_path / "Ascend910B2" / "unified_bank"


def test_tunings_of_several_threads_do_not_disturb_each_other() -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(lambda bank: libaoe.tune(RESNET50, bank=bank, **QUICK), ["a", "b"])
    assert one.kernels == two.kernels


def test_a_child_that_is_forked_after_a_tuning_can_tune() -> None:
    libaoe.tune(RESNET50, bank="a", **QUICK)
    child = os.fork()
    if child == 0:
        # Nothing of pytest may run in here.
        try:
            os._exit(0 if libaoe.tune(RESNET50, bank="b", **QUICK).finished else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_program_without_standard_error_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert libaoe.tune(SURE, bank="bank", **{**QUICK, "progress": True}).finished


def test_a_bar_is_drawn_on_a_terminal_and_nowhere_else() -> None:
    shown, hidden = Terminal(), io.StringIO()
    for stream in (shown, hidden):
        bar = Bar("net", stream=stream)
        bar.update(1, 4, "9.0 -> 8.0 us", remaining_s=61)
        bar.update(4, 4)
        bar.close()
    lines = shown.getvalue().rstrip("\n").split("\r")
    assert lines[1].startswith("net:  25%|██▌       | 1/4 [00:00<01:01, 9.0 -> 8.0 us]")
    assert lines[-1].startswith("net: 100%|██████████| 4/4 [00:00<00:00]")
    assert hidden.getvalue() == ""
