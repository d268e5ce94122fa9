/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The block pfb_channelizer_ccf: the input in as many streams as there are channels. */
#include "pfb_block.h"
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/cufilter/pfb_channelizer_ccf.h>
#include <gnuradio/io_signature.h>
#include <volk/volk_alloc.hh>
#include <algorithm>
#include <memory>

namespace gr {
namespace cufilter {

namespace {

/* A row is one item of each input: K items of the serial stream. So that a single output
 * item can be asked for, a row may be taken in parts; it stays in the inputs until all of
 * it has been. */
class channelizer_impl final : public pfb_block<pfb_channelizer_ccf, pfb_engine>
{
public:
    channelizer_impl(const pfb_settings& settings, const std::vector<float>& taps);

    bool check_topology(int ninputs, int noutputs) override
    {
        connected(noutputs);
        return pfb_block::check_topology(ninputs, noutputs);
    }

    bool start() override;
    bool stop() override;
    void forecast(int noutput_items, gr_vector_int& ninput_items_required) override;
    int general_work(int noutput_items, gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

private:
    /* Serial items a call of the core is given: its staging must not grow without end. */
    static constexpr size_t CHUNK = 1 << 17;

    size_t channelize(size_t n_in, gr_vector_const_void_star& input_items,
                      gr_vector_void_star& output_items, size_t capacity);
    void interleave(gr_vector_const_void_star& input_items, size_t from, size_t n);
    void move_tags(size_t first_row, size_t end_row, size_t noutputs);

    const size_t d_n_channels;
    size_t d_taken = 0; /* items of the inputs' first row that the core has */
    std::weak_ptr<gr::buffer> d_first_input;
    volk::vector<gr_complex> d_serial;
    std::vector<void*> d_ports;
};

channelizer_impl::channelizer_impl(const pfb_settings& settings,
                                   const std::vector<float>& taps)
    : gr::block(settings.block,
                gr::io_signature::make(settings.n_channels, settings.n_channels,
                                       sizeof(gr_complex)),
                gr::io_signature::make(1, settings.n_channels, sizeof(gr_complex))),
      pfb_block<pfb_channelizer_ccf, pfb_engine>(settings, taps, {}, settings.n_channels,
                                                 settings.decimation),
      d_n_channels(static_cast<size_t>(settings.n_channels)),
      d_serial(CHUNK)
{
    set_relative_rate(static_cast<uint64_t>(settings.n_channels),
                      static_cast<uint64_t>(settings.decimation));
    set_tag_propagation_policy(TPP_CUSTOM); /* GNU Radio's wants a port for a port */
}

bool channelizer_impl::start()
{
    /* A row taken in part is there still if the flowgraph was only changed elsewhere. */
    const buffer_sptr first = detail() ? detail()->input(0)->buffer() : nullptr;
    if (d_first_input.lock() != first)
        d_taken = 0;
    d_first_input = first;
    cufilter_buffer_register(device(), d_serial.data(), CHUNK * sizeof(gr_complex));
    return pfb_block<pfb_channelizer_ccf, pfb_engine>::start();
}

bool channelizer_impl::stop()
{
    cufilter_buffer_unregister(device(), d_serial.data());
    return pfb_block<pfb_channelizer_ccf, pfb_engine>::stop();
}

void channelizer_impl::forecast(int noutput_items, gr_vector_int& ninput_items_required)
{
    const size_t items =
        d_taken + engine().items_until(static_cast<size_t>(noutput_items));
    const size_t rows = (items + d_n_channels - 1) / d_n_channels;
    std::fill(ninput_items_required.begin(), ninput_items_required.end(),
              static_cast<int>(rows));
}

void channelizer_impl::interleave(gr_vector_const_void_star& input_items, size_t from,
                                  size_t n)
{
    size_t row = from / d_n_channels, port = from % d_n_channels;
    for (size_t i = 0; i < n; i++) {
        d_serial[i] = static_cast<const gr_complex*>(input_items[port])[row];
        if (++port == d_n_channels) {
            port = 0;
            row++;
        }
    }
}

size_t channelizer_impl::channelize(size_t n_in, gr_vector_const_void_star& input_items,
                                    gr_vector_void_star& output_items, size_t capacity)
{
    size_t n_frames = 0;
    d_ports.assign(output_items.begin(), output_items.end());
    for (size_t done = 0; done < n_in;) {
        const size_t n = std::min(n_in - done, CHUNK);
        interleave(input_items, d_taken + done, n);
        const size_t written = engine().process(
            d_serial.data(), n,
            {CUFILTER_PFB_PORTS, nullptr, d_ports.data(), 0, capacity - n_frames});
        for (void*& port : d_ports)
            port = static_cast<gr_complex*>(port) + written;
        n_frames += written;
        done += n;
    }
    return n_frames;
}

/* A tag of input i at row r goes to output i, where it is connected, at item
 * floor(r K/R + 1/2): where stock puts it, in integers. It goes when the row is first
 * touched, since frames with its first items may leave before its last. */
void channelizer_impl::move_tags(size_t first_row, size_t end_row, size_t noutputs)
{
    const uint64_t K = d_n_channels, R = static_cast<uint64_t>(d_settings.decimation);
    std::vector<gr::tag_t> tags;
    for (unsigned i = 0; i < noutputs; i++) {
        const uint64_t start = nitems_read(i);
        get_tags_in_range(tags, i, start + first_row, start + end_row);
        for (gr::tag_t& tag : tags) {
            const uint64_t whole = tag.offset / R, rest = tag.offset % R;
            tag.offset = whole * K + (2 * rest * K + R) / (2 * R);
            add_item_tag(i, tag);
        }
    }
}

int channelizer_impl::general_work(int noutput_items, gr_vector_int& ninput_items,
                                   gr_vector_const_void_star& input_items,
                                   gr_vector_void_star& output_items)
{
    const size_t K = d_n_channels, capacity = static_cast<size_t>(noutput_items);
    const size_t rows =
        static_cast<size_t>(*std::min_element(ninput_items.begin(), ninput_items.end()));
    if (rows == 0)
        return 0;
    /* Up to the last item before a frame that there is no room for. */
    const size_t n_in =
        std::min(rows * K - d_taken, engine().items_until(capacity + 1) - 1);
    size_t n_frames = 0;
    try {
        n_frames = channelize(n_in, input_items, output_items, capacity);
    } catch (const std::exception& error) {
        d_logger->error("stopped: {:s}", error.what());
        return WORK_DONE;
    }
    const size_t end = d_taken + n_in;
    move_tags(d_taken ? 1 : 0, (end + K - 1) / K, output_items.size());
    d_taken = end % K;
    consume_each(static_cast<int>(end / K));
    return static_cast<int>(n_frames);
}

} // namespace

pfb_channelizer_ccf::sptr pfb_channelizer_ccf::make(int numchans,
                                                    const std::vector<float>& taps,
                                                    double oversample_rate, int device,
                                                    int batch_items)
{
    return gnuradio::make_block_sptr<channelizer_impl>(
        channelizer_settings("pfb_channelizer_ccf", numchans, oversample_rate, device,
                             batch_items),
        taps);
}

} // namespace cufilter
} // namespace gr
