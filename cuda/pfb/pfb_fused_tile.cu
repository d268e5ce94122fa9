/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tile kernels' launches. */
#include "pfb_fused_tile.cuh"
#include "../core/shared_memory.cuh"

namespace cufilter {

namespace {

/* f is called with the kernel that serves K. */
template <class F>
auto with_tile_kernel(const tile_shape& shape, uint32_t K, const F& f)
{
    const bool fixed = shape.A == 16 && shape.near == 1 &&
                       shape.threads == shape.workers &&
                       shape.frames * shape.B == shape.threads;
    switch (fixed ? K : 0) {
    case 16:
        return f(pfb_tile<16, 256, 4>);
    case 32:
        return f(pfb_tile<32, 256, 4>);
    case 64:
        return f(pfb_tile<64, 256, 4>);
    case 128:
        return f(pfb_tile<128, 256, 4>);
    default:
        return f(pfb_tile<0, 512, 2>);
    }
}

} // namespace

enum cufilter_status prepare_tile(const tile_shape& shape, uint32_t K)
{
    return with_tile_kernel(
        shape, K, [&](auto kernel) -> enum cufilter_status {
            CUFILTER_TRY(allow_all_shared_memory(kernel));
            CUFILTER_TRY_CUDA(cudaFuncSetAttribute(
                kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100));
            return CUFILTER_OK;
        });
}

enum cufilter_status launch_tile(const tile_shape& shape, const pfb_stream& s,
                                 cudaStream_t stream)
{
    const int64_t blocks = (s.n_frames + shape.frames - 1) / shape.frames;
    if (blocks > INT32_MAX)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "pfb_fused: %lld frames are too many for one call",
                             (long long)s.n_frames);
    return with_tile_kernel(shape, s.K, [&](auto kernel) {
        return launch_kernel<pfb_stream, tile_shape>("pfb_gpu", "pfb_tile",
                                                     {dim3((unsigned)blocks),
                                                      shape.threads, shape.memory, stream,
                                                      s.ready != nullptr},
                                                     kernel, s, shape);
    });
}

} // namespace cufilter
