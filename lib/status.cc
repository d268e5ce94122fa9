/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the C API's statuses and log to exceptions and GNU Radio's logger. */
#include "status.h"
#include <gnuradio/logger.h>
#include <mutex>
#include <new>
#include <stdexcept>

namespace gr {
namespace cufilter {

namespace {

/* std::bad_alloc carries no text of its own. */
class out_of_memory : public std::bad_alloc
{
public:
    explicit out_of_memory(const std::string& text) : d_text(text) {}
    const char* what() const noexcept override { return d_text.c_str(); }

private:
    const std::string d_text;
};

void log_to_gnuradio(cufilter_log_level level, const char* text)
{
    /* Never destroyed: cores may still speak while static objects go. */
    static gr::logger& log = *new gr::logger("cufilter");
    switch (level) {
    case CUFILTER_LOG_DEBUG:
        log.debug("{:s}", text);
        break;
    case CUFILTER_LOG_INFO:
        log.info("{:s}", text);
        break;
    case CUFILTER_LOG_WARN:
        log.warn("{:s}", text);
        break;
    }
}

} // namespace

void check_status(cufilter_status status, const std::string& block)
{
    if (status == CUFILTER_OK)
        return;
    const std::string detail = cufilter_last_error();
    const std::string text =
        block + ": " + (detail.empty() ? cufilter_strerror(status) : detail);
    switch (status) {
    case CUFILTER_ERR_INVALID:
    case CUFILTER_ERR_NO_DEVICE: /* a number that names no usable GPU */
        throw std::invalid_argument(text);
    case CUFILTER_ERR_NO_MEMORY:
    case CUFILTER_ERR_DEVICE_MEMORY:
        throw out_of_memory(text);
    default:
        throw std::runtime_error(text);
    }
}

void use_gnuradio_log()
{
    static std::once_flag once;
    std::call_once(once, [] { cufilter_set_log(log_to_gnuradio); });
}

unsigned checked_decimation(int decimation, const std::string& block)
{
    if (decimation < 1)
        throw std::invalid_argument(block + ": decimation must be at least 1, not " +
                                    std::to_string(decimation));
    return static_cast<unsigned>(decimation);
}

} // namespace cufilter
} // namespace gr
