"""``python _guarded.py PROGRAM ARGUMENT...``: becomes a program that is terminated when its parent dies, however that dies."""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    parent = int(sys.argv[1])
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    # It may have died before it was asked after.
    if os.getppid() != parent:
        sys.exit(1)
    os.execv(sys.argv[2], sys.argv[2:])
