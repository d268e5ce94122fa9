/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The block squash_ff. */
#include "core_block.h"
#include "host_engine.h"
#include <gnuradio/cufilter/squash_ff.h>
#include <gnuradio/io_signature.h>
#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gr {
namespace cufilter {

namespace {

/* The natural cubic spline: its second derivatives m at the inner points solve
 *
 *     h[i-1] m[i-1] + 2 (h[i-1] + h[i]) m[i] + h[i] m[i+1] = 6 (s[i] - s[i-1])
 *
 * with the steps h[i] of the grid and the slopes s[i] = (x[i+1] - x[i]) / h[i], and are 0
 * at both ends. The grid stays, so the elimination's factors are made once. */
class spline
{
public:
    spline(const std::vector<float>& in, const std::vector<float>& out)
    {
        const size_t n = in.size();
        for (size_t i = 0; i + 1 < n; i++)
            d_step.push_back(double(in[i + 1]) - double(in[i]));
        d_pivot.assign(n, 1);
        for (size_t i = 1; i + 1 < n; i++) {
            const double above =
                i > 1 ? d_step[i - 1] * d_step[i - 1] / d_pivot[i - 1] : 0;
            d_pivot[i] = 2 * (d_step[i - 1] + d_step[i]) - above;
        }
        for (const float place : out) {
            const auto next = std::upper_bound(in.begin() + 1, in.end() - 1, place);
            const size_t i = next - in.begin() - 1;
            d_places.push_back({i, double(place) - double(in[i])});
        }
        d_slope.resize(n - 1);
        d_bend.assign(n, 0);
    }

    void resample(const float* x, float* y)
    {
        const size_t n = d_pivot.size();
        for (size_t i = 0; i + 1 < n; i++)
            d_slope[i] = (double(x[i + 1]) - double(x[i])) / d_step[i];
        for (size_t i = 1; i + 1 < n; i++) {
            d_bend[i] = 6 * (d_slope[i] - d_slope[i - 1]);
            if (i > 1)
                d_bend[i] -= d_step[i - 1] / d_pivot[i - 1] * d_bend[i - 1];
        }
        for (size_t i = n - 2; i > 0; i--)
            d_bend[i] = (d_bend[i] - d_step[i] * d_bend[i + 1]) / d_pivot[i];
        for (const auto& [i, t] : d_places) {
            const double h = d_step[i], m = d_bend[i], next = d_bend[i + 1];
            const double first = d_slope[i] - h * (2 * m + next) / 6;
            *y++ = static_cast<float>(
                x[i] + t * (first + t * (m / 2 + t * (next - m) / (6 * h))));
        }
    }

private:
    struct place {
        size_t interval;
        double beyond;
    };

    std::vector<double> d_step, d_pivot, d_slope, d_bend;
    std::vector<place> d_places;
};

class squash_impl final : public engine_block<squash_ff, host_engine>
{
public:
    squash_impl(const std::vector<float>& igrid, const std::vector<float>& ogrid,
                int device, int batch_items)
        : gr::sync_block("squash_ff",
                         gr::io_signature::make(1, 1, igrid.size() * sizeof(float)),
                         gr::io_signature::make(1, 1, ogrid.size() * sizeof(float))),
          engine_block<squash_ff, host_engine>("squash_ff", batch_items, 1, 1,
                                               "squash_ff", device),
          d_spline(igrid, ogrid),
          d_n_in(igrid.size()),
          d_n_out(ogrid.size())
    {
    }

    int work(int noutput_items, gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override
    {
        const float* const in = static_cast<const float*>(input_items[0]);
        float* const out = static_cast<float*>(output_items[0]);
        for (int i = 0; i < noutput_items; i++)
            d_spline.resample(in + i * d_n_in, out + i * d_n_out);
        return noutput_items;
    }

private:
    spline d_spline;
    const size_t d_n_in, d_n_out;
};

void check_grids(const std::vector<float>& in, const std::vector<float>& out)
{
    const std::string name = "squash_ff: ";
    if (in.size() < 3)
        throw std::invalid_argument(name + "igrid must have 3 points or more, not " +
                                    std::to_string(in.size()));
    if (out.empty())
        throw std::invalid_argument(name + "ogrid must have a point");
    for (size_t i = 0; i < in.size(); i++)
        if (!std::isfinite(in[i]) || (i > 0 && !(in[i] > in[i - 1])))
            throw std::invalid_argument(
                name + "igrid must be finite and increasing, not " +
                std::to_string(in[i]) + " at " + std::to_string(i));
    for (const float place : out)
        if (!(place >= in.front() && place <= in.back()))
            throw std::invalid_argument(
                name + "ogrid must lie in igrid's " + std::to_string(in.front()) +
                " .. " + std::to_string(in.back()) + ", not at " + std::to_string(place));
}

} // namespace

squash_ff::sptr squash_ff::make(const std::vector<float>& igrid,
                                const std::vector<float>& ogrid, int device,
                                int batch_items)
{
    check_grids(igrid, ogrid);
    return gnuradio::make_block_sptr<squash_impl>(igrid, ogrid, device, batch_items);
}

} // namespace cufilter
} // namespace gr
