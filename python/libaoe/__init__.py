"""Tunes neural networks for Ascend NPUs, with or without one.

>>> import libaoe
>>> libaoe.simulate({"op": "MatMul", "m": 1024, "k": 512, "n": 2048}, soc="Ascend910B4").bound
'mte2'
"""

from ._errors import (
    BackendError,
    BankError,
    Cancelled,
    DynamicGraph,
    Error,
    FileError,
    Forked,
    IllegalSchedule,
    InternalError,
    InvalidGraph,
    InvalidOption,
    InvalidParam,
    LibaoeWarning,
    NotFound,
    NothingToTune,
    TuningFailed,
    Unsupported,
)
from ._native import version
from ._prefix import prefix
from ._bank import Bank, Merged, Record, merge
from ._network import KernelGroup, Kernels, Served, ServedPoint, kernels, llm
from ._predict import Answers, Candidate, Candidates, DefaultTiling, Misfit, Prediction, candidates, simulate, tiling
from ._search import Found, Search, Trial, TrialFailed, search
from ._tuning import Progress, TunedKernel, Tuning, tune

__all__ = [
    "Answers",
    "BackendError",
    "Bank",
    "BankError",
    "Cancelled",
    "Candidate",
    "Candidates",
    "DefaultTiling",
    "DynamicGraph",
    "Error",
    "FileError",
    "Forked",
    "Found",
    "IllegalSchedule",
    "InternalError",
    "InvalidGraph",
    "InvalidOption",
    "InvalidParam",
    "KernelGroup",
    "Kernels",
    "LibaoeWarning",
    "Merged",
    "Misfit",
    "NotFound",
    "NothingToTune",
    "Prediction",
    "Progress",
    "Record",
    "Search",
    "Served",
    "ServedPoint",
    "Trial",
    "TrialFailed",
    "TunedKernel",
    "Tuning",
    "TuningFailed",
    "Unsupported",
    "candidates",
    "kernels",
    "llm",
    "merge",
    "prefix",
    "search",
    "simulate",
    "tiling",
    "tune",
    "version",
]
