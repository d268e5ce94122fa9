/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all FIR blocks share: INTERFACE implemented on the C core. */
#ifndef INCLUDED_CUFILTER_LIB_FIR_BLOCK_H
#define INCLUDED_CUFILTER_LIB_FIR_BLOCK_H

#include "batch_buffers.h"
#include "fir_engine.h"
#include "pinned_buffers.h"
#include "tap_messages.h"
#include <gnuradio/sync_decimator.h>
#include <mutex>
#include <vector>

namespace gr {
namespace cufilter {

/* The filter's state lives in the core, not in GNU Radio's history: a change of taps then
 * neither moves the stream nor asks for more input than a buffer holds. */
template <class INTERFACE, class TAP>
class fir_block : public INTERFACE
{
public:
    void set_taps(const std::vector<TAP>& taps) override
    {
        std::lock_guard<std::mutex> guard(d_taps_mutex);
        d_engine.set_taps(taps.data(), taps.size());
        d_taps = taps;
    }

    std::vector<TAP> taps() const override
    {
        std::lock_guard<std::mutex> guard(d_taps_mutex);
        return d_taps;
    }

    int device() const override { return d_engine.device(); }

    bool start() override
    {
        d_batch.started(*this);
        d_pinned.acquire(*this, d_engine.device(), *this->d_logger);
        return INTERFACE::start();
    }

    bool stop() override
    {
        d_pinned.release();
        d_batch.stopped(*this);
        return INTERFACE::stop();
    }

    int work(int noutput_items, gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override
    {
        try {
            d_engine.process(input_items[0], output_items[0], noutput_items);
        } catch (const std::exception& error) {
            this->d_logger->error("stopped: {:s}", error.what());
            return INTERFACE::WORK_DONE;
        }
        return noutput_items;
    }

protected:
    fir_block(const fir_settings& settings, const std::vector<TAP>& taps)
        : d_engine(settings, taps.data(), taps.size()),
          d_batch(*this, settings.block, settings.batch_items, 1, settings.decimation),
          d_taps(taps)
    {
        const pmt::pmt_t port = pmt::intern("cmd");
        this->message_port_register_in(port);
        this->set_msg_handler(port, [this](const pmt::pmt_t& message) { obey(message); });
    }

    void set_threads(int n)
    {
        std::lock_guard<std::mutex> guard(d_taps_mutex);
        d_engine.set_threads(n);
        d_engine.set_taps(d_taps.data(), d_taps.size());
    }

private:
    void obey(const pmt::pmt_t& message)
    {
        try {
            std::vector<TAP> taps;
            read_taps(message, taps);
            set_taps(taps);
        } catch (const std::exception& error) {
            this->d_logger->warn("message on port cmd ignored: {:s}", error.what());
        }
    }

    fir_engine d_engine;
    batch_buffers d_batch;
    pinned_buffers d_pinned;
    mutable std::mutex d_taps_mutex;
    std::vector<TAP> d_taps;
};

} // namespace cufilter
} // namespace gr

#endif
