/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Python classes of the IIR blocks. */
#include "block_bindings.h"
#include <gnuradio/cufilter/iir_filter_blk.h>
#include <gnuradio/cufilter/single_pole_iir_filter_blk.h>
#include <gnuradio/cufilter/sos_filter.h>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

#define DOC_VLEN "vlen: values of an item, 1 .. 65536, each filtered on its own.\n"

#define DOC_IIR_ARGUMENTS                                                                \
    DOC_DEVICE_ARGUMENT                                                                  \
    DOC_BATCH("items")

#define DOC_IIR_PORT(keys, setter)                                                       \
    "\nMessage port cmd: a dictionary with the " keys ", or a pair (key . value), does " \
    "what " setter "() does; the key reset does what reset() does.\n\n"                  \
    "A NaN or Inf spoils at most 4096 items; the filter then starts again from "         \
    "zero.\n" DOC_ERRORS

template <class BLOCK>
using block_class =
    py::class_<BLOCK, gr::sync_block, gr::block, gr::basic_block, std::shared_ptr<BLOCK>>;

/* What all of them have. */
template <class BLOCK>
static void bind_common(block_class<BLOCK>& block)
{
    block
        .def("reset", &BLOCK::reset, without_gil(),
             "The filter starts anew with the next call, from any thread.")
        .def("recoveries", &BLOCK::recoveries, without_gil(),
             "How often a state was found not finite and set to zero.")
        .def("device", &BLOCK::device, DOC_DEVICE);
}

template <class ITEM, class TAP>
static void bind_iir_filter(py::module& m, const char* name, const char* types)
{
    using block = gr::cufilter::iir_filter_blk<ITEM, TAP>;
    const std::string doc =
        std::string("IIR filter: ") + types +
        ".\n\n"
        "    y[n] = sum_{k=0} fftaps[k] x[n-k] + sum_{k=1} fbtaps[k] y[n-k]\n\n"
        "and with oldstyle=False minus the second sum. fbtaps[0] is ignored.\n\n"
        "fftaps, fbtaps: finite numbers, at most 65536 each.\n"
        "oldstyle: GNU Radio's sign of feedback taps; scipy's (b, a) need "
        "False.\n" DOC_IIR_ARGUMENTS DOC_IIR_PORT("keys fftaps and fbtaps", "set_taps");
    block_class<block> c(m, name, doc.c_str());
    c.def(py::init(&block::make), py::arg("fftaps"), py::arg("fbtaps"),
          py::arg("oldstyle") = true, py::arg("device") = CUFILTER_DEVICE_AUTO,
          py::arg("batch_items") = 0, without_gil())
        .def("set_taps", &block::set_taps, py::arg("fftaps"), py::arg("fbtaps"),
             without_gil(),
             "New fftaps and fbtaps from the next call on, from any thread; the filter "
             "starts anew with them. ValueError: a tap is not finite.")
        .def("fftaps", &block::fftaps, "The feed-forward taps in use.")
        .def("fbtaps", &block::fbtaps, "The feedback taps in use, as they were given.");
    bind_common<block>(c);
}

template <class ITEM>
static void bind_sos(py::module& m, const char* name, const char* types)
{
    using block = gr::cufilter::sos_filter<ITEM>;
    const std::string doc =
        std::string("Cascade of second-order sections: ") + types +
        ".\n\n"
        "    a0 y[n] = b0 x[n] + b1 x[n-1] + b2 x[n-2] - a1 y[n-1] - a2 y[n-2]\n\n"
        "for each section, whose y is the next one's x: scipy.signal.sosfilt.\n\n"
        "sos: [n][6], b0 b1 b2 a0 a1 a2 of each section, as scipy.signal designs it with "
        "output=\"sos\"; 1 to 32 sections, a0 not 0.\n" DOC_VLEN
        "steady_start: start in the state that the first item, for ever, would have led "
        "to, instead of with zeros.\n"
        "nthreads: threads of long calls on the CPU; a GPU ignores "
        "it.\n" DOC_IIR_ARGUMENTS DOC_IIR_PORT(
            "keys sos (a list of f64vectors of six, or one of all rows) and keep_state",
            "set_sos");
    block_class<block> c(m, name, doc.c_str());
    c.def(py::init(&block::make), py::arg("sos"), py::arg("vlen") = 1,
          py::arg("steady_start") = false, py::arg("nthreads") = 1,
          py::arg("device") = CUFILTER_DEVICE_AUTO, py::arg("batch_items") = 0,
          without_gil())
        .def("set_sos", &block::set_sos, py::arg("sos"), py::arg("keep_state") = true,
             without_gil(),
             "New sections sos from the next call on, from any thread. With keep_state "
             "each section's state stays if their number does; otherwise the filter "
             "starts anew. ValueError: sos breaks a rule.")
        .def("sos", &block::sos, "The sections in use.")
        .def("set_nthreads", &block::set_nthreads, py::arg("n"),
             "From the next call on n threads for long calls on the CPU, 1 .. 256; a GPU "
             "ignores the number.")
        .def("nthreads", &block::nthreads, "Threads of long calls on the CPU.");
    bind_common<block>(c);
}

template <class ITEM>
static void bind_single_pole(py::module& m, const char* name, const char* types)
{
    using block = gr::cufilter::single_pole_iir_filter_blk<ITEM>;
    const std::string doc =
        std::string("Single-pole IIR filter: ") + types +
        ".\n\n"
        "    y[n] = alpha x[n] + (1 - alpha) y[n-1],    y[-1] = 0\n\n"
        "alpha: 0 to 1; IndexError outside.\n" DOC_VLEN DOC_IIR_ARGUMENTS DOC_IIR_PORT(
            "key alpha", "set_taps");
    block_class<block> c(m, name, doc.c_str());
    c.def(py::init(&block::make), py::arg("alpha"), py::arg("vlen") = 1,
          py::arg("device") = CUFILTER_DEVICE_AUTO, py::arg("batch_items") = 0,
          without_gil())
        .def("set_taps", &block::set_taps, py::arg("alpha"), without_gil(),
             "Another alpha from the next call on, from any thread; y[n-1] stays.")
        .def("alpha", &block::alpha, "The alpha in use.");
    bind_common<block>(c);
}

void bind_iir(py::module& m)
{
    bind_iir_filter<float, double>(m, "iir_filter_ffd",
                                   "float in, float out, double taps");
    bind_iir_filter<gr_complex, float>(m, "iir_filter_ccf",
                                       "complex in, complex out, float taps");
    bind_iir_filter<gr_complex, double>(m, "iir_filter_ccd",
                                        "complex in, complex out, double taps");
    bind_iir_filter<gr_complex, gr_complexd>(
        m, "iir_filter_ccz", "complex in, complex out, complex double taps");
    bind_iir_filter<gr_complex, gr_complex>(m, "iir_filter_ccc",
                                            "complex in, complex out, complex taps");
    bind_sos<float>(m, "sos_filter_ff", "float in, float out");
    bind_sos<gr_complex>(m, "sos_filter_cc", "complex in, complex out");
    bind_single_pole<float>(m, "single_pole_iir_filter_ff", "float in, float out");
    bind_single_pole<gr_complex>(m, "single_pole_iir_filter_cc",
                                 "complex in, complex out");
}
