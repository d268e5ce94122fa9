/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all IIR blocks share: INTERFACE implemented on the C core. */
#ifndef INCLUDED_CUFILTER_LIB_IIR_BLOCK_H
#define INCLUDED_CUFILTER_LIB_IIR_BLOCK_H

#include "core_block.h"
#include "iir_engine.h"
#include "tap_messages.h"
#include <gnuradio/gr_complex.h>
#include <gnuradio/io_signature.h>
#include <stdexcept>
#include <type_traits>

namespace gr {
namespace cufilter {

template <class INTERFACE>
class iir_block : public core_block<INTERFACE, iir_engine>
{
public:
    void reset() override { this->engine().reset(); }

    uint64_t recoveries() const override { return this->engine().recoveries(); }

    int work(int noutput_items, gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override
    {
        return this->guarded([&] {
            filter(input_items[0], output_items[0], static_cast<size_t>(noutput_items));
            return noutput_items;
        });
    }

protected:
    template <class COEFFICIENTS>
    iir_block(const iir_settings& settings, const COEFFICIENTS& coefficients)
        : core_block<INTERFACE, iir_engine>(settings.block, settings.batch_items, 1, 1,
                                            settings, coefficients)
    {
    }

    /* n items, in the thread of work(). */
    virtual void filter(const void* in, void* out, size_t n)
    {
        this->engine().process(in, out, n);
    }

    /* A command that should have key(). */
    virtual void change(const pmt::pmt_t& command) = 0;
    virtual const char* key() const = 0;

private:
    void obey(const pmt::pmt_t& message) override
    {
        const bool restart = has_key(message, "reset");
        if (!restart || has_key(message, key()))
            this->attempt([&] { change(message); });
        if (restart)
            reset();
    }
};

/* The settings of a block for items of vlen ITEMs. */
template <class ITEM>
iir_settings iir_settings_for(const std::string& block, unsigned vlen, int device,
                              int batch_items, bool steady_start = false,
                              int n_threads = 1)
{
    if (vlen < 1 || vlen > CUFILTER_IIR_MAX_CHANNELS)
        throw std::invalid_argument(block + ": vlen must be 1 .. " +
                                    std::to_string(CUFILTER_IIR_MAX_CHANNELS) + ", not " +
                                    std::to_string(vlen));
    return {block,       std::is_same<ITEM, gr_complex>::value,
            vlen,        device,
            batch_items, n_threads,
            steady_start};
}

template <class ITEM>
io_signature::sptr iir_signature(const iir_settings& settings)
{
    return io_signature::make(1, 1, static_cast<int>(settings.vlen * sizeof(ITEM)));
}

} // namespace cufilter
} // namespace gr

#endif
