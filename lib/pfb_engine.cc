/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The filter bank handles of the C API as objects that throw. */
#include "pfb_engine.h"
#include "planner_lock.h"
#include "status.h"
#include <algorithm>
#include <stdexcept>
#include <type_traits>

namespace gr {
namespace cufilter {

namespace {

static_assert(std::is_same<int, int32_t>::value, "maps are passed on as they are");

void check_channels(const std::string& block, int n_channels, size_t most)
{
    if (n_channels < 1 || static_cast<size_t>(n_channels) > most)
        throw std::invalid_argument(block + ": number of channels must be 1 .. " +
                                    std::to_string(most) + ", not " +
                                    std::to_string(n_channels));
}

/* An empty vector may have no address, but the core is to complain of the number. */
const float* address(const std::vector<float>& taps)
{
    static const float none = 0.0f;
    return taps.empty() ? &none : taps.data();
}

} // namespace

pfb_settings channelizer_settings(const std::string& block, int n_channels,
                                  double oversampling, int device, int batch_items)
{
    check_channels(block, n_channels, CUFILTER_PFB_MAX_CHANNELS);
    size_t decimation = 0;
    check_status(cufilter_pfb_snap_oversampling(static_cast<size_t>(n_channels),
                                                oversampling, &decimation),
                 block);
    return {block, n_channels, static_cast<int>(decimation), false, device, batch_items};
}

pfb_settings synthesizer_settings(const std::string& block, int n_channels, bool twox,
                                  int device, int batch_items)
{
    check_channels(block, n_channels, CUFILTER_PFB_MAX_CHANNELS / (twox ? 2 : 1));
    return {block, n_channels, n_channels, twox, device, batch_items};
}

/* ------------------------------------------------------------------ channelizer */

pfb_engine::pfb_engine(const pfb_settings& settings, const std::vector<float>& taps,
                       const std::vector<int>& map)
    : d_settings(settings)
{
    use_gnuradio_log();
    open(taps, map, {}, 0);
}

void pfb_engine::open(const std::vector<float>& taps, const std::vector<int>& map,
                      const std::vector<float>& state, uint64_t count)
{
    cufilter_pfb_config config;
    cufilter_pfb_defaults(&config, static_cast<size_t>(d_settings.n_channels));
    config.device = d_settings.device;
    config.decimation = static_cast<size_t>(d_settings.decimation);
    config.taps = address(taps);
    config.n_taps = taps.size();
    config.channel_map = map.data();
    config.n_map = map.size();
    config.initial_state = state.data();
    config.n_state = state.size() / 2;
    config.initial_count = count;

    cufilter_pfb* pfb = nullptr;
    const planner_lock planning;
    check_status(cufilter_pfb_create(&pfb, &config), d_settings.block);
    d_pfb.reset(pfb);
    d_device = cufilter_pfb_get_device(pfb);
}

void pfb_engine::resize(const std::vector<float>& taps, const std::vector<int>& map)
{
    const size_t K = static_cast<size_t>(d_settings.n_channels);
    const uint64_t count = cufilter_pfb_get_count(d_pfb.get());
    /* Longer taps may be waiting for the next call: an empty one brings their history. */
    size_t none = 0;
    check_status(cufilter_pfb_process(d_pfb.get(), nullptr, 0, nullptr, &none),
                 d_settings.block);
    const size_t n = static_cast<size_t>(
        std::min<uint64_t>(count, std::max({K * 32, taps.size() - 1, size_t{65536}})));
    std::vector<float> state(2 * n);
    check_status(cufilter_pfb_get_state(d_pfb.get(), state.data(), n), d_settings.block);
    open(taps, map, state, count);
}

void pfb_engine::set_taps(const std::vector<float>& taps)
{
    check_status(cufilter_pfb_set_taps(d_pfb.get(), address(taps), taps.size()),
                 d_settings.block);
}

void pfb_engine::set_map(const std::vector<int>& map)
{
    check_status(cufilter_pfb_set_channel_map(d_pfb.get(), map.data(), map.size()),
                 d_settings.block);
}

size_t pfb_engine::process(const void* in, size_t n_in, const cufilter_pfb_frames& out)
{
    size_t n_frames = 0;
    check_status(cufilter_pfb_process(d_pfb.get(), in, n_in, &out, &n_frames),
                 d_settings.block);
    return n_frames;
}

size_t pfb_engine::frames_after(size_t n_in) const
{
    return cufilter_pfb_frame_count(d_pfb.get(), n_in);
}

size_t pfb_engine::items_until(size_t n_frames) const
{
    const uint64_t R = static_cast<uint64_t>(d_settings.decimation);
    return n_frames * R - cufilter_pfb_get_count(d_pfb.get()) % R;
}

/* ------------------------------------------------------------------ synthesizer */

pfb_synth_engine::pfb_synth_engine(const pfb_settings& settings,
                                   const std::vector<float>& taps,
                                   const std::vector<int>& map)
    : d_settings(settings)
{
    use_gnuradio_log();
    open(taps, map, {}, 0);
}

void pfb_synth_engine::open(const std::vector<float>& taps, const std::vector<int>& map,
                            const std::vector<float>& state, uint64_t count)
{
    cufilter_pfb_synth_config config;
    const size_t K = static_cast<size_t>(d_settings.n_channels);
    cufilter_pfb_synth_defaults(&config, K, d_settings.twox);
    config.device = d_settings.device;
    config.taps = address(taps);
    config.n_taps = taps.size();
    config.channel_map = map.data();
    config.n_map = map.size();
    config.initial_state = state.data();
    config.n_state = state.size() / (2 * K * (d_settings.twox ? 2 : 1));
    config.initial_count = count;

    cufilter_pfb_synth* synth = nullptr;
    const planner_lock planning;
    check_status(cufilter_pfb_synth_create(&synth, &config), d_settings.block);
    d_synth.reset(synth);
    d_device = cufilter_pfb_synth_get_device(synth);
}

void pfb_synth_engine::resize(const std::vector<float>& taps, const std::vector<int>& map)
{
    const size_t K = static_cast<size_t>(d_settings.n_channels);
    const size_t slots = K * (d_settings.twox ? 2 : 1);
    const uint64_t count = cufilter_pfb_synth_get_count(d_synth.get());
    size_t none = 0;
    check_status(cufilter_pfb_synth_process(d_synth.get(), nullptr, 0, nullptr, 0, &none),
                 d_settings.block);
    const size_t n = static_cast<size_t>(std::min<uint64_t>(
        count, std::max({size_t{32}, (65536 + K - 1) / K, (taps.size() - 1) / K})));
    std::vector<float> state(2 * slots * n);
    check_status(cufilter_pfb_synth_get_state(d_synth.get(), state.data(), n),
                 d_settings.block);
    open(taps, map, state, count);
}

void pfb_synth_engine::set_taps(const std::vector<float>& taps)
{
    check_status(cufilter_pfb_synth_set_taps(d_synth.get(), address(taps), taps.size()),
                 d_settings.block);
}

void pfb_synth_engine::set_map(const std::vector<int>& map)
{
    check_status(
        cufilter_pfb_synth_set_channel_map(d_synth.get(), map.data(), map.size()),
        d_settings.block);
}

void pfb_synth_engine::process(const cufilter_pfb_frames& in, size_t n_frames, void* out)
{
    const size_t n_out = n_frames * static_cast<size_t>(d_settings.n_channels);
    size_t written = 0;
    check_status(
        cufilter_pfb_synth_process(d_synth.get(), &in, n_frames, out, n_out, &written),
        d_settings.block);
    if (written != n_out)
        throw std::logic_error(d_settings.block + ": " + std::to_string(written) +
                               " items written, " + std::to_string(n_out) + " expected");
}

} // namespace cufilter
} // namespace gr
