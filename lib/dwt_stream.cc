/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks dwt_stream_{ff,cc} and idwt_stream_{ff,cc}. */
#include "core_block.h"
#include "dwt_stream_engine.h"
#include <gnuradio/cufilter/dwt_stream_blk.h>
#include <gnuradio/io_signature.h>
#include <algorithm>
#include <stdexcept>
#include <vector>

namespace gr {
namespace cufilter {

namespace {

template <class T>
dwt_stream_settings settings_of(const std::string& name, const std::string& wavelet,
                                int levels, int device, int batch_items)
{
    const bool real = sizeof(T) == sizeof(float);
    const std::string block = name + (real ? "_ff" : "_cc");
    if (levels < 1 || levels > CUFILTER_DWT_STREAM_MAX_LEVELS)
        throw std::invalid_argument(block + ": levels must be 1 .. " +
                                    std::to_string(CUFILTER_DWT_STREAM_MAX_LEVELS) +
                                    ", not " + std::to_string(levels));
    return {block,   real ? CUFILTER_DWT_F32 : CUFILTER_DWT_C64,
            wavelet, levels,
            device,  batch_items};
}

template <class T>
class analysis_impl final : public engine_block<dwt_stream<T>, analysis_engine>
{
public:
    explicit analysis_impl(const dwt_stream_settings& s)
        : gr::block(s.block, gr::io_signature::make(1, 1, sizeof(T)),
                    gr::io_signature::make(1, s.levels + 1, sizeof(T))),
          engine_block<dwt_stream<T>, analysis_engine>(s.block, s.batch_items, 1, 2, s),
          d_levels(s.levels)
    {
        this->set_relative_rate(1, 2);
        this->set_tag_propagation_policy(gr::block::TPP_CUSTOM);
    }

    int levels() const override { return d_levels; }
    int delay() const override { return this->engine().delay(); }

    void forecast(int, gr_vector_int& ninput_items_required) override
    {
        ninput_items_required[0] = 1;
    }

    /* noutput_items fit on each port, and that many come out of the fastest one. */
    int general_work(int noutput_items, gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override
    {
        const int n = std::min(ninput_items[0], 2 * noutput_items);
        return this->guarded([&] {
            std::vector<void*> ports(output_items.begin(), output_items.end());
            std::vector<size_t> written(d_levels + 1);
            ports.resize(d_levels + 1, nullptr);
            move_tags(n, output_items.size());
            this->engine().check(
                cufilter_dwt_analysis_process(this->engine().handle(), input_items[0], n,
                                              ports.data(), written.data()));
            d_count += n;
            this->consume(0, n);
            for (size_t b = 0; b < output_items.size(); b++)
                this->produce(static_cast<int>(b), static_cast<int>(written[b]));
            return static_cast<int>(gr::block::WORK_CALLED_PRODUCE);
        });
    }

private:
    void move_tags(int n, size_t n_ports)
    {
        std::vector<gr::tag_t> tags;
        const uint64_t start = this->nitems_read(0);
        this->get_tags_in_range(tags, 0, start, start + n);
        for (gr::tag_t& tag : tags) {
            const uint64_t at = d_count + (tag.offset - start);
            for (size_t b = 0; b < n_ports; b++) {
                const int level = cufilter_dwt_stream_level(d_levels, b);
                tag.offset = this->nitems_written(b) + (at >> level) - (d_count >> level);
                this->add_item_tag(b, tag);
            }
        }
    }

    const int d_levels;
    uint64_t d_count = 0; /* samples in all, over restarts of the flowgraph too */
};

template <class T>
class synthesis_impl final : public engine_block<idwt_stream<T>, synthesis_engine>
{
public:
    explicit synthesis_impl(const dwt_stream_settings& s)
        : gr::block(s.block,
                    gr::io_signature::make(s.levels + 1, s.levels + 1, sizeof(T)),
                    gr::io_signature::make(1, 1, sizeof(T))),
          engine_block<idwt_stream<T>, synthesis_engine>(s.block, s.batch_items, 2, 1, s),
          d_levels(s.levels)
    {
        this->require_multiple(1 << d_levels); /* of samples: whole frames */
        this->set_tag_propagation_policy(gr::block::TPP_CUSTOM);
    }

    int levels() const override { return d_levels; }
    int delay() const override { return this->engine().delay(); }

    void forecast(int noutput_items, gr_vector_int& ninput_items_required) override
    {
        const int frames = std::max(noutput_items >> d_levels, 1);
        for (size_t b = 0; b < ninput_items_required.size(); b++)
            ninput_items_required[b] = frames << items_bits(b);
    }

    int general_work(int noutput_items, gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override
    {
        int frames = noutput_items >> d_levels;
        for (size_t b = 0; b < ninput_items.size(); b++)
            frames = std::min(frames, ninput_items[b] >> items_bits(b));
        return this->guarded([&] {
            move_tags(frames << items_bits(d_levels));
            this->engine().check(cufilter_dwt_synthesis_process(
                this->engine().handle(), input_items.data(), frames, output_items[0]));
            for (size_t b = 0; b < ninput_items.size(); b++)
                this->consume(static_cast<int>(b), frames << items_bits(b));
            return frames << d_levels;
        });
    }

private:
    /* log2 of the items that a frame has of band b. */
    int items_bits(size_t b) const
    {
        return d_levels - cufilter_dwt_stream_level(d_levels, static_cast<int>(b));
    }

    void move_tags(int n)
    {
        std::vector<gr::tag_t> tags;
        const unsigned finest = static_cast<unsigned>(d_levels);
        const uint64_t start = this->nitems_read(finest);
        this->get_tags_in_range(tags, finest, start, start + n);
        for (gr::tag_t& tag : tags) {
            tag.offset = this->nitems_written(0) + 2 * (tag.offset - start) + delay();
            this->add_item_tag(0, tag);
        }
    }

    const int d_levels;
};

} // namespace

template <class T>
typename dwt_stream<T>::sptr dwt_stream<T>::make(const std::string& wavelet, int levels,
                                                 int device, int batch_items)
{
    return gnuradio::make_block_sptr<analysis_impl<T>>(
        settings_of<T>("dwt_stream", wavelet, levels, device, batch_items));
}

template <class T>
typename idwt_stream<T>::sptr idwt_stream<T>::make(const std::string& wavelet, int levels,
                                                   int device, int batch_items)
{
    return gnuradio::make_block_sptr<synthesis_impl<T>>(
        settings_of<T>("idwt_stream", wavelet, levels, device, batch_items));
}

template class dwt_stream<float>;
template class dwt_stream<gr_complex>;
template class idwt_stream<float>;
template class idwt_stream<gr_complex>;

} // namespace cufilter
} // namespace gr
