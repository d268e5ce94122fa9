/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An IIR handle of the C API as an object that throws. */
#ifndef INCLUDED_CUFILTER_LIB_IIR_ENGINE_H
#define INCLUDED_CUFILTER_LIB_IIR_ENGINE_H

#include <cufilter/iir.h>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gr {
namespace cufilter {

/* What an IIR block asks of the core, apart from its coefficients. */
struct iir_settings {
    std::string block; /* its name, for messages */
    bool complex_data;
    unsigned vlen; /* values of an item, each filtered on its own */
    int device;
    int batch_items;
    int n_threads;     /* of the CPU, for long calls */
    bool steady_start; /* sections only: start as if the first item had been for ever */
};

/* [n][6]: b0 b1 b2 a0 a1 a2 of each section. */
using sos_matrix = std::vector<std::vector<double>>;

/* A transfer function in scipy's signs; complex coefficients as (re, im). */
struct iir_transfer {
    std::vector<double> b, a;
    bool is_complex;
};

/* Unless noted, methods may be called from any thread beside process() and act at its
 * next call. */
class iir_engine
{
public:
    iir_engine(const iir_settings& settings, const sos_matrix& sos);
    iir_engine(const iir_settings& settings, const iir_transfer& transfer);

    /* The state of each section is kept where keep_state is set and the number of
     * sections stays; otherwise the filter starts anew. With steady_start it waits for a
     * process() that is under way. */
    void set_sos(const sos_matrix& sos, bool keep_state);

    /* The filter starts anew. Complex coefficients only where it was made with them. */
    void set_transfer(const iir_transfer& transfer);

    void set_threads(int n);

    /* The filter starts anew. */
    void reset() { d_restart = true; }

    /* Filters n items. */
    void process(const void* in, void* out, size_t n);

    /* As cufilter_iir_get_state() has it; from the thread of process() only. */
    std::vector<double> state();
    void set_state(const std::vector<double>& state);

    /* How often a state was found not finite and set to zero. Waits for a process() that
     * is under way. */
    uint64_t recoveries() const;

    /* A transfer function that does not go into sections may leave the GPU. */
    int device() const { return d_device; }

private:
    struct destroy {
        void operator()(cufilter_iir* iir) const { cufilter_iir_destroy(iir); }
    };

    void open(cufilter_iir_config& config);
    void settle(const float* item);
    void check(cufilter_status status) const;

    const iir_settings d_settings;
    std::unique_ptr<cufilter_iir, destroy> d_iir;
    std::atomic<int> d_device;
    std::atomic<bool> d_restart;
    mutable std::mutex d_running; /* process() is under way */
    std::mutex d_mutex;           /* of what follows */
    std::vector<double> d_sos;    /* rows in a row */
};

} // namespace cufilter
} // namespace gr

#endif
