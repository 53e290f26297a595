"""The search on a space of your own: ask for configurations, tell what they cost."""

from __future__ import annotations

import ctypes
import json
import math
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ._arguments import options_of
from ._bar import Bar
from ._errors import NothingToTune, invalid
from ._frame import frame_of
from ._native import EXHAUSTED, NOT_FOUND, OptionValue, check, json_text, library, option_array, text_of
from ._space import form_of

if TYPE_CHECKING:
    import pandas

_MEASURED, _FAILED = 0, 1

#: Values of the parameters by their names.
Configuration = Dict[str, Any]


class TrialFailed(Exception):
    """Raised by a function that measures, where a configuration cannot be measured; the search goes on."""


@dataclass(frozen=True)
class Trial:
    """A configuration to measure, or one that was measured."""

    number: int
    configuration: Configuration
    #: None before it was measured, and where it failed.
    cost: Optional[float] = None
    failure: Optional[str] = None
    #: Which search has asked for it.
    search: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True)
class Found:
    """What a search came to."""

    configuration: Configuration
    cost: float
    #: Why it ended: budget, time_limit, exhausted or converged.
    stop: Optional[str]
    trials: List[Trial] = field(repr=False)

    def frame(self) -> "pandas.DataFrame":
        """A table with a row for each trial, a column for each parameter; needs pandas."""
        rows = ({"trial": t.number, **t.configuration, "cost": t.cost, "failure": t.failure} for t in self.trials)
        return frame_of(rows)


class Search:
    """Hands out configurations and is told their costs; any number may be out at once, told in any order by any thread.

    ``space`` is the form of docs/spaces.md, or only the lists of values by name: ``Search({"tile": [8, 16, 32]},
    constraints=["tile % 16 == 0"])``. Options are ``seed``, ``algorithm``, ``max_tuning_count`` and ``tuning_time_limit``.
    """

    def __init__(
        self, space: Mapping[str, Any], *, constraints: Optional[Sequence[str]] = None, **options: OptionValue
    ) -> None:
        form = form_of(space, constraints)
        self._names = [parameter["name"] for parameter in form["parameters"]]
        self._values = [list(parameter["values"]) for parameter in form["parameters"]]
        self._search = ctypes.c_void_p()
        self._name = uuid.uuid4().hex
        self._asked: Dict[int, Configuration] = {}
        check(library().AoeSearchCreate(json_text(form), *option_array(options), ctypes.byref(self._search)))

    def __enter__(self) -> "Search":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_search", None):
            self.close()

    def __iter__(self) -> Iterator[Trial]:
        """Trials until the search is over."""
        while True:
            trial = self.ask()
            if trial is None:
                return
            yield trial

    def close(self) -> None:
        """Ends the search; it may be called again."""
        if self._search:
            library().AoeSearchDestroy(self._search)
            self._search = ctypes.c_void_p()

    def ask(self) -> Optional[Trial]:
        """A configuration to measure; None when the search is over."""
        places, number = (ctypes.c_uint32 * len(self._names))(), ctypes.c_uint64()
        status = library().AoeSearchAsk(self._search, places, len(self._names), ctypes.byref(number))
        if status == EXHAUSTED:
            return None
        check(status)
        trial = Trial(number.value, self._configuration(places), search=self._name)
        self._asked[trial.number] = trial.configuration
        return trial

    def tell(self, trial: Trial, cost: Optional[float]) -> None:
        """What a trial has cost: any finite number from 0, less is better; None where it could not be measured. For any other
        cost it is an `InvalidParam`, and the trial can be told again; so is a trial of another search."""
        if not isinstance(trial, Trial):
            raise invalid(f"trial: ask() and the loop over a search give one, not {trial!r}")
        if trial.search not in ("", self._name) or self._asked.get(trial.number) != trial.configuration:
            raise invalid(f"trial {trial.number} with {trial.configuration!r} is none that this search has asked for")
        value = None if cost is None else _number(cost)
        if value is not None and not 0.0 <= value < math.inf:
            raise invalid(f"cost={cost!r} of trial {trial.number} is {_NO_COST}; the trial can be told again")
        outcome = (_FAILED, 0.0) if value is None else (_MEASURED, value)
        check(library().AoeSearchTell(self._search, trial.number, *outcome))

    def best(self) -> Optional[Tuple[Configuration, float]]:
        """The best configuration told and its cost; None while none was measured."""
        places, cost = (ctypes.c_uint32 * len(self._names))(), ctypes.c_double()
        status = library().AoeSearchBest(self._search, places, len(self._names), ctypes.byref(cost))
        if status == NOT_FOUND:
            return None
        check(status)
        return self._configuration(places), cost.value

    def report(self) -> Dict[str, Any]:
        """What it has come to (``AoeSearchGetReport``)."""
        call = library().AoeSearchGetReport
        report: Dict[str, Any] = json.loads(text_of(lambda to, size: int(call(self._search, to, size))))
        return report

    def _configuration(self, places: Any) -> Configuration:
        return {name: values[place] for name, values, place in zip(self._names, self._values, places)}


def search(
    space: Mapping[str, Any],
    measure: Callable[[Configuration], Optional[float]],
    budget: int = 100,
    *,
    constraints: Optional[Sequence[str]] = None,
    progress: bool = True,
    **options: OptionValue,
) -> Found:
    """Finds the best configuration of any program with at most ``budget`` measurements.

    ``measure`` gets a configuration and answers its cost; None, NaN, infinity or a `TrialFailed` mean that it could not be
    measured. An answer that is no number or below 0 is an `InvalidParam`, and any other exception ends the search as well.
    Raises `NothingToTune` where no configuration could be measured.
    """
    told: List[Trial] = []
    if not callable(measure):
        raise invalid(f"measure={measure!r} is no function: give one that gets a configuration and answers its cost")
    if isinstance(budget, bool) or not hasattr(type(budget), "__index__"):
        raise invalid(f"budget={budget!r} is no number of measurements: give a whole one")
    given = options_of(options, budget=("max_tuning_count", budget))
    with Search(space, constraints=constraints, **given) as running:
        bar = Bar("search", wanted=progress)
        try:
            for trial in running:
                cost, failure = _measured(measure, trial.configuration)
                running.tell(trial, cost)
                told.append(Trial(trial.number, trial.configuration, cost, failure))
                best = running.best()
                bar.update(len(told), budget, f"best {best[1]:.6g}" if best else "")
        finally:
            bar.close()
        best = running.best()
        if best is None:
            why = next((trial.failure for trial in told if trial.failure), "there was none")
            raise NothingToTune(f"none of {len(told)} configurations could be measured: {why}", 8, "AOE_ERROR_NON_OPTIMIZE_GRAPH")
        return Found(best[0], best[1], running.report()["stop"], told)


def _measured(
    measure: Callable[[Configuration], Optional[float]], configuration: Configuration
) -> Tuple[Optional[float], Optional[str]]:
    try:
        cost = measure(dict(configuration))
    except TrialFailed as failure:
        return None, str(failure) or "failed"
    value = None if cost is None else _number(cost)
    if value is None or not math.isfinite(value):
        return None, f"measured {cost}"
    if value < 0.0:
        raise invalid(f"measure answered {cost!r} for {configuration}, which is {_NO_COST} or raise TrialFailed")
    return value, None


#: What is wrong with a cost that cannot be.
_NO_COST = "no finite number from 0: less is better; where there is no cost, say None"


def _number(cost: Any) -> float:
    """A cost as a float, be it numpy's or a tensor's; one that is too large for it is infinite. What only looks like a number
    is none: a text, or a truth value that says whether it went well."""
    if isinstance(cost, bool) or not hasattr(type(cost), "__float__"):
        raise invalid(f"a cost is a number, not {type(cost).__name__} ({cost!r}): less is better; where there is none, say None")
    try:
        return float(cost)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError) as error:
        # Such as an array of several.
        raise invalid(f"a cost is a number, and {cost!r} cannot become one: {error}") from error
