/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Large stream buffers around a block, without making it wait for full ones. */
#include "batch_buffers.h"
#include <stdexcept>

namespace gr {
namespace cufilter {

namespace {

int output_multiple(const fir_settings& settings)
{
    if (settings.batch_items < 0 || settings.batch_items > batch_buffers::MAX_ITEMS)
        throw std::invalid_argument(settings.block + ": batch_items must lie in 0 .. " +
                                    std::to_string(batch_buffers::MAX_ITEMS) + ", not " +
                                    std::to_string(settings.batch_items));
    return (settings.batch_items + settings.decimation - 1) / settings.decimation;
}

} // namespace

batch_buffers::batch_buffers(block& block, const fir_settings& settings)
    : d_multiple(output_multiple(settings))
{
    stopped(block);
}

void batch_buffers::started(block& block) const
{
    if (d_multiple != 0)
        block.set_output_multiple(1);
}

void batch_buffers::stopped(block& block) const
{
    if (d_multiple != 0)
        block.set_output_multiple(d_multiple);
}

} // namespace cufilter
} // namespace gr
