/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Python classes of the blocks fir_filter_{ccc,ccf,fcc,fff,fsf,scc}. */
#include "block_bindings.h"
#include <gnuradio/cufilter/fir_filter_blk.h>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

template <class IN_T, class OUT_T, class TAP_T>
static void bind_one(py::module& m, const char* name, const char* types)
{
    using block = gr::cufilter::fir_filter_blk<IN_T, OUT_T, TAP_T>;
    const std::string doc = std::string("FIR filter with decimation: ") + types +
                            ".\n\n" + DOC_FORMULA + DOC_ARGUMENTS + DOC_PORT;
    py::class_<block, gr::sync_decimator, gr::sync_block, gr::block, gr::basic_block,
               std::shared_ptr<block>>(m, name, doc.c_str())
        .def(py::init(&block::make), py::arg("decimation"), py::arg("taps"),
             py::arg("device") = CUFILTER_DEVICE_AUTO, py::arg("batch_items") = 0,
             without_gil())
        .def("set_taps", &block::set_taps, py::arg("taps"), without_gil(), DOC_SET_TAPS)
        .def("taps", &block::taps, DOC_TAPS)
        .def("device", &block::device, DOC_DEVICE);
}

void bind_fir_filter(py::module& m)
{
    bind_one<gr_complex, gr_complex, gr_complex>(m, "fir_filter_ccc",
                                                 "complex in, complex out, complex taps");
    bind_one<gr_complex, gr_complex, float>(m, "fir_filter_ccf",
                                            "complex in, complex out, real taps");
    bind_one<float, gr_complex, gr_complex>(m, "fir_filter_fcc",
                                            "float in, complex out, complex taps");
    bind_one<float, float, float>(m, "fir_filter_fff", "float in, float out, real taps");
    bind_one<float, std::int16_t, float>(m, "fir_filter_fsf",
                                         "float in, int16 out (saturated), real taps");
    bind_one<std::int16_t, gr_complex, gr_complex>(m, "fir_filter_scc",
                                                   "int16 in, complex out, complex taps");
}
