/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The streaming wavelet filter banks of the C API as objects that throw. */
#ifndef INCLUDED_CUFILTER_LIB_DWT_STREAM_ENGINE_H
#define INCLUDED_CUFILTER_LIB_DWT_STREAM_ENGINE_H

#include "dwt_engine.h"
#include "status.h"
#include <cufilter/dwt_stream.h>
#include <memory>
#include <string>

namespace gr {
namespace cufilter {

struct dwt_stream_settings {
    std::string block; /* its name, for messages */
    cufilter_dwt_type type;
    std::string wavelet;
    int levels, device, batch_items;
};

/* HANDLE and its functions; both directions are made alike. */
template <class HANDLE,
          cufilter_status (*CREATE)(HANDLE**, const cufilter_dwt_stream_config*),
          void (*DESTROY)(HANDLE*), int (*DEVICE)(const HANDLE*)>
class dwt_stream_engine
{
public:
    explicit dwt_stream_engine(const dwt_stream_settings& settings)
        : d_block(settings.block)
    {
        use_gnuradio_log();
        cufilter_dwt_stream_config config;
        cufilter_dwt_stream_defaults(&config, settings.wavelet.c_str(), settings.levels);
        config.device = settings.device;
        config.type = settings.type;
        HANDLE* handle = nullptr;
        check_status(CREATE(&handle, &config), d_block);
        d_handle.reset(handle);
        d_delay = static_cast<int>(cufilter_dwt_stream_delay(
            settings.levels, dwt_filter_length(settings.wavelet, d_block)));
    }

    HANDLE* handle() const { return d_handle.get(); }
    void check(cufilter_status status) const { check_status(status, d_block); }
    int delay() const { return d_delay; }
    int device() const { return DEVICE(d_handle.get()); }

private:
    struct destroy {
        void operator()(HANDLE* handle) const { DESTROY(handle); }
    };

    const std::string d_block;
    std::unique_ptr<HANDLE, destroy> d_handle;
    int d_delay;
};

using analysis_engine =
    dwt_stream_engine<cufilter_dwt_analysis, cufilter_dwt_analysis_create,
                      cufilter_dwt_analysis_destroy, cufilter_dwt_analysis_get_device>;
using synthesis_engine =
    dwt_stream_engine<cufilter_dwt_synthesis, cufilter_dwt_synthesis_create,
                      cufilter_dwt_synthesis_destroy, cufilter_dwt_synthesis_get_device>;

} // namespace cufilter
} // namespace gr

#endif
