# The kernels for x86 instruction sets that this machine may lack, built a second time on top of SIMDe for AVX2
# (tests/simde/immintrin.h), and linked into the tests of kernels. In them the machine has every
# level; what each computes is compared with the reference as where the machine has it.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" OR NPU_SANITIZE)
  return()
endif()
find_path(NPU_SIMDE simde/x86/avx512.h)
if(NOT NPU_SIMDE)
  if(NPU_REQUIRE)
    message(FATAL_ERROR "SIMDe is missing (Debian: libsimde-dev)")
  endif()
  message(STATUS "not available: kernels on SIMDe (libsimde-dev)")
  return()
endif()

set(WIDE ${NPU_SOURCES})
list(FILTER WIDE INCLUDE REGEX "_(avxvnni|avx512|avx512bf16|amx)\\.c$")
add_library(npu_simde_objects OBJECT ${WIDE} simde/tiles.c simde/features.c)
target_include_directories(npu_simde_objects BEFORE PRIVATE simde PRIVATE . ${PROJECT_SOURCE_DIR}/include
                           ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
target_include_directories(npu_simde_objects SYSTEM PRIVATE ${NPU_SIMDE})
target_compile_definitions(npu_simde_objects PRIVATE SIMDE_ENABLE_NATIVE_ALIASES NPU_NO_INLINE
                           SIMDE_NO_CHECK_IMMEDIATE_CONSTANT)
# No warnings of what SIMDe asks of the compiler. -O1: the checks say the same, and unrolled calls take compilers minutes
# at -O3.
target_compile_options(npu_simde_objects PRIVATE -mavx2 -mfma -mf16c -O1 -Wno-psabi -Wno-pass-failed)
target_link_libraries(npu_simde_objects PRIVATE npu_flags)

# npu_simde_program(NAME SOURCES…): a program whose kernels are those of npu_simde_objects; NPU_SIMDE: it is slow.
function(npu_simde_program name)
  add_executable(${name} ${ARGN} $<TARGET_OBJECTS:npu_simde_objects>)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE NPU_SOURCE_DIR="${PROJECT_SOURCE_DIR}" NPU_SIMDE)
  target_link_libraries(${name} PRIVATE npu_static npu_flags)
endfunction()

npu_simde_program(simde_matmul ${PROJECT_SOURCE_DIR}/src/target/host/matmul/optest_matmul.c)
npu_simde_program(simde_conform ${PROJECT_SOURCE_DIR}/src/conform/optest_conform.c)
npu_simde_program(simde_attn ${PROJECT_SOURCE_DIR}/src/target/host/vec/optest_attn.c)
npu_command_test(simde.matmul simde_matmul)
npu_command_test(simde.attn simde_attn)
npu_command_test(simde.conform simde_conform)

# The other way round: NEON's narrow vectors in the place of AVX2's, for what is true of wide ones only.
add_executable(narrow_conform ${PROJECT_SOURCE_DIR}/src/conform/optest_conform.c simde/ops_narrow.c)
target_include_directories(narrow_conform BEFORE PRIVATE simde/narrow PRIVATE ${PROJECT_SOURCE_DIR}/src
                           ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
target_include_directories(narrow_conform SYSTEM PRIVATE ${NPU_SIMDE})
target_compile_definitions(narrow_conform PRIVATE SIMDE_ENABLE_NATIVE_ALIASES)
target_compile_options(narrow_conform PRIVATE -mavx2 -mfma -mf16c -O1 -Wno-psabi)
target_link_libraries(narrow_conform PRIVATE npu_static npu_flags)
npu_command_test(simde.narrow narrow_conform)

npu_simde_program(simde_model ${PROJECT_SOURCE_DIR}/tests/model_tool.c)
npu_python_test(simde.fast simde_fast.py $<TARGET_FILE:simde_model>)
if(hexagon IN_LIST NPU_TARGETS)
  npu_simde_program(simde_repack ${PROJECT_SOURCE_DIR}/src/target/hexagon/optest_repack.c)
  npu_command_test(simde.repack simde_repack)
endif()
if(xdna IN_LIST NPU_TARGETS)
  npu_simde_program(simde_xdna ${PROJECT_SOURCE_DIR}/src/target/xdna/xdna_numerics_test.c)
  target_link_libraries(simde_xdna PRIVATE PkgConfig::CMOCKA)
  npu_command_test(simde.xdna simde_xdna)
endif()
