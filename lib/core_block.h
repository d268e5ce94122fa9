/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all blocks share: INTERFACE implemented on an ENGINE of a C core. */
#ifndef INCLUDED_CUFILTER_LIB_CORE_BLOCK_H
#define INCLUDED_CUFILTER_LIB_CORE_BLOCK_H

#include "batch_buffers.h"
#include "pinned_buffers.h"
#include <gnuradio/block.h>
#include <pmt/pmt.h>
#include <string>
#include <utility>

namespace gr {
namespace cufilter {

/* The engine and the buffers around the block. */
template <class INTERFACE, class ENGINE>
class engine_block : public INTERFACE
{
public:
    int device() const override { return d_engine.device(); }

    bool check_topology(int n_inputs, int n_outputs) override
    {
        d_batch.fit(*this, n_outputs);
        return INTERFACE::check_topology(n_inputs, n_outputs);
    }

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

protected:
    /* `outputs` items come out of a port for each `inputs` items into one; the rest is
     * what the engine is made of. */
    template <class... ARGUMENTS>
    engine_block(const std::string& name, int batch_items, int outputs, int inputs,
                 ARGUMENTS&&... arguments)
        : d_engine(std::forward<ARGUMENTS>(arguments)...),
          d_batch(*this, name, batch_items, outputs, inputs, d_engine.device())
    {
    }

    ENGINE& engine() { return d_engine; }
    const ENGINE& engine() const { return d_engine; }

    /* Output items come in multiples of n. For constructors. */
    void require_multiple(int n) { d_batch.set_granule(*this, n); }

    /* What work() does and returns; a failure ends the flowgraph, with its text in the
     * log. */
    template <class ACTION>
    int guarded(ACTION action)
    {
        try {
            return action();
        } catch (const std::exception& error) {
            this->d_logger->error("stopped: {:s}", error.what());
            return INTERFACE::WORK_DONE;
        }
    }

private:
    ENGINE d_engine;
    batch_buffers d_batch;
    pinned_buffers d_pinned;
};

/* The same with the message port "cmd". */
template <class INTERFACE, class ENGINE>
class core_block : public engine_block<INTERFACE, ENGINE>
{
protected:
    template <class... ARGUMENTS>
    core_block(const std::string& name, int batch_items, int outputs, int inputs,
               ARGUMENTS&&... arguments)
        : engine_block<INTERFACE, ENGINE>(name, batch_items, outputs, inputs,
                                          std::forward<ARGUMENTS>(arguments)...)
    {
        const pmt::pmt_t port = pmt::intern("cmd");
        this->message_port_register_in(port);
        this->set_msg_handler(port, [this](const pmt::pmt_t& message) { obey(message); });
    }

    /* A message on the port. */
    virtual void obey(const pmt::pmt_t& message) = 0;

    /* What a message asks for; a failure is one warning and changes nothing. */
    template <class ACTION>
    void attempt(ACTION action, const char* port = "cmd")
    {
        try {
            action();
        } catch (const std::exception& error) {
            this->d_logger->warn("message on port {:s} ignored: {:s}", port,
                                 error.what());
        }
    }
};

} // namespace cufilter
} // namespace gr

#endif
