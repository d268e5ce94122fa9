/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all filter bank blocks share: INTERFACE implemented on an engine of the C core. */
#ifndef INCLUDED_CUFILTER_LIB_PFB_BLOCK_H
#define INCLUDED_CUFILTER_LIB_PFB_BLOCK_H

#include "core_block.h"
#include "pfb_engine.h"
#include "pfb_tables.h"
#include "tap_messages.h"
#include <mutex>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace gr {
namespace cufilter {

/* The map may be longer than the ports that are connected: those beyond them are not
 * computed. The number of ports is known once a flowgraph has been put together, and the
 * engine is made for it then. */
template <class INTERFACE, class ENGINE>
class pfb_block : public core_block<INTERFACE, ENGINE>
{
public:
    void set_taps(const std::vector<float>& taps) override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        this->engine().set_taps(usable_taps(taps));
        d_taps = taps;
    }

    std::vector<std::vector<float>> taps() const override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        return pfb_branches(d_taps, d_settings.n_channels, d_settings.twox);
    }

    void print_taps() override { pfb_print(taps()); }

    void set_channel_map(const std::vector<int>& map) override
    {
        if (map.empty())
            return; /* as stock does: GRC's default */
        std::lock_guard<std::mutex> guard(d_mutex);
        pfb_check_map(map, d_settings);
        if (d_ports_known)
            adapt(map, d_n_ports);
        else
            adapt(map, map.size());
        d_map = map;
    }

    std::vector<int> channel_map() const override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        return d_map;
    }

protected:
    /* `outputs` items come out of a port for each `inputs` items into one. */
    pfb_block(const pfb_settings& settings, const std::vector<float>& taps,
              const std::vector<int>& map, int outputs, int inputs)
        : core_block<INTERFACE, ENGINE>(settings.block, settings.batch_items, outputs,
                                        inputs, settings, usable_taps(taps),
                                        map.empty() ? pfb_identity(settings) : map),
          d_settings(settings),
          d_taps(taps),
          d_map(map.empty() ? pfb_identity(settings) : map),
          d_n_ports(d_map.size())
    {
    }

    /* From check_topology(): no thread of the flowgraph runs. */
    void connected(int n_ports)
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        adapt(d_map, static_cast<size_t>(n_ports));
        d_ports_known = true;
    }

    const pfb_settings d_settings;

private:
    /* The core wants a tap; stock's synthesizer takes none and is silent. */
    static std::vector<float> usable_taps(const std::vector<float>& taps)
    {
        const bool synthesizer = std::is_same<ENGINE, pfb_synth_engine>::value;
        return taps.empty() && synthesizer ? std::vector<float>{0.0f} : taps;
    }

    void adapt(const std::vector<int>& map, size_t n_ports)
    {
        if (map.size() < n_ports)
            throw std::invalid_argument(
                d_settings.block +
                ": the channel map must have an entry for each of the " +
                std::to_string(n_ports) + " ports that are connected, not " +
                std::to_string(map.size()));
        const std::vector<int> used(map.begin(), map.begin() + n_ports);
        if (n_ports == d_n_ports)
            this->engine().set_map(used);
        else
            this->engine().resize(usable_taps(d_taps), used);
        d_n_ports = n_ports;
    }

    void obey(const pmt::pmt_t& message) override
    {
        const bool map = has_key(message, "channel_map");
        if (map)
            this->attempt([&] {
                std::vector<int> channels;
                read_channel_map(message, channels);
                set_channel_map(channels);
            });
        if (!map || has_key(message, "taps"))
            this->attempt([&] {
                std::vector<float> values;
                read_taps(message, values);
                set_taps(values);
            });
    }

    mutable std::mutex d_mutex; /* of what follows, but for process() */
    std::vector<float> d_taps;
    std::vector<int> d_map;
    size_t d_n_ports; /* of the engine */
    bool d_ports_known = false;
};

} // namespace cufilter
} // namespace gr

#endif
