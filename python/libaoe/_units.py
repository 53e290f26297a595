"""The unit of a fleet: one model tuned for one part with one job, into a bank of its own."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import re
import shutil
import signal
import stat
import tarfile
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from . import _program
from ._errors import Error, NothingToTune
from ._native import version
from ._tuning import worth_measuring

#: What a run leaves beside its results and inside the bank of a store: records that a device has to decide about.
_TO_MEASURE = "aoe_bank_to_measure"
#: Members of a packed run: the bank's files below this name, and the units that it holds.
_BANK = "bank/"
_UNITS = "units.json"
#: What a unit says itself, or what would leave it without a bank or a report.
_NOT_FOR_UNITS = (
    "model model_path m singleop profile shard job_type j soc_version backend work_path output tuned_model profiling_mode "
    "progress_bar result_file dry_run install ge.op_bank_path ge.mdl_bank_path help h version V"
).split()


#: Letters of a key before its digest.
_LONGEST_KEY = 150
#: How the folder of a unit begins, and the file in it that whoever tunes there holds locked.
_FOLDER = "libaoe-unit-"
_LOCK = "lock"


class Odd(Exception):
    """What lies among the runs and cannot be joined, and why."""


@dataclass(frozen=True)
class Unit:
    """One model for one part with one job; two that are equal leave the same records."""

    #: Name of the model's file, and what is in it.
    name: str
    digest: str
    soc: str
    job: str
    #: Further options of the command line, sorted.
    options: Tuple[str, ...]
    #: Who measures.
    backend: str = "simulator"
    #: What is in the file that describes the part, where `soc` is the name of one; it goes where the unit goes.
    soc_file: Optional[bytes] = field(default=None, repr=False)
    #: Digests of files that options or the backend name.
    files: Tuple[str, ...] = ()
    #: What is in the file that AOE_CALIBRATION names; it goes where the unit goes, and no other machine's does.
    calibration: Optional[bytes] = field(default=None, repr=False)

    @property
    def key(self) -> str:
        """Its name in a store: readable, and different for whatever could give other records."""
        soc = [self.soc, None if self.soc_file is None else hashlib.sha256(self.soc_file).hexdigest()]
        calibration = None if self.calibration is None else hashlib.sha256(self.calibration).hexdigest()
        said = json.dumps([self.name, self.digest, soc, self.job, self.options, self.backend, self.files, calibration, version()])
        plain = re.sub(r"[^A-Za-z0-9_.-]", "_", f"{Path(self.name).stem}-{Path(self.soc).name}-{self.job.replace(',', '+')}")
        # A file's name has 255 bytes, of which others need some.
        plain = plain[:_LONGEST_KEY]
        return f"{plain}-{hashlib.sha256(said.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Result:
    """How a unit ended; times in microseconds of one run of the network."""

    unit: str
    model: str
    soc: str
    job: str
    before_us: Optional[float] = None
    after_us: Optional[float] = None
    #: What else a device may save, by records that it has to decide about; they lie apart in ``aoe_bank_to_measure``.
    to_measure_us: Optional[float] = None
    #: What the program warned of, files named below the unit's folder.
    warnings: Tuple[str, ...] = ()
    #: Why it failed; None where it did not. A model with nothing to tune has not failed and has no times.
    error: Optional[str] = None

    def line(self) -> str:
        """It in one line."""
        if self.error is not None:
            told = f"failed: {self.error}"
        elif self.before_us is None or self.after_us is None:
            told = "nothing to tune"
        else:
            told = f"{self.before_us:.1f} -> {self.after_us:.1f} us"
            if self.to_measure_us:
                told += f", {self.to_measure_us:.1f} us to measure"
        return f"{self.model} for {self.soc}, job {self.job}: {told}"


def units_of(
    models: Iterable["os.PathLike[str]"],
    socs: Sequence[str],
    jobs: Sequence[str],
    options: Sequence[str],
    backend: str = "simulator",
) -> List[Tuple[Unit, Path]]:
    """A unit for each model, part and job, with the model's file, in the order of the serial run; what is named twice is one."""
    for option in options:
        _check_option(option)
    parts = [_part(soc) for soc in _named("--soc", socs)]
    calibration = _calibration()
    named = [backend, *(option.partition("=")[2] for option in sorted(options))]
    files = tuple(digest for digest in map(_digest, map(Path, filter(None, named))) if digest)
    found: Dict[str, Tuple[Unit, Path]] = {}
    for model in map(Path, models):
        digest = _digest(model)
        for soc, content in parts:
            for job in _named("--job_type", jobs):
                unit = Unit(model.name, digest, soc, job, tuple(sorted(options)), backend, content, files, calibration)
                found.setdefault(unit.key, (unit, model))
    return list(found.values())


def _named(option: str, words: Sequence[str]) -> List[str]:
    """Words without blanks around them; one that is empty would be another's default."""
    stripped = [word.strip() for word in words]
    if not all(stripped):
        raise Error(f"{option} has an empty name in '{','.join(words)}': leave it out, or name what is missing")
    return stripped


def _part(soc: str) -> Tuple[str, Optional[bytes]]:
    """A part by its name, or by the name and the content of the file that describes it."""
    return (Path(soc).name, Path(soc).read_bytes()) if Path(soc).is_file() else (soc, None)


def _calibration() -> Optional[bytes]:
    """What is in the file that AOE_CALIBRATION names here."""
    path = os.environ.get("AOE_CALIBRATION")
    if not path:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise Error(f"AOE_CALIBRATION={path} cannot be read: {error.strerror}; name a file of aoe calibrate, or unset it") from error


def _digest(path: Path) -> str:
    """Of a file's content; empty where it cannot be read, which the unit then says when it is its turn."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, ValueError):
        return ""


def _check_option(option: str) -> None:
    """Names an option with which a unit would tune something else, or nothing."""
    name = option[2:].partition("=")[0]
    if not re.fullmatch(r"--[A-Za-z][A-Za-z0-9_.]*(=.*)?", option, re.DOTALL):
        raise Error(f"--option {option[2:]} is no option of aoe: write it as max_tuning_count=100, without dashes")
    if name in _NOT_FOR_UNITS:
        raise Error(f"--option {name} is not for a fleet, whose units are tuned each by itself: leave it out")


def tune_file(unit: Unit, model: Path) -> Tuple[Result, Optional[bytes]]:
    """Tunes a unit of a file; one that cannot be read has failed."""
    try:
        return tune_unit(unit, model.read_bytes())
    except OSError as error:
        return failed(unit, error), None


def failed(unit: Unit, error: BaseException) -> Result:
    """How a unit ended that something unexpected has ended."""
    why = str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"
    return Result(unit.key, unit.name, unit.soc, unit.job, error=why)


def tune_unit(unit: Unit, content: bytes) -> Tuple[Result, Optional[bytes]]:
    """Tunes a unit in a folder that is thrown away; answers how it ended and the packed run, which is None where it failed.
    Whatever goes wrong is this unit's: the others go on."""
    try:
        with _own_folder() as folder:
            return _tune_in(folder, unit, content)
    except Exception as error:
        return failed(unit, error), None


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """In this block SIGTERM ends the process as Ctrl-C does, so that what it has begun is taken away."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def _own_folder() -> Iterator[Path]:
    """A folder for one unit that is gone afterwards, as are those of units whose process was killed."""
    _sweep(Path(tempfile.gettempdir()))
    while True:
        with tempfile.TemporaryDirectory(prefix=_FOLDER) as folder:
            try:
                lock = open(Path(folder, _LOCK), "wb")
            except FileNotFoundError:
                continue
            with lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                # Who sweeps may have come between the file and its lock.
                if os.path.exists(lock.name):
                    yield Path(folder)
                    return


def _sweep(below: Path) -> None:
    """Removes the folders of units that nobody tunes any more. The system frees the lock of a process that dies."""
    for lock in below.glob(f"{_FOLDER}*/{_LOCK}"):
        try:
            # What another user has put there may be anything: a pipe that nobody writes to, a link.
            folder = lock.parent.lstat()
            if not stat.S_ISDIR(folder.st_mode) or folder.st_uid != os.getuid():
                continue
            with open(lock, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent)
        except OSError:
            # It is in use, another's, or another process sweeps it away.
            continue


def _tune_in(folder: Path, unit: Unit, content: bytes) -> Tuple[Result, Optional[bytes]]:
    plain: Dict[str, Any] = {"unit": unit.key, "model": unit.name, "soc": unit.soc, "job": unit.job}
    bank, model, soc = folder / "bank", folder / "model" / unit.name, folder / "soc" / unit.soc
    for needed in (bank, model.parent):
        needed.mkdir()
    model.write_bytes(content)
    if unit.soc_file is not None:
        soc.parent.mkdir()
        soc.write_bytes(unit.soc_file)
    arguments = {
        "model": str(model),
        "job_type": unit.job,
        "soc_version": unit.soc if unit.soc_file is None else str(soc),
        "backend": unit.backend,
        "work_path": str(folder),
        "output": f"{folder}/out/",
        "tuned_model": "off",
        "profiling_mode": "false",
        "progress_bar": "off",
    }
    environment = {"TUNE_BANK_PATH": str(bank), "ASCEND_WORK_PATH": str(folder), "AOE_CALIBRATION": ""}
    if unit.calibration is not None:
        # By a name that is the same wherever the unit runs: results name the file.
        calibration = folder / "calibration.json"
        calibration.write_bytes(unit.calibration)
        environment["AOE_CALIBRATION"] = str(calibration)
    warnings: List[str] = []
    try:
        _program.told([*_program.arguments_of(arguments), *unit.options], warnings, environment, dies_with_us=True)
        nothing = False
    except NothingToTune:
        nothing = True
    plain["warnings"] = tuple(dict.fromkeys(text.replace(f"{folder}/", "") for text in warnings))
    if nothing:
        return Result(**plain), pack(bank, [unit.key])
    out = folder / "out"
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    if (out / _TO_MEASURE).is_dir():
        (out / _TO_MEASURE).rename(bank / _TO_MEASURE)
    times = {name: report[name] for name in ("before_us", "after_us")}
    return Result(**plain, **times, to_measure_us=worth_measuring(report)[1]), pack(bank, [unit.key])


def pack(bank: Path, units: Iterable[str]) -> bytes:
    """A bank and the units that it holds as one object, the same bytes for the same content."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        _add(archive, _UNITS, json.dumps(sorted(units)).encode())
        for path in bank_files(bank):
            _add(archive, _BANK + str(path.relative_to(bank)), path.read_bytes())
    return target.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def bank_files(bank: Path) -> List[Path]:
    """The files of a bank and the costs beside them. Locks are the machine's; trials serve a search of the same bank only."""
    files = (path for path in bank.rglob("*") if path.is_file())
    return sorted(path for path in files if path.name != "lock" and not path.parent.name.endswith(".trials"))


def unpack(packed: bytes, folder: Path) -> List[str]:
    """Lays the bank of a packed run into a folder and answers the units that it holds. `Odd` where it is no run, or not a
    whole one: of a run that is joined no byte is left but in the bank."""
    try:
        # A tar that is cut between two members reads as a shorter one; ours end with zeros, in whole records.
        if not packed or len(packed) % tarfile.RECORDSIZE or any(packed[-2 * tarfile.BLOCKSIZE :]):
            raise Odd("it is empty, cut, or no tar of a fleet" if packed else "it is empty")
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:") as archive:
            return _unpacked(archive, folder)
    except Odd:
        raise
    except Exception as error:
        raise Odd(f"it cannot be read ({type(error).__name__}: {error})") from error


def _unpacked(archive: tarfile.TarFile, folder: Path) -> List[str]:
    units: Any = None
    for member in archive:
        content = archive.extractfile(member) if member.isreg() else None
        if content is None:
            raise Odd(f"it holds {member.name}, which is no file")
        if member.name == _UNITS:
            units = json.loads(content.read())
            continue
        target = (folder / member.name[len(_BANK) :]).resolve()
        if not member.name.startswith(_BANK) or folder.resolve() not in target.parents:
            raise Odd(f"it holds {member.name}, which lies outside of its bank")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.read())
        if not member.size:
            raise Odd(f"its {member.name} is empty")
    if not isinstance(units, list) or not all(isinstance(unit, str) and unit for unit in units):
        raise Odd(f"it has no {_UNITS} with a list of units")
    return units


def as_json(result: Result) -> bytes:
    """A result as it is stored."""
    fields: Mapping[str, Any] = {name: getattr(result, name) for name in Result.__dataclass_fields__}
    return (json.dumps(fields, sort_keys=True, indent=4) + "\n").encode()
