"""The program ``aoe`` that comes with the library, for what the C interface does not have."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType
from typing import List, Mapping, Optional, Sequence

from ._errors import Error, error_of, invalid
from ._native import OptionValue, option_text
from ._prefix import program_file
from ._warned import tell

#: An error, and the status of the C interface that the program tells where this variable is set.
_ERROR = re.compile(r"^\[ERROR\] (?:(E[A-Z]\d{4}): )?(.*)\n\[STATUS\] (-?\d+) (\w+)$", re.MULTILINE)
#: What it logs, and what it says itself.
_WARNING = re.compile(r"^\[WARN(?:ING)?\] (.*)$", re.MULTILINE)
_TOLD = {"AOE_STATUS_LINE": "1"}


def arguments_of(options: Mapping[str, OptionValue]) -> "list[str]":
    """Options as arguments; what is None is left out."""
    texts = ((key, option_text(value)) for key, value in options.items())
    return [f"--{key}={text}" for key, text in texts if text is not None]


def path_argument(path: str) -> str:
    """A path that stands without an option; one that begins with a dash is none."""
    return os.path.join(".", path) if path.startswith("-") else path


def run(
    arguments: Sequence[str],
    environment: Optional[Mapping[str, str]] = None,
    accept: Sequence[int] = (0,),
    dies_with_us: bool = False,
    copies: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """As `told`; what the program warns of are warnings."""
    warnings: List[str] = []
    try:
        return told(arguments, warnings, environment, accept, dies_with_us, copies)
    finally:
        tell(warnings)


def told(
    arguments: Sequence[str],
    warnings: List[str],
    environment: Optional[Mapping[str, str]] = None,
    accept: Sequence[int] = (0,),
    dies_with_us: bool = False,
    copies: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """What ``aoe`` with these arguments writes to standard output, and what it warns of; an exit status that is not accepted
    is an exception with the words of its error, where `copies` are called what they are copies of. Ctrl-C ends the program
    as it does in a shell: what it has found is saved. With ``dies_with_us`` it is terminated when this process is killed."""
    command = [str(program_file()), *arguments]
    if dies_with_us:
        command = [sys.executable, "-S", str(Path(__file__).with_name("_guarded.py")), str(os.getpid()), *command]
    # In a session of its own it does not get the terminal's Ctrl-C besides ours; the second would end it at once.
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **_TOLD, **(environment or {})},
            start_new_session=True,
        )
    except OSError as error:
        if error.errno == errno.E2BIG:
            raise invalid("the options are too long for a program: give shorter ones, or fewer values") from error
        raise Error(f"{command[0]} cannot be run: {error.strerror}", 1004, "AOE_ERROR_IO") from error
    try:
        out, err = child.communicate()
    except BaseException:
        child.send_signal(signal.SIGINT)
        child.communicate()
        raise
    words = err.decode(errors="replace")
    for path, name in copies.items():
        words = words.replace(path, name)
    warnings.extend(_WARNING.findall(words))
    if child.returncode not in accept:
        raise _failure(child.returncode, words)
    return out.decode()


def _failure(status: int, words: str) -> Error:
    found = _ERROR.search(words)
    if found is not None:
        id, text, code, name = found.groups()
        return error_of(int(code), name, text, id)
    last = words.strip().rsplit("\n", 1)[-1]
    if status < 0:
        return Error(f"aoe was ended by {signal.Signals(-status).name}: {last}")
    return Error(f"aoe ended with exit status {status}: {last}")


def main() -> None:
    """The command ``aoe`` of an installed wheel: the program takes the place of Python."""
    program = str(program_file())
    os.execv(program, [program, *sys.argv[1:]])
