# How the third-party libraries are found. A library that is absent ends the configuration with its name and with the packages that
# bring it. `bash scripts/install-dependencies.sh` installs them where apt is, and elsewhere lists them.

# berth_absent(WHAT DEBIAN FEDORA)
function(berth_absent what debian fedora)
  message(FATAL_ERROR "berth needs ${what}, which is not installed, or not where CMake looks.\n"
    "  Debian, Ubuntu: ${debian}\n"
    "  Fedora: ${fedora}\n"
    "If it is installed elsewhere, name its folder: -DCMAKE_PREFIX_PATH=FOLDER")
endfunction()

# berth_find_package(PACKAGE WHAT DEBIAN FEDORA)
# A library that CMake knows, or that brings a file for CMake.
macro(berth_find_package package what debian fedora)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    berth_absent(${what} ${debian} ${fedora})
  endif()
endmacro()

# berth_find_library(VARIABLE WHAT DEBIAN FEDORA NAMES ... [PATH_SUFFIXES ...])
# Sets VARIABLE to the first of the NAMES that is in a folder of libraries.
function(berth_find_library variable what debian fedora)
  cmake_parse_arguments(FIND "" "" "NAMES;PATH_SUFFIXES" ${ARGN})
  find_library(${variable} NAMES ${FIND_NAMES} PATH_SUFFIXES ${FIND_PATH_SUFFIXES})
  if(NOT ${variable})
    berth_absent(${what} ${debian} ${fedora})
  endif()
endfunction()
