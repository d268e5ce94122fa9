/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The whole C API. */
#ifndef CUFILTER_CUFILTER_H
#define CUFILTER_CUFILTER_H

#include <cufilter/device.h>
#include <cufilter/dwt.h>
#include <cufilter/dwt_packets.h>
#include <cufilter/dwt_stationary.h>
#include <cufilter/dwt_stream.h>
#include <cufilter/fir.h>
#include <cufilter/iir.h>
#include <cufilter/pfb.h>
#include <cufilter/profile.h>
#include <cufilter/status.h>

#endif
