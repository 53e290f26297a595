"""The annotations: checked strictly inside, and as a user's checker sees them from outside."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import libaoe

pytest.importorskip("mypy", reason="mypy is not installed")

USER = """
import libaoe
from typing import Optional

def wrong_or_right() -> None:
    one: libaoe.Prediction = libaoe.simulate({"op": "MatMul"})
    several: libaoe.Answers[libaoe.Prediction] = libaoe.simulate([{"op": "MatMul"}])
    tuning: libaoe.Tuning = libaoe.tune("a.onnx", jobs=[1, 2], progress=lambda progress: progress.done < 3, seed=1)
    times: list[float] = [kernel.after_us for kernel in tuning.kernels]
    found: Optional[dict[str, object]] = libaoe.Bank("a").lookup({"op": "MatMul"})
    print(one, several, times, found)
"""


def mypy(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "mypy", "--strict", *arguments], capture_output=True, text=True)


def test_the_package_is_typed_throughout(tmp_path: Path) -> None:
    package = Path(libaoe.__file__).parent
    assert (package / "py.typed").exists()
    checked = mypy(f"--cache-dir={tmp_path}", "-p", "libaoe")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_user_of_the_package_gets_its_types(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(USER)
    checked = mypy(f"--cache-dir={tmp_path / 'cache'}", str(tmp_path / "right.py"))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    (tmp_path / "wrong.py").write_text(USER.replace("one: libaoe.Prediction", "one: int"))
    checked = mypy(f"--cache-dir={tmp_path / 'cache'}", str(tmp_path / "wrong.py"))
    assert checked.returncode == 1 and 'expression has type "Prediction"' in checked.stdout
