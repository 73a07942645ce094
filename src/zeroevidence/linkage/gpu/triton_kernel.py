# mypy: ignore-errors
"""The fused kernel: products of a block of trials with every identity, summed and counted without being written.

A program holds its block of trials in shared memory or registers and walks over tiles of enrolment vectors. Of a tile
of products (16-bit inputs, 32-bit sums) it keeps, per trial, the sum of powers of two, how many products lie below the
true identity's, the largest and the tile it was found in. Trials are sorted by their true identity, so that the tiles
in which one has to be left out are few and known beforehand; all others run without a mask.
"""

import triton
import triton.language as tl

PIECE = 64  # vector entries multiplied at once: 192 is three exact pieces, not 256 with padding


@triton.jit
def _piece(base, start, k, D: tl.constexpr, K: tl.constexpr, COUNT: tl.constexpr, TMA: tl.constexpr):
    """Entries k K to (k + 1) K of COUNT vectors from `start` on."""
    if TMA:
        piece = base.load([start, k * K])
    else:
        rows = start.to(tl.int64) + tl.arange(0, COUNT)
        piece = tl.load(base + rows[:, None] * D + (k * K + tl.arange(0, K))[None, :])
    return piece


@triton.jit
def _trials(base, start, k, D: tl.constexpr, K: tl.constexpr, COUNT: tl.constexpr, HELD: tl.constexpr):
    """Entries k K to (k + 1) K of COUNT trials from `start` on."""
    piece = _piece(base, start, k, D, K, COUNT, False)
    if HELD:
        # a product with the unit matrix changes nothing, and its result lies in registers as the next product takes it
        unit = (tl.arange(0, K)[:, None] == tl.arange(0, K)[None, :]).to(piece.dtype)
        piece = tl.dot(piece, unit).to(piece.dtype)
    return piece


@triton.jit
def _products(
    x0, x1, x2, x3, x4, x5, x6, x7, y, start,
    D: tl.constexpr, K: tl.constexpr, COUNT: tl.constexpr, TMA: tl.constexpr, P: tl.constexpr,
):  # fmt: skip
    """Products with COUNT vectors from `start` on, pieces in a fixed order so that equal vectors give equal sums."""
    s = tl.dot(x0, tl.trans(_piece(y, start, 0, D, K, COUNT, TMA)), input_precision=P)
    if D > K:
        s = tl.dot(x1, tl.trans(_piece(y, start, 1, D, K, COUNT, TMA)), s, input_precision=P)
    if D > 2 * K:
        s = tl.dot(x2, tl.trans(_piece(y, start, 2, D, K, COUNT, TMA)), s, input_precision=P)
    if D > 3 * K:
        s = tl.dot(x3, tl.trans(_piece(y, start, 3, D, K, COUNT, TMA)), s, input_precision=P)
    if D > 4 * K:
        s = tl.dot(x4, tl.trans(_piece(y, start, 4, D, K, COUNT, TMA)), s, input_precision=P)
    if D > 5 * K:
        s = tl.dot(x5, tl.trans(_piece(y, start, 5, D, K, COUNT, TMA)), s, input_precision=P)
    if D > 6 * K:
        s = tl.dot(x6, tl.trans(_piece(y, start, 6, D, K, COUNT, TMA)), s, input_precision=P)
    if D > 7 * K:
        s = tl.dot(x7, tl.trans(_piece(y, start, 7, D, K, COUNT, TMA)), s, input_precision=P)
    return s


@triton.jit
def link_kernel(
    x_at,  # trials x D, sorted by true identity, 16-bit
    y_at,  # identities x D, padded to whole tiles
    z_at,  # trials x D: the true identity of each
    power_at,
    shift_at,
    limit_at,
    column_at,  # column of the true identity in this panel, outside it where it is in another
    low_at,  # first full tile with a true identity of the block
    high_at,  # one past the last
    own_at,
    total_at,
    below_at,
    fires_at,
    best_at,
    tile_at,
    N,
    D: tl.constexpr,
    K: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    FIRES: tl.constexpr,
    STAGES: tl.constexpr,
    TMA: tl.constexpr,
    HELD: tl.constexpr,
    P: tl.constexpr,
):
    """One block of BM trials against a panel of N identities.

    It is one long function, since a kernel cannot call Python functions cheaply.
    """
    block = tl.program_id(0)
    rows = block.to(tl.int64) * BM + tl.arange(0, BM)
    start = block * BM
    x0 = _trials(x_at, start, 0, D, K, BM, HELD)
    x1, x2, x3, x4, x5, x6, x7 = x0, x0, x0, x0, x0, x0, x0
    if D > K:
        x1 = _trials(x_at, start, 1, D, K, BM, HELD)
    if D > 2 * K:
        x2 = _trials(x_at, start, 2, D, K, BM, HELD)
    if D > 3 * K:
        x3 = _trials(x_at, start, 3, D, K, BM, HELD)
    if D > 4 * K:
        x4 = _trials(x_at, start, 4, D, K, BM, HELD)
    if D > 5 * K:
        x5 = _trials(x_at, start, 5, D, K, BM, HELD)
    if D > 6 * K:
        x6 = _trials(x_at, start, 6, D, K, BM, HELD)
    if D > 7 * K:
        x7 = _trials(x_at, start, 7, D, K, BM, HELD)
    own = tl.zeros((BM,), tl.float32)
    PART: tl.constexpr = min(BM, BN)
    for part in tl.range(0, BM // PART, num_stages=1):
        mine = _products(x0, x1, x2, x3, x4, x5, x6, x7, z_at, start + part * PART, D, K, PART, False, P)
        diagonal = tl.arange(0, BM)[:, None] == part * PART + tl.arange(0, PART)[None, :]
        own += tl.sum(tl.where(diagonal, mine, 0.0), 1)
    power, shift, limit = tl.load(power_at + rows), tl.load(shift_at + rows), tl.load(limit_at + rows)
    column = tl.load(column_at + rows)
    low, high = tl.load(low_at + block), tl.load(high_at + block)
    total = tl.zeros((BM,), tl.float32)
    below = tl.zeros((BM,), tl.int32)  # counted downwards
    fires = tl.zeros((BM,), tl.int32)
    best = tl.full((BM,), float("-inf"), tl.float32)
    tile = tl.zeros((BM,), tl.int32)
    full = N // BN
    special = high - low
    for step in tl.range(0, full - special, num_stages=STAGES):
        j = tl.where(step < low, step, step + special)
        s = _products(x0, x1, x2, x3, x4, x5, x6, x7, y_at, j * BN, D, K, BN, TMA, P)
        total += tl.sum(tl.exp2(s * power[:, None] - shift[:, None]), 1)
        # the sign bit of a difference is a comparison that can be added up as it is: -1 where below
        below += tl.sum((s - own[:, None]).to(tl.int32, bitcast=True) >> 31, 1)
        if FIRES:
            fires += tl.sum((limit[:, None] - s).to(tl.int32, bitcast=True) >> 31, 1)
        top = tl.max(s, 1)
        tile = tl.where(top > best, j, tile)
        best = tl.maximum(top, best)
    for step in tl.range(0, special + tl.cdiv(N, BN) - full, num_stages=1):
        j = tl.where(step < special, low + step, full)
        columns = j * BN + tl.arange(0, BN)
        s = _products(x0, x1, x2, x3, x4, x5, x6, x7, y_at, j * BN, D, K, BN, TMA, P)
        out = (columns[None, :] == column[:, None]) | (columns[None, :] >= N)
        t = tl.where(out, float("-inf"), s * power[:, None] - shift[:, None])
        s = tl.where(out, float("-inf"), s)
        total += tl.sum(tl.exp2(t), 1)
        below -= tl.sum(((s < own[:, None]) & ~out).to(tl.int32), 1)
        fires -= tl.sum((s > limit[:, None]).to(tl.int32), 1)
        top = tl.max(s, 1)
        tile = tl.where((top > best) | ((top == best) & (j < tile)), j, tile)  # of equals the first
        best = tl.maximum(top, best)
    tl.store(own_at + rows, own)
    tl.store(total_at + rows, total)
    tl.store(below_at + rows, -below)
    tl.store(fires_at + rows, -fires)
    tl.store(best_at + rows, best)
    tl.store(tile_at + rows, tile)


@triton.jit
def leader_kernel(x_at, y_at, column_at, tile_at, leader_at, N, D: tl.constexpr, K: tl.constexpr, BN: tl.constexpr):
    """Which identity of the tile named for a trial scores highest, the true one left out."""
    row = tl.program_id(0).to(tl.int64)
    start = tl.load(tile_at + row) * BN
    columns = start + tl.arange(0, BN)
    s = tl.zeros((BN,), tl.float32)
    for k in tl.static_range(D // K):
        x = tl.load(x_at + row * D + k * K + tl.arange(0, K)).to(tl.float32)
        s += tl.sum(_piece(y_at, start, k, D, K, BN, False).to(tl.float32) * x[None, :], 1)
    s = tl.where((columns == tl.load(column_at + row)) | (columns >= N), float("-inf"), s)
    tl.store(leader_at + row, start + tl.argmax(s, 0))
