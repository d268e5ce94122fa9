/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The block wavelet_ff. */
#include "core_block.h"
#include "dwt_engine.h"
#include <gnuradio/cufilter/wavelet_ff.h>
#include <gnuradio/io_signature.h>
#include <algorithm>
#include <stdexcept>
#include <vector>

namespace gr {
namespace cufilter {

namespace {

dwt_settings settings_of(int size, int order, int device, int batch_items)
{
    const std::string name = "wavelet_ff";
    if (size < 1 || (size & (size - 1)))
        throw std::invalid_argument(name + ": size must be a power of two, not " +
                                    std::to_string(size));
    if (order < 4 || order > 20 || order % 2)
        throw std::invalid_argument(name + ": order must be 4, 6 .. 20, not " +
                                    std::to_string(order));
    int levels = 0;
    while (1 << levels < size)
        ++levels;
    return {name,   0,      size,       "db" + std::to_string(order / 2), "periodization",
            levels, device, batch_items};
}

/* Out of x[0 .. n): x[k], x[k+1] .., x[0] .. x[k-1]. */
void rotate_left(const float* x, size_t n, size_t k, float* out)
{
    std::copy(x + k, x + n, out);
    std::copy(x, x + k, out + n - k);
}

/* The core's windows begin s = order/2 - 1 samples before this block's. A level on x[n+s]
 * makes up for that, and as a shift by 2 k before a level is one by k behind it, all
 * levels' shifts can be done at once: of the vector by s (2^J - 1), of a band by what is
 * too much then. Modulo the lengths, these are -s and s. */
class wavelet_impl final : public engine_block<wavelet_ff, dwt_engine>
{
public:
    wavelet_impl(const dwt_settings& settings, int order, bool forward)
        : gr::sync_block(settings.block,
                         gr::io_signature::make(1, 1, settings.cols * sizeof(float)),
                         gr::io_signature::make(1, 1, settings.cols * sizeof(float))),
          engine_block<wavelet_ff, dwt_engine>(settings.block, settings.batch_items, 1, 1,
                                               settings),
          d_size(settings.cols),
          d_shift(order / 2 - 1),
          d_forward(forward)
    {
    }

    int work(int noutput_items, gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override
    {
        const float* const in = static_cast<const float*>(input_items[0]);
        float* const out = static_cast<float*>(output_items[0]);
        const size_t n = static_cast<size_t>(noutput_items);
        return guarded([&] {
            d_data.resize(std::max(d_data.size(), n * d_size));
            d_coefs.resize(d_data.size());
            if (d_forward) {
                each(n, [&](size_t at) { turn_vector(in + at, &d_data[at], true); });
                engine().forward(d_data.data(), d_coefs.data(), n);
                each(n, [&](size_t at) { turn_bands(&d_coefs[at], out + at, false); });
            } else {
                each(n, [&](size_t at) { turn_bands(in + at, &d_coefs[at], true); });
                engine().inverse(d_coefs.data(), d_data.data(), n);
                each(n, [&](size_t at) { turn_vector(&d_data[at], out + at, false); });
            }
            return noutput_items;
        });
    }

private:
    template <class ACTION>
    void each(size_t n, ACTION action) const
    {
        for (size_t i = 0; i < n; i++)
            action(i * d_size);
    }

    void turn(const float* x, size_t n, bool right, float* out) const
    {
        const size_t k = d_shift % n;
        rotate_left(x, n, right && k ? n - k : k, out);
    }

    void turn_vector(const float* x, float* out, bool right) const
    {
        turn(x, d_size, right, out);
    }

    void turn_bands(const float* coefs, float* out, bool right) const
    {
        out[0] = coefs[0];
        for (size_t n = 1; n < d_size; n *= 2)
            turn(coefs + n, n, right, out + n);
    }

    const size_t d_size, d_shift;
    const bool d_forward;
    std::vector<float> d_data, d_coefs;
};

} // namespace

wavelet_ff::sptr wavelet_ff::make(int size, int order, bool forward, int device,
                                  int batch_items)
{
    return gnuradio::make_block_sptr<wavelet_impl>(
        settings_of(size, order, device, batch_items), order, forward);
}

} // namespace cufilter
} // namespace gr
