"""What CANN would launch for a network, and what a served language model costs."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _program
from ._arguments import PathLike, bank_folder, options_of, path_of, without
from ._frame import frame_of
from ._model import READING, Model, loaded, model_bytes
from ._native import OptionValue, json_text
from ._predict import Answers

if TYPE_CHECKING:
    import pandas

#: What `kernels` and `llm` say themselves.
_FORM = "the answer comes back as a value"
#: Options of `aoe llm` that take no value.
_FLAGS = ("install", "dry_run")


@dataclass(frozen=True)
class KernelGroup:
    """Launches that are alike, with the words of CANN's profiler; times in microseconds."""

    type: str
    count: int
    input_shapes: str
    output_shapes: str
    input_types: str
    input_formats: str
    us: float
    total_us: float


@dataclass(frozen=True)
class Kernels:
    """The kernels that CANN would launch for one run of a network."""

    groups: "Answers[KernelGroup]" = field(repr=False)
    #: Launches.
    count: int
    #: Time of all of them by the model.
    total_us: float
    #: The program's whole answer (docs/kernels.md).
    answer: Dict[str, Any] = field(repr=False)

    def frame(self) -> "pandas.DataFrame":
        """A table with a row for each group; needs pandas."""
        return self.groups.frame()


@dataclass(frozen=True)
class ServedPoint:
    """One batch at one length of prompt (and context); times in microseconds, tuned ones with the bank's records."""

    batch: int
    prompt: int
    #: Time to the first token: the mean of a batch that arrives together.
    ttft_us: float
    tuned_ttft_us: float
    #: Time for each output token.
    tpot_us: float
    tuned_tpot_us: float
    tokens_per_s: float
    tuned_tokens_per_s: float


@dataclass(frozen=True)
class Served:
    """A served language model (docs/serving.md)."""

    soc: str
    devices: int
    points: "Answers[ServedPoint]" = field(repr=False)
    #: Distinct products, with their times by default and tuned.
    products: List[Dict[str, Any]] = field(repr=False)
    #: Bank files that records were written to.
    files: List[Path]
    #: The same of the bank with records that a device has to decide about.
    to_measure: List[Path]
    report: Dict[str, Any] = field(repr=False)

    def frame(self) -> "pandas.DataFrame":
        """A table with a row for each batch and prompt; needs pandas."""
        return self.points.frame()

    def products_frame(self) -> "pandas.DataFrame":
        """A table with a row for each distinct product; needs pandas."""
        return frame_of(self.products)


def kernels(model: Model, *, soc: Optional[str] = None, against: Optional[PathLike] = None, **options: OptionValue) -> Kernels:
    """The kernels that CANN would launch for a model, with predicted times; ``against`` holds them beside a real profile.
    Options are those of ``aoe kernels`` (docs/kernels.md)."""
    without(options, {"json": _FORM, "cases": _FORM, "output": _FORM})
    against = None if against is None else path_of("against", against)
    given = options_of(options, soc=("soc_version", soc), against=("against", against))
    content = model_bytes(model)
    with tempfile.TemporaryDirectory(prefix="libaoe-") as folder:
        if content is None:
            path = path_of("model", model)  # type: ignore[arg-type]
        else:
            # What is no model is told as of `tune`. Without a suffix: what is in the copy tells what it is.
            with loaded(content, {key: value for key, value in given.items() if key in READING}):
                path = os.path.join(folder, "model")
                Path(path).write_bytes(content)
        command = ["kernels", _program.path_argument(path), "--json", *_program.arguments_of(given)]
        answer = json.loads(_program.run(command, dies_with_us=True, copies={os.path.join(folder, "model"): "model"}))
    groups = Answers(KernelGroup(**{name: row[name] for name in KernelGroup.__dataclass_fields__}) for row in answer["kernels"]["groups"])
    return Kernels(groups, answer["kernels"]["count"], sum(group.total_us for group in groups), answer)


def llm(
    config: Union[PathLike, Mapping[str, Any]],
    *,
    soc: Optional[str] = None,
    bank: Optional[PathLike] = None,
    **options: OptionValue,
) -> Served:
    """Prices and tunes a served language model. ``config`` is its ``config.json``, a folder with one, the same as a mapping,
    or a configuration of ``transformers``. ``bank`` names the directory of the bank, as `TUNE_BANK_PATH` does; options are
    those of ``aoe llm``: ``tensor_parallel=4, batch=[1, 8], prompt=[512, 2048], quantization="w8a8"``."""
    without(options, {"json": _FORM, "cases": _FORM})
    given = options_of(options, soc=("soc_version", soc))
    if options.get("output") is not None:
        given["output"] = path_of("output", options["output"])  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory(prefix="libaoe-") as folder:
        file = _program.path_argument(_config_file(config, folder))
        environment = {} if bank is None else {"TUNE_BANK_PATH": bank_folder(bank, given)}
        flags = [f"--{name}" for name in _FLAGS if given.pop(name, None)]
        command = ["llm", file, "--json", *flags, *_program.arguments_of(given)]
        copies = {os.path.join(folder, "config.json"): "config"}
        report = json.loads(_program.run(command, environment, dies_with_us=True, copies=copies))
    return Served(
        soc=report["soc"],
        devices=report["devices"],
        points=_points(report["figures"], report["with_records"] or report["figures"]),
        products=report["products"],
        files=[Path(file) for file in report["files"]],
        to_measure=[Path(file) for file in report["to_measure"]],
        report=report,
    )


def _config_file(config: Union[PathLike, Mapping[str, Any]], folder: str) -> str:
    if isinstance(config, (str, bytes, os.PathLike)):
        return path_of("config", config)
    fields = config if isinstance(config, Mapping) else getattr(config, "to_dict", None)
    if callable(fields):
        fields = fields()
    if not isinstance(fields, Mapping):
        raise TypeError(f"a configuration is a path, a mapping or a configuration of transformers, not {type(config).__name__}")
    path = os.path.join(folder, "config.json")
    Path(path).write_text(json_text(fields).decode(), encoding="utf-8")
    return path


def _points(before: Mapping[str, Any], after: Mapping[str, Any]) -> "Answers[ServedPoint]":
    """A point for each batch and length: time to the first token of the prompt, time of each token after it."""
    decode: Dict[Tuple[int, int], Tuple[Any, Any]] = {
        (one["batch"], one["context"]): (one, two) for one, two in zip(before["decode"], after["decode"])
    }
    points: "Answers[ServedPoint]" = Answers()
    for one, two in zip(before["prefill"], after["prefill"]):
        # With contexts of their own, those nearest to the prompt are of this point.
        lengths: Sequence[int] = [context for batch, context in decode if batch == one["batch"]]
        if not lengths:
            # No device holds a step of this batch.
            continue
        context = min(lengths, key=lambda length: (abs(length - one["prompt"]), length))
        first, second = decode[one["batch"], context]
        points.append(
            ServedPoint(
                batch=one["batch"],
                prompt=one["prompt"],
                ttft_us=one["ttft"]["us"],
                tuned_ttft_us=two["ttft"]["us"],
                tpot_us=first["tpot"]["us"],
                tuned_tpot_us=second["tpot"]["us"],
                tokens_per_s=first["tokens_per_s"],
                tuned_tokens_per_s=second["tokens_per_s"],
            )
        )
    return points
