# SPDX-License-Identifier: GPL-3.0-or-later
# Lets Doxygen read the headers' plain comments: the file's purpose, what stands before a
# declaration, and what stands behind a member. A core and its blocks may have headers of
# the same name, which Doxygen cannot tell apart: there the purpose makes a page.
NR == 1 { print; next }
NR == 2 && /^\/\* / {
    name = FILENAME
    sub(/^.*\/include\//, "", name)
    page = name
    gsub(/[^a-z0-9]/, "_", page)
    if (name ~ /dwt_stream\.h$/)
        print "/*! \\page " page " " name
    else
        print "/*! \\file"
    sub(/^\/\*/, " *")
    print
    next
}
/^ *\/\* / { sub(/\/\* /, "/*! "); print; next }
{ sub(/[;,] *\/\* /, "&<"); sub(/\/\* </, "/*!< "); print }
