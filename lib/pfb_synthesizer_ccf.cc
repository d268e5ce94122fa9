/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The block pfb_synthesizer_ccf. */
#include "pfb_block.h"
#include <gnuradio/cufilter/pfb_synthesizer_ccf.h>
#include <gnuradio/io_signature.h>

namespace gr {
namespace cufilter {

namespace {

class synthesizer_impl final : public pfb_block<pfb_synthesizer_ccf, pfb_synth_engine>
{
public:
    synthesizer_impl(const pfb_settings& settings, const std::vector<float>& taps)
        : gr::sync_interpolator(
              settings.block,
              gr::io_signature::make(1, settings.n_channels * (settings.twox ? 2 : 1),
                                     sizeof(gr_complex)),
              gr::io_signature::make(1, 1, sizeof(gr_complex)),
              static_cast<unsigned>(settings.n_channels)),
          pfb_block<pfb_synthesizer_ccf, pfb_synth_engine>(settings, taps, {},
                                                           settings.n_channels, 1)
    {
    }

    bool check_topology(int ninputs, int noutputs) override
    {
        connected(ninputs);
        return pfb_block::check_topology(ninputs, noutputs);
    }

    int work(int noutput_items, gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override
    {
        const size_t n = static_cast<size_t>(noutput_items / d_settings.n_channels);
        return guarded([&] {
            engine().process({CUFILTER_PFB_PORTS, nullptr,
                              const_cast<void**>(input_items.data()), 0, n},
                             n, output_items[0]);
            return noutput_items;
        });
    }
};

} // namespace

pfb_synthesizer_ccf::sptr pfb_synthesizer_ccf::make(int numchans,
                                                    const std::vector<float>& taps,
                                                    bool twox, int device,
                                                    int batch_items)
{
    return gnuradio::make_block_sptr<synthesizer_impl>(
        synthesizer_settings("pfb_synthesizer_ccf", numchans, twox, device, batch_items),
        taps);
}

} // namespace cufilter
} // namespace gr
