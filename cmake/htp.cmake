# The native build of the NPU program: what the emulated Hexagon runs with driver "sim". One shared object for each level of
# the machine's instruction set, named as the emulator looks for them (emu/hexagon/README.md); the best one that runs here
# is started. The names of QuRT, HAP and the emulated instructions come from the process that loads it. The build for qemu:
# htp_qemu.cmake; for hardware: scripts/htp-build.
# What the program is made of is one list for all builds.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS htp/sources.txt)
file(STRINGS htp/sources.txt NPU_HTP_PATTERNS)
file(GLOB NPU_HTP_SOURCES RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${NPU_HTP_PATTERNS})
list(FILTER NPU_HTP_SOURCES EXCLUDE REGEX "_test\\.c$")
if(NPU_MUTABLE)
  list(APPEND NPU_HTP_SOURCES tests/mutants/guard.c)
endif()

# One library for any number of architectures: the program asks the emulator which one it is.
set(NPU_HTP_ARCHES 68 69 73 75 79 81)
set(NPU_EMU_DIR ${PROJECT_BINARY_DIR}/emu)

# npu_htp_native(LEVEL flags…): the program npu_htp_LEVEL, and what it is made of as npu_htp_LEVEL_objects, so that tests which
# need pieces of it (tests/hexagon.cmake, tests/hvx.cmake) compile nothing again.
function(npu_htp_native level)
  set(name npu_htp_${level})
  set(file libnpu-htp.${level})
  if(level STREQUAL "base")
    set(file libnpu-htp)
  endif()
  add_library(${name}_objects OBJECT ${NPU_HTP_SOURCES})
  target_include_directories(${name}_objects PRIVATE . emu/hexagon/hvx)
  target_link_libraries(${name}_objects PRIVATE npu_flags)
  target_compile_definitions(${name}_objects PRIVATE HTP_BUILD_NATIVE)
  target_compile_options(${name}_objects PRIVATE -O3 -Wno-psabi ${ARGN})
  add_library(${name} MODULE $<TARGET_OBJECTS:${name}_objects>)
  set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME ${file} SUFFIX .so
                        LIBRARY_OUTPUT_DIRECTORY ${NPU_EMU_DIR} LINKER_LANGUAGE C)
  target_link_libraries(${name} PRIVATE npu_flags)
  string(REPLACE libnpu-htp "" rest ${file}.so)
  foreach(arch ${NPU_HTP_ARCHES})
    add_custom_command(TARGET ${name} POST_BUILD COMMAND ${CMAKE_COMMAND} -E create_symlink ${file}.so
                       ${NPU_EMU_DIR}/libnpu-htp-v${arch}${rest})
  endforeach()
endfunction()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT NPU_SANITIZE)
  npu_htp_native(x86-64-v2 -march=x86-64-v2 -O1) # without wide vectors the compiler spends minutes on more
  npu_htp_native(x86-64-v3 -march=x86-64-v3)
  npu_htp_native(x86-64-v4 -march=x86-64-v4 -mprefer-vector-width=512)
  set(NPU_HTP_LEVELS x86-64-v2 x86-64-v3 x86-64-v4)
  set(NPU_HTP_TESTED x86-64-v3) # what tests link that need one of them
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  npu_htp_native(base -march=x86-64-v3)
else()
  npu_htp_native(base)
endif()
if(TARGET npu_htp_base)
  set(NPU_HTP_LEVELS base)
  set(NPU_HTP_TESTED base)
endif()
