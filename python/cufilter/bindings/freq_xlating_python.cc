/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Python classes of the frequency-translating filter blocks. */
#include "block_bindings.h"
#include <gnuradio/cufilter/freq_xlating_fft_filter_ccc.h>
#include <gnuradio/cufilter/freq_xlating_fir_filter.h>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

#define DOC_TURNED                                                                       \
    "w = 2 pi center_freq / sampling frequency, D the decimation, M taps. N input "      \
    "items "                                                                             \
    "give floor(N / D) output items; no tail is lost. The phase is counted in integers " \
    "and does not drift.\n\n"

#define DOC_XLATING_PORT                                                                 \
    "\nMessage port cmd: a dictionary with the keys taps and freq, or a pair (key . "    \
    "value), does what set_taps() and set_center_freq() do.\n\n"                         \
    "ValueError: an argument breaks a rule; RuntimeError: the GPU asked for cannot be "  \
    "used; MemoryError: memory of host or GPU is exhausted."

template <class BLOCK, class CLASS>
static void bind_methods(CLASS& block)
{
    block
        .def("set_center_freq", &BLOCK::set_center_freq, py::arg("center_freq"),
             without_gil(),
             "center_freq, Hz, becomes 0 from the next call on, from any thread.")
        .def("center_freq", &BLOCK::center_freq, "The frequency that becomes 0.")
        .def("set_taps", &BLOCK::set_taps, py::arg("taps"), without_gil(), DOC_SET_TAPS)
        .def("taps", &BLOCK::taps, DOC_TAPS)
        .def("device", &BLOCK::device, DOC_DEVICE);
}

template <class BLOCK>
using block_class = py::class_<BLOCK, gr::sync_decimator, gr::sync_block, gr::block,
                               gr::basic_block, std::shared_ptr<BLOCK>>;

template <class IN_T, class TAP_T>
static void bind_one(py::module& m, const char* name, const char* types)
{
    using block = gr::cufilter::freq_xlating_fir_filter<IN_T, gr_complex, TAP_T>;
    const std::string doc =
        std::string("FIR filter that moves a frequency to 0, with decimation: ") + types +
        ".\n\n"
        "    y[m] = e^{-j w (D m + (M-1)/2)} sum_k taps[k] e^{+j w k} x[m D - "
        "k]\n\n" DOC_TURNED "center_freq: of any sign.\n"
        "sampling_freq: of the input, above 0.\n" DOC_ARGUMENTS
        "\nA tag freq lies where a new frequency or new taps take effect. Message port "
        "freq: a pair (any . number), or a dictionary with the key freq, sets the "
        "frequency." DOC_XLATING_PORT;
    block_class<block> c(m, name, doc.c_str());
    c.def(py::init(&block::make), py::arg("decimation"), py::arg("taps"),
          py::arg("center_freq"), py::arg("sampling_freq"),
          py::arg("device") = CUFILTER_DEVICE_AUTO, py::arg("batch_items") = 0,
          without_gil());
    bind_methods<block>(c);
}

static void bind_fft(py::module& m)
{
    using block = gr::cufilter::freq_xlating_fft_filter_ccc;
    block_class<block> c(
        m, "freq_xlating_fft_filter_ccc",
        "Filter that moves a frequency to 0, with decimation: complex in, complex out, "
        "complex taps.\n\n"
        "    y[m] = e^{-j w D m} sum_k taps[k] e^{+j w k} x[m D - k]\n\n" DOC_TURNED
        "center_freq: of any sign.\n"
        "samp_rate: of the input, above 0.\n"
        "decim: the decimation.\n" DOC_ARGUMENTS DOC_XLATING_PORT);
    c.def(py::init(&block::make), py::arg("decim"), py::arg("taps"),
          py::arg("center_freq"), py::arg("samp_rate"),
          py::arg("device") = CUFILTER_DEVICE_AUTO, py::arg("batch_items") = 0,
          without_gil())
        .def("set_nthreads", &block::set_nthreads, py::arg("n"), without_gil(),
             "n, 1 and up, is kept as in GNU Radio, of no effect.")
        .def("nthreads", &block::nthreads, "The number given.");
    bind_methods<block>(c);
}

void bind_freq_xlating(py::module& m)
{
    bind_one<gr_complex, gr_complex>(m, "freq_xlating_fir_filter_ccc",
                                     "complex in, complex taps");
    bind_one<gr_complex, float>(m, "freq_xlating_fir_filter_ccf",
                                "complex in, real taps");
    bind_one<float, gr_complex>(m, "freq_xlating_fir_filter_fcc",
                                "float in, complex taps");
    bind_one<float, float>(m, "freq_xlating_fir_filter_fcf", "float in, real taps");
    bind_one<std::int16_t, gr_complex>(m, "freq_xlating_fir_filter_scc",
                                       "int16 in, complex taps");
    bind_one<std::int16_t, float>(m, "freq_xlating_fir_filter_scf",
                                  "int16 in, real taps");
    bind_fft(m);
}
