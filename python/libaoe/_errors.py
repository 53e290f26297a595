"""What goes wrong, as exceptions with CANN's status codes."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple, Type


class Error(Exception):
    """A call failed.

    ``code`` is the number of the status (CANN's from -1 to 100, libaoe's from 1000), ``name`` its name in ``aoe.h``, and
    ``id`` the error id that CANN's tools print for it (``EG0003``), where the program ``aoe`` said one.
    """

    code: int
    name: str
    id: Optional[str]

    def __init__(self, message: str, code: int = -1, name: str = "AOE_FAILURE", id: Optional[str] = None) -> None:
        super().__init__(message)
        self.code = code
        self.name = name
        self.id = id

    def __str__(self) -> str:
        return f"{super().__str__()} ({self.name}, {self.code})"

    def __reduce__(self) -> Tuple[Any, ...]:
        # With all arguments, so that a worker's exception is the same in the process that started it.
        return (type(self), (self.args[0], self.code, self.name, self.id))


class LibaoeWarning(UserWarning):
    """Something was left out or taken otherwise than asked for, and the call went on: a damaged record of a bank, an option
    without effect. ``warnings.simplefilter("error", libaoe.LibaoeWarning)`` makes it an exception."""


class InvalidParam(Error, ValueError):
    """An argument is invalid (2), or no graph was set (1012)."""


class InvalidGraph(Error, ValueError):
    """The graph is malformed, or its sizes cannot be (7)."""


class NothingToTune(Error):
    """There is no graph, or nothing in it that can be tuned or measured (8)."""


class DynamicGraph(Error, ValueError):
    """A shape is open: give it sizes with ``input_shape`` (9)."""


class InvalidOption(Error, ValueError):
    """An option is unknown, or its value malformed (11)."""


class TuningFailed(Error):
    """No operator could be measured (100)."""


class Forked(Error):
    """The parent of this process was using the library when it forked (1001)."""


class Cancelled(Error):
    """Cancelled; what was found so far is saved (1002)."""


class FileError(Error):
    """A file or directory could not be read or written (1004)."""


class Unsupported(Error, NotImplementedError):
    """Not built in this version (1005)."""


class BackendError(Error):
    """The backend that was asked for cannot be used (1006), or can measure no more (1011)."""


class IllegalSchedule(Error, ValueError):
    """The tiling is illegal for the kernel on this part (1008)."""


class BankError(Error):
    """A knowledge bank is damaged, locked, or of another part (1009)."""


class NotFound(Error, LookupError):
    """What was asked for by name does not exist (1010)."""


class InternalError(Error):
    """A bug in libaoe, stopped at its border (1000). Please report it with the text."""


def invalid(message: str) -> InvalidParam:
    """The error for an argument that cannot be."""
    return InvalidParam(message, 2, "AOE_ERROR_INVALID_PARAM")


_CLASSES: Dict[int, Type[Error]] = {
    2: InvalidParam,
    7: InvalidGraph,
    8: NothingToTune,
    9: DynamicGraph,
    11: InvalidOption,
    100: TuningFailed,
    1000: InternalError,
    1001: Forked,
    1002: Cancelled,
    1004: FileError,
    1005: Unsupported,
    1006: BackendError,
    1008: IllegalSchedule,
    1009: BankError,
    1010: NotFound,
    1011: BackendError,
    1012: InvalidParam,
}


def error_of(code: int, name: str, message: str, id: Optional[str] = None) -> Error:
    """The exception for a status."""
    return _CLASSES.get(code, Error)(message or name, code, name, id)
