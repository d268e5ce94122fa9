# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a test file on the GPU that CUFILTER_DEVICE names. Where the driver shows no such
GPU it exits with 77 (skipped) before GNU Radio, which takes a second to load."""

import ctypes
import os
import sys

SKIPPED = 77


def gpus():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int()
    found = driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
    return count.value if found else 0


if int(os.environ["CUFILTER_DEVICE"]) >= gpus():
    print("skipped: the driver shows no GPU", os.environ["CUFILTER_DEVICE"])
    sys.exit(SKIPPED)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
