/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks sos_filter_{ff,cc}. */
#include "iir_block.h"
#include <gnuradio/cufilter/sos_filter.h>
#include <atomic>

namespace gr {
namespace cufilter {

namespace {

template <class ITEM>
class sos_filter_impl final : public iir_block<sos_filter<ITEM>>
{
public:
    sos_filter_impl(const iir_settings& settings, const sos_matrix& sos)
        : gr::sync_block(settings.block, iir_signature<ITEM>(settings),
                         iir_signature<ITEM>(settings)),
          iir_block<sos_filter<ITEM>>(settings, sos),
          d_nthreads(settings.n_threads),
          d_sos(sos)
    {
    }

    void set_sos(const sos_matrix& sos, bool keep_state) override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        this->engine().set_sos(sos, keep_state);
        d_sos = sos;
    }

    sos_matrix sos() const override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        return d_sos;
    }

    void set_nthreads(int n) override
    {
        this->engine().set_threads(n);
        d_nthreads = n;
    }
    int nthreads() const override { return d_nthreads; }

private:
    const char* key() const override { return "sos"; }

    void change(const pmt::pmt_t& command) override
    {
        sos_matrix sos;
        read_sos(command, sos);
        set_sos(sos, read_flag(command, "keep_state", true));
    }

    std::atomic<int> d_nthreads;
    mutable std::mutex d_mutex;
    sos_matrix d_sos;
};

template <class ITEM>
constexpr const char* block_name = nullptr;
template <>
constexpr const char* block_name<float> = "sos_filter_ff";
template <>
constexpr const char* block_name<gr_complex> = "sos_filter_cc";

} // namespace

template <class ITEM>
typename sos_filter<ITEM>::sptr
sos_filter<ITEM>::make(const std::vector<std::vector<double>>& sos, unsigned int vlen,
                       bool steady_start, int nthreads, int device, int batch_items)
{
    return gnuradio::make_block_sptr<sos_filter_impl<ITEM>>(
        iir_settings_for<ITEM>(block_name<ITEM>, vlen, device, batch_items, steady_start,
                               nthreads),
        sos);
}

template class sos_filter<float>;
template class sos_filter<gr_complex>;

} // namespace cufilter
} // namespace gr
