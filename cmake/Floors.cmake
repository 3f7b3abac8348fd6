# berth_floor(NAME SOURCES ... [USES other floors ...] [LIBRARIES third-party ...])
# A static library for one folder. USES mirrors DESIGN's floor table; LIBRARIES stay private.
add_library(berth_options INTERFACE)
target_include_directories(berth_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(berth_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor)
# A char of a text beyond ASCII is negative: on x86-64 without saying so, on ARM not.
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  target_compile_options(berth_options INTERFACE -fsigned-char)
endif()
if(BERTH_WERROR)
  target_compile_options(berth_options INTERFACE -Werror)
endif()
# GCC 12 sees overlapping copies in "text" + string where there are none (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(berth_options INTERFACE -Wno-restrict)
endif()
if(BERTH_SANITIZE)
  # What null would find crashes under ASan, too; with vptr and object-size it takes a third of the
  # compile time.
  target_compile_options(berth_options INTERFACE -fsanitize=address,undefined
                                                 -fno-sanitize=null,vptr,object-size
                                                 -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(berth_options INTERFACE -fsanitize=address,undefined)
elseif(BERTH_TSAN)
  target_compile_options(berth_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(berth_options INTERFACE -fsanitize=thread)
endif()
if(BERTH_FUZZ)
  target_compile_options(berth_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(berth_floor name)
  cmake_parse_arguments(FLOOR "" "" "SOURCES;USES;LIBRARIES" ${ARGN})
  add_library(${name} STATIC ${FLOOR_SOURCES})
  target_link_libraries(${name} PUBLIC berth_options ${FLOOR_USES} PRIVATE ${FLOOR_LIBRARIES})
endfunction()
