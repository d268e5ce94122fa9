/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks single_pole_iir_filter_{ff,cc}. */
#include "iir_block.h"
#include <gnuradio/cufilter/single_pole_iir_filter_blk.h>
#include <cmath>

namespace gr {
namespace cufilter {

namespace {

double checked_alpha(double alpha, const std::string& block)
{
    if (!(alpha >= 0.0 && alpha <= 1.0))
        throw std::out_of_range(block + ": alpha must be in [0, 1], not " +
                                std::to_string(alpha));
    return alpha;
}

sos_matrix section(double alpha)
{
    return {{alpha, 0.0, 0.0, 1.0, alpha - 1.0, 0.0}};
}

/* The core's state of a section is z1 = (1 - alpha) y[n-1] and z2 = 0. */
template <class ITEM>
class single_pole_impl final : public iir_block<single_pole_iir_filter_blk<ITEM>>
{
    using base = iir_block<single_pole_iir_filter_blk<ITEM>>;

public:
    single_pole_impl(const iir_settings& settings, double alpha)
        : gr::sync_block(settings.block, iir_signature<ITEM>(settings),
                         iir_signature<ITEM>(settings)),
          base(settings, section(checked_alpha(alpha, settings.block))),
          d_block(settings.block),
          d_alpha(alpha),
          d_alpha_in_use(alpha),
          d_last(settings.vlen * sizeof(ITEM) / sizeof(float))
    {
    }

    void set_taps(double alpha) override { d_alpha = checked_alpha(alpha, d_block); }
    double alpha() const override { return d_alpha; }

private:
    const char* key() const override { return "alpha"; }

    void change(const pmt::pmt_t& command) override
    {
        set_taps(read_number(command, "alpha"));
    }

    void filter(const void* in, void* out, size_t n) override
    {
        adopt(d_alpha);
        base::filter(in, out, n);
        if (d_alpha_in_use == 1.0 && n != 0)
            remember(static_cast<const float*>(out) + (n - 1) * d_last.size());
    }

    /* From the old alpha to another one, y[n-1] as it is. With alpha = 1 there is no
     * state, and y[n-1] is x[n-1]. */
    void adopt(double alpha)
    {
        if (alpha == d_alpha_in_use)
            return;
        std::vector<double> state = this->engine().state();
        for (size_t i = 0; i < d_last.size(); i++) {
            const double y =
                d_alpha_in_use < 1.0 ? state[i] / (1.0 - d_alpha_in_use) : d_last[i];
            state[i] = (1.0 - alpha) * y;
        }
        this->engine().set_sos(section(alpha), true);
        this->engine().set_state(state);
        d_alpha_in_use = alpha;
    }

    void remember(const float* item)
    {
        for (size_t i = 0; i < d_last.size(); i++)
            d_last[i] = std::isfinite(item[i]) ? item[i] : 0.0f;
    }

    const std::string d_block;
    std::atomic<double> d_alpha;
    double d_alpha_in_use;
    std::vector<float> d_last; /* y[n-1], where alpha is 1 */
};

template <class ITEM>
constexpr const char* block_name = nullptr;
template <>
constexpr const char* block_name<float> = "single_pole_iir_filter_ff";
template <>
constexpr const char* block_name<gr_complex> = "single_pole_iir_filter_cc";

} // namespace

template <class ITEM>
typename single_pole_iir_filter_blk<ITEM>::sptr
single_pole_iir_filter_blk<ITEM>::make(double alpha, unsigned int vlen, int device,
                                       int batch_items)
{
    return gnuradio::make_block_sptr<single_pole_impl<ITEM>>(
        iir_settings_for<ITEM>(block_name<ITEM>, vlen, device, batch_items), alpha);
}

template class single_pole_iir_filter_blk<float>;
template class single_pole_iir_filter_blk<gr_complex>;

} // namespace cufilter
} // namespace gr
