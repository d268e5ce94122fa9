/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The wavelet transform handles of the C API as objects that throw. */
#include "dwt_engine.h"
#include "status.h"
#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gr {
namespace cufilter {

namespace {

const char* const mode_names[] = {"zero",     "constant",      "symmetric",
                                  "periodic", "smooth",        "periodization",
                                  "reflect",  "antisymmetric", "antireflect"};

const char* const kind_names[] = {"soft", "hard", "garrote"};

template <size_t N>
int place_of(const std::string& name, const char* const (&names)[N],
             const std::string& what)
{
    const auto found = std::find(std::begin(names), std::end(names), name);
    if (found != std::end(names))
        return static_cast<int>(found - std::begin(names));
    std::string all;
    for (const char* one : names)
        all += (all.empty() ? "" : ", ") + std::string(one);
    throw std::invalid_argument(what + " must be one of " + all + ", not \"" + name +
                                "\"");
}

constexpr size_t CALL_ITEMS = size_t{1} << 20; /* at least, where vectors are short */

/* GNU Radio's items are of 2^31 bytes at most. */
constexpr int64_t MAX_ITEMS = (int64_t{1} << 29) - 1;

cufilter_dwt_config config_of(const dwt_settings& s, size_t vectors)
{
    const bool image = s.rows > 0;
    if (s.rows < 0 || s.cols < 1 || int64_t{std::max(s.rows, 1)} * s.cols > MAX_ITEMS)
        throw std::invalid_argument(s.block + ": a vector must have 1 .. " +
                                    std::to_string(MAX_ITEMS) + " items, not " +
                                    (image ? std::to_string(s.rows) + " times " : "") +
                                    std::to_string(s.cols));
    cufilter_dwt_config config;
    cufilter_dwt_defaults(&config, s.wavelet.c_str(), image ? 2 : 1,
                          image ? s.rows : vectors, s.cols);
    config.device = s.device;
    config.mode = dwt_mode(s.mode, s.block);
    config.levels = s.levels;
    return config;
}

} // namespace

cufilter_dwt_mode dwt_mode(const std::string& name, const std::string& block)
{
    return static_cast<cufilter_dwt_mode>(place_of(name, mode_names, block + ": mode"));
}

cufilter_dwt_threshold_kind dwt_threshold_kind(const std::string& name,
                                               const std::string& block)
{
    return static_cast<cufilter_dwt_threshold_kind>(
        place_of(name, kind_names, block + ": kind"));
}

float dwt_checked_threshold(float threshold, const std::string& block)
{
    if (!(threshold >= 0) || !std::isfinite(threshold))
        throw std::invalid_argument(block +
                                    ": threshold must be at least 0 and finite, not " +
                                    std::to_string(threshold));
    return threshold;
}

size_t dwt_filter_length(const std::string& wavelet, const std::string& block)
{
    size_t length = 0;
    check_status(cufilter_dwt_wavelet(wavelet.c_str(), &length, nullptr, nullptr, nullptr,
                                      nullptr, 0),
                 block);
    return length;
}

dwt_engine::dwt_engine(const dwt_settings& settings)
    : d_block(settings.block),
      d_data_count(size_t(std::max(settings.rows, 1)) *
                   size_t(std::max(settings.cols, 1)))
{
    use_gnuradio_log();
    const size_t batch = size_t(std::max(settings.batch_items, 1));
    d_most = settings.rows ? 1 : std::max(batch, CALL_ITEMS / d_data_count);
    const cufilter_dwt_config config = config_of(settings, d_most);
    cufilter_dwt* dwt = nullptr;
    check_status(cufilter_dwt_create(&dwt, &config), d_block);
    d_dwt.reset(dwt);
    if (coef_count() > size_t{MAX_ITEMS})
        throw std::invalid_argument(d_block + ": at most " + std::to_string(MAX_ITEMS) +
                                    " coefficients fit a vector, not " +
                                    std::to_string(coef_count()));
    d_rows = settings.rows ? 0 : d_most;
}

template <class CALL>
void dwt_engine::in_parts(size_t n_vectors, CALL call)
{
    for (size_t done = 0; done < n_vectors;) {
        const size_t n = std::min(d_most, n_vectors - done);
        if (d_rows && n != d_rows) {
            check_status(cufilter_dwt_set_rows(d_dwt.get(), n), d_block);
            d_rows = n;
        }
        check_status(call(done), d_block);
        done += n;
    }
}

void dwt_engine::forward(const float* data, float* coefs, size_t n_vectors)
{
    const size_t n_coefs = coef_count();
    in_parts(n_vectors, [&](size_t first) {
        return cufilter_dwt_forward(d_dwt.get(), data + first * d_data_count, 0,
                                    coefs + first * n_coefs, 0);
    });
}

void dwt_engine::inverse(const float* coefs, float* data, size_t n_vectors)
{
    const size_t n_coefs = coef_count();
    in_parts(n_vectors, [&](size_t first) {
        return cufilter_dwt_inverse(d_dwt.get(), coefs + first * n_coefs, 0,
                                    data + first * d_data_count, 0);
    });
}

void dwt_engine::shrink(cufilter_dwt_threshold_kind kind, double value, float* coefs,
                        size_t n_vectors)
{
    const size_t n_coefs = coef_count();
    in_parts(n_vectors, [&](size_t first) {
        return cufilter_dwt_shrink(d_dwt.get(), kind, value, coefs + first * n_coefs, 0);
    });
}

} // namespace cufilter
} // namespace gr
