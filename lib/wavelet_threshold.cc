/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks wavelet_threshold_{ff,cc}. */
#include "core_block.h"
#include "dwt_engine.h"
#include "host_engine.h"
#include "tap_messages.h"
#include <gnuradio/cufilter/wavelet_threshold.h>
#include <gnuradio/io_signature.h>
#include <atomic>
#include <stdexcept>

namespace gr {
namespace cufilter {

namespace {

template <class T>
constexpr bool real_items = sizeof(T) == sizeof(float);

template <class T>
class threshold_impl final : public core_block<wavelet_threshold<T>, host_engine>
{
public:
    threshold_impl(const std::string& block, cufilter_dwt_threshold_kind kind,
                   float threshold, int vlen, int device, int batch_items)
        : gr::sync_block(block, gr::io_signature::make(1, 1, vlen * sizeof(T)),
                         gr::io_signature::make(1, 1, vlen * sizeof(T))),
          core_block<wavelet_threshold<T>, host_engine>(block, batch_items, 1, 1, block,
                                                        device),
          d_kind(kind),
          d_vlen(static_cast<size_t>(vlen)),
          d_threshold(threshold)
    {
    }

    void set_threshold(float threshold) override
    {
        d_threshold = dwt_checked_threshold(threshold, this->name());
    }
    float threshold() const override { return d_threshold; }

    int work(int noutput_items, gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override
    {
        return this->guarded([&] {
            check_status(cufilter_dwt_threshold(
                             d_kind, d_threshold,
                             real_items<T> ? CUFILTER_DWT_F32 : CUFILTER_DWT_C64,
                             input_items[0], output_items[0],
                             static_cast<size_t>(noutput_items) * d_vlen),
                         this->name());
            return noutput_items;
        });
    }

private:
    void obey(const pmt::pmt_t& message) override
    {
        this->attempt([&] {
            set_threshold(static_cast<float>(read_number(message, "threshold")));
        });
    }

    const cufilter_dwt_threshold_kind d_kind;
    const size_t d_vlen;
    std::atomic<float> d_threshold;
};

} // namespace

template <class T>
typename wavelet_threshold<T>::sptr
wavelet_threshold<T>::make(float threshold, const std::string& kind, int vlen, int device,
                           int batch_items)
{
    const std::string block =
        std::string("wavelet_threshold") + (real_items<T> ? "_ff" : "_cc");
    if (vlen < 1 || vlen > 1 << 27)
        throw std::invalid_argument(block + ": vlen must be 1 .. 2^27, not " +
                                    std::to_string(vlen));
    return gnuradio::make_block_sptr<threshold_impl<T>>(
        block, dwt_threshold_kind(kind, block), dwt_checked_threshold(threshold, block),
        vlen, device, batch_items);
}

template class wavelet_threshold<float>;
template class wavelet_threshold<gr_complex>;

} // namespace cufilter
} // namespace gr
