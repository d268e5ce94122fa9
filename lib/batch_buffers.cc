/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Large stream buffers around a block, without making it wait for full ones. */
#include "batch_buffers.h"
#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace gr {
namespace cufilter {

namespace {

/* A GPU's answer takes 12 us however short the call is, as long as GNU Radio's usual 4096
 * complex items take to arrive: four times as many cost 4 us more. */
constexpr int GPU_CALL_BYTES = 128 << 10;

/* Of the input, when the user leaves it open. */
int usual_batch(const block& block, int device)
{
    const auto item = block.input_signature()->sizeof_stream_item(0);
    return device < 0 ? 0 : std::max(static_cast<int>(GPU_CALL_BYTES / item), 1);
}

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
                             int outputs, int inputs, int device)
    : d_multiple(output_multiple(
          name, batch_items ? batch_items : usual_batch(block, device), outputs, inputs)),
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

void batch_buffers::fit(block& block, int n_ports) const
{
    long most = std::max(d_multiple, d_granule);
    for (int port = 0; port < n_ports; ++port)
        if (block.max_output_buffer(port) > 0)
            most = std::min(most, block.max_output_buffer(port) / 2);
    if (d_multiple != 0 && most < d_multiple)
        block.set_output_multiple(std::max(static_cast<int>(most) / d_granule, 1) *
                                  d_granule);
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
