/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An IIR handle of the C API as an object that throws. */
#include "iir_engine.h"
#include "status.h"
#include <cmath>
#include <stdexcept>

namespace gr {
namespace cufilter {

namespace {

constexpr size_t COLUMNS = 6;

std::vector<double> rows_in_a_row(const sos_matrix& sos, const std::string& block)
{
    std::vector<double> values;
    values.reserve(COLUMNS * sos.size());
    for (size_t i = 0; i < sos.size(); i++) {
        if (sos[i].size() != COLUMNS)
            throw std::invalid_argument(
                block + ": a section has 6 coefficients b0 b1 b2 a0 a1 a2, but sos[" +
                std::to_string(i) + "] has " + std::to_string(sos[i].size()));
        values.insert(values.end(), sos[i].begin(), sos[i].end());
    }
    return values;
}

/* [n_sections][2], for an input of ones. */
std::vector<double> steady_state(const std::vector<double>& sos, const std::string& block)
{
    std::vector<double> zi(sos.size() / COLUMNS * 2);
    check_status(cufilter_iir_steady_state(sos.data(), sos.size() / COLUMNS, zi.data()),
                 block);
    return zi;
}

} // namespace

iir_engine::iir_engine(const iir_settings& settings, const sos_matrix& sos)
    : d_settings(settings),
      d_restart(settings.steady_start),
      d_sos(rows_in_a_row(sos, settings.block))
{
    cufilter_iir_config config;
    cufilter_iir_defaults(&config);
    config.sos = d_sos.data();
    config.n_sections = sos.size();
    open(config);
    if (settings.steady_start)
        steady_state(d_sos, settings.block); /* there must be one */
}

iir_engine::iir_engine(const iir_settings& settings, const iir_transfer& transfer)
    : d_settings(settings), d_restart(false)
{
    const size_t parts = transfer.is_complex ? 2 : 1;
    cufilter_iir_config config;
    cufilter_iir_defaults(&config);
    config.b = transfer.b.data();
    config.n_b = transfer.b.size() / parts;
    config.a = transfer.a.data();
    config.n_a = transfer.a.size() / parts;
    config.complex_coefficients = transfer.is_complex;
    open(config);
}

void iir_engine::open(cufilter_iir_config& config)
{
    use_gnuradio_log();
    config.device = d_settings.device;
    config.complex_data = d_settings.complex_data;
    config.n_channels = d_settings.vlen;
    config.n_threads = d_settings.n_threads;
    cufilter_iir* iir = nullptr;
    check(cufilter_iir_create(&iir, &config));
    d_iir.reset(iir);
    d_device = cufilter_iir_get_device(iir);
}

void iir_engine::check(cufilter_status status) const
{
    check_status(status, d_settings.block);
}

void iir_engine::set_sos(const sos_matrix& sos, bool keep_state)
{
    const std::vector<double> values = rows_in_a_row(sos, d_settings.block);
    std::lock_guard<std::mutex> guard(d_mutex);
    const bool keep = keep_state && values.size() == d_sos.size();
    if (d_settings.steady_start)
        steady_state(values, d_settings.block);
    check(cufilter_iir_set_sos(d_iir.get(), values.data(), sos.size(),
                               keep ? CUFILTER_IIR_KEEP : CUFILTER_IIR_RESET));
    d_sos = values;
    if (!keep && d_settings.steady_start)
        d_restart = true;
}

void iir_engine::set_transfer(const iir_transfer& transfer)
{
    const size_t parts = transfer.is_complex ? 2 : 1;
    std::lock_guard<std::mutex> guard(d_mutex);
    check(cufilter_iir_set_transfer(d_iir.get(), transfer.b.data(),
                                    transfer.b.size() / parts, transfer.a.data(),
                                    transfer.a.size() / parts, CUFILTER_IIR_RESET));
}

void iir_engine::set_threads(int n)
{
    check(cufilter_iir_set_threads(d_iir.get(), n));
}

/* The state that `item` for ever would have led to. A value that is not finite counts as
 * zero. */
void iir_engine::settle(const float* item)
{
    const std::vector<double> zi = steady_state(d_sos, d_settings.block);
    const size_t width = d_settings.vlen * (d_settings.complex_data ? 2 : 1);
    std::vector<double> state;
    state.reserve(zi.size() * width);
    for (const double z : zi)
        for (size_t i = 0; i < width; i++)
            state.push_back(std::isfinite(item[i]) ? z * item[i] : 0.0);
    set_state(state);
}

void iir_engine::process(const void* in, void* out, size_t n)
{
    std::lock_guard<std::mutex> running(d_running);
    std::unique_lock<std::mutex> same_sections(d_mutex, std::defer_lock);
    if (d_settings.steady_start)
        same_sections.lock(); /* as the state that they start in */
    if (n != 0 && d_restart.exchange(false)) {
        if (d_settings.steady_start)
            settle(static_cast<const float*>(in));
        else
            check(cufilter_iir_reset(d_iir.get()));
    }
    check(cufilter_iir_process(d_iir.get(), in, n, out));
    d_device = cufilter_iir_get_device(d_iir.get());
}

uint64_t iir_engine::recoveries() const
{
    std::lock_guard<std::mutex> running(d_running);
    return cufilter_iir_get_recoveries(d_iir.get());
}

std::vector<double> iir_engine::state()
{
    std::vector<double> state(cufilter_iir_state_size(d_iir.get()));
    check(cufilter_iir_get_state(d_iir.get(), state.data(), state.size()));
    return state;
}

void iir_engine::set_state(const std::vector<double>& state)
{
    check(cufilter_iir_set_state(d_iir.get(), state.data(), state.size()));
}

} // namespace cufilter
} // namespace gr
