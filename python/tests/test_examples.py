"""What documentation shows does work: the notebook cell by cell, the page block by block."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import LLAMA, RESNET50, ROOT

pytest.importorskip("pandas", reason="pandas is not installed")


def run(source: str, place: str, names: dict[str, Any]) -> None:
    exec(compile(source, place, "exec"), names)


def test_the_notebook_runs_from_top_to_bottom(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "examples" / "python"
    folder.mkdir(parents=True)
    (tmp_path / "examples" / "models").mkdir()
    shutil.copy(RESNET50, tmp_path / "examples" / "models")
    monkeypatch.chdir(folder)
    notebook = json.loads((ROOT / "examples" / "python" / "tour.ipynb").read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            run("".join(cell["source"]), f"cell {number}", names)
    assert any(kernel.status == "to_measure" for kernel in names["tuning"].kernels)
    assert len(names["bank"].records()) > 0
    assert names["found"].configuration == {"tile": 48, "unroll": 4}


def test_every_python_block_of_the_page_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(RESNET50, tmp_path)
    (tmp_path / "llama").mkdir()
    (tmp_path / "llama" / "config.json").write_text(json.dumps(LLAMA))
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "python.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 5
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks):
        run(block, f"block {number}", names)
    printed = capsys.readouterr().out
    assert "2 case: `n` is missing (AOE_ERROR_INVALID_PARAM, 2)" in printed
    assert (tmp_path / "kernels.csv").is_file() and (tmp_path / "all" / "Ascend910B4" / "unified_bank").is_dir()
    assert names["found"].configuration["tile"] == 32
