# SPDX-License-Identifier: GPL-3.0-or-later
"""The IIR core through its C API, for the programs that measure it from Python."""

import ctypes

import numpy as np

CPU = -1


class Config(ctypes.Structure):
    """struct cufilter_iir_config"""
    _fields_ = [
        ("device", ctypes.c_int),
        ("complex_data", ctypes.c_int),
        ("n_channels", ctypes.c_size_t),
        ("sos", ctypes.c_void_p),
        ("n_sections", ctypes.c_size_t),
        ("complex_coefficients", ctypes.c_int),
        ("initial_state", ctypes.c_void_p),
        ("b", ctypes.c_void_p),
        ("a", ctypes.c_void_p),
        ("n_b", ctypes.c_size_t),
        ("n_a", ctypes.c_size_t),
        ("algorithm", ctypes.c_int),
        ("order", ctypes.c_int),
        ("n_threads", ctypes.c_int),
    ]


def load(path):
    library = ctypes.CDLL(path)
    library.cufilter_last_error.restype = ctypes.c_char_p
    return library


class Filter:
    """Of real sections and float32 items, rows of `channels` of them."""

    def __init__(self, library, sos, channels=1, device=CPU):
        self.library = library
        self.handle = ctypes.c_void_p()
        self.sos = np.ascontiguousarray(sos, np.float64)
        config = Config()
        library.cufilter_iir_defaults(ctypes.byref(config))
        config.device = device
        config.n_channels = channels
        config.sos = self.sos.ctypes.data
        config.n_sections = len(sos)
        self.check(library.cufilter_iir_create(ctypes.byref(self.handle),
                                               ctypes.byref(config)))

    def check(self, status):
        if status:
            raise RuntimeError(self.library.cufilter_last_error().decode())

    def run(self, x, y):
        self.check(self.library.cufilter_iir_process(
            self.handle, ctypes.c_void_p(x.ctypes.data), ctypes.c_size_t(len(x)),
            ctypes.c_void_p(y.ctypes.data)))

    def synchronize(self):
        self.check(self.library.cufilter_iir_synchronize(self.handle))

    def reset(self):
        self.check(self.library.cufilter_iir_reset(self.handle))

    def close(self):
        self.library.cufilter_iir_destroy(self.handle)
