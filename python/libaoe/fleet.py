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
import io
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Set, Tuple

from ._bank import merge_and_hear
from ._errors import Error
from ._storage import Store, open_store
from ._units import Odd, Result, Unit, as_json, bank_files, ended_by_sigterm, failed, pack, tune_file, units_of, unpack

__all__ = ["Joined", "Result", "Unit", "arguments", "finish", "guarded", "join", "keep", "left", "main", "pull", "selected", "stored", "tell", "units_of"]

#: Suffixes of models in a folder, as for ``--model_path``; a file that is named is taken whatever its name.
_MODELS = {".onnx", ".air", ".pb", ".pbtxt", ".prototxt"}


def keep(store: Store, result: Result, packed: Optional[bytes]) -> None:
    """Stores how a unit ended, then what it found: a unit whose run is there has its result as well."""
    store.write(f"results/{result.unit}.json", as_json(result))
    if packed is not None:
        store.write(f"runs/{result.unit}.tar", packed)


def stored(store: Store, unit: Unit, result: Result, packed: Optional[bytes]) -> Result:
    """Stores and tells how a unit ended; one that cannot be stored has failed."""
    try:
        keep(store, result, packed)
    except (Error, OSError) as error:
        result = failed(unit, error)
    tell(result)
    return result


def tell(result: Result) -> None:
    """Tells how a unit ended, and what it was warned of."""
    for warning in result.warnings:
        print(f"[WARNING] {result.model} for {result.soc}, job {result.job}: {warning}", file=sys.stderr)
    print(result.line(), flush=True)


def finished(store: Store) -> Set[str]:
    """Keys of the units whose runs are in a store, joined or not, and can be joined: another's run is to be made again."""
    keys: Set[str] = set()
    for name in store.names("runs"):
        try:
            packed = store.read(name)
        except OSError:
            # A join says so.
            continue
        # Where another join has replaced it meanwhile, that one's object is in this listing or in the next.
        if packed is None:
            continue
        with tempfile.TemporaryDirectory(prefix="libaoe-resume-") as folder:
            try:
                keys.update(_merged(name, packed, Path(folder, "run"), Path(folder, "bank"))[0])
            except Odd:
                continue
    return keys


def left(store: Store, units: Sequence[Tuple[Unit, Path]], resume: bool) -> List[Tuple[Unit, Path]]:
    """The units that are still to be tuned."""
    done = finished(store) if resume else set()
    return [(unit, model) for unit, model in units if unit.key not in done]


class Joined(NamedTuple):
    """What a join has made."""

    #: How many units the bank holds.
    units: int
    #: What lies below runs/ and was left there as it is, by name, and why.
    aside: Dict[str, str]
    #: Records of runs of an earlier version that are known not to compute by now, and were not taken.
    refused: int = 0
    #: Keys of the units that the bank holds.
    keys: FrozenSet[str] = frozenset()


def join(store: Store) -> Joined:
    """Makes one bank of all runs in a store. What is no run, or damaged, is set aside.

    It merges in the order of the names, so that the same units give the same bytes whatever the order in which they ended.
    Of several joins at once the last one to look finds every object, and joins once more until only its own is left.
    """
    aside: Dict[str, str] = {}
    told = 0
    while True:
        with tempfile.TemporaryDirectory(prefix="libaoe-join-") as folder:
            bank = Path(folder, "bank")
            gathered = _gather(store, Path(folder, "runs"), bank, aside)
            if gathered is None:
                continue
            sources, units, refused = gathered
            if not sources:
                return Joined(0, aside)
            packed = pack(bank, units)
            mine = f"runs/joined-{hashlib.sha256(packed).hexdigest()[:16]}.tar"
            store.write(mine, packed)
            _publish(store, bank)
            for name in sources:
                if name != mine:
                    store.delete(name)
        told += refused
        if [name for name in store.names("runs") if name not in aside] == [mine]:
            return Joined(len(units), aside, told, frozenset(units))


def _gather(store: Store, folder: Path, bank: Path, aside: Dict[str, str]) -> Optional[Tuple[List[str], Set[str], int]]:
    """Merges every run but those aside; None where it has to be done again: another join has taken one away since they were
    listed, or one was found that cannot be joined and whose half may be in the bank."""
    sources: List[str] = []
    units: Set[str] = set()
    refused = 0
    for number, name in enumerate(name for name in store.names("runs") if name not in aside):
        try:
            packed = store.read(name)
        except OSError as error:
            aside[name] = f"it cannot be read ({error.strerror})"
            return None
        if packed is None:
            return None
        below = folder / str(number)
        try:
            found, left_out = _merged(name, packed, below, bank)
        except Odd as error:
            aside[name] = str(error)
            return None
        units.update(found)
        refused += left_out
        sources.append(name)
    return sources, units, refused


def _merged(name: str, packed: bytes, below: Path, bank: Path) -> Tuple[List[str], int]:
    """Merges one run, unpacked into a folder, into a bank; answers its units, and how many records would not compute. `Odd`
    where not all others are in the bank."""
    if not name.endswith(".tar"):
        raise Odd("it is no run of a fleet")
    below.mkdir(parents=True)
    units = unpack(packed, below)
    missing, refused = _merge_tree(below, bank)
    if missing:
        raise Odd(missing[0])
    return units, refused


#: Records that would not compute of which a merge names each, with one warning; of further ones it says that there are more.
_NAMED = 100


def _merge_tree(source: Path, into: Path) -> Tuple[List[str], int]:
    """Merges a bank with all its parts: subgraph and gradient banks lie in it, operators' in a folder for each part. Answers
    what was not taken of it, and how many records would not compute and are no loss."""
    files = [path.relative_to(source) for path in bank_files(source) if ".aoe" not in path.parts]
    found, refused = [], 0
    for folder in sorted({file.parent for file in files}):
        try:
            done, warnings = merge_and_hear(source / folder, into / folder)
        except Error as error:
            found.append(f"its {folder} cannot be merged: {error}")
            continue
        damaged = done.warnings - min(done.refused, _NAMED + 1)
        if damaged:
            said = f": {warnings[0]}" if warnings else ""
            found.append(f"its {folder} holds what cannot be taken, {damaged} times{said.replace(f'{source}/', '')}")
        elif not done.refused:
            inside = (file for file in files if file.parent == folder)
            found.extend(f"its {file} is no file of a bank" for file in inside if not (into / file).is_file())
        refused += done.refused
    return found, refused


def _publish(store: Store, bank: Path) -> None:
    """The joined bank as files. In a folder they are merged into what is there, under the bank's locks."""
    if store.folder is not None:
        missing, _ = _merge_tree(bank, store.folder)
        if missing:
            raise Error(f"the bank in {store.folder} cannot take what was joined ({missing[0]}): mend it, and join again")
        return
    for path in bank_files(bank):
        name, content = str(path.relative_to(bank)), path.read_bytes()
        if store.read(name) != content:
            store.write(name, content)


def pull(store: Store, folder: Path) -> None:
    """Merges the joined bank of a store into a bank on this machine, for TUNE_BANK_PATH."""
    names = [name for name in store.names("") if name.split("/", 1)[0] not in ("runs", "results")]
    if not names and not any(name.startswith("runs/joined-") for name in store.names("runs")):
        raise Error("nothing is stored there, no joined bank: is the address right, has a fleet run, and was it joined?")
    with tempfile.TemporaryDirectory(prefix="libaoe-pull-") as copy:
        for name in names:
            content = store.read(name)
            target = Path(copy, name).resolve()
            if Path(copy).resolve() not in target.parents:
                raise Error(f"{name} is no name of a bank's file: move it away, and pull again")
            if content is not None:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        missing, _ = _merge_tree(Path(copy), folder)
        if missing:
            raise Error(f"the bank was pulled but for this: {'; '.join(missing)}: move it away or mend it, and pull again")


def given_path(text: str) -> Path:
    """A path of a command line. An empty one, as of a variable that is not set, would be the present folder."""
    if not text:
        raise argparse.ArgumentTypeError("a path is empty: the present folder is '.'")
    return Path(text)


def arguments(program: str, description: str) -> argparse.ArgumentParser:
    """What a run on one machine and one on a cluster are told alike."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("models", nargs="+", type=given_path, metavar="MODEL", help="a model file, or a folder of them")
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
    return units_of(models, given.soc.split(","), given.job_type or ["1,2"], options, given.backend)


#: What to do about what was set aside.
_AWAY = "move it away, or where it is a run tune its unit again (--resume), and join"


def finish(store: Store, results: Sequence[Result]) -> int:
    """Joins, says so, and answers the exit status."""
    units, aside, refused, keys = join(store)
    lost = sum(result.error is not None for result in results)
    # A worker of another machine may have written to a folder that is only there.
    elsewhere = [result for result in results if result.error is None and result.unit not in keys]
    print(f"{units} units in the bank" + (f", {lost} failed" if lost else ""), flush=True)
    if refused:
        print(f"[WARNING] {refused} records of earlier runs would not compute, and were left out", file=sys.stderr)
    for name, why in sorted(aside.items()):
        print(f"[ERROR] {name}: {why}; it was left there: {_AWAY}", file=sys.stderr)
    if elsewhere:
        print(
            f"[ERROR] {len(elsewhere)} units were tuned and are not in this bank, {elsewhere[0].unit} first: a bank of several machines is "
            "a folder that all of them share, or a bucket",
            file=sys.stderr,
        )
    return 1 if lost or aside or elsewhere else 0


def guarded(command: Callable[[], int]) -> int:
    """The exit status of a command; what ends it is told in a line. A name that the terminal cannot show ends nothing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with ended_by_sigterm():
            return command()
    except (Error, OSError) as error:
        print(f"[ERROR] {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("[ERROR] interrupted: units that have ended are kept; the same with --resume tunes the others, and joins", file=sys.stderr)
        return 130


def main(given: Optional[Sequence[str]] = None) -> int:
    """``python -m libaoe.fleet``."""
    words = list(sys.argv[1:] if given is None else given)
    commands: "dict[str, Callable[[List[str]], int]]" = {"run": _run, "join": _join, "pull": _pull}
    if not words or words[0] not in commands:
        print(__doc__, file=sys.stderr)
        return 2
    return guarded(lambda: commands[words[0]](words[1:]))


def _run(words: List[str]) -> int:
    given = arguments("libaoe.fleet run", "Tunes one unit after the other, and joins them.").parse_args(words)
    store = open_store(given.bank)
    results = []
    units = left(store, selected(given), given.resume)
    store.prepare()
    for unit, model in units:
        results.append(stored(store, unit, *tune_file(unit, model)))
    return finish(store, results)


def _join(words: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="libaoe.fleet join", description="Makes one bank of all runs in a store.")
    parser.add_argument("url")
    store = open_store(parser.parse_args(words).url)
    if not store.names("runs"):
        raise Error("no runs are stored there, nothing was joined: is the address right, and has a fleet run?")
    return finish(store, [])


def _pull(words: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="libaoe.fleet pull", description="Merges a store's bank into one on this machine.")
    parser.add_argument("url")
    parser.add_argument("folder", type=given_path)
    given = parser.parse_args(words)
    pull(open_store(given.url), given.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
