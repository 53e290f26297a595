"""Searching a space of one's own."""

from __future__ import annotations

import pytest

import libaoe

SPACE = {"x": list(range(10)), "y": list(range(10))}


def cost(configuration: dict[str, int]) -> float:
    return (configuration["x"] - 3) ** 2 + (configuration["y"] - 7) ** 2 + 1.0


def test_the_best_is_found_within_the_budget() -> None:
    found = libaoe.search(SPACE, cost, 60, progress=False, seed=1)
    assert (found.configuration, found.cost) == ({"x": 3, "y": 7}, 1.0)
    assert 0 < len(found.trials) <= 60 and len({tuple(t.configuration.items()) for t in found.trials}) == len(found.trials)


def test_constraints_hold_for_every_trial() -> None:
    found = libaoe.search(SPACE, cost, 30, constraints=["x + y < 8"], progress=False)
    assert all(t.configuration["x"] + t.configuration["y"] < 8 for t in found.trials)


def test_the_form_of_the_library_is_a_space_too() -> None:
    form = {"parameters": [{"name": "x", "values": [1, 2]}], "constraints": ["x > 1"]}
    found = libaoe.search(form, lambda c: float(c["x"]), 10, progress=False)
    assert found.configuration == {"x": 2} and found.stop == "exhausted"


def test_what_cannot_be_measured_has_failed_and_the_search_goes_on() -> None:
    def measure(configuration: dict[str, int]) -> float | None:
        if configuration["x"] == 0:
            raise libaoe.TrialFailed("out of memory")
        return None if configuration["x"] == 1 else float("nan") if configuration["x"] == 2 else cost(configuration)

    found = libaoe.search({"x": [0, 1, 2, 3], "y": [7]}, measure, 10, progress=False)
    failures = {trial.configuration["x"]: trial.failure for trial in found.trials}
    assert failures == {0: "out of memory", 1: "measured None", 2: "measured nan", 3: None}
    with pytest.raises(libaoe.NothingToTune, match="none of 1 configurations"):
        libaoe.search({"x": [1]}, lambda _: None, 10, progress=False)


def test_other_exceptions_end_the_search() -> None:
    with pytest.raises(ZeroDivisionError):
        libaoe.search(SPACE, lambda _: 1 / 0, 10, progress=False)


def test_trials_may_be_out_together_and_told_in_any_order() -> None:
    with libaoe.Search(SPACE, max_tuning_count=8, seed=3) as search:
        trials = [trial for trial in (search.ask() for _ in range(8)) if trial is not None]
        assert search.ask() is None and search.best() is None
        for trial in reversed(trials):
            search.tell(trial, cost(trial.configuration))
        best = search.best()
        assert best is not None and best[1] == min(cost(trial.configuration) for trial in trials)
        report = search.report()
    assert report["stop"] == "budget" and report["told"] == 8
    with pytest.raises(libaoe.Error) as raised:
        search.ask()
    assert raised.value.code == 5


def test_a_trial_of_another_search_is_refused() -> None:
    import pickle

    with libaoe.Search(SPACE, seed=1) as one, libaoe.Search(SPACE, seed=1) as same, libaoe.Search(SPACE, seed=2) as other:
        ours, theirs, others = one.ask(), same.ask(), other.ask()
        assert ours is not None and theirs is not None and others is not None and ours == theirs
        for foreign in (theirs, others, libaoe.Trial(ours.number, {"x": -1}), libaoe.Trial(99, ours.configuration)):
            with pytest.raises(libaoe.InvalidParam, match="none that this search has asked for"):
                one.tell(foreign, 1.0)
        # One that comes back from a worker is the same, and so is one that was written down.
        one.tell(pickle.loads(pickle.dumps(ours)), 1.0)
        other.tell(libaoe.Trial(others.number, dict(others.configuration)), 2.0)
        assert one.report()["told"] == other.report()["told"] == 1 and same.report()["told"] == 0


def test_a_trial_is_told_once() -> None:
    with libaoe.Search(SPACE) as search:
        trial = search.ask()
        assert trial is not None
        search.tell(trial, 1.0)
        with pytest.raises(libaoe.InvalidParam):
            search.tell(trial, 1.0)


def test_a_space_that_cannot_be_is_refused() -> None:
    with pytest.raises(libaoe.InvalidParam, match="constraint"):
        libaoe.Search(SPACE, constraints=["z > 1"])


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf"), float("-inf"), "1.5", [1.0], True, 10**400])
def test_a_cost_that_is_none_is_refused_and_its_trial_is_told_again(wrong: object) -> None:
    with libaoe.Search(SPACE, max_tuning_count=1) as search:
        (trial,) = list(search)
        with pytest.raises(libaoe.InvalidParam, match="cost") as raised:
            search.tell(trial, wrong)  # type: ignore[arg-type]
        assert raised.value.code == 2 and "None" in str(raised.value)
        assert search.report()["told"] == 0
        search.tell(trial, 2.5)
        assert search.best() == (trial.configuration, 2.5)
        with pytest.raises(libaoe.InvalidParam, match="trial: ask()"):
            search.tell(0, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [-1.0, "1.5", [1.0], True, object()])
def test_an_answer_that_is_no_cost_ends_the_search_by_name(wrong: object) -> None:
    with pytest.raises(libaoe.InvalidParam, match="None") as raised:
        libaoe.search(SPACE, lambda _: wrong, 10, progress=False)  # type: ignore[arg-type, return-value]
    assert repr(wrong)[:10] in str(raised.value) and raised.value.code == 2


def test_numbers_of_other_libraries_are_costs() -> None:
    from decimal import Decimal

    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    for kind in (int, Decimal, numpy.float32, numpy.int64, numpy.array):
        found = libaoe.search({"x": [3, 1, 2]}, lambda c, kind=kind: kind(c["x"]), 10, progress=False)  # type: ignore[misc]
        assert (found.configuration, found.cost) == ({"x": 1}, 1.0)


@pytest.mark.parametrize(
    ("space", "said"),
    [
        (3, "space: int 3 is no mapping"),
        (None, "space: NoneType None is no mapping"),
        ("ab", "space: str 'ab' is no mapping"),
        ([("x", [1])], "is no mapping"),
        ({"x": 3}, "space: `x`: its values: int 3 is no list"),
        ({"x": "abc"}, "space: `x`: its values: str 'abc' is no list"),
        ({"x": {"a": 1}}, "is no list"),
        ({1: [1, 2]}, "space: the name int 1 is no text"),
        ({"parameters": [1]}, "space: parameters[0]: int 1 lacks a name or values"),
        ({"parameters": [{"name": "x"}]}, "space: parameters[0]: .* lacks a name or values"),
        ({"parameters": [{"name": "x", "values": "ab"}]}, "space: parameters[0]: `x`: its values: str 'ab' is no list"),
        ({"parameters": {"x": [1]}}, "is no list"),
        ({"x": [1], "constraints": ["x > 0"]}, "constraints=[..] beside the space"),
        ({}, "space: parameters: there are none"),
    ],
)
def test_a_space_of_a_wrong_form_is_named_by_its_place(space: object, said: str) -> None:
    import re

    pattern = re.escape(said).replace(r"\.\*", ".*")
    with pytest.raises(libaoe.InvalidParam, match=pattern) as raised:
        libaoe.search(space, cost, 10, progress=False)  # type: ignore[arg-type]
    assert (raised.value.code, raised.value.name) == (2, "AOE_ERROR_INVALID_PARAM")


@pytest.mark.parametrize("constraints", ["x > 1", 3, [3], {"x": 1}])
def test_constraints_are_a_list_of_texts(constraints: object) -> None:
    with pytest.raises(libaoe.InvalidParam, match="^constraints: "):
        libaoe.Search(SPACE, constraints=constraints)  # type: ignore[arg-type]


def test_what_is_no_function_cannot_measure() -> None:
    with pytest.raises(libaoe.InvalidParam, match="measure=3 is no function"):
        libaoe.search(SPACE, 3, 10, progress=False)  # type: ignore[arg-type]


def test_a_budget_that_is_no_number_is_refused() -> None:
    for budget in ("10", None, 1.5, True):
        with pytest.raises(libaoe.InvalidParam, match="budget"):
            libaoe.search({"tile": [8, 16]}, lambda _: 1.0, budget)  # type: ignore[arg-type]
