/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks dwt_ff, idwt_ff, dwt2_ff and idwt2_ff, and where their bands lie. */
#include "core_block.h"
#include "dwt_engine.h"
#include <gnuradio/cufilter/dwt2_ff.h>
#include <gnuradio/cufilter/dwt_bands.h>
#include <gnuradio/cufilter/dwt_ff.h>
#include <gnuradio/cufilter/idwt2_ff.h>
#include <gnuradio/cufilter/idwt_ff.h>
#include <gnuradio/io_signature.h>

namespace gr {
namespace cufilter {

namespace {

gr::io_signature::sptr vectors_of(size_t n)
{
    return gr::io_signature::make(1, 1, static_cast<int>(n * sizeof(float)));
}

template <class INTERFACE, bool INVERSE>
class vectors_impl final : public engine_block<INTERFACE, dwt_engine>
{
public:
    vectors_impl(const dwt_settings& settings, dwt_engine&& made)
        : gr::sync_block(settings.block,
                         vectors_of(INVERSE ? made.coef_count() : made.data_count()),
                         vectors_of(INVERSE ? made.data_count() : made.coef_count())),
          engine_block<INTERFACE, dwt_engine>(settings.block, settings.batch_items, 1, 1,
                                              std::move(made))
    {
    }

    int coef_count() const override
    {
        return static_cast<int>(this->engine().coef_count());
    }
    int levels() const override { return this->engine().levels(); }

    int work(int noutput_items, gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override
    {
        const float* const in = static_cast<const float*>(input_items[0]);
        float* const out = static_cast<float*>(output_items[0]);
        return this->guarded([&] {
            if (INVERSE)
                this->engine().inverse(in, out, noutput_items);
            else
                this->engine().forward(in, out, noutput_items);
            return noutput_items;
        });
    }
};

/* The engine comes first: the sizes of the items are its own. */
template <class INTERFACE, bool INVERSE>
typename INTERFACE::sptr make_vectors(const dwt_settings& settings)
{
    return gnuradio::make_block_sptr<vectors_impl<INTERFACE, INVERSE>>(
        settings, dwt_engine(settings));
}

dwt_settings image(const std::string& block, int rows, int cols,
                   const std::string& wavelet, const std::string& mode, int levels,
                   int device, int batch_items)
{
    if (rows < 1)
        throw std::invalid_argument(block + ": rows must be at least 1, not " +
                                    std::to_string(rows));
    return {block, rows, cols, wavelet, mode, levels, device, batch_items};
}

std::vector<dwt_band> bands_of(const dwt_settings& settings)
{
    const dwt_engine engine(settings);
    const size_t n = cufilter_dwt_band_count(engine.handle());
    std::vector<dwt_band> bands;
    for (size_t i = 0; i < n; i++) {
        cufilter_dwt_band b = {};
        cufilter_dwt_get_band(engine.handle(), i, &b);
        bands.push_back({"ahvd"[b.kind], b.level, static_cast<int>(b.offset),
                         static_cast<int>(b.rows), static_cast<int>(b.cols)});
    }
    return bands;
}

} // namespace

dwt_ff::sptr dwt_ff::make(int size, const std::string& wavelet, const std::string& mode,
                          int levels, int device, int batch_items)
{
    return make_vectors<dwt_ff, false>(
        {"dwt_ff", 0, size, wavelet, mode, levels, device, batch_items});
}

idwt_ff::sptr idwt_ff::make(int size, const std::string& wavelet, const std::string& mode,
                            int levels, int device, int batch_items)
{
    return make_vectors<idwt_ff, true>(
        {"idwt_ff", 0, size, wavelet, mode, levels, device, batch_items});
}

dwt2_ff::sptr dwt2_ff::make(int rows, int cols, const std::string& wavelet,
                            const std::string& mode, int levels, int device,
                            int batch_items)
{
    return make_vectors<dwt2_ff, false>(
        image("dwt2_ff", rows, cols, wavelet, mode, levels, device, batch_items));
}

idwt2_ff::sptr idwt2_ff::make(int rows, int cols, const std::string& wavelet,
                              const std::string& mode, int levels, int device,
                              int batch_items)
{
    return make_vectors<idwt2_ff, true>(
        image("idwt2_ff", rows, cols, wavelet, mode, levels, device, batch_items));
}

std::vector<dwt_band> dwt_bands(int size, const std::string& wavelet,
                                const std::string& mode, int levels)
{
    return bands_of(
        {"dwt_bands", 0, size, wavelet, mode, levels, CUFILTER_DEVICE_CPU, 1});
}

std::vector<dwt_band> dwt2_bands(int rows, int cols, const std::string& wavelet,
                                 const std::string& mode, int levels)
{
    return bands_of(
        image("dwt2_bands", rows, cols, wavelet, mode, levels, CUFILTER_DEVICE_CPU, 1));
}

int dwt_coef_count(int size, const std::string& wavelet, const std::string& mode,
                   int levels)
{
    const dwt_band last = dwt_bands(size, wavelet, mode, levels).back();
    return last.offset + last.cols;
}

int dwt2_coef_count(int rows, int cols, const std::string& wavelet,
                    const std::string& mode, int levels)
{
    const dwt_band last = dwt2_bands(rows, cols, wavelet, mode, levels).back();
    return last.offset + last.rows * last.cols;
}

} // namespace cufilter
} // namespace gr
