# Programs that measure; built with the tests so that they keep compiling, run by hand.
if(NOT NPU_SANITIZE)
  add_executable(matmul_bench ${PROJECT_SOURCE_DIR}/bench/matmul_bench.c)
  target_include_directories(matmul_bench PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_link_libraries(matmul_bench PRIVATE npu_static npu_flags)
endif()
