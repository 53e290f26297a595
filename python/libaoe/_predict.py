"""Questions that need no tuning: predicted times, CANN's own tilings, candidates for kernel authors."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union, overload

from ._arguments import options_of
from ._errors import Error, invalid
from ._frame import frame_of
from ._native import OptionValue, json_text, library, option_array, text_of
from ._warned import warned

if TYPE_CHECKING:
    import pandas

#: A kernel as docs/simulate.md describes it: ``{"op": "MatMul", "m": 1024, "k": 512, "n": 512, "dtype": "float16"}``.
Case = Mapping[str, Any]

T = TypeVar("T")


class Answers(List[T]):
    """Answers in the order of their questions."""

    def frame(self) -> "pandas.DataFrame":
        """A table with a row for each answer; needs pandas."""
        return frame_of(self)


@dataclass(frozen=True)
class Prediction:
    """What the performance model says of one kernel; times in microseconds, without launch."""

    op: str
    time_us: float
    #: Nine of ten measured times lie in it; None where the simulator gives none.
    interval_us: Optional[Tuple[float, float]]
    #: What the kernel waits for most.
    bound: str
    #: Shares of the time that the busiest core's pipes work.
    pipes: Dict[str, float]
    #: The tiling that was priced; written into a case it gives the same answer.
    schedule: Dict[str, Any] = field(repr=False)
    note: Optional[str] = None
    #: The answer as it came.
    answer: Dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DefaultTiling:
    """The tiling that CANN's host code chooses by itself."""

    #: The operator whose host code chooses, and which of its kernels.
    op: str
    template: str
    #: The tiling in CANN's fields.
    knowledge: Dict[str, Any]
    #: ``public`` where all rules that decided are public, else ``estimated``.
    default: str
    rules: List[str] = field(default_factory=list)
    note: Optional[str] = None
    answer: Dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Candidate:
    """A configuration that fits the part."""

    #: Its place in the list of configurations; None for a tiling of CANN's own kernel.
    index: Optional[int]
    configuration: Optional[Mapping[str, Any]]
    time_us: float
    bound: str
    interval_us: Optional[Tuple[float, float]] = None
    schedule: Dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Misfit:
    """A configuration that does not fit the part, and the first rule that it breaks."""

    index: int
    configuration: Mapping[str, Any]
    reason: str


@dataclass(frozen=True)
class Candidates:
    """Which configurations of a tile program fit a part."""

    #: How many fit.
    legal: int
    #: The fastest of them by the simulator, fastest first.
    best: "Answers[Candidate]"
    illegal: "Answers[Misfit]" = field(repr=False)

    def frame(self) -> "pandas.DataFrame":
        """A table of the best; needs pandas."""
        return self.best.frame()


@overload
def simulate(cases: Case, *, soc: Optional[str] = None, **options: OptionValue) -> Prediction: ...
@overload
def simulate(
    cases: "Union[Iterable[Case], pandas.DataFrame]", *, soc: Optional[str] = None, **options: OptionValue
) -> "Answers[Prediction]": ...
def simulate(
    cases: "Union[Case, Iterable[Case], pandas.DataFrame]", *, soc: Optional[str] = None, **options: OptionValue
) -> "Union[Prediction, Answers[Prediction]]":
    """Predicts kernels: one case gives one `Prediction`, several (or a pandas frame with a row for each) a list of them.

    Options are ``soc_set`` (a field of the part and its value, ``"cube_freq_mhz=1500"``; a mapping for several),
    ``aicore_num`` and ``calibration``. A case that is malformed or illegal raises an `Error` that
    names the field; there is never a number.
    """
    return _each("AoeSimulate", cases, options_of(options, soc=("soc_version", soc)), _prediction)


@overload
def tiling(cases: Case, *, soc: Optional[str] = None, **options: OptionValue) -> DefaultTiling: ...
@overload
def tiling(
    cases: "Union[Iterable[Case], pandas.DataFrame]", *, soc: Optional[str] = None, **options: OptionValue
) -> "Answers[DefaultTiling]": ...
def tiling(
    cases: "Union[Case, Iterable[Case], pandas.DataFrame]", *, soc: Optional[str] = None, **options: OptionValue
) -> "Union[DefaultTiling, Answers[DefaultTiling]]":
    """The tilings that CANN's host code chooses where no bank has a record; cases and options as for `simulate`."""
    return _each("AoeTiling", cases, options_of(options, soc=("soc_version", soc)), _default_tiling)


def candidates(
    case: Case,
    configurations: Optional[Iterable[Mapping[str, Any]]] = None,
    *,
    buffers: Optional[Iterable[Mapping[str, Any]]] = None,
    best: int = 10,
    soc: Optional[str] = None,
    **options: OptionValue,
) -> Candidates:
    """Which configurations of a tile program (Triton-Ascend, TileLang, CATLASS) fit a part, and the fastest of them
    (docs/candidates.md). Without configurations, tilings of CANN's own kernel."""
    question: Dict[str, Any] = {"case": dict(case), "best": best}
    given = None if configurations is None else _mappings("configurations", configurations)
    if given is not None:
        question["configurations"] = [dict(configuration) for configuration in given]
    if buffers is not None:
        question["buffers"] = [dict(buffer) for buffer in _mappings("buffers", buffers)]
    with warned():
        answer = _ask("AoeCandidates", question, options_of(options, soc=("soc_version", soc)))

    def configuration(row: Mapping[str, Any]) -> Optional[Mapping[str, Any]]:
        return None if given is None or row.get("index") is None else given[row["index"]]

    return Candidates(
        legal=answer["legal"],
        best=Answers(
            Candidate(
                index=None if given is None else row.get("index"),
                configuration=configuration(row),
                time_us=row["time_us"],
                bound=row["bound"],
                interval_us=_interval(row),
                schedule=row["schedule"],
            )
            for row in answer["best"]
        ),
        illegal=Answers(Misfit(row["index"], configuration(row) or {}, row["reason"]) for row in answer["illegal"]),
    )


def _mappings(keyword: str, given: Iterable[Mapping[str, Any]]) -> List[Mapping[str, Any]]:
    """A list of mappings, of whatever can be walked through once."""
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping)):
        found = list(given)
        if all(isinstance(one, Mapping) for one in found):
            return found
    raise invalid(f"{keyword}={given!r} is no list of mappings: give [{{'BLOCK_M': 128, 'BLOCK_N': 256}}]")


def _each(
    function: str,
    cases: "Union[Case, Iterable[Case], pandas.DataFrame]",
    options: Mapping[str, OptionValue],
    read: Callable[[Case, Dict[str, Any]], T],
) -> "Union[T, Answers[T]]":
    with warned():
        return _answers(function, cases, options, read)


def _answers(
    function: str,
    cases: "Union[Case, Iterable[Case], pandas.DataFrame]",
    options: Mapping[str, OptionValue],
    read: Callable[[Case, Dict[str, Any]], T],
) -> "Union[T, Answers[T]]":
    if isinstance(cases, Mapping):
        return read(cases, _ask(function, cases, options))
    if isinstance(cases, (str, bytes)) or not isinstance(cases, Iterable):
        raise TypeError(f"a case is a mapping, several are a list or a frame of them, not {type(cases).__name__}")
    answers: "Answers[T]" = Answers()
    for place, case in enumerate(_rows(cases)):
        if not isinstance(case, Mapping):
            raise TypeError(f"case {place}: a case is a mapping, not {type(case).__name__}")
        try:
            answers.append(read(case, _ask(function, case, options)))
        except Error as error:
            raise type(error)(f"case {place}: {error.args[0]}", error.code, error.name, error.id) from None
    return answers


def _rows(cases: "Union[Iterable[Case], pandas.DataFrame]") -> Iterable[Case]:
    records = getattr(cases, "to_dict", None)
    if records is None:
        return cases  # type: ignore[return-value]
    # A cell that is empty says nothing; NaN is the only value that differs from itself. Beside such a cell pandas keeps a
    # column's integers as floats.
    rows: List[Dict[str, Any]] = records("records")
    return [{key: _whole(value) for key, value in row.items() if value is not None and value == value} for row in rows]


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _ask(function: str, question: Mapping[str, Any], options: Mapping[str, OptionValue]) -> Dict[str, Any]:
    call = getattr(library(), function)
    text = json_text(question)
    given = option_array(options)
    answer: Dict[str, Any] = json.loads(text_of(lambda to, size: int(call(text, *given, to, size))))
    return answer


def _interval(answer: Mapping[str, Any]) -> Optional[Tuple[float, float]]:
    interval = answer.get("interval_us")
    return None if interval is None else (interval[0], interval[1])


def _prediction(case: Case, answer: Dict[str, Any]) -> Prediction:
    return Prediction(
        op=str(case.get("op", "")),
        time_us=answer["time_us"],
        interval_us=_interval(answer),
        bound=answer["bound"],
        pipes=answer["pipes"],
        schedule=answer["schedule"],
        note=answer.get("note"),
        answer=answer,
    )


def _default_tiling(_: Case, answer: Dict[str, Any]) -> DefaultTiling:
    return DefaultTiling(
        op=answer["op"],
        template=answer["template"],
        knowledge=answer["knowledge"],
        default=answer["default"],
        rules=answer.get("rules", []),
        note=answer.get("note"),
        answer=answer,
    )
