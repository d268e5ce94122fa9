/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The block wavelet_denoise_ff. */
#include "core_block.h"
#include "dwt_engine.h"
#include "status.h"
#include "tap_messages.h"
#include <gnuradio/cufilter/wavelet_denoise_ff.h>
#include <gnuradio/io_signature.h>
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

namespace gr {
namespace cufilter {

namespace {

class denoise_impl final : public core_block<wavelet_denoise_ff, dwt_engine>
{
public:
    denoise_impl(const dwt_settings& settings, cufilter_dwt_threshold_kind kind,
                 float threshold)
        : gr::sync_block(settings.block,
                         gr::io_signature::make(1, 1, settings.cols * sizeof(float)),
                         gr::io_signature::make(1, 1, settings.cols * sizeof(float))),
          core_block<wavelet_denoise_ff, dwt_engine>(settings.block, settings.batch_items,
                                                     1, 1, settings),
          d_kind(kind),
          d_threshold(dwt_checked_threshold(threshold, settings.block))
    {
    }

    void set_threshold(float threshold) override
    {
        d_threshold = dwt_checked_threshold(threshold, name());
    }
    float threshold() const override { return d_threshold; }
    int levels() const override { return engine().levels(); }

    int work(int noutput_items, gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override
    {
        const float* in = static_cast<const float*>(input_items[0]);
        float* out = static_cast<float*>(output_items[0]);
        const float t = d_threshold;
        return guarded([&] {
            d_coefs.resize(
                std::max(d_coefs.size(), engine().coef_count() * noutput_items));
            engine().forward(in, d_coefs.data(), noutput_items);
            engine().shrink(d_kind, t > 0 ? double{t} : CUFILTER_DWT_UNIVERSAL,
                            d_coefs.data(), noutput_items);
            engine().inverse(d_coefs.data(), out, noutput_items);
            return noutput_items;
        });
    }

private:
    void obey(const pmt::pmt_t& message) override
    {
        attempt([&] {
            set_threshold(static_cast<float>(read_number(message, "threshold")));
        });
    }

    const cufilter_dwt_threshold_kind d_kind;
    std::atomic<float> d_threshold;
    std::vector<float> d_coefs;
};

} // namespace

wavelet_denoise_ff::sptr wavelet_denoise_ff::make(int size, const std::string& wavelet,
                                                  const std::string& mode, int levels,
                                                  const std::string& kind,
                                                  float threshold, int device,
                                                  int batch_items)
{
    const std::string name = "wavelet_denoise_ff";
    if (size < 1)
        throw std::invalid_argument(name + ": size must be at least 1, not " +
                                    std::to_string(size));
    return gnuradio::make_block_sptr<denoise_impl>(
        dwt_settings{name, 0, size, wavelet, mode, levels, device, batch_items},
        dwt_threshold_kind(kind, name), threshold);
}

} // namespace cufilter
} // namespace gr
