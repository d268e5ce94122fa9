/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the C API's statuses and log to exceptions and GNU Radio's logger. */
#ifndef INCLUDED_CUFILTER_LIB_STATUS_H
#define INCLUDED_CUFILTER_LIB_STATUS_H

#include <cufilter/status.h>
#include <string>

namespace gr {
namespace cufilter {

/* Throws what fits a status that is not OK, with the thread's last error behind `block`:
 * std::invalid_argument, std::bad_alloc or std::runtime_error. */
void check_status(cufilter_status status, const std::string& block);

/* Sends the cores' log to GNU Radio's logger "cufilter", from the first call on. */
void use_gnuradio_log();

/* Refuses a decimation that GNU Radio's base class could not take. */
unsigned checked_decimation(int decimation, const std::string& block);

} // namespace cufilter
} // namespace gr

#endif
