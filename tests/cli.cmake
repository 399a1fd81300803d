npu_python_test(cli cli.py SANITIZED)
npu_python_test(cli_files cli_files.py SANITIZED)
npu_python_test(cli_usage cli_usage.py SANITIZED)
if(NOT NPU_SANITIZE) # a sanitizer's library must be the first
  add_library(fast_clock MODULE fast_clock.c)
  target_link_libraries(fast_clock PRIVATE npu_flags)
  npu_python_test(progress progress.py $<TARGET_FILE:fast_clock> ${NPU_TARGETS})
endif()
