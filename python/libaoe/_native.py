"""The C interface as ctypes sees it: signatures, options, texts, statuses. Nothing here knows what a tuning is."""

from __future__ import annotations

import ctypes
import functools
import json
import threading
from contextlib import contextmanager
from ctypes import POINTER, c_char_p, c_double, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from ._errors import error_of, invalid
from ._prefix import library_file

#: A value of an option: texts as on the command line, truth values, numbers, or lists of these. ``soc_set`` may be a mapping of
#: fields to their values.
OptionValue = Union[None, str, int, float, bool, "List[Any]", "Tuple[Any, ...]", range, "Mapping[str, Any]"]

SUCCESS = 0
BUFFER_TOO_SMALL = 1003
EXHAUSTED = 1007
NOT_FOUND = 1010


class Option(ctypes.Structure):
    """AoeOption."""

    _fields_ = [("key", c_char_p), ("value", c_char_p)]


class ProgressStruct(ctypes.Structure):
    """AoeProgress."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("done", c_uint64),
        ("total", c_uint64),
        ("node", c_char_p),
        ("network_us", c_double),
        ("baseline_us", c_double),
        ("elapsed_s", c_double),
        ("trials", c_uint64),
        ("remaining_s", c_double),
        ("searching", c_uint64),
    ]


class MergedStruct(ctypes.Structure):
    """AoeBankMerged."""

    _fields_ = [("struct_size", c_size_t)] + [
        (name, c_uint64) for name in ("added", "updated", "kept", "refused", "foreign", "files", "warnings")
    ]


LOG_CALLBACK = ctypes.CFUNCTYPE(None, c_int32, c_char_p, c_void_p)
#: AOE_LOG_WARNING; an error is more.
LOG_WARNING = 2
PROGRESS_CALLBACK = ctypes.CFUNCTYPE(c_int32, POINTER(ProgressStruct), c_void_p)

_OPTIONS = [POINTER(Option), c_size_t]
_TEXT_OUT = [c_char_p, POINTER(c_size_t)]
_TEXTS = [POINTER(c_char_p), c_size_t]
_SIGNATURES: Dict[str, Tuple[Any, List[Any]]] = {
    "AoeGetVersion": (c_uint32, []),
    "AoeGetLastError": (c_char_p, []),
    "AoeGetStatusName": (c_char_p, [c_int32]),
    "AoeInitialize": (c_int32, _OPTIONS),
    "AoeFinalize": (c_int32, []),
    "AoeGraphLoadFile": (c_int32, [c_char_p, *_OPTIONS, POINTER(c_void_p)]),
    "AoeGraphLoadMemory": (c_int32, [c_char_p, c_size_t, *_OPTIONS, POINTER(c_void_p)]),
    "AoeGraphDestroy": (None, [c_void_p]),
    "AoeCreateSession": (c_int32, [POINTER(c_uint64)]),
    "AoeDestroySession": (c_int32, [c_uint64]),
    "AoeSetTuningGraph": (c_int32, [c_uint64, c_void_p]),
    "AoeSetProgressCallback": (c_int32, [c_uint64, PROGRESS_CALLBACK, c_void_p]),
    "AoeSetLogCallback": (c_int32, [LOG_CALLBACK, c_void_p]),
    "AoeTuningGraph": (c_int32, [c_uint64, *_OPTIONS]),
    "AoeCancel": (c_int32, [c_uint64]),
    "AoeGetReport": (c_int32, [c_uint64, *_TEXT_OUT]),
    "AoeSimulate": (c_int32, [c_char_p, *_OPTIONS, *_TEXT_OUT]),
    "AoeTiling": (c_int32, [c_char_p, *_OPTIONS, *_TEXT_OUT]),
    "AoeCandidates": (c_int32, [c_char_p, *_OPTIONS, *_TEXT_OUT]),
    "AoeSearchCreate": (c_int32, [c_char_p, *_OPTIONS, POINTER(c_void_p)]),
    "AoeSearchAsk": (c_int32, [c_void_p, POINTER(c_uint32), c_size_t, POINTER(c_uint64)]),
    "AoeSearchTell": (c_int32, [c_void_p, c_uint64, c_int32, c_double]),
    "AoeSearchBest": (c_int32, [c_void_p, POINTER(c_uint32), c_size_t, POINTER(c_double)]),
    "AoeSearchGetReport": (c_int32, [c_void_p, *_TEXT_OUT]),
    "AoeSearchDestroy": (None, [c_void_p]),
    "AoeBankOpen": (c_int32, [*_TEXTS, *_OPTIONS, POINTER(c_void_p)]),
    "AoeBankQuery": (c_int32, [c_void_p, c_char_p, c_int32, c_char_p, c_size_t, *_TEXT_OUT]),
    "AoeBankMerge": (c_int32, [*_TEXTS, c_char_p, *_TEXTS, POINTER(MergedStruct)]),
    "AoeBankClose": (None, [c_void_p]),
}


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """The loaded library, its functions with their types."""
    loaded = ctypes.CDLL(str(library_file()))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


def version() -> str:
    """Version of the library that is loaded."""
    number = int(library().AoeGetVersion())
    return f"{number >> 16}.{number >> 8 & 0xFF}.{number & 0xFF}"


def status_name(status: int) -> str:
    """A status's name in aoe.h."""
    return bytes(library().AoeGetStatusName(status)).decode()


def check(status: int) -> None:
    """Raises what a status says, with the text of this thread's last call."""
    if status != SUCCESS:
        raise error_of(status, status_name(status), bytes(library().AoeGetLastError()).decode())


def option_text(value: OptionValue) -> Optional[str]:
    """An option's value as the library reads it; None where it is not set."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return ";".join(f"{name}={option_text(one)}" for name, one in value.items())
    if isinstance(value, (list, tuple, range)):
        return ",".join(text for text in map(option_text, value) if text is not None)
    # Numbers and arrays of numpy.
    plain = getattr(value, "tolist", None)
    return str(value) if plain is None else option_text(plain())


def c_text(text: str) -> bytes:
    """A text for C, which would end at a zero byte."""
    if "\0" in text:
        raise invalid(f"{text!r} holds a zero byte: give a text without")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise invalid(f"{text!r} is no text that UTF-8 can hold") from None


def json_text(value: Mapping[str, Any]) -> bytes:
    """A mapping as JSON."""
    try:
        return json.dumps(dict(value), default=_plain).encode()
    except (ValueError, RecursionError) as error:
        # One that holds itself is either of the two.
        raise invalid(f"a mapping of {len(value)} fields cannot be told in JSON: {error}") from None


def _plain(value: Any) -> Any:
    """What JSON does not know: numbers and arrays of numpy."""
    for method in ("tolist", "item"):
        convert = getattr(value, method, None)
        if convert is not None:
            return convert()
    raise TypeError(f"texts, numbers, lists and mappings are expected, not {type(value).__name__}")


def option_array(options: Mapping[str, OptionValue]) -> Tuple[Any, int]:
    """Options as two arguments of a call."""
    pairs = [(key, option_text(value)) for key, value in options.items()]
    given = [Option(c_text(key), c_text(value)) for key, value in pairs if value is not None]
    return (Option * len(given))(*given), len(given)


def text_array(texts: List[str]) -> Tuple[Any, int]:
    """Texts as two arguments of a call."""
    return (c_char_p * len(texts))(*[c_text(text) for text in texts]), len(texts)


def text_of(call: Callable[[Any, Any], int], guess: int = 1 << 14) -> str:
    """The text that a call writes to a buffer, asked again with a larger one while it says that there is more."""
    while True:
        buffer, size = ctypes.create_string_buffer(guess), c_size_t(guess)
        status = call(buffer, ctypes.byref(size))
        if status == BUFFER_TOO_SMALL:
            guess = size.value
            continue
        check(status)
        return buffer.value.decode()


_users = 0
_users_lock = threading.Lock()


@contextmanager
def initialised() -> Iterator[None]:
    """Keeps the library initialised while any tuning of this process runs, and no longer: a child that is forked later
    can use it as well."""
    global _users
    with _users_lock:
        if _users == 0:
            check(library().AoeInitialize(None, 0))
        _users += 1
    try:
        yield
    finally:
        with _users_lock:
            _users -= 1
            if _users == 0:
                check(library().AoeFinalize())
