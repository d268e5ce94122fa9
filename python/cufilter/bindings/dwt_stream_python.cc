/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Python classes of the wavelet filter banks on streams. */
#include "block_bindings.h"
#include <gnuradio/cufilter/dwt_stream_blk.h>
#include <gnuradio/cufilter/wavelet_threshold.h>
#include <pybind11/pybind11.h>

namespace py = pybind11;
using namespace gr::cufilter;

#define DOC_STREAM_PORT                                                                  \
    "wavelet: haar, db1 .. db38, sym2 .. sym20, coif1 .. coif17, dmey, "                 \
    "bior1.1 .. bior6.8, rbio1.1 .. rbio6.8.\n"                                          \
    "levels: L, 1 .. 16.\n"                                                              \
    "device: DEVICE_CPU (-1), the index of a GPU, or DEVICE_AUTO (-2): what the "        \
    "environment variable CUFILTER_DEVICE says, else the CPU, which is faster here but " \
    "for filters of some tens of taps in large batches.\n" DOC_BATCH("samples")          \
        DOC_ERRORS

template <class BLOCK>
static void bind_one(py::module& m, const char* name, const std::string& purpose)
{
    const std::string doc = purpose + DOC_STREAM_PORT;
    py::class_<BLOCK, gr::block, gr::basic_block, std::shared_ptr<BLOCK>>(m, name,
                                                                          doc.c_str())
        .def(py::init(&BLOCK::make), py::arg("wavelet") = "db4", py::arg("levels") = 3,
             py::arg("device") = CUFILTER_DEVICE_AUTO, py::arg("batch_items") = 0,
             without_gil())
        .def("levels", &BLOCK::levels, "L.")
        .def("delay", &BLOCK::delay,
             "Samples of delay from analysis to synthesis: (F-2) (2^L - 1).")
        .def("device", &BLOCK::device, DOC_DEVICE);
}

template <class BLOCK>
static void bind_threshold(py::module& m, const char* name)
{
    py::class_<BLOCK, gr::sync_block, gr::block, gr::basic_block, std::shared_ptr<BLOCK>>(
        m, name,
        "Threshold of coefficients, for what lies between dwt_stream and idwt_stream. On "
        "the CPU.\n\n"
        "    soft     x max(0, 1 - t/|x|)\n"
        "    hard     x where |x| >= t, else 0\n"
        "    garrote  x max(0, 1 - t^2/x^2)\n\n"
        "threshold: t, 0 and up.\nkind: soft, hard or garrote.\n"
        "vlen: items are vectors of so many coefficients.\n"
        "device: DEVICE_CPU (-1) or DEVICE_AUTO (-2); a GPU by its index must be there "
        "and is not used.\n" DOC_BATCH(
            "items") "\nMessage port cmd: a dictionary with the key threshold, or the "
                     "pair (threshold "
                     ". number), does what set_threshold() does.\n" DOC_ERRORS)
        .def(py::init(&BLOCK::make), py::arg("threshold"), py::arg("kind") = "soft",
             py::arg("vlen") = 1, py::arg("device") = CUFILTER_DEVICE_AUTO,
             py::arg("batch_items") = 0, without_gil())
        .def("set_threshold", &BLOCK::set_threshold, py::arg("threshold"),
             "A new threshold from the next call on, from any thread.")
        .def("threshold", &BLOCK::threshold, "The threshold in use.")
        .def("device", &BLOCK::device, DOC_DEVICE);
}

void bind_dwt_stream(py::module& m)
{
    const std::string forth =
        "Wavelet filter bank on a stream: one stream in, L + 1 out.\n\n"
        "    a_l[o] = sum_j dec_lo[j] a_{l-1}[2 o + 1 - j],   d_l[o] with dec_hi,   "
        "a_0 = x\n\n"
        "Output 0 is a_L, output b = 1 .. L is d_{L+1-b}. N samples give floor(N / 2^l) "
        "items of a band of level l. The last outputs may be left unconnected.\n\n";
    const std::string back =
        "Inverse of dwt_stream: L + 1 streams in, as its outputs, one out.\n\n"
        "    y[n] = x[n - D],   D = delay()\n\n"
        "2^L samples for each item of input 0. The last D samples of a finite stream "
        "come out once D more went into dwt_stream.\n\n";
    bind_one<dwt_stream_ff>(m, "dwt_stream_ff", forth);
    bind_one<dwt_stream_cc>(m, "dwt_stream_cc", forth);
    bind_one<idwt_stream_ff>(m, "idwt_stream_ff", back);
    bind_one<idwt_stream_cc>(m, "idwt_stream_cc", back);
    bind_threshold<wavelet_threshold_ff>(m, "wavelet_threshold_ff");
    bind_threshold<wavelet_threshold_cc>(m, "wavelet_threshold_cc");
}
