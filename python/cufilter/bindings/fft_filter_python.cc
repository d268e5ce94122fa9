/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Python classes of the blocks fft_filter_{ccc,ccf,fff}. */
#include "block_bindings.h"
#include <gnuradio/cufilter/fft_filter_ccc.h>
#include <gnuradio/cufilter/fft_filter_ccf.h>
#include <gnuradio/cufilter/fft_filter_fff.h>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

template <class BLOCK>
static void bind_one(py::module& m, const char* name, const char* types)
{
    const std::string doc =
        std::string("Fast FIR filter with decimation: ") + types + ".\n\n" + DOC_FORMULA +
        DOC_ARGUMENTS +
        "nthreads: kept as in GNU Radio; a transform runs in one thread.\n" + DOC_PORT;
    py::class_<BLOCK, gr::sync_decimator, gr::sync_block, gr::block, gr::basic_block,
               std::shared_ptr<BLOCK>>(m, name, doc.c_str())
        .def(py::init(&BLOCK::make), py::arg("decimation"), py::arg("taps"),
             py::arg("nthreads") = 1, py::arg("device") = CUFILTER_DEVICE_AUTO,
             py::arg("batch_items") = 0, without_gil())
        .def("set_taps", &BLOCK::set_taps, py::arg("taps"), without_gil(), DOC_SET_TAPS)
        .def("taps", &BLOCK::taps, DOC_TAPS)
        .def("set_nthreads", &BLOCK::set_nthreads, py::arg("n"),
             "From the next call on n threads for a transform on the CPU; a GPU ignores "
             "the number. ValueError: n below 1.")
        .def("nthreads", &BLOCK::nthreads, "Threads of one transform on the CPU.")
        .def("device", &BLOCK::device, DOC_DEVICE);
}

void bind_fft_filter(py::module& m)
{
    bind_one<gr::cufilter::fft_filter_ccc>(m, "fft_filter_ccc",
                                           "complex in, complex out, complex taps");
    bind_one<gr::cufilter::fft_filter_ccf>(m, "fft_filter_ccf",
                                           "complex in, complex out, real taps");
    bind_one<gr::cufilter::fft_filter_fff>(m, "fft_filter_fff",
                                           "float in, float out, real taps");
}
