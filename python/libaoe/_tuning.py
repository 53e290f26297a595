"""Tuning a model, with its progress and its results."""

from __future__ import annotations

import ctypes
import json
import operator
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from ._arguments import PathLike, bank_folder, contradiction, options_of, path_of
from ._bar import Bar
from ._errors import invalid
from ._frame import frame_of
from ._model import Model, loaded
from ._native import PROGRESS_CALLBACK, OptionValue, check, initialised, library, option_array, text_of
from ._warned import heard, tell

if TYPE_CHECKING:
    import pandas

#: What is tuned where nothing is said: subgraphs, then operators.
_JOBS = "1,2"
#: Jobs by their names.
_PLAIN = {"sgat": "1", "subgraph": "1", "opat": "2", "operator": "2", "gdat": "4", "gradient": "4", "3": "4"}
#: Seconds between two looks at a tuning; a Ctrl-C interrupts the wait at once.
_TICK_S = 0.1


@dataclass(frozen=True)
class Progress:
    """How far a tuning is; times in microseconds are those of one run of the network."""

    #: Distinct operators (or subgraphs) finished, and in all.
    done: int
    total: int
    #: The node whose operator was finished last, or is searched.
    node: str
    #: Time of the finished operators now, and before tuning.
    network_us: float
    baseline_us: float
    elapsed_s: float
    #: Candidates measured.
    trials: int
    #: Seconds left at the pace so far; below 0 until there is a pace.
    remaining_s: float


@dataclass(frozen=True)
class TunedKernel:
    """One distinct operator of the network; times in microseconds are those of one launch."""

    op_type: str
    workload: str
    #: Nodes that run it.
    count: int
    before_us: float
    after_us: float
    #: added, updated, reserved, unsatisfied, not_sure, to_measure, not_tuned, not_modelled, not_tunable, not_measured or failed (docs/results.md).
    status: str
    #: What the kernel waits for most.
    bound: str
    trials: int
    #: Who measured it.
    backend: str
    nodes: List[str] = field(repr=False)
    #: The tilings before and after, as canonical schedules.
    before: Dict[str, Any] = field(repr=False)
    after: Dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Tuning:
    """What a tuning has found; times in microseconds are those of one run of the network."""

    graph: str
    soc: str
    #: Who measured: ``simulator``, ``ascend``, or a backend's own name.
    backend: str
    before_us: float
    after_us: float
    #: (before - after) / after, as CANN's AOE counts it.
    improvement: float
    #: False where it was interrupted.
    finished: bool
    #: The directory that records were written to.
    bank: Optional[Path]
    #: A bank of its own with records that a device has to decide about, and what they may save (docs/results.md, "Where the
    #: gain lies"); None where there are none.
    to_measure: Optional[Path]
    to_measure_us: float
    kernels: List[TunedKernel] = field(repr=False)
    #: The whole report (docs/results.md, "The full report").
    report: Dict[str, Any] = field(repr=False)

    def frame(self) -> "pandas.DataFrame":
        """A table with a row for each distinct operator; needs pandas."""
        return frame_of(self.kernels)


def tune(
    model: Model,
    *,
    soc: Optional[str] = None,
    jobs: Union[None, int, str, Iterable[Union[int, str]]] = None,
    bank: Optional[PathLike] = None,
    output: Optional[PathLike] = None,
    progress: Union[bool, Callable[[Progress], Optional[bool]]] = True,
    **options: OptionValue,
) -> Tuning:
    """Tunes a model and keeps what is found in a knowledge bank.

    ``model`` is a file, its bytes, or an ``onnx.ModelProto``; ``jobs`` are 1 (subgraphs), 2 (operators) and 4
    (gradients); without, subgraphs and operators are tuned.
    ``bank`` names the directory of the bank, ``output`` one for reports and the tuned model; without, none is written.
    ``progress`` shows a bar, or is called with a `Progress`; when the function returns False the tuning is cancelled.
    Further keywords are options of the command line (``seed=1, max_tuning_count=100, backend="ascend"``).

    Ctrl-C cancels: what was found is in the bank, and ``KeyboardInterrupt`` goes on. What the library warns of is a
    `LibaoeWarning`. Raises an `Error` for everything else, `NothingToTune` among them.
    """
    if isinstance(model, (str, os.PathLike)):
        path_of("model", model)
    folder = None if output is None else os.path.join(path_of("output", output), "")
    jobs = None if jobs is None else _jobs(jobs)
    given = options_of(options, jobs=("job_type", jobs), soc=("soc_version", soc), output=("output", folder))
    given.setdefault("job_type", _JOBS)
    given.setdefault("tuned_model", "off" if output is None else "on")
    if bank is not None:
        given.update(_bank_options(bank, given))
    label = Path(os.fspath(model)).stem if isinstance(model, (str, os.PathLike)) else "model"
    return _result(_Work(model, given).wait(label, progress))


def _jobs(jobs: Union[int, str, Iterable[Union[int, str]]]) -> str:
    if isinstance(jobs, str):
        return jobs
    return ",".join(map(_job, jobs)) if isinstance(jobs, Iterable) else _job(jobs)


def _job(job: Any) -> str:
    """A job by its number, be it numpy's, or its name."""
    if isinstance(job, str):
        return job
    if isinstance(job, bool) or not hasattr(type(job), "__index__"):
        raise invalid(f"jobs: {job!r} is no job: give 1 (subgraphs), 2 (operators), 4 (gradients), or a list of them")
    return str(operator.index(job))


def _bank_options(bank: PathLike, given: Mapping[str, OptionValue]) -> Dict[str, OptionValue]:
    """The options that name a bank, where nothing contradicts them."""
    jobs = {_PLAIN.get(job, job) for job in str(given["job_type"]).split(",")}
    if "4" in jobs and not os.environ.get("TUNE_BANK_PATH"):
        raise contradiction(
            f"bank={path_of('bank', bank)}: the bank of gradients is where TUNE_BANK_PATH says, as in CANN; set that variable instead"
        )
    path = bank_folder(bank, given)
    # One that the jobs make no use of is warned of.
    places = {"ge.op_bank_path": "2", "ge.mdl_bank_path": "1"}
    return {option: path for option, job in places.items() if job in jobs or not jobs & {"1", "2"}}


class _Session:
    """A session of the library, destroyed at the end of the block."""

    def __enter__(self) -> "_Session":
        number = ctypes.c_uint64()
        check(library().AoeCreateSession(ctypes.byref(number)))
        self.id = number.value
        return self

    def __exit__(self, *_: object) -> None:
        check(library().AoeDestroySession(self.id))

    def report(self) -> Dict[str, Any]:
        aoe = library()
        report: Dict[str, Any] = json.loads(text_of(lambda to, size: int(aoe.AoeGetReport(self.id, to, size)), 1 << 20))
        return report


class _Work:
    """A tuning in a thread of its own. The thread holds all that the library has of it, from the first call to the last:
    however often the waiting one is interrupted, nothing is taken from under the library."""

    def __init__(self, model: Model, options: Dict[str, OptionValue]) -> None:
        self._model, self._options = model, options
        self._latest, self._ended = _Latest(), threading.Event()
        self._lock = threading.Lock()
        self._session: Optional[int] = None
        self._report: Optional[Dict[str, Any]] = None
        self._failure: Optional[BaseException] = None
        self._warnings: List[str] = []

    def wait(self, label: str, progress: Union[bool, Callable[[Progress], Optional[bool]]]) -> Dict[str, Any]:
        """The report. An exception that comes meanwhile, as of Ctrl-C, cancels the tuning and goes on when it has ended."""
        bar = Bar(label, wanted=progress is True)
        worker = threading.Thread(target=self._run, name="libaoe.tune", daemon=True)
        try:
            worker.start()
            while not self._ended.wait(_TICK_S):
                self._tell(bar, progress)
            self._tell(bar, progress)
        except BaseException:
            if worker.ident is not None:
                self._end()
            raise
        finally:
            bar.close()
            tell(self._warnings)
        if self._failure is not None:
            raise self._failure
        assert self._report is not None
        return self._report

    def _run(self) -> None:
        try:
            with heard(self._warnings), initialised(), loaded(self._model, self._options) as graph, _Session() as session:
                aoe, callback = library(), PROGRESS_CALLBACK(self._latest.take)
                check(aoe.AoeSetTuningGraph(session.id, graph))
                check(aoe.AoeSetProgressCallback(session.id, callback, None))
                with self._lock:
                    self._session = session.id
                try:
                    check(aoe.AoeTuningGraph(session.id, *option_array(self._options)))
                finally:
                    with self._lock:
                        self._session = None
                self._report = session.report()
        except BaseException as error:  # It is raised again in the thread that waits.
            self._failure = error
        finally:
            self._ended.set()

    def _cancel(self) -> None:
        with self._lock:
            if self._session is not None:
                library().AoeCancel(self._session)

    def _end(self) -> None:
        """Cancels until it has ended. Further interrupts change nothing: it is being cancelled already."""
        while True:
            try:
                self._cancel()
                while not self._ended.wait(_TICK_S):
                    # One that came before the tuning had begun is forgotten by it.
                    self._cancel()
                return
            except KeyboardInterrupt:
                continue

    def _tell(self, bar: Bar, progress: Union[bool, Callable[[Progress], Optional[bool]]]) -> None:
        state = self._latest.get()
        if state is None:
            return
        bar.update(state.done, state.total, f"{state.baseline_us:.1f} -> {state.network_us:.1f} us", state.remaining_s)
        if callable(progress) and _is_false(progress(state)):
            self._cancel()


def _is_false(answer: Any) -> bool:
    """Whether a function has said False, be it numpy's; None, which it says that says nothing, is not."""
    return answer is False or (hasattr(answer, "dtype") and not bool(answer))


class _Latest:
    """The newest progress that the tuning's thread has told and nobody has looked at."""

    def __init__(self) -> None:
        self._state: Optional[Progress] = None

    def take(self, told: Any, _: object) -> int:
        state = told.contents
        self._state = Progress(
            done=state.done,
            total=state.total,
            node=(state.node or b"").decode(errors="replace"),
            network_us=state.network_us,
            baseline_us=state.baseline_us,
            elapsed_s=state.elapsed_s,
            trials=state.trials,
            remaining_s=state.remaining_s,
        )
        return 0

    def get(self) -> Optional[Progress]:
        state, self._state = self._state, None
        return state


def worth_measuring(report: Dict[str, Any]) -> Tuple[str, float]:
    """The bank of the records that are to measure, and what they may save; a tuning of gradients has none."""
    worth = (report.get("gains") or {}).get("worth_measuring") or {}
    return worth.get("bank", ""), worth.get("saved_us") or 0.0


def _result(report: Dict[str, Any]) -> Tuning:
    before, after = float(report["before_us"]), float(report["after_us"])
    place = report.get("bank") or {}
    # Of a dry run it is a folder that is gone.
    bank = None if place.get("dry_run") else place.get("custom") or (report.get("subgraphs") or {}).get("bank")
    to_measure, saved_us = worth_measuring(report)
    return Tuning(
        graph=report["graph"],
        soc=report["soc"]["name"],
        backend=report["backend"]["name"],
        before_us=before,
        after_us=after,
        improvement=(before - after) / after if after else 0.0,
        finished=bool(report["finished"]),
        bank=Path(bank) if bank else None,
        to_measure=Path(to_measure) if to_measure else None,
        to_measure_us=saved_us,
        kernels=[_kernel(kernel) for kernel in report["kernels"]],
        report=report,
    )


def _kernel(kernel: Dict[str, Any]) -> TunedKernel:
    return TunedKernel(
        op_type=kernel["op_type"],
        workload=kernel["workload"],
        count=kernel["count"],
        before_us=kernel["before_us"],
        after_us=kernel["after_us"],
        status=kernel["status"],
        bound=kernel["bound"],
        trials=kernel["trials"],
        backend=kernel["backend"],
        nodes=[node["name"] for node in kernel["nodes"]],
        before=kernel["before"],
        after=kernel["after"],
    )
