"""What the library and the program warn of, as warnings of Python."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from contextlib import contextmanager
from typing import Any, Iterable, Iterator, List, Tuple

from ._errors import LibaoeWarning
from ._native import LOG_CALLBACK, LOG_WARNING, check, library

_HERE = os.path.dirname(__file__)

#: Who listens, each with its thread. A warning goes to those of the thread that it comes from; one from a thread of the
#: library's own, which does not say for whom it works, to all.
_listeners: List[Tuple[int, List[str]]] = []
_lock = threading.Lock()


def _hear(level: int, message: bytes, _: object) -> None:
    if level < LOG_WARNING:
        return
    text, thread = message.decode(errors="replace"), threading.get_ident()
    with _lock:
        own = [texts for listening, texts in _listeners if listening == thread]
        for texts in own or [texts for _, texts in _listeners]:
            texts.append(text)


_callback = LOG_CALLBACK(_hear)
#: No function.
_silence: Any = LOG_CALLBACK(0)


@contextmanager
def heard(texts: List[str]) -> Iterator[None]:
    """Takes down what the library warns of in this block."""
    mine = (threading.get_ident(), texts)
    with _lock:
        if not _listeners:
            check(library().AoeSetLogCallback(_callback, None))
        _listeners.append(mine)
    try:
        yield
    finally:
        with _lock:
            _listeners[:] = [one for one in _listeners if one is not mine]
            if not _listeners:
                library().AoeSetLogCallback(_silence, None)


@contextmanager
def warned() -> Iterator[None]:
    """What the library warns of in this block are warnings of who called the package."""
    texts: List[str] = []
    try:
        with heard(texts):
            yield
    finally:
        tell(texts)


def tell(texts: Iterable[str]) -> None:
    """Warns, in the name of the line that called the package; of what is said twice once."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_ours(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    for text in dict.fromkeys(texts):
        warnings.warn(text, LibaoeWarning, stacklevel=level)


def _is_ours(file: str) -> bool:
    return file.startswith(_HERE) or os.path.basename(file) == "contextlib.py"
