# SPDX-License-Identifier: GPL-3.0-or-later
# What `install` and `uninstall` do beyond the targets: the CMake package, the pkg-config
# files, and a note of the folders that an install makes. Comes before the subfolders,
# because that note must be taken before the first file lands.
include(CMakePackageConfigHelpers)

if(ENABLE_GNURADIO)
  # Where GNU Radio's Python looks below our prefix. GNU Radio's own guess misses
  # dist-packages below /usr on Debian; what the user gave on the command line (a cache
  # entry) stands.
  if(DEFINED CACHE{GR_PYTHON_DIR})
    set(CUFILTER_PYTHON_DIR ${GR_PYTHON_DIR})
  else()
    execute_process(
      COMMAND ${PYTHON_EXECUTABLE} ${PROJECT_SOURCE_DIR}/python/install_dir.py
              ${CMAKE_INSTALL_PREFIX}
      OUTPUT_VARIABLE CUFILTER_PYTHON_DIR OUTPUT_STRIP_TRAILING_WHITESPACE
      COMMAND_ERROR_IS_FATAL ANY)
  endif()
  message(STATUS "Python package: ${CUFILTER_PYTHON_DIR}/gnuradio/cufilter")
endif()

set(CUFILTER_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/gnuradio-cufilter)
set(CUFILTER_PKGCONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(CUFILTER_DATA_DIR ${CMAKE_INSTALL_DATADIR}/gr-cufilter)
set(CUFILTER_EXAMPLES_DIR ${CMAKE_INSTALL_DATADIR}/gnuradio/examples/cufilter)

set(CUFILTER_INSTALL_DIRS
    ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_INCLUDEDIR}/cufilter ${CUFILTER_CMAKE_DIR}
    ${CUFILTER_PKGCONFIG_DIR} ${CUFILTER_DATA_DIR})
if(ENABLE_GNURADIO)
  list(APPEND CUFILTER_INSTALL_DIRS
       ${CMAKE_INSTALL_INCLUDEDIR}/gnuradio/cufilter
       ${CUFILTER_EXAMPLES_DIR} ${CUFILTER_EXAMPLES_DIR}/python
       ${CUFILTER_PYTHON_DIR}/gnuradio/cufilter ${GRC_BLOCKS_DIR})
endif()
configure_file(cmake/note_directories.cmake.in note_directories.cmake @ONLY)
install(SCRIPT ${PROJECT_BINARY_DIR}/note_directories.cmake)

set(CUFILTER_HAVE_BLOCKS ${ENABLE_GNURADIO})
configure_package_config_file(
  cmake/gnuradio-cufilterConfig.cmake.in gnuradio-cufilterConfig.cmake
  INSTALL_DESTINATION ${CUFILTER_CMAKE_DIR})
write_basic_package_version_file(gnuradio-cufilterConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gnuradio-cufilterConfig.cmake
              ${PROJECT_BINARY_DIR}/gnuradio-cufilterConfigVersion.cmake
        DESTINATION ${CUFILTER_CMAKE_DIR})
install(EXPORT gnuradio-cufilter-targets NAMESPACE gnuradio::
        FILE gnuradio-cufilterTargets.cmake DESTINATION ${CUFILTER_CMAKE_DIR})

# The .pc files find their prefix from their own place, so that a moved tree still works.
file(RELATIVE_PATH CUFILTER_PC_TO_PREFIX
     ${CMAKE_INSTALL_PREFIX}/${CUFILTER_PKGCONFIG_DIR} ${CMAKE_INSTALL_PREFIX})
set(CUFILTER_PC_FILES cufilter.pc)
if(ENABLE_GNURADIO)
  list(APPEND CUFILTER_PC_FILES gnuradio-cufilter.pc)
endif()
foreach(pc IN LISTS CUFILTER_PC_FILES)
  configure_file(cmake/${pc}.in ${pc} @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${pc} DESTINATION ${CUFILTER_PKGCONFIG_DIR})
endforeach()

add_custom_target(uninstall
  COMMAND ${CMAKE_COMMAND} -DBUILD_DIR=${PROJECT_BINARY_DIR}
          -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
  COMMENT "Removing what the last install put in place" VERBATIM)

if(ENABLE_TESTING)
  add_test(NAME package
           COMMAND ${CMAKE_COMMAND}
                   -DBUILD_DIR=${PROJECT_BINARY_DIR} -DSOURCE_DIR=${PROJECT_SOURCE_DIR}
                   -DC_COMPILER=${CMAKE_C_COMPILER} -DCXX_COMPILER=${CMAKE_CXX_COMPILER}
                   -DPYTHON=${PYTHON_EXECUTABLE} -DBLOCKS=${ENABLE_GNURADIO}
                   -DPKG_CONFIG=${PKG_CONFIG_EXECUTABLE}
                   -P ${PROJECT_SOURCE_DIR}/cmake/test/package_test.cmake)
  set_tests_properties(package PROPERTIES LABELS cpu TIMEOUT 300)
endif()
