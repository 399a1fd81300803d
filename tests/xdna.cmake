# Models on the emulated XDNA: to the bit what a NumPy model of the same contract computes, and what it does when the device fails.
if(xdna IN_LIST NPU_TARGETS)
  add_executable(xdna_tool xdna_tool.c)
  target_include_directories(xdna_tool PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_link_libraries(xdna_tool PRIVATE npu_static npu_flags ${CMAKE_DL_LIBS})
  # It judges the quantiser's speed.
  set_tests_properties(${NPU_SUITE}xdna_numerics_test PROPERTIES RUN_SERIAL ON)
  npu_python_test(xdna_numpy xdna_numpy.py TIMEOUT 900)
  npu_python_test(xdna_numpy.smollm2 xdna_numpy.py smollm2 TIMEOUT 1800)
  npu_python_test(xdna_sums xdna_sums.py $<TARGET_FILE:xdna_tool>)
  npu_python_test(xdna_refusals xdna_refusals.py SANITIZED)
  npu_python_test(xdna_requests xdna_requests.py $<TARGET_FILE:xdna_tool> SANITIZED TIMEOUT 1200)
endif()
