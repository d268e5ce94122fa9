/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks fir_filter_{ccc,ccf,fcc,fff,fsf,scc}. */
#include "fir_block.h"
#include "status.h"
#include <gnuradio/cufilter/fir_filter_blk.h>
#include <gnuradio/io_signature.h>

namespace gr {
namespace cufilter {

namespace {

/* Name and core type of each combination; the name is GNU Radio's. */
template <class BLOCK>
struct kind;
#define CUFILTER_KIND(suffix, core)                                                      \
    template <>                                                                          \
    struct kind<fir_filter_##suffix> {                                                   \
        static constexpr const char* name = "fir_filter_" #suffix;                       \
        static constexpr cufilter_fir_type type = core;                                  \
    };
CUFILTER_KIND(ccc, CUFILTER_FIR_CCC)
CUFILTER_KIND(ccf, CUFILTER_FIR_CCF)
CUFILTER_KIND(fcc, CUFILTER_FIR_FCC)
CUFILTER_KIND(fff, CUFILTER_FIR_FFF)
CUFILTER_KIND(fsf, CUFILTER_FIR_FSF)
CUFILTER_KIND(scc, CUFILTER_FIR_SCC)
#undef CUFILTER_KIND

template <class IN_T, class OUT_T, class TAP_T>
class fir_filter_impl final : public fir_block<fir_filter_blk<IN_T, OUT_T, TAP_T>, TAP_T>
{
public:
    fir_filter_impl(const fir_settings& settings, const std::vector<TAP_T>& taps)
        : gr::sync_decimator(settings.block, gr::io_signature::make(1, 1, sizeof(IN_T)),
                             gr::io_signature::make(1, 1, sizeof(OUT_T)),
                             checked_decimation(settings.decimation, settings.block)),
          fir_block<fir_filter_blk<IN_T, OUT_T, TAP_T>, TAP_T>(settings, taps)
    {
    }
};

} // namespace

template <class IN_T, class OUT_T, class TAP_T>
typename fir_filter_blk<IN_T, OUT_T, TAP_T>::sptr
fir_filter_blk<IN_T, OUT_T, TAP_T>::make(int decimation, const std::vector<TAP_T>& taps,
                                         int device, int batch_items)
{
    using block_kind = kind<fir_filter_blk<IN_T, OUT_T, TAP_T>>;
    return gnuradio::make_block_sptr<fir_filter_impl<IN_T, OUT_T, TAP_T>>(
        fir_settings{block_kind::name, block_kind::type, decimation, 1, device,
                     batch_items},
        taps);
}

template class fir_filter_blk<gr_complex, gr_complex, gr_complex>;
template class fir_filter_blk<gr_complex, gr_complex, float>;
template class fir_filter_blk<float, gr_complex, gr_complex>;
template class fir_filter_blk<float, float, float>;
template class fir_filter_blk<float, std::int16_t, float>;
template class fir_filter_blk<std::int16_t, gr_complex, gr_complex>;

} // namespace cufilter
} // namespace gr
