/* SPDX-License-Identifier: GPL-3.0-or-later */
/* While blocks make plans, GNU Radio's own FFTs make none: FFTW's planner is one for the
 * whole process. */
#ifndef INCLUDED_CUFILTER_LIB_PLANNER_LOCK_H
#define INCLUDED_CUFILTER_LIB_PLANNER_LOCK_H

#include <gnuradio/fft/fft.h>
#include <mutex>

namespace gr {
namespace cufilter {

class planner_lock
{
public:
    planner_lock() : d_lock(gr::fft::planner::mutex()) {}

private:
    const std::lock_guard<std::mutex> d_lock;
};

} // namespace cufilter
} // namespace gr

#endif
