/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What wavelets.py builds on: transforms of arrays, and wavelets' filters. */
#include <cufilter/dwt.h>
#include <cufilter/dwt_stationary.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace py = pybind11;

namespace {

using filter_bank = std::vector<std::vector<double>>; /* dec_lo, dec_hi, rec_lo, rec_hi */

void check(cufilter_status status)
{
    switch (status) {
    case CUFILTER_OK:
        return;
    case CUFILTER_ERR_INVALID:
    case CUFILTER_ERR_NO_DEVICE:
        throw std::invalid_argument(cufilter_last_error());
    case CUFILTER_ERR_NO_MEMORY:
    case CUFILTER_ERR_DEVICE_MEMORY:
        throw std::bad_alloc();
    default:
        throw std::runtime_error(cufilter_last_error());
    }
}

/* Where a C-contiguous array begins, which must have so many bytes. */
void* checked(const py::buffer_info& array, size_t bytes, const char* name)
{
    const size_t given = static_cast<size_t>(array.size * array.itemsize);
    ssize_t stride = array.itemsize;
    for (size_t d = array.shape.size(); d-- > 0; stride *= array.shape[d])
        if (array.shape[d] > 1 && array.strides[d] != stride)
            throw std::invalid_argument(std::string(name) + " must be C-contiguous");
    if (given != bytes)
        throw std::invalid_argument(std::string(name) + " must have " +
                                    std::to_string(bytes) + " bytes, not " +
                                    std::to_string(given));
    return array.ptr;
}

/* Points into the bank. */
cufilter_dwt_filters filters_of(const filter_bank& bank)
{
    if (bank.size() != 4)
        throw std::invalid_argument("a filter bank has 4 filters");
    for (const std::vector<double>& filter : bank)
        if (filter.size() != bank[0].size())
            throw std::invalid_argument("the 4 filters must have one length");
    return {bank[0].size(), bank[0].data(), bank[1].data(), bank[2].data(),
            bank[3].data()};
}

/* A transform of arrays; calls from several threads wait for each other. */
class plan
{
public:
    plan(const filter_bank& bank, int type, int mode, int rank, size_t rows, size_t cols,
         int levels, int device)
    {
        cufilter_dwt_config config;
        cufilter_dwt_defaults(&config, nullptr, rank, rows, cols);
        config.filters = filters_of(bank);
        config.device = device;
        config.type = static_cast<cufilter_dwt_type>(type);
        config.mode = static_cast<cufilter_dwt_mode>(mode);
        config.levels = levels;
        cufilter_dwt* dwt = nullptr;
        check(cufilter_dwt_create(&dwt, &config));
        d_dwt.reset(dwt);
        d_item = type == CUFILTER_DWT_F32 ? 4 : 8;
        d_data_bytes = rows * cols * d_item;
        d_coef_bytes = cufilter_dwt_coef_count(dwt) * (rank == 2 ? 1 : rows) * d_item;
    }

    void forward(const py::buffer& data, const py::buffer& coefs)
    {
        const py::buffer_info in = data.request(), out = coefs.request(true);
        const void* const from = checked(in, d_data_bytes, "data");
        void* const to = checked(out, d_coef_bytes, "coefs");
        py::gil_scoped_release release;
        std::lock_guard<std::mutex> guard(d_mutex);
        check(cufilter_dwt_forward(d_dwt.get(), from, 0, to, 0));
    }

    void inverse(const py::buffer& coefs, const py::buffer& data)
    {
        const py::buffer_info in = coefs.request(), out = data.request(true);
        const void* const from = checked(in, d_coef_bytes, "coefs");
        void* const to = checked(out, d_data_bytes, "data");
        py::gil_scoped_release release;
        std::lock_guard<std::mutex> guard(d_mutex);
        check(cufilter_dwt_inverse(d_dwt.get(), from, 0, to, 0));
    }

    size_t coef_count() const { return cufilter_dwt_coef_count(d_dwt.get()); }
    int device() const { return cufilter_dwt_get_device(d_dwt.get()); }

    /* (offset, rows, cols) of each band. */
    std::vector<std::vector<size_t>> bands() const
    {
        std::vector<std::vector<size_t>> all(cufilter_dwt_band_count(d_dwt.get()));
        for (size_t i = 0; i < all.size(); i++) {
            cufilter_dwt_band b = {};
            check(cufilter_dwt_get_band(d_dwt.get(), i, &b));
            all[i] = {b.offset, b.rows, b.cols};
        }
        return all;
    }

private:
    struct destroy {
        void operator()(cufilter_dwt* dwt) const { cufilter_dwt_destroy(dwt); }
    };

    std::unique_ptr<cufilter_dwt, destroy> d_dwt;
    std::mutex d_mutex;
    size_t d_item, d_data_bytes, d_coef_bytes;
};

/* The stationary transform, all approximations kept. */
class swt_plan
{
public:
    swt_plan(const filter_bank& bank, int type, size_t rows, size_t cols, int levels,
             int start_level, bool normalized, int device)
    {
        cufilter_swt_config config;
        cufilter_swt_defaults(&config, nullptr, rows, cols, levels);
        config.filters = filters_of(bank);
        config.device = device;
        config.type = static_cast<cufilter_dwt_type>(type);
        config.start_level = start_level;
        config.normalized = normalized;
        config.keep = 1;
        cufilter_swt* swt = nullptr;
        check(cufilter_swt_create(&swt, &config));
        d_swt.reset(swt);
        d_data_bytes = rows * cols * (type == CUFILTER_DWT_F32 ? 4 : 8);
        d_coef_bytes = cufilter_swt_band_count(swt) * d_data_bytes;
    }

    void forward(const py::buffer& data, const py::buffer& coefs)
    {
        const py::buffer_info in = data.request(), out = coefs.request(true);
        const void* const from = checked(in, d_data_bytes, "data");
        void* const to = checked(out, d_coef_bytes, "coefs");
        py::gil_scoped_release release;
        check(cufilter_swt_forward(d_swt.get(), from, 0, to, 0));
    }

    void inverse(const py::buffer& coefs, const py::buffer& data)
    {
        const py::buffer_info in = coefs.request(), out = data.request(true);
        const void* const from = checked(in, d_coef_bytes, "coefs");
        void* const to = checked(out, d_data_bytes, "data");
        py::gil_scoped_release release;
        check(cufilter_swt_inverse(d_swt.get(), from, 0, to, 0));
    }

private:
    struct destroy {
        void operator()(cufilter_swt* swt) const { cufilter_swt_destroy(swt); }
    };

    std::unique_ptr<cufilter_swt, destroy> d_swt;
    size_t d_data_bytes, d_coef_bytes;
};

filter_bank filters(const std::string& name)
{
    size_t n = 0;
    check(cufilter_dwt_wavelet(name.c_str(), &n, nullptr, nullptr, nullptr, nullptr, 0));
    filter_bank bank(4, std::vector<double>(n));
    check(cufilter_dwt_wavelet(name.c_str(), &n, bank[0].data(), bank[1].data(),
                               bank[2].data(), bank[3].data(), n));
    return bank;
}

std::vector<std::string> names()
{
    std::vector<std::string> all;
    for (size_t i = 0; i < cufilter_dwt_wavelet_count(); i++)
        all.push_back(cufilter_dwt_wavelet_name(i));
    return all;
}

void threshold(int kind, double value, int type, const py::buffer& data,
               const py::buffer& result)
{
    const py::buffer_info in = data.request(), out = result.request(true);
    const size_t item = type == CUFILTER_DWT_F32 ? 4 : 8;
    const size_t n = static_cast<size_t>(in.size * in.itemsize) / item;
    const void* const from = checked(in, n * item, "data");
    void* const to = checked(out, n * item, "result");
    py::gil_scoped_release release;
    check(cufilter_dwt_threshold(static_cast<cufilter_dwt_threshold_kind>(kind), value,
                                 static_cast<cufilter_dwt_type>(type), from, to, n));
}

} // namespace

void bind_dwt_plan(py::module& m)
{
    py::class_<plan>(m, "_DwtPlan")
        .def(py::init<const filter_bank&, int, int, int, size_t, size_t, int, int>())
        .def("forward", &plan::forward)
        .def("inverse", &plan::inverse)
        .def("coef_count", &plan::coef_count)
        .def("bands", &plan::bands)
        .def("device", &plan::device);
    py::class_<swt_plan>(m, "_SwtPlan")
        .def(py::init<const filter_bank&, int, size_t, size_t, int, int, bool, int>())
        .def("forward", &swt_plan::forward)
        .def("inverse", &swt_plan::inverse);
    m.def("_swt_max_level", &cufilter_swt_max_level);
    m.def("_dwt_filters", &filters);
    m.def("_dwt_names", &names);
    m.def("_dwt_threshold", &threshold);
    m.def("_dwt_coef_length", [](size_t n, size_t filter_length, int mode) {
        return cufilter_dwt_coef_length(n, filter_length,
                                        static_cast<cufilter_dwt_mode>(mode));
    });
    m.def("_dwt_max_level", &cufilter_dwt_max_level);
}
