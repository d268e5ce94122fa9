/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the FIR kernels share: the launch as a kernel sees it, input with history, output
 * with decimation, the append to the ring and the flag of completion. Not installed. */
#ifndef CUFILTER_FIR_FIR_DEVICE_CUH
#define CUFILTER_FIR_FIR_DEVICE_CUH

#include <cstdint>
#include "fir_internal.h"

namespace cufilter {

/* struct fir_launch in device terms; items are counted in int64_t. */
struct fir_stream {
    const void* x;
    void* ring;
    void* y;
    int64_t begin, end, first;
    int64_t oldest; /* x[g < oldest] counts as 0: no output's window holds it */
    uint32_t ring_mask, ring_pos;
    uint32_t decimation;
    bool append;
    bool round_output;
    uint32_t ticket;
    uint32_t* blocks_done;
    volatile uint32_t* flag;
};

inline fir_stream make_fir_stream(const struct fir_spec* spec, size_t n_taps,
                                  const struct fir_launch* l)
{
    fir_stream s{};
    s.x = l->x, s.ring = l->ring, s.y = l->y;
    s.begin = l->begin, s.end = l->end, s.first = l->first;
    s.oldest = (l->begin < 0 ? l->begin : 0) - (int64_t)(n_taps - 1);
    s.ring_mask = l->ring_mask, s.ring_pos = l->ring_pos;
    s.decimation = (uint32_t)spec->decimation;
    s.append = l->append;
    s.round_output = spec->round_output;
    s.ticket = l->ticket, s.blocks_done = l->blocks_done, s.flag = l->flag;
    return s;
}

/* Input that a kernel reads once or twice and never writes: past the L1. */
__device__ __forceinline__ float2 load_once(const float2* p)
{
    float2 r;
    asm("ld.global.nc.L1::no_allocate.v2.f32 {%0,%1}, [%2];"
        : "=f"(r.x), "=f"(r.y)
        : "l"(p));
    return r;
}
__device__ __forceinline__ float load_once(const float* p)
{
    float r;
    asm("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(r) : "l"(p));
    return r;
}
__device__ __forceinline__ int16_t load_once(const int16_t* p)
{
    return __ldg(p);
}

/* x[g], from the call, the ring or the void around both. */
template <class Item>
__device__ __forceinline__ Item fetch(const fir_stream& s, int64_t g, int64_t oldest)
{
    const Item* p = g < 0
                        ? (const Item*)s.ring + ((s.ring_pos + (uint32_t)g) & s.ring_mask)
                        : (const Item*)s.x + g;
    return g >= oldest && g < s.end ? *p : Item{};
}
template <class Item>
__device__ __forceinline__ Item fetch(const fir_stream& s, int64_t g)
{
    return fetch<Item>(s, g, s.oldest);
}

template <class Item>
__device__ __forceinline__ void append(const fir_stream& s, int64_t g, Item value)
{
    if (g >= 0 && g >= s.begin && g < s.end)
        ((Item*)s.ring)[(s.ring_pos + (uint32_t)g) & s.ring_mask] = value;
}

__device__ __forceinline__ int16_t to_int16(float x, bool round)
{
    const int i = round ? __float2int_rn(x) : __float2int_rz(x); /* saturates; NaN -> 0 */
    return (int16_t)max(-32768, min(32767, i));
}

/* To be called by one thread of a block, after a barrier that follows the block's last
 * write. The barrier puts the block's writes before the thread's fence, the fence before
 * its flags or its count, and the last block's count before the flags: a host that sees
 * the ticket in all flags sees all writes. */
__device__ __forceinline__ void signal_block(uint32_t* blocks_done,
                                             volatile uint32_t* flag, uint32_t ticket,
                                             uint32_t block, uint32_t blocks)
{
    uint32_t i = block, step = blocks;
    __threadfence_system();
    if (blocks > FIR_FLAGS) {
        if (atomicAdd(blocks_done, 1u) != blocks - 1)
            return;
        *blocks_done = 0;
        __threadfence_system();
        i = 0, step = 1;
    }
    for (; i < FIR_FLAGS; i += step)
        flag[i] = ticket;
}

/* To be called by every thread of every block, after its last write. */
__device__ __forceinline__ void signal_done(const fir_stream& s)
{
    if (!s.flag)
        return;
    __syncthreads();
    if (threadIdx.x == 0)
        signal_block(s.blocks_done, s.flag, s.ticket, blockIdx.x, gridDim.x);
}

/* Walks d, d + step, d + 2 step, ... of a stream decimated by D without a division a
 * step: `hit` says whether d is an output, a multiple of D, and `index` which. */
struct output_walk {
    int64_t index;
    uint32_t phase, decimation, step_index, step_phase;

    __device__ __forceinline__ output_walk(int64_t d, uint32_t step, uint32_t D)
        : decimation(D), step_index(step / D), step_phase(step % D)
    {
        index = d >= 0 ? d / (int64_t)D : -(((int64_t)D - 1 - d) / (int64_t)D);
        phase = (uint32_t)(d - index * (int64_t)D);
    }
    __device__ __forceinline__ bool hit() const { return phase == 0; }
    __device__ __forceinline__ void next()
    {
        index += step_index;
        phase += step_phase;
        if (phase >= decimation) {
            phase -= decimation;
            ++index;
        }
    }
};

} // namespace cufilter

#endif
