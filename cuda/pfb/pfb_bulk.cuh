/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions of sm_90 and up: bulk copies from global to shared memory that complete on
 * a barrier, addresses and sizes multiples of 16 bytes. Not installed. */
#ifndef CUFILTER_PFB_PFB_BULK_CUH
#define CUFILTER_PFB_PFB_BULK_CUH

#include <cstdint>

namespace cufilter {

/* Older GPUs have none: callers then load item by item, and what is here does nothing. To
 * check that way on a new GPU, CMAKE_CUDA_FLAGS=-DCUFILTER_NO_BULK_COPIES. */
#if defined(CUFILTER_NO_BULK_COPIES)
#define CUFILTER_BULK_COPIES 0
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define CUFILTER_BULK_COPIES 1
#else
#define CUFILTER_BULK_COPIES 0
#endif

__device__ __forceinline__ uint32_t shared_address(const void* p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* By one thread, before a barrier of the block. */
__device__ __forceinline__ void bulk_init(uint64_t* barrier)
{
#if CUFILTER_BULK_COPIES
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier))
                 : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

/* By one thread, once for all copies of a phase: their bytes in all. */
__device__ __forceinline__ void bulk_expect(uint64_t* barrier, uint32_t bytes)
{
#if CUFILTER_BULK_COPIES
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
#endif
}

/* By the same thread, after bulk_expect(). */
__device__ __forceinline__ void bulk_copy(void* to, const void* from, uint32_t bytes,
                                          uint64_t* barrier)
{
#if CUFILTER_BULK_COPIES
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
#endif
}

/* By every thread; parity counts the phases, from 0. */
__device__ __forceinline__ void bulk_wait(uint64_t* barrier, uint32_t parity)
{
#if CUFILTER_BULK_COPIES
    asm volatile("{\n\t.reg .pred done;\n"
                 "AGAIN:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
                 "@!done bra AGAIN;\n\t}" ::"r"(shared_address(barrier)),
                 "r"(parity)
                 : "memory");
#endif
}

/* Between ordinary writes to shared memory and a later bulk copy over them. */
__device__ __forceinline__ void bulk_fence()
{
#if CUFILTER_BULK_COPIES
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/* The same for global memory. It waits for the thread's own stores as well: for use where
 * it must be alone. */
__device__ __forceinline__ void bulk_fence_all()
{
#if CUFILTER_BULK_COPIES
    asm volatile("fence.proxy.async;" ::: "memory");
#endif
}

/* Barrier number `id`, 1 .. 15, of `threads` threads. */
__device__ __forceinline__ void barrier_of(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

} // namespace cufilter

#endif
