"""Small ONNX models and recordings for tests of encoders."""

import numpy as np
import pytest

from tests.small_encoder import save_small_encoder


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """The card of an encoder with few weights."""
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    return save_small_encoder(tmp_path_factory.mktemp("small"))


@pytest.fixture
def recordings(tmp_path):
    """Write recordings of noise with so many samples each, of three people, and return their utterances."""
    pytest.importorskip("soundfile")
    from zeroevidence.data.audio import write_audio
    from zeroevidence.data.corpus import Utterance

    def write(lengths):
        rng = np.random.default_rng(0)
        (tmp_path / "audio").mkdir()
        utterances = []
        for number, length in enumerate(lengths):
            file = tmp_path / "audio" / f"{number}.wav"
            write_audio(file, 0.1 * rng.normal(size=length))
            attributes = {"sex": "F"} if number else {}
            utterances.append(Utterance(f"u{number}", f"s{number // 3}", file, attributes=attributes))
        return utterances

    return write
