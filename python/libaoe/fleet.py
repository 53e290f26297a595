"""Many models, many parts, many machines: units are tuned apart, and their banks are joined.

A store (a shared folder or a bucket) holds, below one URL:

    <soc>/unified_bank/...      the joined bank, as TUNE_BANK_PATH names it
    aoe_bank_to_measure/...     the same of records that a device has to decide about
    runs/<unit>.tar             what workers have found and nobody has joined yet
    runs/joined-<digest>.tar    what a join has made of them
    results/<unit>.json         how each unit ended

No worker writes what another writes, and a join deletes nothing that is not in an object of its own before, so nothing has to
be locked: ``python -m libaoe.fleet run MODELS... --soc NAME --bank URL``, ``... join URL``, ``... pull URL FOLDER``.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Callable, List, Optional, Sequence, Set, Tuple

from ._bank import merge
from ._errors import Error
from ._storage import Store, open_store
from ._units import Result, Unit, as_json, bank_files, pack, tune_unit, units_in, units_of, unpack

__all__ = ["Result", "Unit", "arguments", "finish", "join", "keep", "left", "main", "pull", "selected", "units_of"]

#: Suffixes of models in a folder, as for ``--model_path``; a file that is named is taken whatever its name.
_MODELS = {".onnx", ".air", ".pb", ".pbtxt", ".prototxt"}


def keep(store: Store, result: Result, packed: Optional[bytes]) -> None:
    """Stores how a unit ended, then what it found: a unit whose run is there has its result as well."""
    store.write(f"results/{result.unit}.json", as_json(result))
    if packed is not None:
        store.write(f"runs/{result.unit}.tar", packed)


def finished(store: Store) -> Set[str]:
    """Keys of the units whose runs are in a store, joined or not."""
    keys: Set[str] = set()
    for name in store.names("runs"):
        stem = Path(name).stem
        if not stem.startswith("joined-"):
            keys.add(stem)
            continue
        packed = store.read(name)
        # Where another join has replaced it meanwhile, that one's object is in this listing or in the next.
        keys.update(units_in(packed) if packed is not None else ())
    return keys


def left(store: Store, units: Sequence[Tuple[Unit, Path]], resume: bool) -> List[Tuple[Unit, Path]]:
    """The units that are still to be tuned."""
    done = finished(store) if resume else set()
    return [(unit, model) for unit, model in units if unit.key not in done]


def join(store: Store) -> int:
    """Makes one bank of all runs in a store and answers how many units it holds.

    It merges in the order of the names, so that the same units give the same bytes whatever the order in which they ended.
    Of several joins at once the last one to look finds every object, and joins once more until only its own is left.
    """
    while True:
        with tempfile.TemporaryDirectory(prefix="libaoe-join-") as folder:
            gathered = _gather(store, Path(folder, "runs"))
            if gathered is None:
                continue
            sources, units = gathered
            bank = Path(folder, "bank")
            for name, below in sources:
                found = _merge_tree(below, bank)
                if found:
                    raise Error(f"{name} holds {found} records that cannot be read: {_NOTHING_LOST}")
            packed = pack(bank, units)
            mine = f"runs/joined-{hashlib.sha256(packed).hexdigest()[:16]}.tar"
            if not sources:
                return 0
            store.write(mine, packed)
            _publish(store, bank)
            for name, _ in sources:
                if name != mine:
                    store.delete(name)
        if store.names("runs") == [mine]:
            return len(units)


#: What to do about a run that cannot be joined; all runs are still there.
_NOTHING_LOST = "nothing was joined and nothing deleted; move it away, run its units again (--resume) and join"


def _gather(store: Store, folder: Path) -> Optional[Tuple[List[Tuple[str, Path]], Set[str]]]:
    """Every run, unpacked; None where another join has taken one away since they were listed."""
    sources: List[Tuple[str, Path]] = []
    units: Set[str] = set()
    for number, name in enumerate(store.names("runs")):
        packed = store.read(name)
        if packed is None:
            return None
        below = folder / str(number)
        below.mkdir(parents=True)
        try:
            units.update(unpack(packed, below))
        except (tarfile.TarError, EOFError, KeyError, TypeError, ValueError) as error:
            raise Error(f"{name} is no run of a fleet ({error}): {_NOTHING_LOST}") from error
        sources.append((name, below))
    return sources, units


def _merge_tree(source: Path, into: Path) -> int:
    """Merges a bank with all its parts: subgraph and gradient banks lie in it, operators' in a folder for each part. Answers
    how much was found wrong in it."""
    folders = {path.parent.relative_to(source) for path in bank_files(source) if ".aoe" not in path.parts}
    return sum(merge([source / folder], into / folder).warnings for folder in sorted(folders))


def _publish(store: Store, bank: Path) -> None:
    """The joined bank as files. In a folder they are merged into what is there, under the bank's locks."""
    if store.folder is not None:
        _merge_tree(bank, store.folder)
        return
    for path in bank_files(bank):
        name, content = str(path.relative_to(bank)), path.read_bytes()
        if store.read(name) != content:
            store.write(name, content)


def pull(store: Store, folder: Path) -> None:
    """Merges the joined bank of a store into a bank on this machine, for TUNE_BANK_PATH."""
    names = store.names("")
    if not names:
        raise Error("nothing is stored there: is the address right, and has a fleet run?")
    with tempfile.TemporaryDirectory(prefix="libaoe-pull-") as copy:
        for name in names:
            top = name.split("/", 1)[0]
            content = store.read(name) if top not in ("runs", "results") else None
            if content is not None:
                target = Path(copy, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        _merge_tree(Path(copy), folder)


def arguments(program: str, description: str) -> argparse.ArgumentParser:
    """What a run on one machine and one on a cluster are told alike."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL", help="a model file, or a folder of them")
    parser.add_argument("--soc", required=True, help="the parts to tune for, with commas: Ascend910B2,Ascend310P3")
    parser.add_argument("--bank", required=True, metavar="URL", help="a folder, s3://bucket/path or obs://bucket/path")
    parser.add_argument(
        "--job_type", action="append", metavar="JOB", help="1, 2, 4 or 1,2 (the default); given twice, two units a model"
    )
    parser.add_argument("--backend", default="simulator", help="who measures: simulator (the default) or ascend")
    parser.add_argument("--resume", action="store_true", help="leave out the units whose runs are there")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="a further option of aoe: max_tuning_count=100"
    )
    return parser


def selected(given: argparse.Namespace) -> List[Tuple[Unit, Path]]:
    """The units that a command line asks for."""
    models: List[Path] = []
    for model in given.models:
        inside = sorted(path for path in model.iterdir() if path.suffix in _MODELS) if model.is_dir() else [model]
        if not inside:
            raise Error(f"{model} holds no model ({', '.join(sorted(_MODELS))})")
        models.extend(inside)
    options = [f"--{option}" for option in given.option]
    return units_of(models, given.soc.split(","), given.job_type or ["1,2"], options)


def finish(store: Store, results: Sequence[Result]) -> int:
    """Joins, says so, and answers the exit status."""
    units = join(store)
    failed = sum(result.error is not None for result in results)
    print(f"{units} units in the bank" + (f", {failed} failed" if failed else ""), flush=True)
    return 1 if failed else 0


def main(given: Optional[Sequence[str]] = None) -> int:
    """``python -m libaoe.fleet``."""
    words = list(sys.argv[1:] if given is None else given)
    commands: "dict[str, Callable[[List[str]], int]]" = {"run": _run, "join": _join, "pull": _pull}
    if not words or words[0] not in commands:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        return commands[words[0]](words[1:])
    except (Error, OSError) as error:
        print(f"[ERROR] {error}", file=sys.stderr)
        return 1


def _run(words: List[str]) -> int:
    given = arguments("libaoe.fleet run", "Tunes one unit after the other, and joins them.").parse_args(words)
    store = open_store(given.bank)
    results = []
    for unit, model in left(store, selected(given), given.resume):
        result, packed = tune_unit(unit, model.read_bytes(), given.backend)
        keep(store, result, packed)
        print(result.line(), flush=True)
        results.append(result)
    return finish(store, results)


def _join(words: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="libaoe.fleet join", description="Makes one bank of all runs in a store.")
    parser.add_argument("url")
    return finish(open_store(parser.parse_args(words).url), [])


def _pull(words: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="libaoe.fleet pull", description="Merges a store's bank into one on this machine.")
    parser.add_argument("url")
    parser.add_argument("folder", type=Path)
    given = parser.parse_args(words)
    pull(open_store(given.url), given.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
