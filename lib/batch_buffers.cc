/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Large stream buffers around a block, without making it wait for full ones. */
#include "batch_buffers.h"
#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace gr {
namespace cufilter {

namespace {

int output_multiple(const std::string& name, int batch_items, int outputs, int inputs)
{
    const int most = batch_buffers::MAX_ITEMS;
    if (batch_items < 0 || batch_items > most)
        throw std::invalid_argument(name + ": batch_items must lie in 0 .. " +
                                    std::to_string(most) + ", not " +
                                    std::to_string(batch_items));
    const int64_t items = (int64_t{batch_items} * outputs + inputs - 1) / inputs;
    if (items > most)
        throw std::invalid_argument(
            name + ": batch_items of " + std::to_string(batch_items) + " give " +
            std::to_string(items) + " output items, more than " + std::to_string(most));
    return static_cast<int>(items);
}

} // namespace

batch_buffers::batch_buffers(block& block, const std::string& name, int batch_items,
                             int outputs, int inputs)
    : d_multiple(output_multiple(name, batch_items, outputs, inputs)),
      d_granule(block.output_multiple())
{
    stopped(block);
}

void batch_buffers::set_granule(block& block, int granule)
{
    d_granule = granule;
    if (d_multiple < granule)
        block.set_output_multiple(granule);
}

void batch_buffers::started(block& block) const
{
    if (d_multiple != 0)
        block.set_output_multiple(d_granule);
}

void batch_buffers::stopped(block& block) const
{
    if (d_multiple != 0)
        block.set_output_multiple(std::max(d_multiple, d_granule));
}

} // namespace cufilter
} // namespace gr
