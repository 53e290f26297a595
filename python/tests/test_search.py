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
