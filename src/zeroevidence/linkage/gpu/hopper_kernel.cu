// The fused kernel for Hopper: products of 128 trials with every identity, summed and counted without being written.
//
// The compiler's command line says what D (entries of a vector: 64, 128, 192, 256, 384 or 512), FIRES (0 or 1) and
// SHARED_BYTES are. A block has three warp groups. One lets the copy engine fill a ring of stages in shared memory
// with tiles of 128 enrolment vectors. The other two hold 64 trials each in registers and multiply them with every
// tile. What is kept per trial is what `triton_kernel.py` keeps, and means the same.
//
// The two take turns: while the tensor cores multiply for one, the other sums and counts what it has.
// A GPU at its power limit is slowed down by every instruction, whichever unit runs it. So these gained nothing, or too
// little to justify the code: exponentials by polynomials, two tiles of products per warp group, tiles of 256 vectors,
// trials in shared memory, tiles that two blocks share, counts from the exponents instead of the products.

typedef unsigned long long u64;
typedef unsigned int u32;

struct alignas(64) Map {  // a CUtensorMap
    u64 opaque[16];
};

constexpr int ROWS = 128, COLUMNS = 128, PIECE = 64;
constexpr int PIECES = D / PIECE;
constexpr int PER_STAGE = PIECES % 2 ? PIECES : 2;
constexpr int PARTS = PIECES / PER_STAGE;
constexpr int PIECE_BYTES = COLUMNS * PIECE * 2;
constexpr int STAGE_BYTES = PER_STAGE * PIECE_BYTES;
constexpr int ALIGNED = 1024;  // bytes: the pattern of the swizzle repeats after them
constexpr int STAGES = (SHARED_BYTES - ALIGNED) / STAGE_BYTES;
constexpr int STEPS = PER_STAGE * PIECE / 16;  // instructions that multiply a stage
#define LOWEST __int_as_float(0xff800000)  // minus infinity

// barriers in shared memory -------------------------------------------------------------------------------------------

__device__ __forceinline__ void barrier_init(u32 at, u32 count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(count));
}

__device__ __forceinline__ void barrier_expect(u32 at, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}

__device__ __forceinline__ void barrier_arrive(u32 at) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory");
}

__device__ __forceinline__ void barrier_wait(u32 at, u32 parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@done bra over;\n"
        "bra again;\n"
        "over:\n"
        "}" ::"r"(at),
        "r"(parity)
        : "memory");
}

// The stages, in the order in which they are filled and emptied.
struct Ring {
    u32 data, full, empty;
    int stage = 0;
    u32 parity = 0;

    __device__ __forceinline__ u32 filled() const { return full + 8 * stage; }
    __device__ __forceinline__ u32 emptied() const { return empty + 8 * stage; }
    __device__ __forceinline__ u32 bytes() const { return data + stage * STAGE_BYTES; }
    __device__ __forceinline__ void next() {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    }
};

// The order of tiles: those without a true identity of these trials come first, then those with columns to leave out.
struct Order {
    int low, special, plain, all;

    __device__ __forceinline__ int tile(int step) const {
        if (step < plain) return step < low ? step : step + special;
        return step < plain + special ? low + step - plain : step;
    }
};

// the warp group that copies ------------------------------------------------------------------------------------------

__device__ __forceinline__ void copy_piece(u32 to, const Map* map, int entry, int row, u32 barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            to),
        "l"(map), "r"(entry), "r"(row), "r"(barrier)
        : "memory");
}

// the vectors of the true identities first, then all tiles
__device__ __forceinline__ void fill(const Map* y, const Map* z, Ring ring, const Order& order) {
    for (int step = -1; step < order.all; ++step) {
        const int row = (step < 0 ? (int)blockIdx.x : order.tile(step)) * COLUMNS;
        for (int part = 0; part < PARTS; ++part) {
            barrier_wait(ring.emptied(), ring.parity ^ 1);
            barrier_expect(ring.filled(), STAGE_BYTES);
            for (int piece = 0; piece < PER_STAGE; ++piece) {
                const int entry = (part * PER_STAGE + piece) * PIECE;
                copy_piece(ring.bytes() + piece * PIECE_BYTES, step < 0 ? z : y, entry, row, ring.filled());
            }
            ring.next();
        }
    }
}

// the warp groups that multiply ---------------------------------------------------------------------------------------

__device__ __forceinline__ void group_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void group_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int LEFT>
__device__ __forceinline__ void group_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

// keeps the compiler from reading products before they are there
__device__ __forceinline__ void settle(float (&s)[64]) {
#pragma unroll
    for (int i = 0; i < 64; ++i) asm volatile("" : "+f"(s[i])::"memory");
}

// how the tensor cores find 16 entries of 128 vectors: rows of 128 bytes, swizzled, groups of eight 1024 bytes apart
__device__ __forceinline__ u64 matrix_at(u32 address) {
    return (u64)((address & 0x3FFFF) >> 4) | ((u64)1 << 16) | ((u64)(1024 >> 4) << 32) | ((u64)1 << 62);
}

#define EIGHT(at)                                                                                                \
    "+f"(s[at]), "+f"(s[at + 1]), "+f"(s[at + 2]), "+f"(s[at + 3]), "+f"(s[at + 4]), "+f"(s[at + 5]), "+f"(s[at + 6]), \
        "+f"(s[at + 7])

// 16 entries of 64 trials times 16 entries of 128 vectors
__device__ __forceinline__ void multiply(float (&s)[64], const u32* x, u64 y, int add) {
    asm volatile(
        "{\n"
        ".reg .pred add;\n"
        "setp.ne.b32 add, %69, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "{%64, %65, %66, %67}, %68, add, 1, 1, 0;\n"
        "}"
        : EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56)
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(y), "r"(add));
}

__device__ __forceinline__ void release(Ring& ring) {
    if (threadIdx.x % 32 == 0) barrier_arrive(ring.emptied());
    ring.next();
}

// barriers 1 and 2 are the turns of the warp groups of those numbers
__device__ __forceinline__ void wait_turn() {
    asm volatile("bar.sync %0, 256;" ::"r"(threadIdx.x / 128) : "memory");
}

__device__ __forceinline__ void pass_turn() {
    asm volatile("bar.arrive %0, 256;" ::"r"(3 - threadIdx.x / 128) : "memory");
}

// all products of a tile
__device__ __forceinline__ void multiply_tile(float (&s)[64], const u32 (&x)[D / 4], Ring& ahead, Ring& behind) {
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
        barrier_wait(ahead.filled(), ahead.parity);
        if (part == 0) wait_turn();
        group_fence();
        const u64 y = matrix_at(ahead.bytes());
#pragma unroll
        for (int k = 0; k < STEPS; ++k)
            multiply(s, x + 4 * (part * STEPS + k), y + k / 4 * (PIECE_BYTES >> 4) + k % 4 * 2, part + k > 0);
        group_commit();
        if (part == PARTS - 1) pass_turn();
        ahead.next();
        if (part > 0) {
            group_wait<1>();
            release(behind);
        }
    }
    group_wait<0>();
    settle(s);
    release(behind);
}

// sums and counts -----------------------------------------------------------------------------------------------------

__device__ __forceinline__ float power_of_two(float t) {
    float out;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(t));
    return out;
}

// What a thread knows of one of its two trials, from the columns that it has seen; counts run downwards.
struct Trial {
    float power, shift, own, limit, total, best;
    int below, fires, tile, column;

    __device__ __forceinline__ void top_of(float top, int of) {
        if (top > best || (top == best && of < tile)) tile = of;  // of equals the first, whatever the order of tiles
        best = fmaxf(top, best);
    }
};

__device__ __forceinline__ void tally(const float (&s)[64], Trial (&trial)[2], int tile) {
    // two per trial, so that additions need not wait for each other
    float sum[2][2] = {}, top[2][2] = {{LOWEST, LOWEST}, {LOWEST, LOWEST}};
#pragma unroll
    for (int i = 0; i < 64; ++i) {
        const int h = i / 2 % 2, c = i % 2;
        sum[h][c] += power_of_two(fmaf(s[i], trial[h].power, -trial[h].shift));
        // the sign bit of a difference is a comparison that can be added up as it is: -1 where below
        trial[h].below += __float_as_int(s[i] - trial[h].own) >> 31;
        if (FIRES) trial[h].fires += __float_as_int(trial[h].limit - s[i]) >> 31;
        top[h][c] = fmaxf(top[h][c], s[i]);
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        trial[h].total += sum[h][0] + sum[h][1];
        trial[h].top_of(fmaxf(top[h][0], top[h][1]), tile);
    }
}

// where some columns are to be left out
__device__ __forceinline__ void tally_masked(const float (&s)[64], Trial (&trial)[2], int tile, int identities) {
    float sum[2] = {}, top[2] = {LOWEST, LOWEST};
#pragma unroll
    for (int i = 0; i < 64; ++i) {
        const int h = i / 2 % 2, column = tile * COLUMNS + 8 * (i / 4) + 2 * (threadIdx.x % 4) + i % 2;
        if (column != trial[h].column && column < identities) {
            sum[h] += power_of_two(fmaf(s[i], trial[h].power, -trial[h].shift));
            trial[h].below -= s[i] < trial[h].own;
            trial[h].fires -= s[i] > trial[h].limit;
            top[h] = fmaxf(top[h], s[i]);
        }
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        trial[h].total += sum[h];
        trial[h].top_of(top[h], tile);
    }
}

// products of each trial with the vector of its own identity, which lie on the diagonal
__device__ __forceinline__ void find_own(const float (&s)[64], Trial (&trial)[2], int first) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        float own = 0.0f;
#pragma unroll
        for (int i = 0; i < 64; ++i)
            if (i / 2 % 2 == h && 8 * (i / 4) + 2 * (threadIdx.x % 4) + i % 2 == first + 8 * h) own = s[i];
        own += __shfl_xor_sync(~0u, own, 1);
        trial[h].own = own + __shfl_xor_sync(~0u, own, 2);
    }
}

// four threads have each trial
__device__ __forceinline__ void join(Trial& trial) {
#pragma unroll
    for (int lane = 1; lane < 4; lane *= 2) {
        trial.total += __shfl_xor_sync(~0u, trial.total, lane);
        trial.below += __shfl_xor_sync(~0u, trial.below, lane);
        trial.fires += __shfl_xor_sync(~0u, trial.fires, lane);
        const float best = __shfl_xor_sync(~0u, trial.best, lane);
        const int tile = __shfl_xor_sync(~0u, trial.tile, lane);
        if (best > trial.best || (best == trial.best && tile < trial.tile)) trial.best = best, trial.tile = tile;
    }
}

__device__ __forceinline__ void multiply_all(const u32 (&x)[D / 4], Trial (&trial)[2], int first, Ring ahead,
                                             const Order& order, int identities) {
    Ring behind = ahead;
    float s[64];
    if (threadIdx.x >= 256) pass_turn();  // the first is that of the other group
    multiply_tile(s, x, ahead, behind);
    find_own(s, trial, first);
    int step = 0;
    for (; step < order.plain; ++step) {
        multiply_tile(s, x, ahead, behind);
        tally(s, trial, order.tile(step));
    }
    for (; step < order.all; ++step) {
        multiply_tile(s, x, ahead, behind);
        tally_masked(s, trial, order.tile(step), identities);
    }
}

extern "C" __global__ void __launch_bounds__(384, 1)
    link_trials(const __grid_constant__ Map y, const __grid_constant__ Map z, const u32* x_at, const float* power_at,
                const float* shift_at, const float* limit_at, const long long* column_at, const int* low_at,
                const int* high_at, float* own_at, float* total_at, int* below_at, int* fires_at, float* best_at,
                int* tile_at, int identities) {
    extern __shared__ unsigned char shared[];
    __shared__ u64 barriers[2 * STAGES];
    Ring ring;
    ring.data = ((u32)__cvta_generic_to_shared(shared) + ALIGNED - 1) / ALIGNED * ALIGNED;
    ring.full = (u32)__cvta_generic_to_shared(barriers);
    ring.empty = ring.full + 8 * STAGES;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            barrier_init(ring.full + 8 * stage, 1);
            barrier_init(ring.empty + 8 * stage, 8);  // warps that multiply
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    const int low = low_at[blockIdx.x], special = high_at[blockIdx.x] - low;
    const Order order = {low, special, identities / COLUMNS - special, (identities + COLUMNS - 1) / COLUMNS};

    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x == 0) fill(&y, &z, ring, order);
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    const int thread = threadIdx.x - 128;
    const int first = 16 * (thread / 32) + thread % 32 / 4;  // of the two trials, which are eight apart
    Trial trial[2];
    u32 x[D / 4];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const long long at = (long long)blockIdx.x * ROWS + first + 8 * h;
        trial[h] = {power_at[at], shift_at[at], 0.0f, limit_at[at], 0.0f, LOWEST, 0, 0, 0, (int)column_at[at]};
#pragma unroll
        for (int k = 0; k < D / 8; ++k) x[2 * k + h] = x_at[at * (D / 2) + 4 * k + thread % 4];
    }
    multiply_all(x, trial, first, ring, order, identities);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        join(trial[h]);
        if (thread % 4 == 0) {
            const long long at = (long long)blockIdx.x * ROWS + first + 8 * h;
            own_at[at] = trial[h].own;
            total_at[at] = trial[h].total;
            below_at[at] = -trial[h].below;
            fires_at[at] = -trial[h].fires;
            best_at[at] = trial[h].best;
            tile_at[at] = trial[h].tile;
        }
    }
}
