/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The extension module gnuradio.cufilter.cufilter_python. */
#include <pybind11/pybind11.h>

namespace py = pybind11;

void bind_device(py::module& m);
void bind_dwt(py::module& m);
void bind_dwt_plan(py::module& m);
void bind_dwt_stream(py::module& m);
void bind_fft_filter(py::module& m);
void bind_fir_filter(py::module& m);
void bind_freq_xlating(py::module& m);
void bind_iir(py::module& m);
void bind_pfb(py::module& m);

PYBIND11_MODULE(cufilter_python, m)
{
    /* The base classes of the blocks are bound there. */
    py::module::import("gnuradio.gr");

    bind_device(m);
    bind_dwt(m);
    bind_dwt_plan(m);
    bind_dwt_stream(m);
    bind_fft_filter(m);
    bind_fir_filter(m);
    bind_freq_xlating(m);
    bind_iir(m);
    bind_pfb(m);
}
