"""What users give by keyword: paths, folders of banks, and options that have keywords of their own."""

from __future__ import annotations

import os
from typing import Dict, Mapping, Optional, Tuple, Union

from ._errors import FileError, InvalidOption, invalid
from ._native import OptionValue

PathLike = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


def contradiction(message: str) -> InvalidOption:
    """The error for arguments of which one would win over the other without a word."""
    return InvalidOption(message, 11, "AOE_ERROR_INVALID_OPTION_ATTR")


def path_of(keyword: str, path: PathLike) -> str:
    """A path as a text, also of bytes. An empty one would be the present folder here and nothing there; one that is no
    UTF-8 the library cannot be told."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise invalid(f"{keyword}={path!r} is no path, but {type(path).__name__}: give a text or a pathlib.Path")
    text = os.fsdecode(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        try:
            shown: Union[str, bytes] = os.fsencode(text)
        except UnicodeEncodeError:
            # Not even bytes of a file system.
            shown = text
        raise invalid(f"{keyword}={shown!r} is not UTF-8: rename it, or name it by a link") from None
    if "\0" in text:
        raise invalid(f"{keyword}={text!r} holds a zero byte, which no path has")
    if not text:
        raise invalid(f"{keyword} is empty: give a path (the present folder is '.'), or leave it out")
    return text


def options_of(options: Mapping[str, OptionValue], **keywords: Tuple[str, OptionValue]) -> Dict[str, OptionValue]:
    """Options, and those that have a keyword of their own, each with its name as an option and its value. One that is said
    both ways is an error, whichever of the two would win."""
    given = dict(options)
    for keyword, (option, value) in keywords.items():
        if value is None:
            continue
        if value == "":
            raise invalid(f"{keyword} is empty: name one, or leave it out")
        if given.get(option) is not None:
            raise contradiction(f"{keyword}={value!r} and {option}={given[option]!r} are the same option: give one of them")
        given[option] = value
    return given


def without(options: Mapping[str, OptionValue], names: Mapping[str, str]) -> None:
    """Refuses options that this function says itself, each with the reason."""
    for name, reason in names.items():
        if options.get(name) is not None:
            raise contradiction(f"{name}={options[name]!r}: {reason}; leave it out")


def bank_folder(bank: PathLike, options: Mapping[str, OptionValue]) -> str:
    """The folder of a bank, made where it is not there. What else names a bank contradicts it."""
    path = os.path.abspath(path_of("bank", bank))
    variable = os.environ.get("TUNE_BANK_PATH")
    if variable and os.path.abspath(variable) != path:
        raise contradiction(f"bank={path}: the variable TUNE_BANK_PATH={variable} names another; unset one of the two")
    for option in ("ge.op_bank_path", "ge.mdl_bank_path", "install"):
        value: Optional[OptionValue] = options.get(option)
        if value is not None and value is not False:
            raise contradiction(f"bank={path} and {option}={value!r} both say where records go: give one of them")
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise FileError(f"bank={path} cannot be made: {error.strerror}; name a folder", 1004, "AOE_ERROR_IO") from error
    return path
