#!/usr/bin/env python3
"""Tunes a program of your own from Python: the blocks of a matrix product on lists, really timed.

    python3 matmul.py [--library=libaoe.so] [--size=48] [--trials=30] [--seed=0]

Needs the standard library only; libaoe is loaded with ctypes.
"""

import argparse
import ctypes
import ctypes.util
import json
import os
import sys
import time

SUCCESS, EXHAUSTED = 0, 1007
MEASURED, FAILED = 0, 1


class Option(ctypes.Structure):
    """AoeOption."""

    _fields_ = [("key", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class Error(Exception):
    """What libaoe says about a call that failed."""


class Search:
    """AoeSearch: asks for configurations as dictionaries, and is told their costs."""

    def __init__(self, library, space, **options):
        self._names = [parameter["name"] for parameter in space["parameters"]]
        self._values = [parameter["values"] for parameter in space["parameters"]]
        self._aoe = ctypes.CDLL(library)
        self._search = ctypes.c_void_p()
        index = ctypes.POINTER(ctypes.c_uint32)
        for name, result, arguments in [
            ("AoeGetLastError", ctypes.c_char_p, []),
            ("AoeSearchCreate", ctypes.c_int32,
             [ctypes.c_char_p, ctypes.POINTER(Option), ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)]),
            ("AoeSearchAsk", ctypes.c_int32,
             [ctypes.c_void_p, index, ctypes.c_size_t, ctypes.POINTER(ctypes.c_uint64)]),
            ("AoeSearchTell", ctypes.c_int32, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int32, ctypes.c_double]),
            ("AoeSearchBest", ctypes.c_int32,
             [ctypes.c_void_p, index, ctypes.c_size_t, ctypes.POINTER(ctypes.c_double)]),
            ("AoeSearchDestroy", None, [ctypes.c_void_p]),
        ]:
            function = getattr(self._aoe, name)
            function.restype, function.argtypes = result, arguments
        pairs = [Option(key.encode(), str(value).encode()) for key, value in options.items()]
        array = (Option * len(pairs))(*pairs)
        self._check(self._aoe.AoeSearchCreate(json.dumps(space).encode(), array, len(pairs), self._search))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._aoe.AoeSearchDestroy(self._search)

    def _check(self, status):
        if status != SUCCESS:
            raise Error(self._aoe.AoeGetLastError().decode())

    def _configuration(self, indices):
        return {name: values[i] for name, values, i in zip(self._names, self._values, indices)}

    def trials(self):
        """Trials and their configurations, until the search is over."""
        indices, trial = (ctypes.c_uint32 * len(self._names))(), ctypes.c_uint64()
        while True:
            status = self._aoe.AoeSearchAsk(self._search, indices, len(indices), trial)
            if status == EXHAUSTED:
                return
            self._check(status)
            yield trial.value, self._configuration(indices)

    def tell(self, trial, cost):
        """Tells the cost of a trial; None when it could not be measured."""
        outcome, cost = (FAILED, 0.0) if cost is None else (MEASURED, cost)
        self._check(self._aoe.AoeSearchTell(self._search, trial, outcome, cost))

    def best(self):
        """The best configuration told, and its cost."""
        indices, cost = (ctypes.c_uint32 * len(self._names))(), ctypes.c_double()
        self._check(self._aoe.AoeSearchBest(self._search, indices, len(indices), cost))
        return self._configuration(indices), cost.value


def multiply(a, b, block_m, block_n, block_k, order):
    """The product of two square matrices, block by block."""
    n = len(a)
    c = [[0.0] * n for _ in range(n)]
    starts = {"m": range(0, n, block_m), "n": range(0, n, block_n), "k": range(0, n, block_k)}
    for first in starts[order[0]]:
        for second in starts[order[1]]:
            for third in starts[order[2]]:
                at = dict(zip(order, (first, second, third)))
                n0, n1 = at["n"], min(at["n"] + block_n, n)
                for row, out in zip(a[at["m"]:at["m"] + block_m], c[at["m"]:at["m"] + block_m]):
                    part = out[n0:n1]
                    for k in range(at["k"], min(at["k"] + block_k, n)):
                        factor = row[k]
                        part = [x + factor * y for x, y in zip(part, b[k][n0:n1])]
                    out[n0:n1] = part
    return c


def measure(a, b, configuration, repeats=3):
    """Shortest of a few runs, in seconds."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        multiply(a, b, **configuration)
        times.append(time.perf_counter() - begin)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", default=os.environ.get("AOE_LIBRARY") or ctypes.util.find_library("aoe"))
    parser.add_argument("--size", type=int, default=48)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if not arguments.library:
        sys.exit("libaoe is not installed where the loader looks; name it with --library=FILE")
    n = arguments.size
    a = [[(i * j) % 7 - 3.0 for j in range(n)] for i in range(n)]
    b = [[(i + 2 * j) % 5 - 2.0 for j in range(n)] for i in range(n)]
    expected = multiply(a, b, n, n, n, "mnk")
    blocks = [block for block in (2, 4, 8, 16, 32, 64, 128) if block < n] + [n]
    space = {
        "parameters": [{"name": f"block_{axis}", "values": blocks} for axis in "mnk"]
        + [{"name": "order", "values": ["mnk", "mkn", "kmn"]}],
        "constraints": [f"block_m * block_n * block_k >= {n}"],
    }
    with Search(arguments.library, space, max_tuning_count=arguments.trials, seed=arguments.seed) as search:
        for trial, configuration in search.trials():
            search.tell(trial, measure(a, b, configuration))
        configuration, cost = search.best()
    # Sums of small integers are exact in any order.
    if multiply(a, b, **configuration) != expected:
        sys.exit(f"the best configuration multiplies wrongly: {configuration}")
    print(f"{cost * 1e3:.3f} ms with {json.dumps(configuration)}")


if __name__ == "__main__":
    try:
        main()
    except (Error, OSError) as error:
        sys.exit(str(error))
