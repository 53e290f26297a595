"""A bar that says how far something is, in terminals and notebooks."""

from __future__ import annotations

import io
import shutil
import sys
import time
from typing import Optional, TextIO


def _in_notebook() -> bool:
    """Whether a Jupyter kernel shows what is printed; it understands carriage returns as terminals do."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"


class Bar:
    """``resnet50:  43%|████▎     | 13/30 [00:02<00:03, 312.1 -> 281.0 us]`` on standard error, drawn at most ten times a
    second; nothing where neither a terminal nor a notebook reads it."""

    def __init__(self, name: str, wanted: bool = True, stream: Optional[TextIO] = None) -> None:
        self._name = name
        # Programs without a terminal may have no standard error at all.
        found: Optional[TextIO] = stream if stream is not None else sys.stderr
        self._stream = found if found is not None else io.StringIO()
        self._shown = wanted and (self._stream.isatty() or (found is not None and _in_notebook()))
        self._begun = time.monotonic()
        self._drawn = 0.0
        self._line = ""

    def update(self, done: int, total: int, note: str = "", remaining_s: float = -1.0) -> None:
        """Says how far it is; ``remaining_s`` below 0 is counted from the pace so far."""
        if not self._shown:
            return
        elapsed = time.monotonic() - self._begun
        if remaining_s < 0 and done:
            remaining_s = elapsed / done * (total - done)
        times = f"{_clock(elapsed)}<{_clock(remaining_s) if remaining_s >= 0 else '?'}"
        share = done / total if total else 1.0
        eighths = int(share * 80)
        blocks = "█" * (eighths // 8) + ("▏▎▍▌▋▊▉"[eighths % 8 - 1] if eighths % 8 else "")
        self._line = f"{self._name}: {share:4.0%}|{blocks:<10}| {done}/{total} [{times}{', ' if note else ''}{note}]"
        if time.monotonic() - self._drawn >= 0.1:
            self._draw()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        width = shutil.get_terminal_size().columns - 1
        self._stream.write("\r" + self._line[:width].ljust(width))
        self._stream.flush()

    def close(self) -> None:
        """Leaves the last state standing and ends the line."""
        if self._shown and self._line:
            self._draw()
            self._stream.write("\n")
            self._stream.flush()
        self._shown = False
