# SPDX-License-Identifier: GPL-3.0-or-later
# Lets Doxygen read the headers' plain comments: the file's purpose, what stands before a
# declaration, and what stands behind a member.
1b
2s,^/\* ,/*! \\file\n * ,
2b
s,^\( *\)/\* ,\1/*! ,
s,\([;\,] *\)/\* ,\1/*!< ,
