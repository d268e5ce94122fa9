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
 * The order of samples and states in the matrices (iir_tile.c) makes what one product
 * leaves the A operand of the next, without any exchange: a lane (g, t) holds samples and
 * states 2 t, 2 t + 1, 8 + 2 t, 9 + 2 t of rows g and g + 8. */
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
    int* next_run; /* a counter, 0 before and after a launch */
    uint32_t ticket;
    volatile uint32_t* flag;
    uint32_t* blocks_done;
};

/* The biased exponent; 0x7ff of what is not finite. */
__device__ __forceinline__ int exponent(double x)
{
    return __double2hiint(x) >> 20 & 0x7ff;
}
constexpr int tiny_exponent = 1023 - 664; /* of IIR_TINY, 1e-200 */

template <int STATES, bool COMPLEX>
struct iir_tile {
    static constexpr int parts = COMPLEX ? 2 : 1;
    static constexpr int rows = 16 / parts;
    static constexpr int blocks = IIR_TILE_BLOCKS;
    static constexpr int items = rows * IIR_TILE_ROW;
    static constexpr int leaps = COMPLEX ? 3 : 4;
    /* Floats from row to row in shared memory: lanes of two rows meet no bank twice. */
    static constexpr bool paired = iir_tile_paired(STATES, parts);
    /* Whether a way of their own for whole tiles is worth its code: measured. */
    static constexpr bool whole_first = COMPLEX && STATES >= 8;
    static constexpr int pitch =
        COMPLEX ? 2 * IIR_TILE_ROW + 16 : IIR_TILE_ROW + (paired ? 8 : 16);
    static constexpr int floats = rows * pitch;
    static constexpr int columns = STATES > 8 ? 2 : 1;
    static constexpr int steps = STATES / 4; /* k-steps of a state */
    static constexpr int pairs = STATES > 8 ? 2 : 1;
    static constexpr int rise_at = 0;
    static constexpr int leap_at = rise_at + blocks * columns * 2;
    static constexpr int in_at = leap_at + 4 * columns * pairs;
    static constexpr int step_at = in_at + columns * 2;
    static constexpr int direct_at = step_at + columns * pairs;
    static constexpr int out_at = direct_at + 4;
    static constexpr int planes = out_at + 2 * pairs;

    struct state {
        double c[columns][4];
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
    /* v: four samples of row g, then of row g + 8 */
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

    /* The k-th four floats of a tile that this lane brings or takes away: where they are
     * in the stream, and in shared memory. */
    static constexpr int quads = rows * IIR_TILE_ROW * parts / 128;
    static __device__ __forceinline__ int in_shared(int k)
    {
        return COMPLEX ? k * pitch + 4 * lane()
                       : (2 * k + lane() / 16) * pitch + 4 * (lane() % 16);
    }

    /* Brings samples [first, end) of the tile into x, and zeros after them,
     * asynchronously. */
    static __device__ __forceinline__ void request(const iir_stream& s, int64_t first,
                                                   int64_t end, float* x)
    {
        const float* const from = s.x + first * parts;
        const int count = (int)min(end - first, (int64_t)items) * parts;
        if (whole_first && s.vectors && count == items * parts)
            for (int k = 0; k < quads; ++k)
                copy_async<16>(x + in_shared(k), from + 128 * k + 4 * lane(), true);
        else if (s.vectors && count % 4 == 0)
            for (int k = 0; k < quads; ++k)
                copy_async<16>(x + in_shared(k), from + 128 * k + 4 * lane(),
                               128 * k + 4 * lane() < count);
        else
            for (int k = 0; k < 4 * quads; ++k) {
                const int i = 32 * k + lane(), row = i / (IIR_TILE_ROW * parts);
                copy_async<4>(x + row * pitch + i % (IIR_TILE_ROW * parts), from + i,
                              i < count);
            }
    }
    /* Takes samples [begin, end) of the tile away; both are ends of rows or of the
     * stream. */
    static __device__ __forceinline__ void
    store(const iir_stream& s, int64_t first, int64_t begin, int64_t end, const float* y)
    {
        float* const to = s.y + first * parts;
        const int low = (int)(begin - first) * parts, high = (int)(end - first) * parts;
        if (whole_first && s.vectors && low == 0 && high == items * parts)
            for (int k = 0; k < quads; ++k)
                __stcs((float4*)(to + 128 * k + 4 * lane()),
                       *(const float4*)(y + in_shared(k)));
        else if (s.vectors && high % 4 == 0)
            for (int k = 0; k < quads; ++k) {
                const int i = 128 * k + 4 * lane();
                if (i >= low && i < high)
                    __stcs((float4*)(to + i), *(const float4*)(y + in_shared(k)));
            }
        else
            for (int i = low + lane(); i < high; i += 32)
                to[i] =
                    y[i / (IIR_TILE_ROW * parts) * pitch + i % (IIR_TILE_ROW * parts)];
    }
    /* Where this lane's samples of block b lie, of row g: four in a row, or paired, two
     * and two more 8 samples on. */
    static __device__ __forceinline__ int place(int b)
    {
        return lane() / 4 * pitch +
               (IIR_TILE_BLOCK * b + (paired ? 2 : 4) * (lane() % 4)) * parts;
    }
    static __device__ __forceinline__ void read(const float* x, int b, float (&v)[8])
    {
        const float* const from = x + place(b);
        for (int half = 0; half < 2; ++half) {
            if constexpr (COMPLEX) {
                const float4 w = *(const float4*)(from + 16 * half);
                v[2 * half] = w.x, v[2 * half + 1] = w.z;
                v[4 + 2 * half] = w.y, v[5 + 2 * half] = w.w;
            } else if constexpr (paired) {
                const float2 low = *(const float2*)(from + 8 * half);
                const float2 high = *(const float2*)(from + 8 * half + 8 * pitch);
                v[2 * half] = low.x, v[2 * half + 1] = low.y;
                v[4 + 2 * half] = high.x, v[5 + 2 * half] = high.y;
            } else {
                const float4 w = *(const float4*)(from + half * 8 * pitch);
                v[4 * half] = w.x, v[4 * half + 1] = w.y;
                v[4 * half + 2] = w.z, v[4 * half + 3] = w.w;
            }
        }
    }
    static __device__ __forceinline__ void write(float* y, int b, const double (&v)[8])
    {
        float* const to = y + place(b);
        float w[8];
        for (int k = 0; k < 8; ++k)
            w[k] = to_float(v[k]);
        for (int half = 0; half < 2; ++half) {
            const int k = 2 * half;
            if constexpr (COMPLEX) {
                *(float4*)(to + 16 * half) =
                    make_float4(w[k], w[4 + k], w[k + 1], w[5 + k]);
            } else if constexpr (paired) {
                *(float2*)(to + 8 * half) = make_float2(w[k], w[k + 1]);
                *(float2*)(to + 8 * half + 8 * pitch) = make_float2(w[4 + k], w[5 + k]);
            } else {
                *(float4*)(to + half * 8 * pitch) = make_float4(
                    w[4 * half], w[4 * half + 1], w[4 * half + 2], w[4 * half + 3]);
            }
        }
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
            fetch<4>(operand_b, table + 32 * (rise_at + (b * columns + m) * 2));
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
            advance(u, before, table + 32 * (leap_at + d * columns * pairs));
        }
    }

    /* ---------------------------------------------------------------- a tile */

    /* What a block's step takes: of few states in registers, else in shared memory. */
    struct step_tables {
        static constexpr bool kept = STATES < 16;
        double in[columns][4], step[columns][2 * pairs], direct[2][4], out[2][2 * pairs];
        const double2* table;

        __device__ __forceinline__ void fetch_in(int m)
        {
            fetch<4>(in[m], table + 32 * (in_at + 2 * m));
        }
        __device__ __forceinline__ void fetch_step(int m)
        {
            fetch<steps>(step[m], table + 32 * (step_at + pairs * m));
        }
        __device__ __forceinline__ void fetch_direct(int m)
        {
            if (paired && m == 0)
                fetch<2>(direct[m], table + 32 * direct_at);
            else
                fetch<4>(direct[m], table + 32 * (direct_at + 2 * m));
        }
        __device__ __forceinline__ void fetch_out(int m)
        {
            fetch<steps>(out[m], table + 32 * (out_at + pairs * m));
        }
        __device__ __forceinline__ void load(const double2* from)
        {
            table = from;
            for (int m = 0; kept && m < columns; ++m)
                fetch_in(m), fetch_step(m);
            for (int m = 0; kept && m < 2; ++m)
                fetch_direct(m), fetch_out(m);
        }
    };

    /* to += a state a block later. */
    static __device__ __forceinline__ void step(step_tables& t, state& to, const state& s)
    {
        double a[2 * steps];
        operand(a, s);
        for (int m = 0; m < columns; ++m) {
            if (!t.kept)
                t.fetch_step(m);
            if (columns == 2 && m == 0) /* states only act on sections after them */
                mma<2>(to.c[m], a, t.step[m]);
            else
                mma<steps>(to.c[m], a, t.step[m]);
        }
    }
    /* What the samples of a block leave behind. */
    static __device__ __forceinline__ state remains_of(step_tables& t,
                                                       const double (&x)[8])
    {
        state r{};
        for (int m = 0; m < columns; ++m) {
            if (!t.kept)
                t.fetch_in(m);
            mma<4>(r.c[m], x, t.in[m]);
        }
        return r;
    }
    /* The same of all blocks, kept from the rise for the blocks' steps where there are
     * registers for it. */
    template <bool KEPT>
    struct remains {
        state of[KEPT ? blocks : 1];
    };

    /* y from a block's x and s, and s behind it, where `next` has what x leaves. */
    static __device__ __forceinline__ void finish(step_tables& t, const double (&x)[8],
                                                  state& next, state& s, double (&y)[8])
    {
        double a[2 * steps], c[2][4] = {{0}};
        operand(a, s);
        step(t, next, s);
        for (int m = 0; m < 2; ++m) {
            if (!t.kept)
                t.fetch_direct(m), t.fetch_out(m);
            if (paired && m == 0) /* samples do not act on samples before them */
                mma<2>(c[m], x, t.direct[m]);
            else
                mma<4>(c[m], x, t.direct[m]);
            mma<steps>(c[m], a, t.out[m]);
        }
        for (int k = 0; k < 4; ++k)
            y[k] = c[k / 2][k % 2], y[4 + k] = c[k / 2][2 + k % 2];
        s = next;
    }
    static __device__ __forceinline__ void block(step_tables& t, const double (&x)[8],
                                                 state& s, double (&y)[8])
    {
        state next = remains_of(t, x);
        finish(t, x, next, s, y);
    }
    /* Block b of all rows, with what is kept of the rise. */
    template <class Source>
    static __device__ __forceinline__ void block(step_tables& t, Source& source,
                                                 const remains<Source::keeps>& r, int b,
                                                 state& s)
    {
        double x[8], y[8];
        source.get(b, x);
        if constexpr (Source::keeps) {
            state next = r.of[b];
            finish(t, x, next, s, y);
        } else {
            block(t, x, s, y);
        }
        source.put(b, y);
    }

    /* A sample that is not finite makes its row's products so, whatever the tables. */
    static __device__ __forceinline__ bool finite(const state& u)
    {
        return __all_sync(~0u,
                          exponent(u.c[0][0]) < 0x7ff && exponent(u.c[0][2]) < 0x7ff);
    }
    /* Each row's rise; false where a sample is not finite. */
    template <class Source>
    static __device__ __forceinline__ bool rise(const double2* table, Source& source,
                                                state& u)
    {
        double a[8];
        state odd{};
        u = state{};
        for (int b = 0; b < blocks; ++b) {
            source.get(b, a);
            rise_of(b % 2 ? odd : u, table, a, b);
        }
        for (int m = 0; m < columns; ++m)
            for (int k = 0; k < 4; ++k)
                u.c[m][k] += odd.c[m][k];
        return finite(u);
    }
    /* The same, keeping what the blocks leave. */
    template <class Source>
    static __device__ __forceinline__ bool rise(const double2* table, step_tables& t,
                                                Source& source, remains<Source::keeps>& r,
                                                state& u)
    {
        if constexpr (!Source::keeps) {
            return rise(table, source, u);
        } else {
            for (int b = 0; b < blocks; ++b) {
                double a[8];
                source.get(b, a);
                r.of[b] = remains_of(t, a);
            }
            u = r.of[0];
            for (int b = 1; b < blocks; ++b) {
                state next = r.of[b];
                step(t, next, u);
                u = next;
            }
            return finite(u);
        }
    }
    /* Takes a group's carry over `count` whole blocks of the tile, of samples
     * source.get(b, v), and gives its output to source.put(b, y). Where a sample is not
     * finite and `check` is set, returns false and does nothing. */
    template <class Source>
    static __device__ __forceinline__ bool group(int count, const double2* table,
                                                 step_tables& t, Source& source,
                                                 double* carry, bool check)
    {
        state u;
        remains<Source::keeps> r;
        if (!rise(table, t, source, r, u) && check)
            return false;
        scan(u, carry, table);
        __syncwarp();
        if (count == rows * blocks) {
            for (int b = 0; b < blocks; ++b)
                block(t, source, r, b, u);
            put_carry(carry, u, rows - 1);
        } else {
            for (int b = 0; b < blocks; ++b) {
                if (count % blocks == b)
                    put_carry(carry, u, count / blocks);
                block(t, source, r, b, u);
            }
        }
        __syncwarp();
        return true;
    }
    /* The same over a whole tile, without its output. */
    template <class Source>
    static __device__ __forceinline__ bool warm_up(const double2* table, step_tables& t,
                                                   Source& source, double* carry)
    {
        state u, start;
        remains<Source::keeps> r;
        if (!rise(table, t, source, r, u))
            return false;
        start = u;
        scan(start, carry, table);
        advance(u, start, table + 32 * leap_at);
        __syncwarp();
        put_carry(carry, u, rows - 1);
        __syncwarp();
        return true;
    }

    /* Samples of the only group, in place in shared memory. */
    struct shared_samples {
        static constexpr bool keeps = step_tables::kept;
        float* x;
        __device__ __forceinline__ void get(int b, double (&a)[8])
        {
            float v[8];
            read(x, b, v);
            operand(a, v);
        }
        __device__ __forceinline__ void put(int b, const double (&y)[8])
        {
            write(x, b, y);
        }
    };
    /* Samples between groups, which stay double. */
    struct own_samples {
        static constexpr bool keeps = false;
        double v[blocks][8];
        __device__ __forceinline__ void get(int b, double (&a)[8]) { operand(a, v[b]); }
        __device__ __forceinline__ void put(int b, const double (&y)[8])
        {
            for (int k = 0; k < 8; ++k)
                v[b][k] = y[k];
        }
        __device__ __forceinline__ void load(const float* x)
        {
            float w[8];
            for (int b = 0; b < blocks; ++b) {
                read(x, b, w);
                for (int k = 0; k < 8; ++k)
                    v[b][k] = (double)w[k];
            }
        }
        __device__ __forceinline__ void store(float* y)
        {
            for (int b = 0; b < blocks; ++b)
                write(y, b, v[b]);
        }
    };
};

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
                s.y[at * parts + p] = to_float(y[p]);
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
template <int STATES, bool COMPLEX, bool MANY>
__device__ __forceinline__ int iir_tend(double* carry, int groups)
{
    constexpr int parts = COMPLEX ? 2 : 1;
    const int lane = threadIdx.x & 31, n = (MANY ? groups : 1) * parts * STATES;
    bool bad[2] = {false, false}, tiny = false;
#pragma unroll 1
    for (int at = lane; at < n; at += 32) {
        const double value = carry[at];
        if (exponent(value) == 0x7ff)
            bad[COMPLEX ? at / STATES % 2 : 0] = true;
        tiny |= exponent(value) < tiny_exponent && value != 0;
    }
    if (!__any_sync(~0u, bad[0] || bad[1] || tiny))
        return 0;
    const bool some[2] = {(bool)__any_sync(~0u, bad[0]), (bool)__any_sync(~0u, bad[1])};
#pragma unroll 1
    for (int at = lane; at < n; at += 32)
        if (some[COMPLEX ? at / STATES % 2 : 0] || exponent(carry[at]) < tiny_exponent)
            carry[at] = 0;
    __syncwarp();
    return (int)some[0] + (int)some[1];
}

/* Takes carry over samples [first, end) of a tile, which are in x, where the output takes
 * their place; what is in [begin, end) goes to the stream. Returns the number of states
 * that were not finite, of what was stored. */
template <int STATES, bool COMPLEX, bool MANY>
__device__ __forceinline__ int
iir_take_tile(const iir_stream& s, const double2* tables,
              typename iir_tile<STATES, COMPLEX>::step_tables& t, int64_t first,
              int64_t begin, int64_t end, float* x, double* carry)
{
    using tile = iir_tile<STATES, COMPLEX>;
    const int count = (int)(end - first), whole = count / IIR_TILE_BLOCK;
    bool finite;
    begin = max(begin, first);
    if constexpr (MANY) {
        typename tile::own_samples source;
        typename tile::step_tables steps;
        source.load(x);
        finite = true;
        for (int g = 0; finite && g < s.groups; ++g) {
            const double2* const table = tables + g * 32 * tile::planes;
            steps.load(table);
            finite = tile::group(whole, table, steps, source,
                                 carry + g * tile::parts * STATES, g == 0);
        }
        if (finite)
            source.store(x);
    } else {
        typename tile::shared_samples source = {x};
        finite = begin < end ? tile::group(whole, tables, t, source, carry, true)
                             : tile::warm_up(tables, t, source, carry);
    }
    if (!finite) {
        if (begin > first) {
            iir_walk<STATES, COMPLEX>(s, first, (int)(min(begin, end) - first), carry,
                                      false);
            iir_tend<STATES, COMPLEX, MANY>(carry, s.groups);
        }
        if (begin >= end)
            return 0;
        iir_walk<STATES, COMPLEX>(s, begin, (int)(end - begin), carry, true);
        return iir_tend<STATES, COMPLEX, MANY>(carry, s.groups);
    }
    if (begin < end) {
        __syncwarp();
        tile::store(s, first, begin, end, x);
    }
    if (count % IIR_TILE_BLOCK)
        iir_walk<STATES, COMPLEX>(s, first + whole * IIR_TILE_BLOCK,
                                  count % IIR_TILE_BLOCK, carry, false);
    return iir_tend<STATES, COMPLEX, MANY>(carry, s.groups);
}

} // namespace cufilter

#endif
