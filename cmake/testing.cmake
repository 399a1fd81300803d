# How tests are registered with ctest. What a test needs and the machine lacks (../shared, qemu-hexagon, a model) makes it
# exit with 77: ctest prints "Skipped". With NPU_REQUIRE (CI) 77 is a failure like any other, and so is a test program
# that skipped one of its parts. tests/support has the few lines that a C or a Python test needs for that.
option(NPU_REQUIRE "what a test needs must be there: a skipped test is a failure" OFF)
option(NPU_FULL "also the tests of the full tier" OFF)
set(NPU_SUITE "" CACHE STRING "goes before the names of tests, to tell build kinds apart")
set(NPU_SHARED "${PROJECT_SOURCE_DIR}/../shared" CACHE PATH "folder of the reference cases")

# Sets what every test gets: environment, skip code, time limit in seconds.
function(npu_test_properties name timeout)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} ENVIRONMENT
    "NPU_SOURCE=${PROJECT_SOURCE_DIR};NPU_BUILD=${PROJECT_BINARY_DIR};NPU_BIN=${PROJECT_BINARY_DIR}/npu;NPU_SHARED=${NPU_SHARED};NPU_REQUIRE=$<BOOL:${NPU_REQUIRE}>;NPU_FULL=$<BOOL:${NPU_FULL}>;NPU_SANITIZE=${NPU_SANITIZE};NPU_NO_CACHE=1;PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support;PYTHONDONTWRITEBYTECODE=1;ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:allocator_may_return_null=1;UBSAN_OPTIONS=print_stacktrace=1;TSAN_OPTIONS=halt_on_error=1")
  if(NPU_REQUIRE)
    set_tests_properties(${name} PROPERTIES FAIL_REGULAR_EXPRESSION "\\[  SKIPPED \\]|skipped=[0-9]")
  else()
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()

# npu_command_test(NAME COMMAND… [SANITIZED] [FULL] [SERIAL] [TIMEOUT seconds] [COST seconds] [LABELS …])
# A test that is any command. It runs in the release suite; SANITIZED: in the sanitizer suites too; FULL: only in the full
# tier (make check-full); SERIAL: with no other test beside it (one that measures time); COST: about what a long one takes, so
# that ctest begins with it and no processor is idle at the end. In COMMAND a generator expression such as
# $<TARGET_FILE:npu_cli> may be used.
function(npu_command_test name)
  cmake_parse_arguments(PARSE_ARGV 1 T "SANITIZED;FULL;SERIAL" "TIMEOUT;COST" "LABELS")
  if((T_FULL AND NOT NPU_FULL) OR (NPU_SANITIZE AND NOT T_SANITIZED))
    return()
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 900)
  endif()
  set(name ${NPU_SUITE}${name})
  add_test(NAME ${name} COMMAND ${T_UNPARSED_ARGUMENTS} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  npu_test_properties(${name} ${T_TIMEOUT})
  if(T_SERIAL)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
  if(T_COST)
    set_tests_properties(${name} PROPERTIES COST ${T_COST})
  endif()
  if(T_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${T_LABELS}")
  endif()
endfunction()

# npu_python_test(NAME script.py [args…] [the same options])
# A Python script, run by the Python of scripts/venv (gguf, numpy, ziglang); its name is relative to tests/.
function(npu_python_test name script)
  npu_command_test(${name} ${PROJECT_SOURCE_DIR}/scripts/py ${PROJECT_SOURCE_DIR}/tests/${script} ${ARGN})
endfunction()

# npu_program_test(SOURCE [libraries…]): a C program that is a test, in every suite; it is named after its file.
function(npu_program_test source)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE NPU_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE npu_static npu_flags ${ARGN})
  npu_command_test(${name} ${name} SANITIZED)
endfunction()

# Adds every optest_*.c, beside the code or in tests/.
function(npu_optests)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/optest_*.c ${PROJECT_SOURCE_DIR}/wire/optest_*.c
       ${PROJECT_SOURCE_DIR}/tests/optest_*.c)
  if(NOT hexagon IN_LIST NPU_TARGETS)
    list(FILTER sources EXCLUDE REGEX "/src/target/hexagon/")
  endif()
  foreach(source ${sources})
    npu_program_test(${source})
  endforeach()
endfunction()
