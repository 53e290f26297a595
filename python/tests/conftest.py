"""What the tests share: models, and an environment in which nothing of the user's is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RESNET50 = ROOT / "examples" / "models" / "resnet50.onnx"
#: A product that gains surely: CANN's default for it is public.
SURE = ROOT / "tests" / "command_line" / "stand_ins" / "product.onnx"
BERT = ROOT / "examples" / "models" / "bert_base.onnx"
#: A part for which `SURE` gains surely and a device has to decide about a gain of `BERT`.
PART = "Ascend910B3"
#: A training step with its gradients.
TRAINING = ROOT / "examples" / "training" / "bert_base.air"

#: A small language model, with the field names of Hugging Face.
LLAMA = {
    "model_type": "llama",
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 2,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "vocab_size": 32000,
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-6,
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test works in a folder of its own, with a home and without variables that say where banks are."""
    for name in list(os.environ):
        if name.startswith("ASCEND_") or name in ("TUNE_BANK_PATH", "REPEAT_TUNE", "AOE_CALIBRATION"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path
