/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks freq_xlating_fir_filter_{ccc,ccf,fcc,fcf,scc,scf} and
 * freq_xlating_fft_filter_ccc: a FIR filter moved up to the frequency, then its output
 * moved down. */
#include "core_block.h"
#include "fir_engine.h"
#include "phase_rotator.h"
#include "status.h"
#include "tap_messages.h"
#include <gnuradio/cufilter/freq_xlating_fft_filter_ccc.h>
#include <gnuradio/cufilter/freq_xlating_fir_filter.h>
#include <gnuradio/io_signature.h>
#include <atomic>
#include <cmath>
#include <mutex>
#include <stdexcept>

namespace gr {
namespace cufilter {

namespace {

template <class TAP>
struct xlating_setup {
    std::vector<TAP> taps;
    double center_freq;
    double sampling_freq;

    long double turns() const { return (long double)center_freq / sampling_freq; }
};

void require(bool condition, const std::string& block, const std::string& rule)
{
    if (!condition)
        throw std::invalid_argument(block + ": " + rule);
}

template <class TAP>
const std::vector<TAP>& checked_taps(const std::vector<TAP>& taps,
                                     const std::string& block)
{
    require(taps.size() >= 1 && taps.size() <= CUFILTER_FIR_MAX_TAPS, block,
            "number of taps must be 1 .. " + std::to_string(CUFILTER_FIR_MAX_TAPS) +
                ", not " + std::to_string(taps.size()));
    for (size_t i = 0; i < taps.size(); i++)
        require(std::isfinite(std::abs(taps[i])), block,
                "taps must be finite, but taps[" + std::to_string(i) + "] is not");
    return taps;
}

double checked_frequency(double center_freq, const std::string& block)
{
    require(std::isfinite(center_freq), block,
            "center_freq must be finite, not " + std::to_string(center_freq));
    return center_freq;
}

template <class TAP>
xlating_setup<TAP> checked(xlating_setup<TAP> setup, const std::string& block)
{
    checked_taps(setup.taps, block);
    checked_frequency(setup.center_freq, block);
    require(std::isfinite(setup.sampling_freq) && setup.sampling_freq > 0, block,
            "the sampling frequency must be finite and above 0, not " +
                std::to_string(setup.sampling_freq));
    return setup;
}

/* taps[k] e^{+j w k} */
template <class TAP>
std::vector<gr_complex> moved_up(const xlating_setup<TAP>& setup)
{
    const uint64_t step = phase_of(setup.turns());
    std::vector<gr_complex> moved(setup.taps.size());
    for (size_t k = 0; k < moved.size(); k++)
        moved[k] = gr_complex(std::complex<double>(setup.taps[k]) * unit_at(k * step));
    return moved;
}

/* FIR: as freq_xlating_fir_filter, with the phase of the filter's middle and with tags.
 */
template <class INTERFACE, class IN, class TAP, bool FIR>
class xlating_block : public core_block<INTERFACE, fir_engine>
{
public:
    void set_center_freq(double center_freq) override
    {
        checked_frequency(center_freq, d_block);
        change([&] { d_next.center_freq = center_freq; });
    }

    double center_freq() const override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        return d_next.center_freq;
    }

    void set_taps(const std::vector<TAP>& taps) override
    {
        checked_taps(taps, d_block);
        change([&] { d_next.taps = taps; });
    }

    std::vector<TAP> taps() const override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        return d_next.taps;
    }

    int work(int noutput_items, gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override
    {
        return this->guarded([&] {
            adopt();
            this->engine().process(input_items[0], output_items[0], noutput_items);
            d_rotator.rotate(static_cast<gr_complex*>(output_items[0]), noutput_items);
            return noutput_items;
        });
    }

protected:
    xlating_block(const fir_settings& settings, const xlating_setup<TAP>& setup)
        : xlating_block(settings, checked(setup, settings.block), moved_up(setup))
    {
    }

    /* Before the next work(), in its thread: so that filter and turning change at the
     * same item. */
    template <class ACTION>
    void change(ACTION action)
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        action();
        d_changed = true;
    }

    virtual void adopt_more() {}

private:
    xlating_block(const fir_settings& settings, const xlating_setup<TAP>& setup,
                  const std::vector<gr_complex>& taps)
        : core_block<INTERFACE, fir_engine>(settings.block, settings.batch_items, 1,
                                            settings.decimation, settings, taps.data(),
                                            taps.size()),
          d_block(settings.block),
          d_next(setup)
    {
        turn(0, setup);
        if (!FIR)
            return;
        const pmt::pmt_t port = pmt::intern("freq");
        this->message_port_register_in(port);
        this->set_msg_handler(port, [this](const pmt::pmt_t& m) { tune(m); });
    }

    void turn(long double before, const xlating_setup<TAP>& setup)
    {
        const long double turns = setup.turns(), half = (setup.taps.size() - 1) / 2.0L;
        d_rotator.set_step(phase_of(-turns * this->decimation()));
        if (FIR)
            d_rotator.add_phase(phase_of(-(turns - before) * half));
        d_turns = turns;
    }

    void adopt()
    {
        xlating_setup<TAP> setup;
        {
            std::lock_guard<std::mutex> guard(d_mutex);
            if (!d_changed)
                return;
            d_changed = false;
            setup = d_next;
        }
        adopt_more();
        const std::vector<gr_complex> taps = moved_up(setup);
        this->engine().set_taps(taps.data(), taps.size());
        turn(d_turns, setup);
        if (FIR)
            this->add_item_tag(0, this->nitems_written(0), pmt::intern("freq"),
                               pmt::from_double(setup.center_freq), this->alias_pmt());
    }

    /* Stock takes any pair with a number. */
    void tune(const pmt::pmt_t& message)
    {
        const bool pair = pmt::is_pair(message) && pmt::is_number(pmt::cdr(message));
        const pmt::pmt_t command =
            pair ? pmt::cons(pmt::intern("freq"), pmt::cdr(message)) : message;
        this->attempt([&] { set_center_freq(read_number(command, "freq")); }, "freq");
    }

    void obey(const pmt::pmt_t& message) override
    {
        const bool tuning = has_key(message, "freq");
        if (tuning)
            this->attempt([&] { set_center_freq(read_number(message, "freq")); });
        if (tuning && !has_key(message, "taps"))
            return;
        this->attempt([&] {
            std::vector<TAP> taps;
            read_taps(message, taps);
            set_taps(taps);
        });
    }

    const std::string d_block;
    mutable std::mutex d_mutex; /* of d_next and d_changed */
    xlating_setup<TAP> d_next;
    bool d_changed = false;
    phase_rotator d_rotator;
    long double d_turns = 0; /* in use, of an input item */
};

template <class INTERFACE, class IN, class TAP>
class xlating_fir final : public xlating_block<INTERFACE, IN, TAP, true>
{
public:
    xlating_fir(const fir_settings& settings, const xlating_setup<TAP>& setup)
        : gr::sync_decimator(settings.block, gr::io_signature::make(1, 1, sizeof(IN)),
                             gr::io_signature::make(1, 1, sizeof(gr_complex)),
                             checked_decimation(settings.decimation, settings.block)),
          xlating_block<INTERFACE, IN, TAP, true>(settings, setup)
    {
    }
};

using fft_block =
    xlating_block<freq_xlating_fft_filter_ccc, gr_complex, gr_complex, false>;

class xlating_fft final : public fft_block
{
public:
    xlating_fft(const fir_settings& settings, const xlating_setup<gr_complex>& setup)
        : gr::sync_decimator(settings.block,
                             gr::io_signature::make(1, 1, sizeof(gr_complex)),
                             gr::io_signature::make(1, 1, sizeof(gr_complex)),
                             checked_decimation(settings.decimation, settings.block)),
          fft_block(settings, setup),
          d_name(settings.block),
          d_nthreads(settings.n_threads)
    {
    }

    void set_nthreads(int n) override
    {
        require(n >= 1, d_name, "nthreads must be at least 1, not " + std::to_string(n));
        change([&] { d_nthreads = n; });
    }
    int nthreads() const override { return d_nthreads; }

private:
    void adopt_more() override { engine().set_threads(d_nthreads); }

    const std::string d_name;
    std::atomic<int> d_nthreads;
};

/* Name and core type of each combination; the name is GNU Radio's. */
template <class BLOCK>
struct kind;
#define CUFILTER_KIND(suffix, core)                                                      \
    template <>                                                                          \
    struct kind<freq_xlating_fir_filter_##suffix> {                                      \
        static constexpr const char* name = "freq_xlating_fir_filter_" #suffix;          \
        static constexpr cufilter_fir_type type = core;                                  \
    };
CUFILTER_KIND(ccc, CUFILTER_FIR_CCC)
CUFILTER_KIND(ccf, CUFILTER_FIR_CCC)
CUFILTER_KIND(fcc, CUFILTER_FIR_FCC)
CUFILTER_KIND(fcf, CUFILTER_FIR_FCC)
CUFILTER_KIND(scc, CUFILTER_FIR_SCC)
CUFILTER_KIND(scf, CUFILTER_FIR_SCC)
#undef CUFILTER_KIND

} // namespace

template <class IN_T, class OUT_T, class TAP_T>
typename freq_xlating_fir_filter<IN_T, OUT_T, TAP_T>::sptr
freq_xlating_fir_filter<IN_T, OUT_T, TAP_T>::make(int decimation,
                                                  const std::vector<TAP_T>& taps,
                                                  double center_freq,
                                                  double sampling_freq, int device,
                                                  int batch_items)
{
    using block = freq_xlating_fir_filter<IN_T, OUT_T, TAP_T>;
    return gnuradio::make_block_sptr<xlating_fir<block, IN_T, TAP_T>>(
        fir_settings{kind<block>::name, kind<block>::type, decimation, 1, device,
                     batch_items},
        xlating_setup<TAP_T>{taps, center_freq, sampling_freq});
}

template class freq_xlating_fir_filter<gr_complex, gr_complex, gr_complex>;
template class freq_xlating_fir_filter<gr_complex, gr_complex, float>;
template class freq_xlating_fir_filter<float, gr_complex, gr_complex>;
template class freq_xlating_fir_filter<float, gr_complex, float>;
template class freq_xlating_fir_filter<std::int16_t, gr_complex, gr_complex>;
template class freq_xlating_fir_filter<std::int16_t, gr_complex, float>;

freq_xlating_fft_filter_ccc::sptr
freq_xlating_fft_filter_ccc::make(int decim, const std::vector<gr_complex>& taps,
                                  double center_freq, double samp_rate, int device,
                                  int batch_items)
{
    return gnuradio::make_block_sptr<xlating_fft>(
        fir_settings{"freq_xlating_fft_filter_ccc", CUFILTER_FIR_CCC, decim, 1, device,
                     batch_items},
        xlating_setup<gr_complex>{taps, center_freq, samp_rate});
}

} // namespace cufilter
} // namespace gr
