# SPDX-License-Identifier: GPL-3.0-or-later
# Lets Doxygen read the headers' plain comments: the file's purpose, what stands before a
# declaration, and what stands behind a member.
NR == 2 && /^\/\* / { print "/*! \\file"; sub(/^\/\*/, " *"); print; next }
/^ *\/\* / { sub(/\/\* /, "/*! "); print; next }
{ sub(/[;,] *\/\* /, "&<"); sub(/\/\* </, "/*!< "); print }
