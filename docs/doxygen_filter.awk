# SPDX-License-Identifier: GPL-3.0-or-later
# Lets Doxygen read the headers' plain comments: the file's purpose, what stands before a
# declaration, and what stands behind a member.
NR == 2 && /^\/\* / { print "/*! \\file"; sub(/^\/\*/, " *"); print; next }
/^ *\/\* -----/ { print; next }
/^ *\/\* / { sub(/\/\* /, "/*! "); print; next }
/^ *typedef std::shared_ptr/ { sub(/typedef/, "/*! What make() gives. */ typedef") }
/^(#define| +[A-Z][A-Z0-9_]+( = -?[0-9]+)?) .*\/\* / && !/[,;] *\/\*/ { sub(/\/\* /, "/*!< ") }
{ sub(/[;,] *\/\* /, "&<"); sub(/\/\* </, "/*!< "); print }
