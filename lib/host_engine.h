/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For blocks whose work is little and is always done on the CPU. */
#ifndef INCLUDED_CUFILTER_LIB_HOST_ENGINE_H
#define INCLUDED_CUFILTER_LIB_HOST_ENGINE_H

#include "status.h"
#include <cufilter/device.h>

namespace gr {
namespace cufilter {

/* Takes the argument `device` as all blocks do, a GPU that is not there included. */
class host_engine
{
public:
    host_engine(const std::string& block, int device)
    {
        int chosen;
        if (device != CUFILTER_DEVICE_AUTO)
            check_status(cufilter_device_choose(device, &chosen), block);
    }

    int device() const { return CUFILTER_DEVICE_CPU; }
};

} // namespace cufilter
} // namespace gr

#endif
