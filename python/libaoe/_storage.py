"""Named objects below a URL: a folder, or a bucket through fsspec. An object is there whole or not at all."""

from __future__ import annotations

import importlib
import os
import tempfile
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, List, Optional, Protocol, Tuple
from urllib.parse import unquote, urlsplit

from ._errors import Error


#: The object that is written to see whether one can be, by each process another.
_PROBE = f"results/.probe-{uuid.uuid4().hex}"


class Store(Protocol):
    """Objects by their names, which are relative paths."""

    #: The folder, where it is one.
    folder: Optional[Path]

    def prepare(self) -> None:
        """Writes and removes an object: a store that takes none is told before anything is tuned for it."""
        ...

    def names(self, below: str) -> List[str]:
        """The objects whose name begins with ``below/``, sorted."""
        ...

    def read(self, name: str) -> Optional[bytes]:
        """An object; None where there is none (any more)."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Makes or replaces an object."""
        ...

    def delete(self, name: str) -> None:
        """Removes an object, if it is there."""
        ...


def open_store(url: str) -> Store:
    """The objects below a path, ``file://``, ``s3://`` or ``obs://`` (Huawei's, spoken to as S3: ``AWS_ENDPOINT_URL`` says
    where), or whatever else fsspec knows."""
    scheme, netloc, path = _address(url)
    if scheme in ("", "file"):
        return _Folder(Path(path))
    protocol = "s3" if scheme == "obs" else scheme
    try:
        # By name: neither it nor its types have to be there where this is checked.
        fsspec: Any = importlib.import_module("fsspec")
        # What a listing was told a moment ago is not what another machine has written since.
        system = fsspec.filesystem(protocol, use_listings_cache=False)
    except ImportError as error:
        install = ": pip install 'libaoe[s3]'" if protocol == "s3" else ""
        raise Error(f"{url} needs what is not installed ({error}){install}") from error
    except Exception as error:
        # A client that wants more than an address says so with whatever exception it has.
        raise Error(f"{url} is neither a folder nor a store that fsspec knows: {error}") from error
    return _Bucket(system, f"{netloc}{path}".rstrip("/"))


def absolute(url: str) -> str:
    """The same address for a process that runs in another folder: a path is one from here."""
    scheme, _, path = _address(url)
    return str(Path(path).absolute()) if scheme in ("", "file") else url


def _address(url: str) -> Tuple[str, str, str]:
    """Scheme, host or bucket, and path of a store; what cannot be one is named before anything is tuned."""
    if not url.strip():
        raise Error("the address of the bank is empty: give a folder, or s3://bucket/path")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise Error(f"{url} is no address ({error}): give a folder, or s3://bucket/path") from error
    if not parts.scheme:
        return "", "", url
    if parts.scheme == "memory":
        raise Error(f"{url} ends with the process that writes it: give a folder, or s3://bucket/path")
    if parts.scheme in ("http", "https"):
        raise Error(f"{url} cannot be written to: give a folder, or s3://bucket/path with AWS_ENDPOINT_URL for the server")
    if parts.query or parts.fragment:
        raise Error(f"{url} has a ? or # in it, which no address of a bank has: give it without")
    if parts.scheme != "file" and not parts.netloc:
        raise Error(f"{url} names no bucket: give {parts.scheme}://bucket/path")
    if parts.scheme == "file" and parts.netloc not in ("", "localhost"):
        raise Error(f"{url} is a folder of the machine {parts.netloc}: mount it here, and give file:///path")
    if parts.scheme == "file" and not parts.path:
        raise Error(f"{url} names no folder: give file:///path")
    return parts.scheme, parts.netloc, unquote(parts.path) if parts.scheme == "file" else parts.path


class _Folder:
    """A folder, also one that several machines share."""

    def __init__(self, folder: Path) -> None:
        self.folder: Optional[Path] = folder
        self._root = folder

    def prepare(self) -> None:
        self.write(_PROBE, b"")
        self.delete(_PROBE)

    def names(self, below: str) -> List[str]:
        files = (path for path in (self._root / below).rglob("*") if path.is_file())
        return sorted(str(path.relative_to(self._root)) for path in files if not path.name.startswith(".unfinished-"))

    def read(self, name: str) -> Optional[bytes]:
        try:
            return (self._root / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        target = self._root / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, unfinished = tempfile.mkstemp(prefix=".unfinished-", dir=target.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.chmod(unfinished, 0o644)
                os.replace(unfinished, target)
            except BaseException:
                os.unlink(unfinished)
                raise
        except OSError as error:
            # A full disk does not say which file it was.
            raise Error(f"{target} cannot be written: {error.strerror}", 1004, "AOE_ERROR_IO") from error

    def delete(self, name: str) -> None:
        (self._root / name).unlink(missing_ok=True)


class _Bucket:
    """Objects of a store that has no folders; putting one is atomic there."""

    folder: Optional[Path] = None

    def __init__(self, system: Any, root: str) -> None:
        self._system = system
        self._root = root

    def prepare(self) -> None:
        self.write(_PROBE, b"")
        self.delete(_PROBE)

    def names(self, below: str) -> List[str]:
        with self._told(below):
            try:
                found = self._system.find(f"{self._root}/{below}")
            except FileNotFoundError as error:
                # A bucket that has nothing there is empty; this one is not there.
                raise Error(f"{self._root}: {error}: create the bucket, or mend its name or AWS_ENDPOINT_URL") from error
        return sorted(str(path)[len(self._root) + 1 :] for path in found)

    def read(self, name: str) -> Optional[bytes]:
        try:
            with self._told(name):
                return bytes(self._system.cat_file(f"{self._root}/{name}"))
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        try:
            with self._told(name):
                self._system.pipe_file(f"{self._root}/{name}", content)
        except FileNotFoundError as error:
            raise Error(f"{self._root}: {error}: create the bucket, or mend its name or AWS_ENDPOINT_URL") from error

    def delete(self, name: str) -> None:
        try:
            with self._told(name):
                self._system.rm_file(f"{self._root}/{name}")
        except FileNotFoundError:
            pass

    @contextmanager
    def _told(self, name: str) -> Iterator[None]:
        """Says which object it was. Each store's client has exceptions of its own, for keys and connections that fail."""
        try:
            yield
        except (Error, FileNotFoundError):
            raise
        except Exception as error:
            raise Error(f"{self._root}/{name}: {type(error).__name__}: {error}") from error
