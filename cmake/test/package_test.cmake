# SPDX-License-Identifier: GPL-3.0-or-later
# Installs into a private prefix, uses what is there, uninstalls, and wants nothing left.
# The install goes as a component, which has a manifest of its own, so that the user's own
# install keeps its own.
set(prefix "${BUILD_DIR}/package_test")
set(ENV{DESTDIR})

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE text
                  ERROR_VARIABLE text)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}\nended with ${result}:\n${text}")
  endif()
endfunction()

file(REMOVE_RECURSE "${prefix}")
file(REMOVE "${BUILD_DIR}/install_directories_Unspecified.txt")
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix} --component Unspecified)
run(${CMAKE_COMMAND} -E env CC=${C_COMPILER} CXX=${CXX_COMPILER} PYTHON=${PYTHON}
    PKG_CONFIG=${PKG_CONFIG} BLOCKS=${BLOCKS}
    ${SOURCE_DIR}/cmake/test/check_installed ${prefix})
run(${CMAKE_COMMAND} -DBUILD_DIR=${BUILD_DIR} -DSUFFIX=_Unspecified
    -P ${SOURCE_DIR}/cmake/uninstall.cmake)
if(EXISTS "${prefix}")
  file(GLOB_RECURSE left LIST_DIRECTORIES TRUE RELATIVE "${prefix}" "${prefix}/*")
  list(JOIN left "\n" left)
  message(FATAL_ERROR "uninstall left:\n${left}")
endif()
