/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Registration of a running block's stream buffers with a GPU. */
#include "pinned_buffers.h"
#include <cufilter/device.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>

namespace gr {
namespace cufilter {

bool pinned_buffers::add(const buffer_sptr& buffer)
{
    /* The ring lies twice in a row in the address space; work() may be given any window.
     */
    const size_t bytes = 2 * size_t{buffer->bufsize()} * buffer->get_sizeof_item();
    if (cufilter_buffer_register(d_device, const_cast<char*>(buffer->base()), bytes) !=
        CUFILTER_OK)
        return false;
    d_buffers.push_back(buffer);
    return true;
}

void pinned_buffers::acquire(block& block, int device, gr::logger& log)
{
    release();
    const block_detail_sptr detail = block.detail();
    if (device == CUFILTER_DEVICE_CPU || !detail)
        return;
    d_device = device;
    bool all = true;
    for (int i = 0; i < detail->ninputs(); i++)
        all = add(detail->input(i)->buffer()) && all;
    for (int i = 0; i < detail->noutputs(); i++)
        all = add(detail->output(i)) && all;
    if (!all)
        log.debug("stream buffers are not mapped for GPU {:d}, samples are staged: {:s}",
                  device, cufilter_last_error());
}

void pinned_buffers::release()
{
    for (const buffer_sptr& buffer : d_buffers)
        cufilter_buffer_unregister(d_device, const_cast<char*>(buffer->base()));
    d_buffers.clear();
}

} // namespace cufilter
} // namespace gr
