/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Python classes of the filter bank blocks. */
#include "block_bindings.h"
#include <gnuradio/cufilter/pfb_channel_freqs.h>
#include <gnuradio/cufilter/pfb_channelizer_ccf.h>
#include <gnuradio/cufilter/pfb_channelizer_streams_ccf.h>
#include <gnuradio/cufilter/pfb_channelizer_vcc.h>
#include <gnuradio/cufilter/pfb_synthesizer_ccf.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace gr::cufilter;

#define DOC_CHANNELIZER                                                                  \
    "    t_s    = (s+1) R - 1\n"                                                         \
    "    y_c[s] = e^{-j 2 pi c (s+2) R / K} sum_m taps[m] e^{+j 2 pi c m / K} "          \
    "x[t_s - m]\n\n"                                                                     \
    "for channels c = 0 .. K-1, K = numchans, R = K / oversample_rate. Channel c is "    \
    "centred on c/K of the input rate (above K/2: negative). N items give floor(N / R) " \
    "items of each channel; no tail is lost.\n\n"                                        \
    "numchans: 1 .. 16384.\n"                                                            \
    "taps: the prototype, finite, 1 to 1048576 of them.\n"                               \
    "oversample_rate: K/R for any R of 1 .. K.\n"

#define DOC_PFB_PORT                                                                     \
    DOC_DEVICE_ARGUMENT                                                                  \
    DOC_BATCH("input items (of a port)")                                                 \
    "\nMessage port cmd: a dictionary with the keys taps and channel_map, or a pair "    \
    "(key . value), does what the setters do.\n" DOC_ERRORS

template <class BLOCK, class BASE>
static void bind_methods(BASE& block)
{
    block.def("set_taps", &BLOCK::set_taps, py::arg("taps"), without_gil(), DOC_SET_TAPS)
        .def("taps", &BLOCK::taps, "The taps by branch: taps[c + t K] at [c][t].")
        .def("print_taps", &BLOCK::print_taps, "Prints the taps by branch.")
        .def(
            "set_channel_map", &BLOCK::set_channel_map, py::arg("map"), without_gil(),
            "A new channel map from the next call on, from any thread: an entry for each "
            "connected port, or for each element of a vector. Empty: no change.")
        .def("channel_map", &BLOCK::channel_map, "The channel map in use.")
        .def("device", &BLOCK::device, DOC_DEVICE);
}

static void bind_channelizers(py::module& m)
{
    py::class_<pfb_channelizer_ccf, gr::block, gr::basic_block,
               std::shared_ptr<pfb_channelizer_ccf>>
        ports(m, "pfb_channelizer_ccf",
              "Polyphase channelizer: numchans streams in, as stream_to_streams makes "
              "them, 1 .. numchans streams out.\n\n" DOC_CHANNELIZER DOC_PFB_PORT);
    ports.def(py::init(&pfb_channelizer_ccf::make), py::arg("numchans"), py::arg("taps"),
              py::arg("oversample_rate"), py::arg("device") = CUFILTER_DEVICE_AUTO,
              py::arg("batch_items") = 0, without_gil());
    bind_methods<pfb_channelizer_ccf>(ports);

    py::class_<pfb_channelizer_streams_ccf, gr::sync_decimator, gr::sync_block, gr::block,
               gr::basic_block, std::shared_ptr<pfb_channelizer_streams_ccf>>
        streams(m, "pfb_channelizer_streams_ccf",
                "Polyphase channelizer: one stream in, 1 .. numchans streams "
                "out.\n\n" DOC_CHANNELIZER DOC_PFB_PORT);
    streams.def(py::init(&pfb_channelizer_streams_ccf::make), py::arg("numchans"),
                py::arg("taps"), py::arg("oversample_rate") = 1.0,
                py::arg("device") = CUFILTER_DEVICE_AUTO, py::arg("batch_items") = 0,
                without_gil());
    bind_methods<pfb_channelizer_streams_ccf>(streams);

    py::class_<pfb_channelizer_vcc, gr::sync_decimator, gr::sync_block, gr::block,
               gr::basic_block, std::shared_ptr<pfb_channelizer_vcc>>
        vectors(m, "pfb_channelizer_vcc",
                "Polyphase channelizer: one stream in, one stream of vectors "
                "out.\n\n" DOC_CHANNELIZER
                "channel_map: the channels that make up a vector, any number in any "
                "order; empty: all.\n" DOC_PFB_PORT);
    vectors.def(py::init(&pfb_channelizer_vcc::make), py::arg("numchans"),
                py::arg("taps"), py::arg("oversample_rate") = 1.0,
                py::arg("channel_map") = std::vector<int>(),
                py::arg("device") = CUFILTER_DEVICE_AUTO, py::arg("batch_items") = 0,
                without_gil());
    bind_methods<pfb_channelizer_vcc>(vectors);
}

static void bind_synthesizer(py::module& m)
{
    py::class_<pfb_synthesizer_ccf, gr::sync_interpolator, gr::sync_block, gr::block,
               gr::basic_block, std::shared_ptr<pfb_synthesizer_ccf>>
        synthesizer(
            m, "pfb_synthesizer_ccf",
            "Polyphase synthesizer: 1 .. P streams in, one stream of K times their rate "
            "out, P = K = numchans, or 2 K with twox.\n\n"
            "    y[t] = sum_c (up_K(X_c) * (taps[m] e^{+j 2 pi c m / K}))[t]          "
            "P = K\n"
            "    y[t] = sum_c e^{+j 2 pi c (t+K) / (2K)} (up_K(X_c) * taps)[t]        "
            "P = 2 K\n\n"
            "numchans: 1 .. 16384, with twox 1 .. 8192.\n"
            "taps: the prototype, finite, at most 1048576 of them.\n"
            "twox: the inputs run at twice their spacing.\n" DOC_PFB_PORT);
    synthesizer.def(py::init(&pfb_synthesizer_ccf::make), py::arg("numchans"),
                    py::arg("taps"), py::arg("twox") = false,
                    py::arg("device") = CUFILTER_DEVICE_AUTO, py::arg("batch_items") = 0,
                    without_gil());
    bind_methods<pfb_synthesizer_ccf>(synthesizer);
}

void bind_pfb(py::module& m)
{
    bind_channelizers(m);
    bind_synthesizer(m);
    m.def("pfb_channel_freqs", &pfb_channel_freqs, py::arg("numchans"),
          py::arg("samp_rate"), py::arg("center") = 0.0,
          "Centre of each channel: center + c samp_rate / numchans, and samp_rate lower "
          "above numchans / 2.");
}
