"""The program ``aoe`` that comes with the library, for what the C interface does not have."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Mapping, Optional, Sequence

from ._errors import Error, error_of
from ._native import OptionValue, option_text, status_name
from ._prefix import program_file

_ERROR = re.compile(r"^\[ERROR\] (?:(E[A-Z]\d{4}): )?(.*)$", re.MULTILINE)
#: What an error id, or else an exit status, says as a status of the C interface.
_IDS = {"EG0010": 1004, "EG0011": 1004, "EG0012": 1006, "EG0013": 1011}
_STATUSES = {2: 11, 130: 1002}


def arguments_of(options: Mapping[str, OptionValue]) -> "list[str]":
    """Options as arguments; what is None is left out."""
    texts = ((key, option_text(value)) for key, value in options.items())
    return [f"--{key}={text}" for key, text in texts if text is not None]


def run(
    arguments: Sequence[str],
    environment: Optional[Mapping[str, str]] = None,
    accept: Sequence[int] = (0,),
    dies_with_us: bool = False,
) -> str:
    """What ``aoe`` with these arguments writes to standard output; an exit status that is not accepted is an exception
    with the words of its error. Ctrl-C ends the program as it does in a shell: what it has found is saved. With
    ``dies_with_us`` it is terminated when this process is killed."""
    command = [str(program_file()), *arguments]
    if dies_with_us:
        command = [sys.executable, "-S", str(Path(__file__).with_name("_guarded.py")), str(os.getpid()), *command]
    # In a session of its own it does not get the terminal's Ctrl-C besides ours; the second would end it at once.
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=None if environment is None else {**os.environ, **environment},
        start_new_session=True,
    )
    try:
        out, err = child.communicate()
    except BaseException:
        child.send_signal(signal.SIGINT)
        child.communicate()
        raise
    if child.returncode not in accept:
        raise _failure(child.returncode, err.decode(errors="replace"))
    return out.decode()


def _failure(status: int, words: str) -> Error:
    found = _ERROR.search(words)
    text = found.group(2) if found else words.strip().rsplit("\n", 1)[-1]
    if status < 0:
        return Error(f"aoe was ended by {signal.Signals(-status).name}: {text}")
    id = found.group(1) if found else None
    code = _IDS.get(id or "", _STATUSES.get(status, -1))
    return error_of(code, status_name(code), text or f"exit status {status}", id)


def main() -> None:
    """The command ``aoe`` of an installed wheel: the program takes the place of Python."""
    program = str(program_file())
    os.execv(program, [program, *sys.argv[1:]])
