# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the IIR blocks share. scipy is the reference; without it they are
skipped."""

import os
import sys

import numpy as np
import pmt
from gnuradio import gr
from cufilter_qa import SKIPPED

try:
    from scipy import signal
except ImportError:
    print("skipped: no scipy")
    sys.exit(SKIPPED)

IIR_ACCURACY = 1e-6  # relative rms against float64
PIECE = 4096  # items that a bad one may spoil
ASKED = os.environ.get("CUFILTER_DEVICE", "cpu")
DEVICE = int(ASKED) if ASKED.isdigit() else -1  # what blocks are to run on


def wide(x):
    return x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)


def make_tags(offsets):
    return [gr.tag_utils.python_to_tag((int(offset), pmt.intern("tag"),
                                        pmt.from_long(int(offset))))
            for offset in offsets]


LATE = 40  # items, at most, after which a change of coefficients shows


def candidates(moment):
    """Where the change may have been whose first difference is seen at `moment`."""
    return range(max(moment - LATE, 1), moment + 1)


def post(block, message):
    block.to_basic_block()._post(pmt.intern("cmd"), message)
