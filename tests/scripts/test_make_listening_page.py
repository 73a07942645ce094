"""The page holds each recording before and after, and the reason in place of what a protector refuses."""

import base64
import io
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

soundfile = pytest.importorskip("soundfile")

SCRIPT = str(Path(__file__).parents[2] / "scripts/make_listening_page.py")


def test_recordings_before_and_after(tmp_path, monkeypatch, capsys):
    waves = {}
    for number, speaker in enumerate(("ann", "<b>")):
        for name in ("1", "2"):
            wave = np.round(3000 * np.random.default_rng(number).normal(size=16_000)).clip(-30_000, 30_000) / 2**15
            waves[f"{speaker}-{name}"] = wave
            (tmp_path / "speech" / speaker).mkdir(parents=True, exist_ok=True)
            soundfile.write(tmp_path / "speech" / speaker / f"{speaker}-{name}.wav", wave, 16_000)
    page = tmp_path / "page.html"
    monkeypatch.setattr(sys, "argv", ["script", str(tmp_path / "speech"), str(page), "--protect", "shout"])
    with pytest.raises(SystemExit, match="unknown voice protector 'shout'"):
        runpy.run_path(SCRIPT, run_name="__main__")
    protectors = ["--protect", "mcadams:0.7", "--protect", "command:false {input} {output}"]
    monkeypatch.setattr(sys, "argv", ["script", str(tmp_path / "speech"), str(page), *protectors])
    runpy.run_path(SCRIPT, run_name="__main__")
    assert "2 recordings" in capsys.readouterr().out
    text = page.read_text()
    assert "<b>" not in text
    assert text.count("refused: ") == 2
    parts = [part.partition('"')[0] for part in text.split("base64,")[1:]]
    heard = [soundfile.read(io.BytesIO(base64.b64decode(part)))[0] for part in parts]
    assert len(heard) == 4
    for original, protected in zip(heard[::2], heard[1::2], strict=True):
        assert any(np.allclose(original, wave) for wave in waves.values())
        assert not any(np.allclose(protected, wave, atol=1e-2) for wave in waves.values())
