# Programs that measure; built with the tests so that they keep compiling, run by hand.
if(NOT NPU_SANITIZE)
  foreach(name matmul_bench attn_bench)
    add_executable(${name} ${PROJECT_SOURCE_DIR}/bench/${name}.c)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE npu_static npu_flags)
  endforeach()
endif()
npu_python_test(peak_loops peak_loops.py)
