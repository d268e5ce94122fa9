# SPDX-License-Identifier: GPL-3.0-or-later
# Doxygen finds a page's pictures and other pages by their names, without "../" and anchors.
s#](\(\.\./\)*figures/#](figures/#g
s#\.md\#[a-z0-9_-]*)#.md)#g
