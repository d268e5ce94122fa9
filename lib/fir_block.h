/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all FIR blocks share: INTERFACE implemented on the C core. */
#ifndef INCLUDED_CUFILTER_LIB_FIR_BLOCK_H
#define INCLUDED_CUFILTER_LIB_FIR_BLOCK_H

#include "core_block.h"
#include "fir_engine.h"
#include "tap_messages.h"
#include <mutex>
#include <vector>

namespace gr {
namespace cufilter {

/* The filter's state lives in the core, not in GNU Radio's history: a change of taps then
 * neither moves the stream nor asks for more input than a buffer holds. */
template <class INTERFACE, class TAP>
class fir_block : public core_block<INTERFACE, fir_engine>
{
public:
    void set_taps(const std::vector<TAP>& taps) override
    {
        std::lock_guard<std::mutex> guard(d_taps_mutex);
        this->engine().set_taps(taps.data(), taps.size());
        d_taps = taps;
    }

    std::vector<TAP> taps() const override
    {
        std::lock_guard<std::mutex> guard(d_taps_mutex);
        return d_taps;
    }

    int work(int noutput_items, gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override
    {
        return this->guarded([&] {
            this->engine().process(input_items[0], output_items[0], noutput_items);
            return noutput_items;
        });
    }

protected:
    fir_block(const fir_settings& settings, const std::vector<TAP>& taps)
        : core_block<INTERFACE, fir_engine>(settings.block, settings.batch_items, 1,
                                            settings.decimation, settings, taps.data(),
                                            taps.size()),
          d_taps(taps)
    {
    }

    void set_threads(int n)
    {
        std::lock_guard<std::mutex> guard(d_taps_mutex);
        this->engine().set_threads(n);
        this->engine().set_taps(d_taps.data(), d_taps.size());
    }

private:
    void obey(const pmt::pmt_t& message) override
    {
        this->attempt([&] {
            std::vector<TAP> taps;
            read_taps(message, taps);
            set_taps(taps);
        });
    }

    mutable std::mutex d_taps_mutex;
    std::vector<TAP> d_taps;
};

} // namespace cufilter
} // namespace gr

#endif
