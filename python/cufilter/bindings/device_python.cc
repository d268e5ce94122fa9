/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Python functions about GPUs. */
#include <cufilter/device.h>
#include <pybind11/pybind11.h>
#include <stdexcept>

namespace py = pybind11;

static py::dict device_info(int device)
{
    cufilter_device_info info;
    const cufilter_status status = cufilter_device_get_info(device, &info);
    if (status == CUFILTER_ERR_INVALID || status == CUFILTER_ERR_NO_DEVICE)
        throw std::invalid_argument(cufilter_last_error());
    if (status != CUFILTER_OK)
        throw std::runtime_error(cufilter_last_error());

    py::dict result;
    result["name"] = info.name;
    result["capability"] = py::make_tuple(info.capability_major, info.capability_minor);
    result["multiprocessors"] = info.multiprocessors;
    result["memory_bytes"] = info.memory_bytes;
    result["l2_bytes"] = info.l2_bytes;
    result["pci_bus_id"] = info.pci_bus_id;
    result["usable"] = info.usable != 0;
    result["reason"] = info.reason;
    return result;
}

static py::dict cuda_versions()
{
    int driver = 0, runtime = 0, cufft = 0;
    cufilter_cuda_versions(&driver, &runtime, &cufft);
    py::dict result;
    result["driver"] = driver;
    result["runtime"] = runtime;
    result["cufft"] = cufft;
    return result;
}

void bind_device(py::module& m)
{
    m.attr("DEVICE_AUTO") = CUFILTER_DEVICE_AUTO;
    m.attr("DEVICE_CPU") = CUFILTER_DEVICE_CPU;
    m.def(
        "built_with_cuda", [] { return cufilter_built_with_cuda() != 0; },
        "Whether the library was built with CUDA.");
    m.def("device_count", &cufilter_device_count,
          "Number of CUDA devices; 0 where there is no driver or no CUDA in the build.");
    m.def(
        "device_info", &device_info, py::arg("device"),
        "Dictionary: name, capability (major, minor), multiprocessors, memory_bytes, "
        "l2_bytes, pci_bus_id, usable, and the reason why not. ValueError where there is "
        "no such device.");
    m.def("cuda_versions", &cuda_versions,
          "Dictionary: driver and runtime as 1000 * major + 10 * minor, cufft as "
          "cufftGetVersion() gives it; 0 = none.");
}
