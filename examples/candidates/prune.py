"""Prunes the configurations of an autotuner before anything is compiled.

    python3 examples/candidates/prune.py target/release/libaoe.so Ascend910B2
"""

import ctypes
import json
import sys


def prune(lib, soc, case, configurations, best=5, **more):
    """The answer of AoeCandidates; raises ValueError with its words where there is none."""
    question = json.dumps(dict(case=case, configurations=configurations, best=best, **more)).encode()
    option = (ctypes.c_char_p * 2)(b"soc_version", soc.encode())
    size = ctypes.c_size_t(0)
    ask = lambda buffer: lib.AoeCandidates(question, option, ctypes.c_size_t(1), buffer, ctypes.byref(size))
    status = ask(None)
    if status == 0:
        buffer = ctypes.create_string_buffer(size.value)
        status = ask(buffer)
    if status != 0:
        raise ValueError(lib.AoeGetLastError().decode())
    return json.loads(buffer.value)


def show(name, configurations, answer):
    print(f"{name}: {len(configurations)} configurations, {answer['legal']} fit")
    for wrong in answer["illegal"][:2]:
        print(f"  left out: {configurations[wrong['index']]}: {wrong['reason']}")
    for good in answer["best"]:
        print(f"  {good['time_us']:9.1f} us  {configurations[good['index']]}  ({good['bound']})")


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: prune.py LIBAOE.SO [SOC]")
    lib = ctypes.CDLL(sys.argv[1])
    lib.AoeGetLastError.restype = ctypes.c_char_p
    soc = sys.argv[2] if len(sys.argv) > 2 else "Ascend910B2"

    # The list of a Triton product.
    blocks = [
        dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, num_stages=s)
        for m in (32, 64, 128, 256)
        for n in (64, 128, 256)
        for k in (32, 64, 128, 256)
        for s in (1, 2)
    ]
    case = dict(op="MatMul", m=4096, n=4096, k=4096, dtype="bfloat16")
    show("product", blocks, prune(lib, soc, case, blocks))

    # That of an elementwise kernel, which keeps its sum in fp32 beside its operands.
    parts = [dict(XBLOCK=x, XBLOCK_SUB=s) for x in (16384, 65536) for s in (1024, 4096, 8192, 16384) if s <= x]
    tensor = dict(shape=[1 << 24], dtype="bfloat16")
    case = dict(op="Add", inputs=[tensor, tensor], outputs=[tensor])
    held = [
        dict(space="UB", shape=["XBLOCK_SUB", 3], dtype="bfloat16", count=2),
        dict(space="UB", shape=["XBLOCK_SUB"], dtype="float32"),
    ]
    show("addition", parts, prune(lib, soc, case, parts, buffers=held))


if __name__ == "__main__":
    main()
