"""Where the library, the program and the header are."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Optional

from ._errors import Error

#: The installed tree inside the package (``bin``, ``include``, ``lib``), which wheels have.
PACKAGED = Path(__file__).parent / "prefix"


def prefix() -> Path:
    """The tree with ``include/aoe.h``, ``lib/libaoe.so.0``, ``lib/cmake/aoe`` and ``bin/aoe``: CMake finds the package with
    ``-DCMAKE_PREFIX_PATH="$(python -m libaoe prefix)"``.

    It is the one inside the package, or the one that the environment variable ``AOE_PREFIX`` names.
    """
    named = os.environ.get("AOE_PREFIX")
    tree = Path(named) if named else PACKAGED
    if not (tree / "lib").is_dir():
        where = "AOE_PREFIX" if named else "this installation"
        raise Error(f"{where} has no libaoe in {tree}: install a wheel of libaoe, or set AOE_PREFIX to an installed prefix")
    return tree


def library_file() -> Path:
    """The shared library."""
    file = prefix() / "lib" / "libaoe.so.0"
    if not file.exists():
        raise Error(f"{file} is not there: install a wheel of libaoe, or set AOE_PREFIX to an installed prefix")
    return file


def program_file() -> Path:
    """The program ``aoe``."""
    file: Optional[Path] = prefix() / "bin" / "aoe"
    if file is None or shutil.which(str(file)) is None:
        raise Error(f"{file} is not there or cannot be run: install a wheel of libaoe, or set AOE_PREFIX to an installed prefix")
    return file
