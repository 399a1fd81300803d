# Fuzz targets: every *_fuzz.c beside the code. Each is a ctest test that starts from tests/corpus/NAME (NAME_fuzz.c) and runs
# for NPU_FUZZ_SECONDS; what it finds is kept in fuzz/ of the build folder. A crash file added to the corpus is its own
# regression test, since the corpus is run first.
set(NPU_FUZZ_SECONDS 10 CACHE STRING "how long each fuzz target runs")
if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
  message(FATAL_ERROR "NPU_FUZZ needs clang (preset fuzz)")
endif()
target_compile_options(npu_objects PRIVATE -fsanitize=fuzzer-no-link)
file(GLOB_RECURSE NPU_FUZZ_SOURCES CONFIGURE_DEPENDS src/*_fuzz.c wire/*_fuzz.c tests/*_fuzz.c)
foreach(source ${NPU_FUZZ_SOURCES})
  get_filename_component(target ${source} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name ${target})
  set(work ${PROJECT_BINARY_DIR}/fuzz/${name})
  file(MAKE_DIRECTORY ${work})
  add_executable(${target} ${source})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
  target_include_directories(${target} PRIVATE src . tests emu/xdna/include emu/xdna/common)
  target_compile_options(${target} PRIVATE -fsanitize=fuzzer -Wno-missing-prototypes)
  target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${target} PRIVATE npu_static npu_flags)
  set(corpus ${PROJECT_SOURCE_DIR}/tests/corpus/${name})
  if(NOT EXISTS ${corpus})
    set(corpus)
  endif()
  math(EXPR limit "${NPU_FUZZ_SECONDS} + 120")
  npu_command_test(${name} $<TARGET_FILE:${target}> -max_total_time=${NPU_FUZZ_SECONDS} -seed=1 -timeout=20
    -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 -artifact_prefix=${work}/ ${work} ${corpus}
    SANITIZED TIMEOUT ${limit})
endforeach()
