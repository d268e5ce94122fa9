/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A FIR handle of the C API as an object that throws. */
#ifndef INCLUDED_CUFILTER_LIB_FIR_ENGINE_H
#define INCLUDED_CUFILTER_LIB_FIR_ENGINE_H

#include <cufilter/fir.h>
#include <memory>
#include <string>

namespace gr {
namespace cufilter {

/* What a FIR block asks of the core, apart from its taps. */
struct fir_settings {
    std::string block; /* its name, for messages */
    cufilter_fir_type type;
    int decimation;
    int n_threads;
    int device;
    int batch_items;
};

class fir_engine
{
public:
    fir_engine(const fir_settings& settings, const void* taps, size_t n_taps);

    /* Any thread, one at a time. */
    void set_taps(const void* taps, size_t n_taps);

    /* Takes effect with the next set_taps(). */
    void set_threads(int n);

    /* Filters n_out * decimation items of `in` to n_out items. */
    void process(const void* in, void* out, size_t n_out);

    int device() const { return d_device; }

private:
    struct destroy {
        void operator()(cufilter_fir* fir) const { cufilter_fir_destroy(fir); }
    };

    const std::string d_block;
    const size_t d_decimation;
    std::unique_ptr<cufilter_fir, destroy> d_fir;
    int d_device;
};

} // namespace cufilter
} // namespace gr

#endif
