/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks iir_filter_{ffd,ccf,ccd,ccz,ccc}. */
#include "iir_block.h"
#include <gnuradio/cufilter/iir_filter_blk.h>
#include <complex>

namespace gr {
namespace cufilter {

namespace {

template <class TAP>
constexpr bool is_complex = !std::is_floating_point<TAP>::value;

template <class TAP>
void append(std::vector<double>& values, TAP tap)
{
    values.push_back(std::real(tap));
    if (is_complex<TAP>)
        values.push_back(std::imag(tap));
}

/* scipy's (b, a): a[0] is 1, and no taps are a zero, or no feedback. */
template <class TAP>
iir_transfer transfer(const std::vector<TAP>& fftaps, const std::vector<TAP>& fbtaps,
                      bool oldstyle)
{
    iir_transfer result{{}, {}, is_complex<TAP>};
    for (const TAP& tap : fftaps)
        append(result.b, tap);
    if (fftaps.empty())
        append(result.b, TAP(0));
    append(result.a, TAP(1));
    for (size_t k = 1; k < fbtaps.size(); k++)
        append(result.a, oldstyle ? -fbtaps[k] : fbtaps[k]);
    return result;
}

template <class ITEM, class TAP>
class iir_filter_impl final : public iir_block<iir_filter_blk<ITEM, TAP>>
{
public:
    iir_filter_impl(const iir_settings& settings, const std::vector<TAP>& fftaps,
                    const std::vector<TAP>& fbtaps, bool oldstyle)
        : gr::sync_block(settings.block, iir_signature<ITEM>(settings),
                         iir_signature<ITEM>(settings)),
          iir_block<iir_filter_blk<ITEM, TAP>>(settings,
                                               transfer(fftaps, fbtaps, oldstyle)),
          d_oldstyle(oldstyle),
          d_fftaps(fftaps),
          d_fbtaps(fbtaps)
    {
    }

    void set_taps(const std::vector<TAP>& fftaps, const std::vector<TAP>& fbtaps) override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        this->engine().set_transfer(transfer(fftaps, fbtaps, d_oldstyle));
        d_fftaps = fftaps;
        d_fbtaps = fbtaps;
    }

    std::vector<TAP> fftaps() const override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        return d_fftaps;
    }

    std::vector<TAP> fbtaps() const override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        return d_fbtaps;
    }

private:
    const char* key() const override { return "fftaps"; }

    void change(const pmt::pmt_t& command) override
    {
        std::vector<TAP> fftaps, fbtaps;
        read_taps(command, fftaps, "fftaps");
        read_taps(command, fbtaps, "fbtaps");
        set_taps(fftaps, fbtaps);
    }

    const bool d_oldstyle;
    mutable std::mutex d_mutex;
    std::vector<TAP> d_fftaps, d_fbtaps;
};

template <class BLOCK>
constexpr const char* block_name = nullptr;
template <>
constexpr const char* block_name<iir_filter_ffd> = "iir_filter_ffd";
template <>
constexpr const char* block_name<iir_filter_ccf> = "iir_filter_ccf";
template <>
constexpr const char* block_name<iir_filter_ccd> = "iir_filter_ccd";
template <>
constexpr const char* block_name<iir_filter_ccz> = "iir_filter_ccz";
template <>
constexpr const char* block_name<iir_filter_ccc> = "iir_filter_ccc";

} // namespace

template <class ITEM, class TAP>
typename iir_filter_blk<ITEM, TAP>::sptr
iir_filter_blk<ITEM, TAP>::make(const std::vector<TAP>& fftaps,
                                const std::vector<TAP>& fbtaps, bool oldstyle, int device,
                                int batch_items)
{
    return gnuradio::make_block_sptr<iir_filter_impl<ITEM, TAP>>(
        iir_settings_for<ITEM>(block_name<iir_filter_blk<ITEM, TAP>>, 1, device,
                               batch_items),
        fftaps, fbtaps, oldstyle);
}

template class iir_filter_blk<float, double>;
template class iir_filter_blk<gr_complex, float>;
template class iir_filter_blk<gr_complex, double>;
template class iir_filter_blk<gr_complex, gr_complexd>;
template class iir_filter_blk<gr_complex, gr_complex>;

} // namespace cufilter
} // namespace gr
