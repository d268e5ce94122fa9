/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Large stream buffers around a block, without making it wait for full ones. */
#ifndef INCLUDED_CUFILTER_LIB_BATCH_BUFFERS_H
#define INCLUDED_CUFILTER_LIB_BATCH_BUFFERS_H

#include <gnuradio/block.h>
#include <string>

namespace gr {
namespace cufilter {

/* A block cannot size its neighbour's output buffer, but the runtime does: it makes that
 * one and the block's own large enough for two of the output multiples that the block has
 * while buffers are made. In the running graph a multiple would hold items back and lose
 * the last ones of a finite stream, so there it is what the block has by its nature: 1,
 * or an interpolator's factor. */
class batch_buffers
{
public:
    static constexpr int MAX_ITEMS = 1 << 28; /* of input; the runtime counts in int */

    /* `outputs` items come out of a port for each `inputs` items into one. A batch of 0:
     * GNU Radio's own sizes on the CPU, and room for a GPU's call where one is `device`.
     * std::invalid_argument for a batch below 0 or beyond MAX_ITEMS. */
    batch_buffers(block& block, const std::string& name, int batch_items, int outputs,
                  int inputs, int device);

    /* Another multiple for the running graph; before the block is connected. */
    void set_granule(block& block, int granule);

    /* Before buffers are made: a smaller one that the user set by set_max_output_buffer()
     * on one of n ports goes first, as the runtime refuses less than a multiple. */
    void fit(block& block, int n_ports) const;

    void started(block& block) const;
    void stopped(block& block) const;

private:
    const int d_multiple; /* output items; 0: GNU Radio's own sizes */
    int d_granule;        /* the multiple that the block needs in a running graph */
};

} // namespace cufilter
} // namespace gr

#endif
