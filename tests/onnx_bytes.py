"""Small ONNX models, byte by byte: no library that writes them is needed."""

import json

# What a card says of the model below, but for its file.
CARD = {"sample_rate": 16000, "dim": 80, "front_end": "kaldi-fbank", "input": "feats", "output": "embedding"}


def _varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def message(*fields):
    out = b""
    for tag, value in fields:
        if isinstance(value, int):
            out += _varint(tag << 3) + _varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += _varint(tag << 3 | 2) + _varint(len(data)) + data
    return out


def _ends(name, dims, kind=1):
    shape = message(*[(1, message((1, dim) if isinstance(dim, int) else (2, dim))) for dim in dims])
    return message((1, name), (2, message((1, message((1, kind), (2, shape))))))


def model(batch="N", after=(), tensors=(), nodes=(), functions=()):
    """A model that gives the mean square over frames of each of 80 bands.

    What follows are operations on that mean, each an ONNX operation and further inputs; tensors, nodes and functions
    are put in as they are.
    """
    names = ["mean", *(f"step{at}" for at in range(1, len(after))), "embedding"] if after else ["embedding"]
    axes = message((1, "axes"), (8, 1), (20, 7))
    keep = message((1, "keepdims"), (3, 0), (20, 2))
    steps = [
        (1, message((1, source), *((1, more) for more in inputs), (2, target), (4, operation)))
        for (operation, *inputs), source, target in zip(after, names[:-1], names[1:], strict=True)
    ]
    graph = message(
        (1, message((1, "feats"), (1, "feats"), (2, "square"), (4, "Mul"))),
        (1, message((1, "square"), (2, names[0]), (4, "ReduceMean"), (5, axes), (5, keep))),
        *steps,
        *((1, node) for node in nodes),
        (2, "g"),
        *((5, tensor) for tensor in tensors),
        (11, _ends("feats", [batch, "T", 80])),
        (12, _ends("embedding", [batch, 80])),
    )
    return message((1, 8), (7, graph), (8, message((1, ""), (2, 13))), *((25, function) for function in functions))


def save(folder, name):
    """Write the model and its card, and return the path of the card."""
    (folder / f"{name}.onnx").write_bytes(model())
    (folder / f"{name}.json").write_text(json.dumps({**CARD, "file": f"{name}.onnx"}))
    return folder / f"{name}.json"


def external(location, name="w", count=80):
    """A tensor of so many numbers that lie in another file."""
    where = message((1, "location"), (2, location))
    return message((1, count), (2, 1), (8, name), (13, where), (14, 1))


def endless():
    """A model that loops for ever once it is run."""
    go, state = ([], 9), (["N", 80], 1)
    body = message(
        *((1, message((1, name), (2, f"{name}_out"), (4, "Identity"))) for name in ("go", "state")),
        (2, "body"),
        *((11, _ends(name, *kind)) for name, kind in (("at", ([], 7)), ("go", go), ("state", state))),
        *((12, _ends(name, *kind)) for name, kind in (("go_out", go), ("state_out", state))),
    )
    attribute = message((1, "body"), (6, body), (20, 5))
    loop = message((1, ""), (1, ""), (1, "mean"), (2, "looped"), (4, "Loop"), (5, attribute))
    return model(after=[("Add", "looped")], nodes=[loop])


def greedy(count):
    """A model that asks for so many numbers at once."""
    size = message((1, 1), (2, 7), (8, "size"), (9, count.to_bytes(8, "little")))
    ask = message((1, "size"), (2, "zeros"), (4, "ConstantOfShape"))
    total = message((1, "zeros"), (2, "sum"), (4, "ReduceSum"))
    return model(after=[("Add", "sum")], tensors=[size], nodes=[ask, total])
