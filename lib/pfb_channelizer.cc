/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks pfb_channelizer_{streams_ccf,vcc}: one stream in. */
#include "pfb_block.h"
#include "status.h"
#include <gnuradio/cufilter/pfb_channel_freqs.h>
#include <gnuradio/cufilter/pfb_channelizer_streams_ccf.h>
#include <gnuradio/cufilter/pfb_channelizer_vcc.h>
#include <gnuradio/io_signature.h>
#include <algorithm>

namespace gr {
namespace cufilter {

namespace {

constexpr int ITEM = sizeof(gr_complex);

/* Every call takes whole frames, so the core never holds a part of one. */
template <class INTERFACE>
class serial_channelizer : public pfb_block<INTERFACE, pfb_engine>
{
public:
    int work(int noutput_items, gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override
    {
        const size_t n = static_cast<size_t>(noutput_items);
        return this->guarded([&] {
            this->engine().process(input_items[0], n * this->d_settings.decimation,
                                   frames(output_items, n));
            return noutput_items;
        });
    }

protected:
    serial_channelizer(const pfb_settings& settings, const std::vector<float>& taps,
                       const std::vector<int>& map)
        : pfb_block<INTERFACE, pfb_engine>(settings, taps, map, 1, settings.decimation)
    {
    }

    virtual cufilter_pfb_frames frames(gr_vector_void_star& output_items, size_t n) = 0;
};

class streams_impl final : public serial_channelizer<pfb_channelizer_streams_ccf>
{
public:
    streams_impl(const pfb_settings& settings, const std::vector<float>& taps)
        : gr::sync_decimator(settings.block, gr::io_signature::make(1, 1, ITEM),
                             gr::io_signature::make(1, settings.n_channels, ITEM),
                             static_cast<unsigned>(settings.decimation)),
          serial_channelizer<pfb_channelizer_streams_ccf>(settings, taps, {})
    {
    }

    bool check_topology(int ninputs, int noutputs) override
    {
        connected(noutputs);
        return pfb_block::check_topology(ninputs, noutputs);
    }

private:
    cufilter_pfb_frames frames(gr_vector_void_star& output_items, size_t n) override
    {
        return {CUFILTER_PFB_PORTS, nullptr, output_items.data(), 0, n};
    }
};

class vcc_impl final : public serial_channelizer<pfb_channelizer_vcc>
{
public:
    vcc_impl(const pfb_settings& settings, const std::vector<float>& taps,
             const std::vector<int>& map)
        : gr::sync_decimator(settings.block, gr::io_signature::make(1, 1, ITEM),
                             gr::io_signature::make(1, 1, vector_size(settings, map)),
                             static_cast<unsigned>(settings.decimation)),
          serial_channelizer<pfb_channelizer_vcc>(settings, taps, map)
    {
    }

    /* The length of the map is the length of the vectors. */
    void set_channel_map(const std::vector<int>& map) override
    {
        const size_t n = this->channel_map().size();
        if (!map.empty() && map.size() != n)
            throw std::invalid_argument(
                d_settings.block + ": the channel map must keep its " +
                std::to_string(n) + " entries, not have " + std::to_string(map.size()));
        serial_channelizer<pfb_channelizer_vcc>::set_channel_map(map);
    }

private:
    static int vector_size(const pfb_settings& settings, const std::vector<int>& map)
    {
        pfb_check_map(map, settings);
        return ITEM * (map.empty() ? settings.n_channels : static_cast<int>(map.size()));
    }

    cufilter_pfb_frames frames(gr_vector_void_star& output_items, size_t n) override
    {
        return {CUFILTER_PFB_TIME_MAJOR, output_items[0], nullptr, 0, n};
    }
};

} // namespace

pfb_channelizer_streams_ccf::sptr
pfb_channelizer_streams_ccf::make(int numchans, const std::vector<float>& taps,
                                  double oversample_rate, int device, int batch_items)
{
    return gnuradio::make_block_sptr<streams_impl>(
        channelizer_settings("pfb_channelizer_streams_ccf", numchans, oversample_rate,
                             device, batch_items),
        taps);
}

pfb_channelizer_vcc::sptr pfb_channelizer_vcc::make(int numchans,
                                                    const std::vector<float>& taps,
                                                    double oversample_rate,
                                                    const std::vector<int>& channel_map,
                                                    int device, int batch_items)
{
    return gnuradio::make_block_sptr<vcc_impl>(
        channelizer_settings("pfb_channelizer_vcc", numchans, oversample_rate, device,
                             batch_items),
        taps, channel_map);
}

std::vector<double> pfb_channel_freqs(int numchans, double samp_rate, double center)
{
    std::vector<double> frequencies(std::max(numchans, 0));
    check_status(cufilter_pfb_channel_frequencies(frequencies.size(), samp_rate, center,
                                                  frequencies.data()),
                 "channel_freqs");
    return frequencies;
}

} // namespace cufilter
} // namespace gr
