"""Cards of encoders."""

import os

from zeroevidence.attack import onnx_cards


def test_a_card_in_a_file_whose_name_is_not_utf8_has_a_name_that_can_be_written(tmp_path):
    path = tmp_path / os.fsdecode(b"lat\xe9.json")
    path.write_text('{"file": "x.onnx", "dim": 1}')
    assert list(onnx_cards._cards(path)) == ["lat\ufffd"]
