# SPDX-License-Identifier: GPL-3.0-or-later
# Installs into a private prefix, builds and runs users' programs against it by pkg-config
# and by CMake, uninstalls, and wants nothing left. The install goes as a component, which
# has a manifest of its own, so that the user's own install keeps its own.
set(work "${BUILD_DIR}/package_test")
set(prefix "${work}/prefix")
set(ENV{DESTDIR})
set(ENV{PKG_CONFIG_PATH} "${prefix}/${PKGCONFIG_DIR}:$ENV{PKG_CONFIG_PATH}")
set(ENV{CUFILTER_DEVICE} cpu)

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE text
                  ERROR_VARIABLE text)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}\nended with ${result}:\n${text}")
  endif()
  set(output "${text}" PARENT_SCOPE)
endfunction()

function(expect_impulse what)
  if(NOT output STREQUAL "5: 3.000 2.000 1.000 0.000 0.000\n")
    message(FATAL_ERROR "${what} printed: ${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${work}")
file(REMOVE "${BUILD_DIR}/install_directories_Unspecified.txt")
file(MAKE_DIRECTORY "${work}")
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix} --component Unspecified)

run(${PKG_CONFIG} --cflags --libs cufilter)
separate_arguments(flags UNIX_COMMAND "${output}")
run(${C_COMPILER} -std=c11 -Wall -Wextra -Werror -pedantic ${SOURCE_DIR}/cmake/test/consumer.c
    -o ${work}/by_pkg_config ${flags} -Wl,-rpath,${prefix}/${LIB_DIR})
run(${work}/by_pkg_config)
expect_impulse("the program built by pkg-config")

run(${CMAKE_COMMAND} -S ${SOURCE_DIR}/cmake/test -B ${work}/by_cmake -G ${GENERATOR}
    -DCMAKE_PREFIX_PATH=${prefix} -DBLOCKS=${BLOCKS}
    -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER})
run(${CMAKE_COMMAND} --build ${work}/by_cmake)
run(${work}/by_cmake/core_consumer)
expect_impulse("the program built by CMake")
if(BLOCKS)
  run(${PKG_CONFIG} --exists --print-errors gnuradio-cufilter)
  # The blocks' library must find the core beside it without LD_LIBRARY_PATH.
  run(${work}/by_cmake/blocks_consumer)
endif()
if(EXISTS ${prefix}/bin/cufilter-info)
  run(${prefix}/bin/cufilter-info)
endif()

run(${CMAKE_COMMAND} -DBUILD_DIR=${BUILD_DIR} -DSUFFIX=_Unspecified
    -P ${SOURCE_DIR}/cmake/uninstall.cmake)
if(EXISTS "${prefix}")
  file(GLOB_RECURSE left LIST_DIRECTORIES TRUE RELATIVE "${prefix}" "${prefix}/*")
  list(JOIN left "\n" left)
  message(FATAL_ERROR "uninstall left:\n${left}")
endif()
