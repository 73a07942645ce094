"""Extractors and voice protectors that are sent to a worker: small, loaded once there, and with the same output."""

import cloudpickle
import numpy as np
import pytest

from zeroevidence.attack.extractors import EXTRACTORS, load_extractor
from zeroevidence.attack.onnx_runtime import CropExtractor
from zeroevidence.attack.voice_transforms import CachedTransform, RepeatedTransform
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.store import Store
from zeroevidence.errors import InputError, MissingExtra
from zeroevidence.protect.voices import VOICE_PROTECTORS, load_protector

pytest.importorskip("soundfile")
COMMAND = "command:cp {input} {output}"
NAMES = {"speechbrain": "speechbrain/spkrec-ecapa-voxceleb", "added": None, "onnx": None}
WAVE = (0.2 * np.sin(np.arange(16_000) ** 1.2 / 40.0) * np.hanning(16_000)).astype(np.float32)
UTTERANCE = Utterance("u", "s", "u.wav")


@pytest.mark.parametrize("family", [name for name in EXTRACTORS if NAMES.get(name, "") is not None])
def test_every_family_of_extractors(family):
    try:
        extractor = load_extractor(NAMES.get(family, family))
    except (MissingExtra, InputError) as error:
        pytest.skip(str(error))
    for each in (extractor, CropExtractor(extractor)) if family == "campplus" else (extractor,):
        sent = cloudpickle.dumps(each)
        copies = [cloudpickle.loads(sent) for _ in range(2)]
        assert len(sent) < 2000
        assert getattr(copies[0], "whole", copies[0]) is getattr(copies[1], "whole", copies[1])
        assert copies[0].fingerprint == each.fingerprint
        assert copies[0].embed([WAVE]).tobytes() == each.embed([WAVE]).tobytes()


@pytest.mark.parametrize("name", [*VOICE_PROTECTORS, "pitch:2+mcadams"])
def test_every_voice_protector(name, tmp_path):
    name = {"pitch": "pitch:2", "formant": "formant:0.8..1.2", "command": COMMAND}.get(name, name)
    protector = load_protector(name, seed=3)
    draws = RepeatedTransform([protector, load_protector(name, seed=4)])
    for each in (protector, draws, CachedTransform(draws, Store(tmp_path, "protected")), CachedTransform(draws, None)):
        sent = cloudpickle.dumps(each)
        copy = cloudpickle.loads(sent)
        assert len(sent) < 2000
        assert copy.fingerprint == each.fingerprint
        try:
            expected = each(WAVE, 16_000, UTTERANCE)
        except MissingExtra as error:
            pytest.skip(str(error))
        except InputError as error:  # a recogniser hears no words
            with pytest.raises(InputError, match=error.reason):
                copy(WAVE, 16_000, UTTERANCE)
            continue
        assert copy(WAVE, 16_000, UTTERANCE).tobytes() == expected.tobytes()
