"""Knowledge banks: what is recorded for a kernel, all that is recorded, and one bank made of several."""

from __future__ import annotations

import ctypes
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _program
from ._arguments import PathLike, options_of, path_of
from ._errors import NotFound, invalid
from ._native import BUFFER_TOO_SMALL, NOT_FOUND, MergedStruct, OptionValue, c_text, check, json_text, library, option_array, text_array
from ._predict import Answers, Case
from ._warned import heard, tell, warned

_PACKED, _INFO_DICT, _CASE = 0, 1, 2

@dataclass(frozen=True)
class Record:
    """One record; times in microseconds, None where nothing is known of them."""

    op: str
    #: Part and cores: ``Ascend910B2_24``.
    part: Optional[str]
    shapes: Optional[str]
    tiling: Optional[str]
    before_us: Optional[float]
    after_us: Optional[float]
    #: How much faster it was than CANN's own tiling: 0.1 is a tenth.
    gain: Optional[float]
    backend: Optional[str]
    file: Path
    line: Optional[int]
    info_dict: Optional[Dict[str, Any]] = field(repr=False)
    knowledge: Optional[Any] = field(repr=False)


@dataclass(frozen=True)
class Merged:
    """What a merge did with the records of its sources, and the files that it wrote (``AoeBankMerged``)."""

    added: int
    updated: int
    kept: int
    refused: int
    foreign: int
    files: int
    warnings: int


class Bank:
    """Operator banks in memory, a snapshot of their files. Of a key that several have, the first one's record counts.

    A path is a bank file, a directory of bank files, or the directory of a whole bank (``TUNE_BANK_PATH``) together with
    ``soc``; one that has banks of other parts only is `NotFound`. Without paths it is the bank that tuning for ``soc`` would
    use. Records that cannot be used are a `LibaoeWarning` each.
    """

    def __init__(self, *paths: PathLike, soc: Optional[str] = None, **options: OptionValue) -> None:
        given = options_of(options, soc=("soc_version", soc))
        self._soc = _soc_name(given.get("soc_version"))
        self.paths = [_layer(path, self._soc) for path in paths]
        self._bank = ctypes.c_void_p()
        layers = text_array([str(path) for path in self.paths])
        with warned():
            check(library().AoeBankOpen(*layers, *option_array(given), ctypes.byref(self._bank)))

    def __enter__(self) -> "Bank":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_bank", None):
            self.close()

    def close(self) -> None:
        """Frees the bank; it may be called again."""
        if self._bank:
            library().AoeBankClose(self._bank)
            self._bank = ctypes.c_void_p()

    def query(self, op: str, key: Union[bytes, Mapping[str, Any]]) -> Optional[Dict[str, Any]]:
        """The tiling recorded for a key of an operator, in CANN's fields; None where there is none. The key is the operator's
        structure as CANN packs it, or an ``info_dict`` as `records` has it."""
        if isinstance(key, bytes):
            return self._query(op, _PACKED, key)
        return self._query(op, _INFO_DICT, json_text(key))

    def lookup(self, case: Case) -> Optional[Dict[str, Any]]:
        """The tiling recorded for a kernel, given as for `simulate`; None where there is none."""
        return self._query(None, _CASE, json_text(case))

    def _query(self, op: Optional[str], kind: int, key: bytes) -> Optional[Dict[str, Any]]:
        if not self._bank:
            raise ValueError("the bank is closed")
        buffer, size = ctypes.create_string_buffer(4096), ctypes.c_size_t(4096)
        name = None if op is None else c_text(op)
        call = library().AoeBankQuery
        status = call(self._bank, name, kind, key, len(key), buffer, ctypes.byref(size))
        if status == BUFFER_TOO_SMALL:
            buffer = ctypes.create_string_buffer(size.value)
            status = call(self._bank, name, kind, key, len(key), buffer, ctypes.byref(size))
        if status == NOT_FOUND:
            return None
        check(status)
        knowledge: Dict[str, Any] = json.loads(buffer.value)
        return knowledge

    def records(self, op: Optional[str] = None) -> "Answers[Record]":
        """Every record of the files as they are now, with what it gained."""
        found: "Answers[Record]" = Answers()
        for path in self.paths:
            lines = _program.run(["bank", "show", _program.path_argument(str(path)), "--json", *_program.arguments_of({"op": op})], accept=(0, 1))
            rows = map(json.loads, lines.splitlines())
            found.extend(_record(row) for row in rows if self._is_meant(row.get("part")))
        return found


    def _is_meant(self, part: Optional[str]) -> bool:
        """Whether a record is of the part that was asked for, where both say one."""
        return part is None or self._soc is None or _spelled(part.rpartition("_")[0]) == _spelled(self._soc)


def merge(
    sources: Union[PathLike, Sequence[PathLike]], into: PathLike, built_in: Union[PathLike, Sequence[PathLike]] = ()
) -> Merged:
    """Merges one or several bank files, or directories of them, into one of the same kind (docs/banks.md, "Merging"): of two
    records with one key the better measured stays. What lies in ``into`` is replaced as a whole, or stays as it was. What is
    not taken because it is damaged is a `LibaoeWarning`."""
    with warned():
        return _merged(sources, into, built_in)


def merge_and_hear(source: PathLike, into: PathLike) -> Tuple[Merged, List[str]]:
    """As `merge`, with what it warns of as texts."""
    texts: List[str] = []
    with heard(texts):
        return _merged(source, into, ()), texts


def _merged(
    sources: Union[PathLike, Sequence[PathLike]], into: PathLike, built_in: Union[PathLike, Sequence[PathLike]]
) -> Merged:
    merged = MergedStruct(struct_size=ctypes.sizeof(MergedStruct))
    named = [("sources", _paths(sources)), ("built_in", _paths(built_in))]
    if not named[0][1]:
        raise invalid("sources is empty: name one bank at least")
    texts = [text_array([path_of(keyword, path) for path in paths]) for keyword, paths in named]
    check(library().AoeBankMerge(*texts[0], c_text(path_of("into", into)), *texts[1], ctypes.byref(merged)))
    return Merged(*(getattr(merged, name) for name in Merged.__dataclass_fields__))


def _paths(paths: Union[PathLike, Sequence[PathLike]]) -> Sequence[PathLike]:
    """Paths; a single one is no sequence of letters."""
    return [paths] if isinstance(paths, (str, bytes, os.PathLike)) else list(paths)


def _soc_name(soc: OptionValue) -> Optional[str]:
    """The name of a part, which the files of its banks have; what its description says, where that is what is given."""
    if soc is None:
        return None
    name: str = json.loads(_program.run(["soc", _program.path_argument(str(soc))]))["name"]
    return name


def _layer(path: PathLike, soc: Optional[str]) -> Path:
    """The directory of bank files, or the file, that a path means; an error where what lies there is of other parts."""
    layer = Path(path_of("path", path))
    if not layer.exists():
        raise _not_found(f"there is no bank at {layer}")
    files = sorted(layer.glob("*_AiCore_*.json")) if layer.is_dir() else [layer]
    below = {} if files or layer.is_file() else {one.parent.name: one for one in sorted(layer.glob("*/unified_bank"))}
    socs = below or {file.name.partition("_AiCore_")[0].rpartition("_")[0]: layer for file in files if "_AiCore_" in file.name}
    if not socs or (soc is None and not below):
        return layer
    if soc is None:
        raise _not_found(f"{layer} is a whole bank, with {', '.join(socs)}: say which part with soc=")
    meant = [one for name, one in socs.items() if _spelled(name) == _spelled(soc)]
    if not meant:
        raise _not_found(f"{layer} holds nothing of {soc}: there is {', '.join(socs)}")
    return meant[0]


def _spelled(soc: str) -> str:
    """The name of a part, as names are compared: blanks around it and capitals say nothing."""
    return soc.strip().lower()


def _not_found(message: str) -> NotFound:
    return NotFound(message, NOT_FOUND, "AOE_ERROR_NOT_FOUND")


def _record(row: Dict[str, Any]) -> Record:
    measured = row.get("measured") or {}
    return Record(
        op=row.get("op", ""),
        part=row.get("part"),
        shapes=row.get("shapes"),
        tiling=row.get("tiling"),
        before_us=measured.get("before_us"),
        after_us=measured.get("after_us"),
        gain=row.get("gain"),
        backend=measured.get("backend"),
        file=Path(row["file"]),
        line=row.get("line"),
        info_dict=row.get("info_dict"),
        knowledge=row.get("knowledge"),
    )
