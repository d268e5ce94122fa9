# SPDX-License-Identifier: GPL-3.0-or-later
# The command line of cufilter-info: output, exit status, and no colour off a terminal.
function(expect status pattern)
  execute_process(COMMAND ${INFO} ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE text
                  ERROR_VARIABLE text)
  if(NOT result EQUAL status OR NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "cufilter-info ${ARGN}: status ${result}, wanted ${status} and "
                        "'${pattern}':\n${text}")
  endif()
  string(ASCII 27 escape)
  if(text MATCHES "${escape}")
    message(FATAL_ERROR "cufilter-info ${ARGN} colours what is no terminal")
  endif()
endfunction()

expect(0 "^cufilter-info \\(gr-cufilter\\) ${VERSION}\n$" --version)
expect(0 "^Usage: cufilter-info" --help)
expect(2 "unrecognized option '--colour'" --colour)
expect(2 "cpu or an index from 0, not '-2'" --device=-2)
expect(2 "cpu or an index from 0, not '0x'" -d 0x)
expect(2 "unexpected argument 'cpu'" cpu)

expect(0 "\niir.spins +4000 +4000 +0 +1000000 +looks for work" --values)

set(profile ${CMAKE_CURRENT_BINARY_DIR}/info_options_profile)
file(WRITE ${profile} "format = 1\n[gpu none]\niir.spins = 1\n")
set(ENV{CUFILTER_PROFILE} ${profile})
expect(0 "Profile\n.*line 3: a key of a GPU.*\n +CPU +[^\n]*nothing for this device")
set(ENV{CUFILTER_PROFILE} ${profile}.not)
expect(0 "Profile\n.*cannot be opened.*which is not there\n +CPU +built-in values")
set(ENV{CUFILTER_PROFILE} none)
expect(0 "Profile\n +file +none: CUFILTER_PROFILE=none\n +CPU +built-in values, no profile")
file(REMOVE ${profile})

set(ENV{CUFILTER_DEVICE} cpu)
expect(0 "backend +CPU.*because +CUFILTER_DEVICE=cpu")
set(ENV{CUFILTER_DEVICE} 997)
expect(1 "backend +none: [^\n]*(997|CUDA)") # without a driver, no index is looked at
set(ENV{CUFILTER_DEVICE} "")
expect(1 "FAILED: " --selftest --device=997)
