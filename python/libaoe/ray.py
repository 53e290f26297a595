"""``python -m libaoe.ray MODELS... --soc NAMES --bank URL``: a fleet on a Ray cluster that is there (``pip install
'libaoe[ray]'``).

One task a unit (a model, a part and a job). A simulator run takes a CPU, one on a device takes an ``NPU`` besides; Ray then shows
each task its own device. Each task stores its own run, so a killed worker or node costs the units that it was at, which Ray
starts again elsewhere, and a killed driver nothing: start it again with ``--resume``. The units are joined at the end.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence
from urllib.parse import urlsplit

from ._errors import Error
from ._storage import absolute, open_store
from ._units import Result, Unit, failed, tune_unit
from .fleet import arguments, finish, guarded, keep, left, selected, stored, tell

#: How often a task whose worker or node has died is started again.
_RETRIES = 5
#: How long the head of a cluster may take to take a connection, in seconds.
_PATIENCE_S = 10.0
#: How long joining a cluster may take, in seconds; Python and Ray have to start for it.
_JOIN_S = 60.0
#: Joins a cluster and leaves it.
_JOINS = "import sys, ray; ray.init(address=sys.argv[1], log_to_driver=False, logging_level=40); ray.shutdown()"
#: The resource of a device, by Ray's name.
_DEVICE = "NPU"


def _task(unit: Unit, content: bytes, url: str) -> Result:
    """Runs on a worker. A unit that was stored just before its worker died is stored again, the same."""
    result, packed = tune_unit(unit, content)
    keep(open_store(url), result, packed)
    return result


def main(given: Optional[Sequence[str]] = None) -> int:
    """Tunes on the cluster and answers the exit status."""
    parser = arguments("libaoe.ray", "Tunes many models on a Ray cluster, and joins what was found into one bank.")
    parser.add_argument("--address", default="auto", help="the cluster (default: RAY_ADDRESS, else the one on this machine)")
    told = parser.parse_args(given)
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        print("[ERROR] this needs Ray: pip install 'libaoe[ray]'", file=sys.stderr)
        return 2
    return guarded(lambda: _run(ray, told))


def _run(ray: Any, told: argparse.Namespace) -> int:
    # Workers run in folders of their own.
    url = absolute(told.bank)
    store = open_store(url)
    units = left(store, selected(told), told.resume)
    store.prepare()
    _connect(ray, told.address)
    try:
        if told.backend != "simulator" and not ray.cluster_resources().get(_DEVICE):
            raise Error(f"no node of the cluster has the resource {_DEVICE}: start them with ray start --resources='{{\"{_DEVICE}\": 1}}'")
        results = _tune(ray, units, url, told.backend)
    finally:
        ray.shutdown()
    return finish(store, results)


def _connect(ray: Any, address: str) -> None:
    """Joins the cluster. One that does not answer is named before Ray asks, which would ask it for minutes, or for ever."""
    asked = os.environ.get("RAY_ADDRESS", address) if address == "auto" else address
    place = urlsplit(asked if "://" in asked else f"//{asked}")
    try:
        if asked not in ("auto", "local"):
            if not place.hostname or not place.port:
                raise ValueError("write HOST:PORT, as ray start tells it, or ray://HOST:PORT")
            socket.create_connection((place.hostname, place.port), _PATIENCE_S).close()
        if asked != "local":
            _try_to_join(asked)
        ray.init(address=asked, log_to_driver=False, logging_level=logging.WARNING)
    except (OSError, ValueError, RuntimeError) as error:
        raise Error(f"--address {asked}: no Ray cluster answers there ({error}): start one with ray start --head") from error


def _try_to_join(address: str) -> None:
    """Joins and leaves a cluster in another process, which can be ended. `auto` may mean one that is long gone, and behind a port
    that takes connections there may be nobody who answers."""
    try:
        told = subprocess.run([sys.executable, "-c", _JOINS, address], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_JOIN_S)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"it could not be joined within {_JOIN_S:g} seconds") from None
    if told.returncode != 0:
        raise RuntimeError((told.stderr.strip().splitlines() or [f"joining it ended with status {told.returncode}"])[-1])


def _tune(ray: Any, units: Sequence[Any], url: str, backend: str) -> List[Result]:
    """Every unit's result, told as they come."""
    devices = {} if backend == "simulator" else {"resources": {_DEVICE: 1}}
    task = ray.remote(num_cpus=1, max_retries=_RETRIES, **devices)(_task)
    # A model is sent to a node once, however many units are made of it.
    models: Dict[Path, Any] = {}
    waiting: Dict[Any, Unit] = {}
    results: List[Result] = []
    for unit, model in units:
        try:
            if model not in models:
                models[model] = ray.put(model.read_bytes())
        except OSError as error:
            results.append(stored(open_store(url), unit, failed(unit, error), None))
            continue
        waiting[task.remote(unit, models[model], url)] = unit
    while waiting:
        ready, _ = ray.wait(list(waiting))
        unit = waiting.pop(ready[0])
        try:
            result = ray.get(ready[0])
        except ray.exceptions.RayError as error:
            # What a task has raised; Ray's own words are those of a worker or node that has died.
            cause = getattr(error, "cause", None) or error
            why = (str(cause).strip().splitlines() or [""])[0]
            result = Result(unit.key, unit.name, unit.soc, unit.job, error=f"{type(cause).__name__}: {why}")
        results.append(result)
        tell(result)
    return results


if __name__ == "__main__":
    sys.exit(main())
