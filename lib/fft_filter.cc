/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks fft_filter_{ccc,ccf,fff}. */
#include "fir_block.h"
#include "status.h"
#include <gnuradio/cufilter/fft_filter_ccc.h>
#include <gnuradio/cufilter/fft_filter_ccf.h>
#include <gnuradio/cufilter/fft_filter_fff.h>
#include <gnuradio/io_signature.h>
#include <atomic>

namespace gr {
namespace cufilter {

namespace {

template <class INTERFACE, class ITEM, class TAP>
class fft_filter_impl final : public fir_block<INTERFACE, TAP>
{
public:
    fft_filter_impl(const fir_settings& settings, const std::vector<TAP>& taps)
        : gr::sync_decimator(settings.block, gr::io_signature::make(1, 1, sizeof(ITEM)),
                             gr::io_signature::make(1, 1, sizeof(ITEM)),
                             checked_decimation(settings.decimation, settings.block)),
          fir_block<INTERFACE, TAP>(settings, taps),
          d_nthreads(settings.n_threads)
    {
    }

    void set_nthreads(int n) override
    {
        this->set_threads(n);
        d_nthreads = n;
    }
    int nthreads() const override { return d_nthreads; }

private:
    std::atomic<int> d_nthreads;
};

} // namespace

fft_filter_ccc::sptr fft_filter_ccc::make(int decimation,
                                          const std::vector<gr_complex>& taps,
                                          int nthreads, int device, int batch_items)
{
    return gnuradio::make_block_sptr<
        fft_filter_impl<fft_filter_ccc, gr_complex, gr_complex>>(
        fir_settings{"fft_filter_ccc", CUFILTER_FIR_CCC, decimation, nthreads, device,
                     batch_items},
        taps);
}

fft_filter_ccf::sptr fft_filter_ccf::make(int decimation, const std::vector<float>& taps,
                                          int nthreads, int device, int batch_items)
{
    return gnuradio::make_block_sptr<fft_filter_impl<fft_filter_ccf, gr_complex, float>>(
        fir_settings{"fft_filter_ccf", CUFILTER_FIR_CCF, decimation, nthreads, device,
                     batch_items},
        taps);
}

fft_filter_fff::sptr fft_filter_fff::make(int decimation, const std::vector<float>& taps,
                                          int nthreads, int device, int batch_items)
{
    return gnuradio::make_block_sptr<fft_filter_impl<fft_filter_fff, float, float>>(
        fir_settings{"fft_filter_fff", CUFILTER_FIR_FFF, decimation, nthreads, device,
                     batch_items},
        taps);
}

} // namespace cufilter
} // namespace gr
