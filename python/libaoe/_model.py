"""Models as users have them: files, bytes, and whatever can serialise itself."""

from __future__ import annotations

import ctypes
import os
from contextlib import contextmanager
from typing import Iterator, Mapping, Protocol, Union

from ._arguments import path_of
from ._native import OptionValue, check, library, option_array


class Serializable(Protocol):
    """What ``onnx.ModelProto`` and other protobuf messages can do."""

    def SerializeToString(self) -> bytes:
        """The bytes of the message."""
        ...


#: A model: the path of a file (ONNX, AIR, frozen TensorFlow graph, Caffe net), its bytes, or an ``onnx.ModelProto``.
Model = Union[str, "os.PathLike[str]", bytes, Serializable]

#: Options that decide how a model is read.
READING = ("framework", "weight", "out_nodes", "input_shape", "input_format")


def model_bytes(model: Model) -> Union[bytes, None]:
    """The bytes of a model that is in memory; None for a file."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    if isinstance(model, (str, os.PathLike)):
        return None
    serialise = getattr(model, "SerializeToString", None)
    if serialise is None:
        raise TypeError(f"a model is a path, bytes or an onnx.ModelProto, not {type(model).__name__}")
    content = serialise()
    if not isinstance(content, bytes):
        raise TypeError(f"SerializeToString of {type(model).__name__} gives {type(content).__name__}, not bytes")
    return content


@contextmanager
def loaded(model: Model, options: Mapping[str, OptionValue]) -> Iterator[ctypes.c_void_p]:
    """The graph of a model, for as long as the block lasts."""
    aoe, graph = library(), ctypes.c_void_p()
    reading = option_array({key: value for key, value in options.items() if key in READING})
    content = model_bytes(model)
    if content is None:
        path = path_of("model", model)  # type: ignore[arg-type]
        check(aoe.AoeGraphLoadFile(path.encode(), *reading, ctypes.byref(graph)))
    else:
        check(aoe.AoeGraphLoadMemory(content, len(content), *reading, ctypes.byref(graph)))
    try:
        yield graph
    finally:
        aoe.AoeGraphDestroy(graph)
