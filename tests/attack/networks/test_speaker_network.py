"""The networks themselves: padding, the two parts, gradients, modes, precision."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from zeroevidence.attack.networks.speaker_network import deviation  # noqa: E402
from zeroevidence.errors import InputError  # noqa: E402

LENGTHS = (5, 6, 37, 199, 200, 201, 202, 403)  # the trunk's segments of CAM++ end after 200 and 400 frames

HEADS = {"campplus": {"stage2", "transit2", "stage3", "transit3", "last"}, "ecapa": {"attention", "norm", "last"}}
FIXED = {"campplus": [], "ecapa": ["attention.weigh.bias"]}  # parameters that have no effect


def utterances(lengths=LENGTHS, bands=16, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(length, bands, generator=generator) for length in lengths]


def padded(parts, value=7.0):
    return torch.nn.utils.rnn.pad_sequence(parts, batch_first=True, padding_value=value)


def alone(network, parts):
    return torch.cat([network(one[None]) for one in parts])


def step(network, feats, lengths=None):
    """One step down a loss that every embedding entry enters, and the loss."""
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    loss = network(feats, lengths).square().mean()
    loss.backward()
    optimiser.step()
    return loss.detach()


def test_shapes_and_parts(network):
    feats = padded(utterances((50, 50)))
    frames = network.frames(feats)
    assert frames.shape[:2] == (2, network.frame_lengths(50))
    assert network(feats).shape == (2, network.dim)
    torch.testing.assert_close(network.pooled(frames), network(feats))
    assert torch.equal(network.train()(feats), network.eval()(feats))
    for length in range(network.least_frames, network.least_frames + 6):
        assert network.frames(torch.zeros(1, length, 16)).shape[1] == network.frame_lengths(length)
    assert network.frame_lengths([7, 8]).tolist() == [network.frame_lengths(7), network.frame_lengths(8)]


def test_a_padded_utterance_has_the_embedding_that_it_has_alone(network):
    parts = utterances()
    with torch.no_grad():
        expected = alone(network, parts)
        for lengths in (LENGTHS, torch.tensor(LENGTHS)):
            torch.testing.assert_close(network(padded(parts), lengths), expected, rtol=1e-4, atol=1e-5)
        assert not torch.allclose(network(padded(parts)), expected, rtol=1e-3, atol=1e-3)
        kept = [network.frames(one[None])[0] for one in parts]
        again = network.pooled(padded(kept), [len(one) for one in kept])
        torch.testing.assert_close(again, expected, rtol=1e-4, atol=1e-5)


def test_padding_leaves_no_trace_in_gradients(make):
    parts = utterances((9, 130, 31))
    together, apart = make(), make()
    together(padded(parts), (9, 130, 31)).square().sum().backward()
    alone(apart, parts).square().sum().backward()
    for (name, one), other in zip(together.named_parameters(), apart.parameters(), strict=True):
        if one.requires_grad:
            least = 1e-4 * float(other.grad.abs().max())
            torch.testing.assert_close(one.grad, other.grad, rtol=1e-3, atol=least, msg=name)


def test_a_step_changes_every_parameter_and_no_statistic(architecture, network):
    before = copy.deepcopy(network)
    network.train()
    step(network, padded(utterances((40, 250))), (40, 250))
    for (name, new), old in zip(network.named_parameters(), before.parameters(), strict=True):
        assert torch.equal(new, old) is not new.requires_grad, name
    assert [name for name, one in network.named_parameters() if not one.requires_grad] == FIXED[architecture]
    for (name, new), old in zip(network.named_buffers(), before.buffers(), strict=True):
        assert torch.equal(new, old), name


def test_the_head_alone_can_be_trained(architecture, network):
    with torch.no_grad():
        frames = network.frames(padded(utterances((60, 60))))
    network.pooled(frames).square().sum().backward()
    trained = {name.split(".")[0] for name, one in network.named_parameters() if one.grad is not None}
    assert trained == HEADS[architecture]


def test_half_width_arithmetic(network):
    feats, lengths = padded(utterances((32, 64))), (32, 64)
    expected = network(feats, lengths)
    with torch.autocast("cpu", torch.bfloat16):
        found = network(feats, lengths)
    assert found.dtype == torch.float32
    assert torch.nn.functional.cosine_similarity(found, expected).min() > 0.995
    found.sum().backward()
    assert all(torch.isfinite(one.grad).all() for one in network.parameters() if one.requires_grad)


def test_what_stands_still_has_finite_gradients(network):
    network(torch.zeros(2, 50, 16)).sum().backward()
    assert all(torch.isfinite(one.grad).all() for one in network.parameters() if one.requires_grad)
    still = torch.zeros(3, requires_grad=True)
    deviation(still).sum().backward()
    assert still.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("shape", "lengths", "reason"),
    [
        ((2, 30, 17), None, "expected utterances x frames x 16"),
        ((2, 30, 16), [30], "expected 2 whole numbers"),
        ((2, 30, 16), [30, 31], "at most the 30 frames"),
        ((2, 30, 16), [30, 2], "expected at least"),
        ((1, 2, 16), None, "expected at least"),
    ],
)
def test_what_is_refused(network, shape, lengths, reason):
    with pytest.raises(InputError, match=reason):
        network(torch.zeros(shape), lengths)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_on_a_gpu(network):
    parts = utterances((64, 150))
    expected = alone(network, parts).detach().numpy()
    feats = padded(parts).cuda()
    network.cuda()
    found = network(feats, (64, 150)).detach().cpu().numpy()
    np.testing.assert_allclose(found, expected, rtol=2e-2, atol=2e-3)  # convolutions on a GPU may round to TF32
    before = copy.deepcopy(network)
    with torch.autocast("cuda", torch.bfloat16):
        step(network, feats, torch.tensor((64, 150)))
    pairs = zip(network.parameters(), before.parameters(), strict=True)
    assert all(torch.equal(new, old) != new.requires_grad for new, old in pairs)
