"""Small ONNX models for tests of encoders."""

import pytest

from tests.onnx_bytes import external, message, model


@pytest.fixture(scope="session")
def onnx_message():
    """Fields as a protobuf message."""
    return message


@pytest.fixture(scope="session")
def onnx_model():
    """The bytes of a model of 80 bands in and 80 numbers out."""
    return model


@pytest.fixture(scope="session")
def external_tensor():
    """The bytes of a tensor that lies in another file."""
    return external
