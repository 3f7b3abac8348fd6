# berth_options holds the compiler flags that every target shares.
add_library(berth_options INTERFACE)
target_include_directories(berth_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(berth_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor)
# The text code relies on signed chars. They are the default on x86-64 but not on ARM.
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  target_compile_options(berth_options INTERFACE -fsigned-char)
endif()
if(BERTH_WERROR)
  target_compile_options(berth_options INTERFACE -Werror)
endif()
# GCC 13 and 14 take a reference into the document for one into the temporary key.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  target_compile_options(berth_options INTERFACE -Wno-dangling-reference)
endif()
# GCC 12 falsely reports overlapping copies in "text" + string (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(berth_options INTERFACE -Wno-restrict)
  # GCC 14 takes the memory of a vector that grows for foreign.
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    target_compile_options(berth_options INTERFACE -Wno-free-nonheap-object)
  endif()
endif()
# GCC takes an empty std::optional and the alternatives of a moved std::variant for uninitialized. scripts/test-memory.sh looks for what is.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(berth_options INTERFACE -Wno-maybe-uninitialized)
endif()
# The linker leaves out functions that nothing calls.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(berth_options INTERFACE -ffunction-sections -fdata-sections)
  target_link_options(berth_options INTERFACE LINKER:--gc-sections)
endif()
# What makes a memory error in the binary that ships end the process instead of being used. scripts/check-binary.sh looks for it.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(BERTH_FORTIFY 3)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
    set(BERTH_FORTIFY 2)  # GCC 11 has no more, and warns in every source
  endif()
  target_compile_options(berth_options INTERFACE -fstack-protector-strong -fstack-clash-protection
                                                 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${BERTH_FORTIFY})
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    target_compile_options(berth_options INTERFACE -fcf-protection)
  endif()
  target_compile_definitions(berth_options INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(berth_options INTERFACE LINKER:-z,relro,-z,now,-z,noexecstack)
endif()
if(BERTH_SANITIZE)
  # The checks null, vptr and object-size are off because they take a third of the compile time. A null dereference also crashes
  # under AddressSanitizer.
  target_compile_options(berth_options INTERFACE -fsanitize=address,undefined
                                                 -fno-sanitize=null,vptr,object-size
                                                 -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(berth_options INTERFACE -fsanitize=address,undefined)
elseif(BERTH_TSAN)
  target_compile_options(berth_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(berth_options INTERFACE -fsanitize=thread)
endif()
# Both link a test in less time than GNU ld takes; gold is in binutils.
if(BERTH_SANITIZE OR BERTH_TSAN)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(linker gold)
  else()
    set(linker lld)
  endif()
  find_program(BERTH_LINKER ld.${linker})
  if(BERTH_LINKER)
    target_link_options(berth_options INTERFACE -fuse-ld=${linker})
  endif()
endif()
if(BERTH_FUZZ)
  target_compile_options(berth_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Where several sources are compiled as one, clang compiles the headers that most of them include once for all of them. GCC would gain a
# tenth. The plain preset has neither, so that a missing include is an error there.
# Targets that share NAME are of one type and have the same flags, which LIBRARIES and OPTIONS give.
function(berth_share_headers target name)
  if(NOT CMAKE_UNITY_BUILD OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  cmake_parse_arguments(SHARED "" "" "LIBRARIES;OPTIONS;HEADERS" ${ARGN})
  if(NOT TARGET ${name})
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cpp CONTENT "int main() {}\n")
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      add_executable(${name} EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/${name}.cpp)
    else()
      add_library(${name} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/${name}.cpp)
    endif()
    target_link_libraries(${name} PRIVATE ${SHARED_LIBRARIES})
    # Without a time in it, a compiler cache takes the headers compiled again for the same.
    target_compile_options(${name} PRIVATE ${SHARED_OPTIONS} "SHELL:-Xclang -fno-pch-timestamp")
    target_precompile_headers(${name} PRIVATE <nlohmann/json.hpp> <algorithm> <filesystem> <functional> <map> <memory> <optional> <random>
                                              <string> <thread> <variant> <vector> ${SHARED_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${name})
endfunction()

# berth_floor(NAME [HOT] SOURCES ... [USES other floors ...] [LIBRARIES third-party ...])
# Makes a static library from one folder. USES lists the floors that it may include, as the floor table of ARCHITECTURE.md does.
# LIBRARIES are private to it. Debug builds optimize only a floor that is HOT: in the others, compiling takes longer than running the tests.
function(berth_floor name)
  cmake_parse_arguments(FLOOR "HOT" "" "SOURCES;USES;LIBRARIES" ${ARGN})
  add_library(${name} STATIC ${FLOOR_SOURCES})
  target_link_libraries(${name} PUBLIC berth_options ${FLOOR_USES} PRIVATE ${FLOOR_LIBRARIES})
  if(CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT FLOOR_HOT)
    target_compile_options(${name} PRIVATE -O0)
    berth_share_headers(${name} berth_headers LIBRARIES berth_options OPTIONS -O0)
  else()
    berth_share_headers(${name} berth_hot_headers LIBRARIES berth_options)
  endif()
endfunction()
