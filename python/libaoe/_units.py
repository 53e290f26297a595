"""The unit of a fleet: one model tuned for one part with one job, into a bank of its own."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from . import _program
from ._errors import Error
from ._native import version
from ._tuning import worth_measuring

#: What a run leaves beside its results and inside the bank of a store: records that a device has to decide about.
_TO_MEASURE = "aoe_bank_to_measure"
#: Members of a packed run: the bank's files below this name, and the units that it holds.
_BANK = "bank/"
_UNITS = "units.json"


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

    @property
    def key(self) -> str:
        """Its name in a store: readable, and different for whatever could give other records."""
        said = json.dumps([self.digest, self.soc, self.job, self.options, version()])
        plain = re.sub(r"[^A-Za-z0-9_.-]", "_", f"{Path(self.name).stem}-{Path(self.soc).name}-{self.job.replace(',', '+')}")
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
    models: Iterable["os.PathLike[str]"], socs: Sequence[str], jobs: Sequence[str], options: Sequence[str]
) -> List[Tuple[Unit, Path]]:
    """A unit for each model, part and job, with the model's file, in the order of the serial run."""
    found = []
    for model in map(Path, models):
        digest = hashlib.sha256(model.read_bytes()).hexdigest()
        for soc in socs:
            for job in jobs:
                found.append((Unit(model.name, digest, soc, job, tuple(sorted(options))), model))
    return found


def tune_unit(unit: Unit, content: bytes, backend: str = "simulator") -> Tuple[Result, Optional[bytes]]:
    """Tunes a unit in a folder that is thrown away; answers how it ended and the packed run, which is None where it failed."""
    plain: Dict[str, Any] = {"unit": unit.key, "model": unit.name, "soc": unit.soc, "job": unit.job}
    with tempfile.TemporaryDirectory(prefix="libaoe-unit-") as folder:
        bank, model = Path(folder, "bank"), Path(folder, "model", unit.name)
        for needed in (bank, model.parent):
            needed.mkdir()
        model.write_bytes(content)
        arguments = {
            "model": str(model),
            "job_type": unit.job,
            "soc_version": unit.soc,
            "backend": backend,
            "work_path": folder,
            "output": f"{folder}/out/",
            "tuned_model": "off",
            "profiling_mode": "false",
            "progress_bar": "off",
        }
        environment = {"TUNE_BANK_PATH": str(bank), "ASCEND_WORK_PATH": folder}
        try:
            _program.run([*_program.arguments_of(arguments), *unit.options], environment, dies_with_us=True)
        except Error as error:
            if "nothing to tune" in str(error):
                return Result(**plain), pack(bank, [unit.key])
            return Result(**plain, error=str(error)), None
        out = Path(folder, "out")
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
    """Lays the bank of a packed run into a folder and answers the units that it holds."""
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:") as archive:
        names = archive.extractfile(_UNITS)
        units = json.loads(names.read()) if names is not None else None
        if not isinstance(units, list) or not all(isinstance(unit, str) for unit in units):
            raise ValueError(f"its {_UNITS} is no list of units")
        for member in archive:
            content = archive.extractfile(member)
            if content is None:
                continue
            if member.name.startswith(_BANK):
                target = (folder / member.name[len(_BANK) :]).resolve()
                if folder.resolve() not in target.parents:
                    raise ValueError(f"a packed run names a file outside of its bank: {member.name}")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())
    return units


def units_in(packed: bytes) -> List[str]:
    """The units that a packed run holds."""
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:") as archive:
        content = archive.extractfile(_UNITS)
        units: List[str] = json.loads(content.read()) if content is not None else []
        return units


def as_json(result: Result) -> bytes:
    """A result as it is stored."""
    fields: Mapping[str, Any] = {name: getattr(result, name) for name in Result.__dataclass_fields__}
    return (json.dumps(fields, sort_keys=True, indent=4) + "\n").encode()
