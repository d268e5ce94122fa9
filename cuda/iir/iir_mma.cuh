/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine's own words that the IIR kernels need: matrix products in double on the
 * tensor cores, asynchronous copies, conversion, and word to the host that all is done.
 * Not installed.
 *
 * Lane (g, t) = (lane / 4, lane % 4) of a warp holds, of the product of a 16 x 4 KS and a
 * 4 KS x 8 matrix,
 *
 *     a[2 k], a[2 k + 1]     rows g and g + 8 of column 4 k + t,
 *     b[k]                   row 4 k + t of column g,
 *     c[0], c[1]; c[2], c[3] columns 2 t and 2 t + 1 of row g; of row g + 8. */
#ifndef CUFILTER_IIR_IIR_MMA_CUH
#define CUFILTER_IIR_IIR_MMA_CUH

#include <cstdint>

namespace cufilter {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
/* Older GPUs: c of 8 rows, one k-step. */
__device__ __forceinline__ void mma_half(double& c0, double& c1, double a, double b)
{
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(c0), "+d"(c1)
        : "d"(a), "d"(b));
#else
    const int lane = threadIdx.x & 31, row = lane & ~3, column = 8 * (lane % 4);
    for (int k = 0; k < 4; ++k) {
        const double value = __shfl_sync(~0u, a, row + k);
        c0 = fma(value, __shfl_sync(~0u, b, column + k), c0);
        c1 = fma(value, __shfl_sync(~0u, b, column + 4 + k), c1);
    }
#endif
}
#endif

/* c += a b */
template <int KS>
__device__ __forceinline__ void mma(double (&c)[4], const double* a, const double* b)
{
    static_assert(KS == 1 || KS == 2 || KS == 4);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    for (int k = 0; k < KS; ++k) {
        mma_half(c[0], c[1], a[2 * k], b[k]);
        mma_half(c[2], c[3], a[2 * k + 1], b[k]);
    }
#else
    if constexpr (KS == 1)
        asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "
            "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
            : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
            : "d"(a[0]), "d"(a[1]), "d"(b[0]));
    else if constexpr (KS == 2)
        asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
            "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
            : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 "
            "{%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, "
            "{%0,%1,%2,%3};"
            : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
            : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]),
              "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#endif
}

/* A result below a float's normal range is 0, as on the CPU. */
__device__ __forceinline__ float to_float(double x)
{
    float y;
    asm("mul.ftz.f32 %0, %1, 0f3F800000;" : "=f"(y) : "f"((float)x));
    return y;
}

/* Starts a copy of BYTES (4 or 16) to shared memory, of zeros where not `real`. */
template <int BYTES>
__device__ __forceinline__ void copy_async(float* to, const float* from, bool real)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    const int bytes = real ? BYTES : 0;
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared),
                     "l"(from), "r"(bytes)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared),
                     "l"(from), "r"(bytes)
                     : "memory");
#else
    for (int k = 0; k < BYTES / 4; ++k)
        to[k] = real ? from[k] : 0.0f;
#endif
}
/* Ends a set of copies. */
__device__ __forceinline__ void commit_copies()
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/* Waits for this thread's sets of copies but the last n. */
template <int N>
__device__ __forceinline__ void wait_copies()
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

/* Asks for memory to come to the L2, where it is as whoever writes it leaves it; 16
 * divides both. */
__device__ __forceinline__ void fetch_to_l2(const void* from, int bytes)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes)
                 : "memory");
#endif
}

/* To be called by every thread of every block after its last write: see iir_gpu.h. */
__device__ __forceinline__ void signal_done(volatile uint32_t* flag,
                                            uint32_t* blocks_done, uint32_t ticket)
{
    if (!flag)
        return;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    __threadfence_system();
    if (gridDim.x > 1) {
        if (atomicAdd(blocks_done, 1u) != gridDim.x - 1)
            return;
        *blocks_done = 0;
        __threadfence_system();
    }
    *flag = ticket;
}

} // namespace cufilter

#endif
