# SPDX-License-Identifier: GPL-3.0-or-later
"""
Prints where Python packages belong below a prefix, relative to it.

usage: install_dir.py PREFIX

A site directory that this Python searches and that lies below the prefix, else
lib/pythonX.Y/site-packages, for which PYTHONPATH must then be set.
"""

import os
import site
import sys

LOCAL = "/usr/local"


def below(path, prefix):
    return os.path.commonpath([path, prefix]) == prefix


def install_dir(prefix, sites):
    for path in sites:
        # /usr/local lies below /usr, but is another prefix.
        if below(path, prefix) and (below(path, LOCAL) == below(prefix, LOCAL)):
            return os.path.relpath(path, prefix)
    return "lib/python%d.%d/site-packages" % sys.version_info[:2]


if __name__ == "__main__":
    print(install_dir(os.path.abspath(sys.argv[1]), site.getsitepackages()))
