/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The filter bank handles of the C API as objects that throw. */
#ifndef INCLUDED_CUFILTER_LIB_PFB_ENGINE_H
#define INCLUDED_CUFILTER_LIB_PFB_ENGINE_H

#include <cufilter/pfb.h>
#include <memory>
#include <string>
#include <vector>

namespace gr {
namespace cufilter {

/* What a filter bank block asks of the core, apart from its taps and map. */
struct pfb_settings {
    std::string block; /* its name, for messages */
    int n_channels;
    int decimation; /* channelizer; synthesizer: n_channels */
    bool twox;      /* synthesizer */
    int device;
    int batch_items;
};

/* With the decimation that a channelizer's oversampling means; std::invalid_argument for
 * an illegal number of channels or ratio. */
pfb_settings channelizer_settings(const std::string& block, int n_channels,
                                  double oversampling, int device, int batch_items);

/* std::invalid_argument for an illegal number of channels. */
pfb_settings synthesizer_settings(const std::string& block, int n_channels, bool twox,
                                  int device, int batch_items);

class pfb_engine
{
public:
    /* One output for each entry of the map. */
    pfb_engine(const pfb_settings& settings, const std::vector<float>& taps,
               const std::vector<int>& map);

    /* Any thread, one at a time. The map keeps its length. */
    void set_taps(const std::vector<float>& taps);
    void set_map(const std::vector<int>& map);

    /* Another number of outputs; the stream goes on as if nothing had happened. Not while
     * process() runs. */
    void resize(const std::vector<float>& taps, const std::vector<int>& map);

    /* Takes n_in items, writes as many frames as are due and gives their number. */
    size_t process(const void* in, size_t n_in, const cufilter_pfb_frames& out);

    /* Frames due after n_in items, and items until n more frames are due. */
    size_t frames_after(size_t n_in) const;
    size_t items_until(size_t n_frames) const;

    int device() const { return d_device; }

private:
    struct destroy {
        void operator()(cufilter_pfb* pfb) const { cufilter_pfb_destroy(pfb); }
    };

    void open(const std::vector<float>& taps, const std::vector<int>& map,
              const std::vector<float>& state, uint64_t count);

    const pfb_settings d_settings;
    std::unique_ptr<cufilter_pfb, destroy> d_pfb;
    int d_device;
};

class pfb_synth_engine
{
public:
    /* One input for each entry of the map. */
    pfb_synth_engine(const pfb_settings& settings, const std::vector<float>& taps,
                     const std::vector<int>& map);

    void set_taps(const std::vector<float>& taps);
    void set_map(const std::vector<int>& map);
    void resize(const std::vector<float>& taps, const std::vector<int>& map);

    /* n_frames items of each port become n_frames * n_channels items. */
    void process(const cufilter_pfb_frames& in, size_t n_frames, void* out);

    int device() const { return d_device; }

private:
    struct destroy {
        void operator()(cufilter_pfb_synth* synth) const
        {
            cufilter_pfb_synth_destroy(synth);
        }
    };

    void open(const std::vector<float>& taps, const std::vector<int>& map,
              const std::vector<float>& state, uint64_t count);

    const pfb_settings d_settings;
    std::unique_ptr<cufilter_pfb_synth, destroy> d_synth;
    int d_device;
};

} // namespace cufilter
} // namespace gr

#endif
