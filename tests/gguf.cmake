# Programs that only test scripts drive, and the scripts: GGUF files and tensor formats against the gguf Python package.
foreach(name gguf_probe quant_tool)
  add_executable(${name} ${name}.c)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE npu_static npu_flags)
endforeach()

npu_python_test(quant_vs_gguf quant_vs_gguf.py $<TARGET_FILE:quant_tool>)
npu_python_test(gguf_trials gguf_trials.py $<TARGET_FILE:gguf_probe> SANITIZED)
npu_python_test(gguf_run gguf_run.py)
