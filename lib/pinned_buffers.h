/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Registration of a running block's stream buffers with a GPU. */
#ifndef INCLUDED_CUFILTER_LIB_PINNED_BUFFERS_H
#define INCLUDED_CUFILTER_LIB_PINNED_BUFFERS_H

#include <gnuradio/block.h>
#include <gnuradio/buffer.h>
#include <vector>

namespace gr {
namespace cufilter {

/* Lets a GPU read and write GNU Radio's own buffers in place, from start() to stop().
 * Neighbours that share a buffer may both register it: the C API counts. The buffers are
 * held here, so that none is unmapped while it is registered. */
class pinned_buffers
{
public:
    pinned_buffers() = default;
    pinned_buffers(const pinned_buffers&) = delete;
    pinned_buffers& operator=(const pinned_buffers&) = delete;
    ~pinned_buffers() { release(); }

    /* All input and output buffers of `block`; nothing on the CPU. A refusal is no error:
     * the core then stages through memory of its own, and `log` says so at debug level.
     */
    void acquire(block& block, int device, gr::logger& log);
    void release();

private:
    bool add(const buffer_sptr& buffer);

    int d_device = -1;
    std::vector<buffer_sptr> d_buffers;
};

} // namespace cufilter
} // namespace gr

#endif
