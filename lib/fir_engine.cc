/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A FIR handle of the C API as an object that throws. */
#include "fir_engine.h"
#include "planner_lock.h"
#include "status.h"
#include <volk/volk.h>
#include <volk/volk_alloc.hh>
#include <stdexcept>

namespace gr {
namespace cufilter {

namespace {

/* The stock fir_filter_fsf leaves the conversion to VOLK, which truncates up to 2.5 and
 * rounds later, and may choose either by machine: ask it. */
bool volk_rounds_to_int16()
{
    static const bool rounds = [] {
        volk::vector<float> items(64, 0.0f), taps(64, 0.0f);
        volk::vector<int16_t> result(1, 0);
        items[0] = 0.75f;
        taps[0] = 1.0f;
        volk_32f_x2_dot_prod_16i_a(result.data(), items.data(), taps.data(), 64);
        return result[0] == 1;
    }();
    return rounds;
}

} // namespace

fir_engine::fir_engine(const fir_settings& settings, const void* taps, size_t n_taps)
    : d_block(settings.block), d_decimation(settings.decimation)
{
    use_gnuradio_log();
    cufilter_fir_config config;
    cufilter_fir_defaults(&config, settings.type);
    config.device = settings.device;
    config.decimation = d_decimation;
    config.taps = taps;
    config.n_taps = n_taps;
    config.n_threads = settings.n_threads;
    config.round_output = settings.type == CUFILTER_FIR_FSF && volk_rounds_to_int16();

    cufilter_fir* fir = nullptr;
    const planner_lock planning;
    check_status(cufilter_fir_create(&fir, &config), d_block);
    d_fir.reset(fir);
    d_device = cufilter_fir_get_device(fir);
}

void fir_engine::set_taps(const void* taps, size_t n_taps)
{
    const planner_lock planning;
    check_status(cufilter_fir_set_taps(d_fir.get(), taps, n_taps), d_block);
}

void fir_engine::set_threads(int n)
{
    check_status(cufilter_fir_set_threads(d_fir.get(), n), d_block);
}

void fir_engine::process(const void* in, void* out, size_t n_out)
{
    size_t written = 0;
    check_status(
        cufilter_fir_process(d_fir.get(), in, n_out * d_decimation, out, n_out, &written),
        d_block);
    if (written != n_out)
        throw std::logic_error(d_block + ": " + std::to_string(written) +
                               " items written, " + std::to_string(n_out) + " expected");
}

} // namespace cufilter
} // namespace gr
