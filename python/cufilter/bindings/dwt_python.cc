/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Python classes of the wavelet blocks on vectors. */
#include "block_bindings.h"
#include <gnuradio/cufilter/dwt2_ff.h>
#include <gnuradio/cufilter/dwt_bands.h>
#include <gnuradio/cufilter/dwt_ff.h>
#include <gnuradio/cufilter/idwt2_ff.h>
#include <gnuradio/cufilter/idwt_ff.h>
#include <gnuradio/cufilter/squash_ff.h>
#include <gnuradio/cufilter/wavelet_denoise_ff.h>
#include <gnuradio/cufilter/wavelet_ff.h>
#include <gnuradio/cufilter/wvps_ff.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace gr::cufilter;

#define DOC_WAVELET                                                                      \
    "wavelet: haar, db1 .. db38, sym2 .. sym20, coif1 .. coif17, dmey, "                 \
    "bior1.1 .. bior6.8, rbio1.1 .. rbio6.8.\n"                                          \
    "mode: zero, constant, symmetric, periodic, smooth, periodization, reflect, "        \
    "antisymmetric or antireflect.\n"                                                    \
    "levels: 0 .. 64; -1: as many as pywt.dwt_max_level() gives.\n"
#define DOC_RULES "\nValueError: an argument breaks a rule."
#define DOC_VECTOR_PORT                                                                  \
    DOC_DEVICE_ARGUMENT                                                                  \
    DOC_BATCH("vectors") DOC_ERRORS
#define DOC_LAYOUT                                                                       \
    "A vector of coefficients is A_J, D_J ... D_1, as pywt.wavedec() gives them, "       \
    "without gaps; dwt_bands() tells where each lies.\n\n"
#define DOC_LAYOUT2                                                                      \
    "A vector of coefficients is A_J, H_J, V_J, D_J ... H_1, V_1, D_1, as "              \
    "pywt.wavedec2() gives them, each row by row, without gaps; dwt2_bands() tells "     \
    "where each lies.\n\n"

template <class BLOCK>
using sync_class =
    py::class_<BLOCK, gr::sync_block, gr::block, gr::basic_block, std::shared_ptr<BLOCK>>;

template <class BLOCK>
static void bind_signals(py::module& m, const char* name, const std::string& purpose)
{
    const std::string doc =
        purpose + DOC_LAYOUT + "size: samples of a vector.\n" DOC_WAVELET DOC_VECTOR_PORT;
    sync_class<BLOCK>(m, name, doc.c_str())
        .def(py::init(&BLOCK::make), py::arg("size"), py::arg("wavelet") = "db4",
             py::arg("mode") = "symmetric", py::arg("levels") = -1,
             py::arg("device") = CUFILTER_DEVICE_AUTO, py::arg("batch_items") = 0,
             without_gil())
        .def("coef_count", &BLOCK::coef_count, "Coefficients of a vector.")
        .def("levels", &BLOCK::levels, "Levels in use.")
        .def("device", &BLOCK::device, DOC_DEVICE);
}

template <class BLOCK>
static void bind_images(py::module& m, const char* name, const std::string& purpose)
{
    const std::string doc =
        purpose + DOC_LAYOUT2 +
        "rows, cols: of an image, which is one item, row by row.\n" DOC_WAVELET
            DOC_VECTOR_PORT;
    sync_class<BLOCK>(m, name, doc.c_str())
        .def(py::init(&BLOCK::make), py::arg("rows"), py::arg("cols"),
             py::arg("wavelet") = "db4", py::arg("mode") = "symmetric",
             py::arg("levels") = -1, py::arg("device") = CUFILTER_DEVICE_AUTO,
             py::arg("batch_items") = 0, without_gil())
        .def("coef_count", &BLOCK::coef_count, "Coefficients of an image.")
        .def("levels", &BLOCK::levels, "Levels in use.")
        .def("device", &BLOCK::device, DOC_DEVICE);
}

static py::list as_list(const std::vector<dwt_band>& bands)
{
    py::list result;
    for (const dwt_band& b : bands) {
        py::dict entry;
        entry["name"] = std::string(1, b.name);
        entry["level"] = b.level;
        entry["offset"] = b.offset;
        entry["rows"] = b.rows;
        entry["cols"] = b.cols;
        result.append(entry);
    }
    return result;
}

static void bind_layout(py::module& m)
{
    m.def(
        "dwt_bands",
        [](int size, const std::string& wavelet, const std::string& mode, int levels) {
            return as_list(dwt_bands(size, wavelet, mode, levels));
        },
        py::arg("size"), py::arg("wavelet") = "db4", py::arg("mode") = "symmetric",
        py::arg("levels") = -1,
        "The bands of dwt_ff and idwt_ff of these arguments in their order: dictionaries "
        "with name ('a' or 'd'), level (1 is the finest), offset, rows (1) and "
        "cols.\n\nsize: samples of a vector.\n" DOC_WAVELET DOC_RULES);
    m.def(
        "dwt2_bands",
        [](int rows, int cols, const std::string& wavelet, const std::string& mode,
           int levels) { return as_list(dwt2_bands(rows, cols, wavelet, mode, levels)); },
        py::arg("rows"), py::arg("cols"), py::arg("wavelet") = "db4",
        py::arg("mode") = "symmetric", py::arg("levels") = -1,
        "The bands of dwt2_ff and idwt2_ff of these arguments: dictionaries with name "
        "('a', 'h', 'v' or 'd'), level, offset, rows and cols.\n\n"
        "rows, cols: of an image.\n" DOC_WAVELET DOC_RULES);
    m.def("dwt_coef_count", &dwt_coef_count, py::arg("size"), py::arg("wavelet") = "db4",
          py::arg("mode") = "symmetric", py::arg("levels") = -1,
          "Items of the coefficient vectors of dwt_ff and idwt_ff.\n\n"
          "size: samples of a vector.\n" DOC_WAVELET DOC_RULES);
    m.def("dwt2_coef_count", &dwt2_coef_count, py::arg("rows"), py::arg("cols"),
          py::arg("wavelet") = "db4", py::arg("mode") = "symmetric",
          py::arg("levels") = -1,
          "Items of the coefficient vectors of dwt2_ff and idwt2_ff.\n\n"
          "rows, cols: of an image.\n" DOC_WAVELET DOC_RULES);
}

static void bind_stock(py::module& m)
{
    sync_class<wavelet_ff>(
        m, "wavelet_ff",
        "Wavelet transform of vectors, as gr-wavelet's: Daubechies' wavelet of `order` "
        "taps, periodic, down to one sample; out come that sample and the details from "
        "the coarsest to the finest level.\n\n"
        "size: a power of two.\norder: 4, 6 .. 20.\nforward: False: the "
        "inverse.\n" DOC_VECTOR_PORT)
        .def(py::init(&wavelet_ff::make), py::arg("size") = 1024, py::arg("order") = 20,
             py::arg("forward") = true, py::arg("device") = CUFILTER_DEVICE_AUTO,
             py::arg("batch_items") = 0, without_gil())
        .def("device", &wavelet_ff::device, DOC_DEVICE);
    sync_class<squash_ff>(
        m, "squash_ff",
        "Resampling of vectors, as gr-wavelet's: the natural cubic spline through "
        "(igrid[i], x[i]) at the places of ogrid. On the CPU.\n\n"
        "igrid: 3 points and up, increasing.\nogrid: points within "
        "igrid.\n" DOC_VECTOR_PORT)
        .def(py::init(&squash_ff::make), py::arg("igrid"), py::arg("ogrid"),
             py::arg("device") = CUFILTER_DEVICE_AUTO, py::arg("batch_items") = 0,
             without_gil())
        .def("device", &squash_ff::device, DOC_DEVICE);
    sync_class<wvps_ff>(
        m, "wvps_ff",
        "Wavelet power spectrum of what wavelet_ff gives, as gr-wavelet's:\n\n"
        "    y[e] = sum_{k=2^e}^{2^(e+1)-1} x[k]^2 / x[0]^2,   0 where x[0] is 0\n\n"
        "for e < ceil(log2 ilen). On the CPU.\n\nilen: 2 and up.\n" DOC_VECTOR_PORT)
        .def(py::init(&wvps_ff::make), py::arg("ilen"),
             py::arg("device") = CUFILTER_DEVICE_AUTO, py::arg("batch_items") = 0,
             without_gil())
        .def("device", &wvps_ff::device, DOC_DEVICE);
}

static void bind_denoise(py::module& m)
{
    sync_class<wavelet_denoise_ff>(
        m, "wavelet_denoise_ff",
        "Wavelet shrinkage of vectors: transform, threshold of all details, inverse.\n\n"
        "    soft     x max(0, 1 - t/|x|)\n"
        "    hard     x where |x| >= t, else 0\n"
        "    garrote  x max(0, 1 - t^2/x^2)\n\n"
        "size: samples of a vector.\n" DOC_WAVELET "kind: soft, hard or garrote.\n"
        "threshold: t; 0: for each vector sigma sqrt(2 ln size), sigma = median(|D_1|) / "
        "0.6745.\n" DOC_VECTOR_PORT
        "\n\nMessage port cmd: a dictionary with the key threshold, or the pair "
        "(threshold . number), does what set_threshold() does.")
        .def(py::init(&wavelet_denoise_ff::make), py::arg("size"),
             py::arg("wavelet") = "sym8", py::arg("mode") = "symmetric",
             py::arg("levels") = -1, py::arg("kind") = "soft",
             py::arg("threshold") = 0.0f, py::arg("device") = CUFILTER_DEVICE_AUTO,
             py::arg("batch_items") = 0, without_gil())
        .def("set_threshold", &wavelet_denoise_ff::set_threshold, py::arg("threshold"),
             "A new threshold from the next call on, from any thread.")
        .def("threshold", &wavelet_denoise_ff::threshold, "The threshold in use.")
        .def("levels", &wavelet_denoise_ff::levels, "Levels in use.")
        .def("device", &wavelet_denoise_ff::device, DOC_DEVICE);
}

void bind_dwt(py::module& m)
{
    bind_signals<dwt_ff>(m, "dwt_ff",
                         "Wavelet transform of vectors: size floats in, coef_count() "
                         "out.\n\n");
    bind_signals<idwt_ff>(m, "idwt_ff",
                          "Inverse of dwt_ff: coef_count() floats in, size out.\n\n");
    bind_images<dwt2_ff>(m, "dwt2_ff",
                         "Wavelet transform of images: rows * cols floats in, "
                         "coef_count() out.\n\n");
    bind_images<idwt2_ff>(m, "idwt2_ff",
                          "Inverse of dwt2_ff: coef_count() floats in, rows * cols "
                          "out.\n\n");
    bind_layout(m);
    bind_stock(m);
    bind_denoise(m);
}
