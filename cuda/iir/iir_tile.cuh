/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A warp takes a tile of the stream through a cascade of sections, in double. Not
 * installed.
 *
 * With s the state of a group of up to 8 sections (z1, z2 of each), x and y a block of 16
 * samples,
 *
 *     y  = D x + C s       D: the impulse response, C: the output that a state rings out
 *     s' = B x + A s       A: a state 16 samples later, B: what samples leave behind.
 *
 * 16 rows of the tile go side by side as the 16 rows of matrix products on the tensor
 * cores; a row is 4 blocks of consecutive samples, the next row the 64 samples after it.
 * Complex data: 8 rows, real parts in rows 0 to 7, imaginary parts in rows 8 to 15.
 * First each row's end state from zero ("rise", all 64 samples at once), then the states
 * at all rows' starts: with u(r) the rise of row r and u(-1) the state before the tile,
 * s(r) = sum over q of A^(4 (r-1-q)) u(q), in log2(rows) "leaps" of 1, 2, 4, 8 rows. Then
 * the blocks of each row, one after the other, from its true state. Errors are a
 * double's.
 *
 * The order of samples and states in the matrices (iir_tile.c) makes a lane's float4 its
 * four A operands, and what one product leaves the A operand of the next, without any
 * exchange: a lane (g, t) holds samples 4 t .. 4 t + 3 and states 2 t, 2 t + 1, 8 + 2 t,
 * 9 + 2 t of rows g and g + 8. */
#ifndef CUFILTER_IIR_IIR_TILE_CUH
#define CUFILTER_IIR_IIR_TILE_CUH

#include <cstdint>
#include "iir_mma.cuh"
#include "iir_tile.h"

namespace cufilter {

/* A launch as the kernels see it. */
struct iir_stream {
    const float* x;
    float* y;
    int64_t n;
    bool vectors; /* x and y are aligned to 16 bytes */
    const iir_section* sections;
    int n_sections, groups;
    const double2* tables;
    const double* state_in;
    double* state_out;
    unsigned long long* recoveries;
    uint32_t ticket;
    volatile uint32_t* flag;
    uint32_t* blocks_done;
};

template <int STATES, bool COMPLEX>
struct iir_tile {
    static constexpr int parts = COMPLEX ? 2 : 1;
    static constexpr int rows = 16 / parts;
    static constexpr int blocks = IIR_TILE_BLOCKS;
    static constexpr int items = rows * IIR_TILE_ROW;
    static constexpr int leaps = COMPLEX ? 3 : 4;
    static constexpr int columns = STATES > 8 ? 2 : 1;
    static constexpr int steps = STATES / 4; /* k-steps of a state */
    static constexpr int pairs = STATES > 8 ? 2 : 1;
    static constexpr int rise = 0;
    static constexpr int leap = rise + blocks * columns * 2;
    static constexpr int in = leap + 4 * columns * pairs;
    static constexpr int step = in + columns * 2;
    static constexpr int direct = step + columns * pairs;
    static constexpr int out = direct + 4;
    static constexpr int planes = out + 2 * pairs;

    struct state {
        double c[columns][4];
    };
    /* A lane's samples of its two rows; of one group floats will do. */
    template <class Value>
    struct samples {
        Value v[blocks][8];
    };

    static __device__ __forceinline__ int lane() { return threadIdx.x & 31; }

    /* ---------------------------------------------------------------- operands */

    /* A plane of a table in shared memory, two k-steps. */
    template <int KS>
    static __device__ __forceinline__ void fetch(double* b, const double2* table)
    {
        for (int p = 0; p < (KS + 1) / 2; ++p) {
            const double2 v = table[32 * p + lane()];
            b[2 * p] = v.x;
            if (2 * p + 1 < KS)
                b[2 * p + 1] = v.y;
        }
    }
    static __device__ __forceinline__ void operand(double* a, const state& s)
    {
        for (int k = 0; k < steps; ++k)
            a[2 * k] = s.c[k / 2][k % 2], a[2 * k + 1] = s.c[k / 2][2 + k % 2];
    }
    template <class Value>
    static __device__ __forceinline__ void operand(double* a, const Value (&v)[8])
    {
        for (int k = 0; k < 4; ++k)
            a[2 * k] = (double)v[k], a[2 * k + 1] = (double)v[4 + k];
    }
    /* The state that this lane holds in c[column][i] or c[column][2 + i]; below 0: none
     */
    static __device__ __forceinline__ int state_of(int column, int i)
    {
        const int t = lane() % 4;
        return STATES == 4 ? (i == 0 ? t : -1) : 8 * column + 2 * t + i;
    }

    /* ---------------------------------------------------------------- memory */

    /* The first of four samples that this lane holds of block b. */
    static __device__ __forceinline__ int64_t place(int64_t first, int b, int half)
    {
        const int row = lane() / 4 + (COMPLEX ? 0 : 8 * half);
        return first + row * IIR_TILE_ROW + b * IIR_TILE_BLOCK + 4 * (lane() % 4);
    }
    /* x[i .. i+3] inside [begin, end), else 0. */
    template <class Value>
    static __device__ __forceinline__ void load4(const iir_stream& s, int64_t i,
                                                 int64_t begin, int64_t end, Value* v,
                                                 Value* imaginary)
    {
        float w[4 * parts];
        if (s.vectors && i >= begin && i + 4 <= end) {
            const float4* const p = (const float4*)(s.x + i * parts);
            for (int k = 0; k < parts; ++k)
                *(float4*)(w + 4 * k) = __ldg(p + k);
        } else {
            for (int k = 0; k < 4 * parts; ++k) {
                const int64_t at = i + k / parts;
                w[k] = at >= begin && at < end ? __ldg(s.x + i * parts + k) : 0.0f;
            }
        }
        for (int k = 0; k < 4; ++k) {
            v[k] = w[parts * k];
            if (COMPLEX)
                imaginary[k] = w[parts * k + parts - 1];
        }
    }
    template <class Value>
    static __device__ __forceinline__ void load(const iir_stream& s, int64_t first,
                                                int64_t begin, int64_t end,
                                                samples<Value>& x)
    {
        for (int b = 0; b < blocks; ++b)
            for (int half = 0; half < 3 - parts; ++half)
                load4(s, place(first, b, half), begin, end, x.v[b] + 4 * half,
                      x.v[b] + 4);
    }
    static __device__ __forceinline__ void
    store4(const iir_stream& s, int64_t i, const double* v, const double* imaginary)
    {
        float w[4 * parts];
        for (int k = 0; k < 4; ++k) {
            w[parts * k] = (float)v[k];
            if (COMPLEX)
                w[parts * k + parts - 1] = (float)imaginary[k];
        }
        if (s.vectors && i + 4 <= s.n) {
            float4* const p = (float4*)(s.y + i * parts);
            for (int k = 0; k < parts; ++k)
                __stcs(p + k, *(const float4*)(w + 4 * k));
        } else {
            for (int k = 0; k < 4 * parts; ++k)
                if (i + k / parts < s.n)
                    s.y[i * parts + k] = w[k];
        }
    }
    static __device__ __forceinline__ void store(const iir_stream& s, int64_t first,
                                                 int b, const double (&y)[8])
    {
        for (int half = 0; half < 3 - parts; ++half)
            store4(s, place(first, b, half), y + 4 * half, y + 4);
    }
    template <class Value>
    static __device__ __forceinline__ bool finite(const samples<Value>& x)
    {
        float sum = 0;
        for (int b = 0; b < blocks; ++b)
            for (int k = 0; k < 8; ++k)
                sum = fmaf((float)x.v[b][k], 0.0f, sum);
        return __all_sync(~0u, sum == 0.0f);
    }

    /* ---------------------------------------------------------------- states */

    /* carry is [parts][STATES] of a group, in shared memory. */
    static __device__ __forceinline__ void put_carry(double* carry, const state& s,
                                                     int row)
    {
        const int g = lane() / 4;
        for (int m = 0; m < columns; ++m)
            for (int k = 0; k < 4; ++k) {
                const int at = state_of(m, k % 2);
                const int r = COMPLEX ? g : g + 8 * (k / 2);
                if (r == row && at >= 0)
                    carry[(COMPLEX ? k / 2 : 0) * STATES + at] = s.c[m][k];
            }
    }
    static __device__ __forceinline__ void rise_of(state& u, const double2* table,
                                                   const double (&a)[8], int b)
    {
        double operand_b[4];
        for (int m = 0; m < columns; ++m) {
            fetch<4>(operand_b, table + 32 * (rise + (b * columns + m) * 2));
            mma<4>(u.c[m], a, operand_b);
        }
    }
    /* What each row holds, of the row `distance` before it; rows before the first: 0. */
    static __device__ __forceinline__ void shift(state& s, int distance)
    {
        const int g = lane() / 4, from = (lane() - 4 * distance) & 31;
        for (int m = 0; m < columns; ++m)
            for (int i = 0; i < 2; ++i) {
                if (STATES == 4 && i)
                    continue;
                double low = s.c[m][i], high = s.c[m][2 + i];
                if (distance < 8) {
                    low = __shfl_sync(~0u, low, from);
                    high = __shfl_sync(~0u, high, from);
                    s.c[m][2 + i] = g >= distance ? high : COMPLEX ? 0.0 : low;
                    s.c[m][i] = g >= distance ? low : 0.0;
                } else {
                    s.c[m][2 + i] = low;
                    s.c[m][i] = 0;
                }
            }
    }
    static __device__ __forceinline__ void advance(state& to, const state& s,
                                                   const double2* table)
    {
        double a[2 * steps], b[steps < 2 ? 2 : steps];
        operand(a, s);
        for (int m = 0; m < columns; ++m) {
            fetch<steps>(b, table + 32 * m * pairs);
            if (columns == 2 && m == 0) /* states only act on sections after them */
                mma<2>(to.c[m], a, b);
            else
                mma<steps>(to.c[m], a, b);
        }
    }
    /* From the rows' rises to the states at their starts. */
    static __device__ __forceinline__ void scan(state& u, const double* carry,
                                                const double2* table)
    {
        shift(u, 1);
        for (int m = 0; m < columns; ++m)
            for (int k = 0; k < 4; ++k) {
                const int at = state_of(m, k % 2);
                if (lane() < 4 && at >= 0 && (COMPLEX || k < 2))
                    u.c[m][k] = carry[(COMPLEX ? k / 2 : 0) * STATES + at];
            }
        for (int d = 0; d < leaps; ++d) {
            state before = u;
            shift(before, 1 << d);
            advance(u, before, table + 32 * (leap + d * columns * pairs));
        }
    }

    /* ---------------------------------------------------------------- a tile */

    /* A block of all rows: y from x and s, and s behind it. */
    static __device__ __forceinline__ void
    block(const double2* table, const double (&x)[8], state& s, double (&y)[8])
    {
        double a[2 * steps], b[4], c[2][4] = {{0}};
        state next{};
        operand(a, s);
        for (int m = 0; m < columns; ++m) {
            fetch<4>(b, table + 32 * (in + 2 * m));
            mma<4>(next.c[m], x, b);
        }
        for (int m = 0; m < 2; ++m) {
            fetch<4>(b, table + 32 * (direct + 2 * m));
            mma<4>(c[m], x, b);
            fetch<steps>(b, table + 32 * (out + pairs * m));
            mma<steps>(c[m], a, b);
        }
        advance(next, s, table + 32 * step);
        for (int k = 0; k < 4; ++k)
            y[k] = c[k / 2][k % 2], y[4 + k] = c[k / 2][2 + k % 2];
        s = next;
    }

    /* Takes a group's carry over `count` whole blocks of the tile. The group's output
     * goes to y, or back to x where another group follows. */
    template <class Value>
    static __device__ __forceinline__ void
    group(const iir_stream& s, int64_t first, int count, const double2* table,
          samples<Value>& x, double* carry, bool last, bool write)
    {
        double a[8], y[8];
        state u{};
        for (int b = 0; b < blocks; ++b) {
            operand(a, x.v[b]);
            rise_of(u, table, a, b);
        }
        scan(u, carry, table);
        __syncwarp();
        for (int b = 0; b < blocks; ++b) {
            if (count % blocks == b)
                put_carry(carry, u, count / blocks);
            operand(a, x.v[b]);
            block(table, a, u, y);
            if (last && write)
                store(s, first, b, y);
            else if (!last)
                for (int k = 0; k < 8; ++k)
                    x.v[b][k] = (Value)y[k];
        }
        if (count == rows * blocks)
            put_carry(carry, u, rows - 1);
        __syncwarp();
    }
};

/* Takes a carry over a whole tile of x, of a single group, without its output. */
template <int STATES, bool COMPLEX>
__device__ __forceinline__ void
iir_warm_up(const double2* table,
            const typename iir_tile<STATES, COMPLEX>::template samples<float>& x,
            double* carry)
{
    using tile = iir_tile<STATES, COMPLEX>;
    double a[8];
    typename tile::state u{}, start;
    for (int b = 0; b < tile::blocks; ++b) {
        tile::operand(a, x.v[b]);
        tile::rise_of(u, table, a, b);
    }
    start = u;
    tile::scan(start, carry, table);
    tile::advance(u, start, table + 32 * tile::leap);
    __syncwarp();
    tile::put_carry(carry, u, tile::rows - 1);
    __syncwarp();
}

/* Lane k is section k, and meets sample i in step i + k: what is too short for a tile, or
 * holds values that are not finite and may not meet others' zeros. carry is
 * [groups][parts][STATES]. */
template <int STATES, bool COMPLEX>
__device__ __noinline__ void iir_walk(const iir_stream& s, int64_t first, int count,
                                      double* carry, bool write)
{
    constexpr int parts = COMPLEX ? 2 : 1, each = STATES / 2;
    const int k = threadIdx.x & 31, n = s.n_sections;
    double z[parts][2], y[parts] = {0};
    const iir_section c = s.sections[k < n ? k : 0];
    double* const mine = carry + (k / each * parts) * STATES + 2 * (k % each);
    for (int p = 0; p < parts; ++p)
        for (int j = 0; j < 2; ++j)
            z[p][j] = k < n ? mine[p * STATES + j] : 0;
    for (int i = 0; i < count + n - 1; ++i) {
        const int64_t at = first + i - k;
        const bool mine_now = k < n && i >= k && i - k < count;
        for (int p = 0; p < parts; ++p) {
            double x = __shfl_up_sync(~0u, y[p], 1);
            if (k == 0 && mine_now)
                x = (double)__ldg(s.x + at * parts + p);
            if (!mine_now)
                continue;
            y[p] = fma(c.b0, x, z[p][0]);
            z[p][0] = fma(-c.a1, y[p], fma(c.b1, x, z[p][1]));
            z[p][1] = fma(-c.a2, y[p], c.b2 * x);
            if (k == n - 1 && write)
                s.y[at * parts + p] = (float)y[p];
        }
    }
    for (int p = 0; p < parts; ++p)
        for (int j = 0; j < 2; ++j)
            if (k < n)
                mine[p * STATES + j] = z[p][j];
    __syncwarp();
}

/* Zeroes what is below a float's reach, and all of a part's state where one value is not
 * finite; returns the number of such parts. */
template <int STATES, bool COMPLEX>
__device__ __forceinline__ int iir_tend(double* carry, int groups)
{
    constexpr int parts = COMPLEX ? 2 : 1;
    const int lane = threadIdx.x & 31;
    bool bad[2] = {false, false};
    for (int at = lane; at < groups * parts * STATES; at += 32) {
        const double value = carry[at];
        if (!isfinite(value))
            bad[COMPLEX ? at / STATES % 2 : 0] = true;
        if (fabs(value) < IIR_TINY)
            carry[at] = 0;
    }
    const bool some[2] = {(bool)__any_sync(~0u, bad[0]), (bool)__any_sync(~0u, bad[1])};
    for (int at = lane; at < groups * parts * STATES && (some[0] || some[1]); at += 32)
        if (some[COMPLEX ? at / STATES % 2 : 0])
            carry[at] = 0;
    __syncwarp();
    return (int)some[0] + (int)some[1];
}

/* Takes carry over the tile from `first` on, or from `begin` inside of it, after zeros.
 * Returns the number of states that were not finite. */
template <int STATES, bool COMPLEX, class Value>
__device__ __forceinline__ int iir_take_tile(const iir_stream& s, const double2* tables,
                                             int64_t first, int64_t begin, double* carry,
                                             bool write)
{
    using tile = iir_tile<STATES, COMPLEX>;
    constexpr bool single = sizeof(Value) == sizeof(float);
    typename tile::template samples<Value> x;
    const int64_t end = first + tile::items < s.n ? first + tile::items : s.n;
    const int count = (int)(end - first), rest = count % IIR_TILE_BLOCK;
    tile::load(s, first, begin, end, x);
    if (!tile::finite(x)) {
        iir_walk<STATES, COMPLEX>(s, begin, (int)(end - begin), carry, write);
        return iir_tend<STATES, COMPLEX>(carry, s.groups);
    }
    if constexpr (single) {
        if (write)
            tile::group(s, first, count / IIR_TILE_BLOCK, tables, x, carry, true, true);
        else
            iir_warm_up<STATES, COMPLEX>(tables, x, carry);
    } else {
        for (int g = 0; g < s.groups; ++g)
            tile::group(s, first, count / IIR_TILE_BLOCK, tables + g * 32 * tile::planes,
                        x, carry + g * tile::parts * STATES, g + 1 == s.groups, write);
    }
    if (rest)
        iir_walk<STATES, COMPLEX>(s, end - rest, rest, carry, false);
    return iir_tend<STATES, COMPLEX>(carry, s.groups);
}

} // namespace cufilter

#endif
