/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The block wvps_ff. */
#include "core_block.h"
#include "host_engine.h"
#include <gnuradio/cufilter/wvps_ff.h>
#include <gnuradio/io_signature.h>
#include <algorithm>
#include <stdexcept>

namespace gr {
namespace cufilter {

namespace {

int levels_of(int ilen)
{
    if (ilen < 2 || ilen > 1 << 29)
        throw std::invalid_argument("wvps_ff: ilen must be 2 .. 2^29, not " +
                                    std::to_string(ilen));
    int levels = 1;
    while (1 << levels < ilen)
        ++levels;
    return levels;
}

class wvps_impl final : public engine_block<wvps_ff, host_engine>
{
public:
    wvps_impl(int ilen, int levels, int device, int batch_items)
        : gr::sync_block("wvps_ff", gr::io_signature::make(1, 1, ilen * sizeof(float)),
                         gr::io_signature::make(1, 1, levels * sizeof(float))),
          engine_block<wvps_ff, host_engine>("wvps_ff", batch_items, 1, 1, "wvps_ff",
                                             device),
          d_length(ilen),
          d_levels(levels)
    {
    }

    int work(int noutput_items, gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override
    {
        const float* in = static_cast<const float*>(input_items[0]);
        float* out = static_cast<float*>(output_items[0]);
        for (int i = 0; i < noutput_items; i++, in += d_length, out += d_levels)
            spectrum(in, out);
        return noutput_items;
    }

private:
    void spectrum(const float* x, float* y) const
    {
        const double scale = double(x[0]) * double(x[0]);
        for (size_t e = 0; e < d_levels; e++) {
            double sum = 0;
            for (size_t k = size_t{1} << e; k < std::min(size_t{2} << e, d_length); k++)
                sum += double(x[k]) * double(x[k]);
            y[e] = x[0] == 0 ? 0.0f : static_cast<float>(sum / scale);
        }
    }

    const size_t d_length, d_levels;
};

} // namespace

wvps_ff::sptr wvps_ff::make(int ilen, int device, int batch_items)
{
    return gnuradio::make_block_sptr<wvps_impl>(ilen, levels_of(ilen), device,
                                                batch_items);
}

} // namespace cufilter
} // namespace gr
