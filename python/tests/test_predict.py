"""Predictions, CANN's tilings, candidates."""

from __future__ import annotations

import pytest

import libaoe

CASE = {"op": "MatMul", "m": 1024, "k": 512, "n": 2048, "dtype": "float16"}


def test_one_case_has_one_answer_and_several_a_list_of_the_same() -> None:
    one = libaoe.simulate(CASE, soc="Ascend910B4")
    several = libaoe.simulate([CASE, {**CASE, "m": 2048}], soc="Ascend910B4")
    assert several[0] == one and several[1].time_us > one.time_us > 0
    low, high = one.interval_us or (0.0, 0.0)
    assert low < one.time_us < high


def test_a_schedule_written_into_the_case_gives_the_same_time() -> None:
    one = libaoe.simulate(CASE, soc="Ascend910B2")
    assert libaoe.simulate({**CASE, "schedule": one.schedule}, soc="Ascend910B2").time_us == one.time_us


def test_fields_of_the_part_can_be_changed() -> None:
    slow = libaoe.simulate(CASE, soc="Ascend910B2", soc_set="cube_freq_mhz=300")
    assert slow.time_us > libaoe.simulate(CASE, soc="Ascend910B2").time_us and slow.bound == "cube"


def test_several_fields_of_the_part_are_a_mapping() -> None:
    changed = {"cube_freq_mhz": 300, "hbm_gb_s": 400.5}
    words = "cube_freq_mhz=300;hbm_gb_s=400.5"
    assert libaoe.simulate(CASE, soc="Ascend910B2", soc_set=changed) == libaoe.simulate(CASE, soc="Ascend910B2", soc_set=words)
    assert libaoe.simulate(CASE, soc="Ascend910B2", soc_set=changed) != libaoe.simulate(CASE, soc="Ascend910B2")


def test_cases_come_from_frames_and_answers_go_to_frames() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    # The second row says nothing of `bias`.
    cases = pandas.DataFrame([{**CASE, "bias": True}, CASE])
    answers = libaoe.simulate(cases, soc="Ascend910B2")
    assert list(answers.frame().time_us) == [answer.time_us for answer in answers]
    assert answers[1] == libaoe.simulate(CASE, soc="Ascend910B2") != answers[0]


def test_a_frame_of_several_operators_keeps_their_sizes_whole() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    # Only products have `m`, so that pandas keeps 1024 as 1024.0.
    operand = {"shape": [4096, 1024], "dtype": "float16", "format": "ND"}
    softmax = {"op": "SoftmaxV2", "inputs": [operand], "outputs": [operand]}
    cases = pandas.DataFrame([CASE, softmax])
    assert cases.m.dtype == float
    assert list(libaoe.simulate(cases, soc="Ascend910B2")) == [libaoe.simulate(one, soc="Ascend910B2") for one in (CASE, softmax)]


def test_numbers_and_arrays_of_numpy_are_taken_everywhere() -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    operand = {"shape": numpy.array([4096, 1024]), "dtype": "float16", "format": "ND"}
    plain = {**operand, "shape": [4096, 1024]}
    softmax = [{"op": "SoftmaxV2", "inputs": [one], "outputs": [one]} for one in (operand, plain)]
    assert libaoe.simulate(softmax[0], soc="Ascend910B2").time_us == libaoe.simulate(softmax[1], soc="Ascend910B2").time_us
    assert libaoe.simulate({**CASE, "m": numpy.int64(1024)}, soc="Ascend910B2") == libaoe.simulate(CASE, soc="Ascend910B2")
    assert libaoe.search({"x": numpy.arange(4)}, lambda c: float(c["x"]), 10, progress=False).configuration == {"x": 0}


@pytest.mark.parametrize("wrong", [3, "MatMul", [3], ["MatMul"]])
def test_what_is_no_case_is_a_type_error(wrong: object) -> None:
    with pytest.raises(TypeError, match="a case is a mapping"):
        libaoe.simulate(wrong)  # type: ignore[call-overload]


def test_a_bad_case_is_named_by_its_place_and_field() -> None:
    with pytest.raises(libaoe.InvalidParam, match="case 1: .*`n` is missing"):
        libaoe.simulate([CASE, {"op": "MatMul", "m": 1, "k": 1}])
    with pytest.raises(libaoe.InvalidGraph):
        libaoe.simulate({**CASE, "m": 2**31 - 1, "n": 2**31 - 1})
    with pytest.raises(libaoe.IllegalSchedule):
        large = {**libaoe.simulate(CASE, soc="Ascend910B2").schedule, "l0": {"m": 4096, "n": 4096, "k_a": 64, "k_b": 64}}
        libaoe.simulate({**CASE, "schedule": large}, soc="Ascend910B2")


def test_the_tiling_of_cann_has_its_own_fields() -> None:
    answer = libaoe.tiling({**CASE, "op": "MatMulV3"}, soc="Ascend910B2")
    assert answer.default == "public" and answer.knowledge["baseM"] > 0 and answer.rules


def test_candidates_tell_what_fits_and_what_does_not() -> None:
    blocks = [{"BLOCK_M": m, "BLOCK_N": 256, "BLOCK_K": 64} for m in (64, 128, 512)]
    answer = libaoe.candidates(CASE, blocks, soc="Ascend910B2", best=2)
    assert answer.legal == 2 and [c.time_us for c in answer.best] == sorted(c.time_us for c in answer.best)
    assert all(c.configuration == blocks[c.index] for c in answer.best if c.index is not None)
    (misfit,) = answer.illegal
    assert misfit.configuration == blocks[2] and "L0C needs 524288 bytes" in misfit.reason


def test_candidates_come_from_whatever_can_be_walked_through() -> None:
    blocks = [{"BLOCK_M": m, "BLOCK_N": 256, "BLOCK_K": 64} for m in (64, 128, 512)]
    of_list = libaoe.candidates(CASE, blocks, soc="Ascend910B2")
    assert libaoe.candidates(CASE, (block for block in blocks), soc="Ascend910B2") == of_list and of_list.illegal
    for wrong in (blocks[0], "BLOCK", 3, [1]):
        with pytest.raises(libaoe.InvalidParam, match="^configurations=.*no list of mappings"):
            libaoe.candidates(CASE, wrong, soc="Ascend910B2")  # type: ignore[arg-type]
