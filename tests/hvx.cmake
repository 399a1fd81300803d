# The HVX intrinsics for a PC against the real instructions, and what htp/hvx makes of them against scalar C: in each native
# build of the NPU program, whose objects they are; in the build for qemu and in the real one, which are compiled for it.
npu_python_test(hvx_intrinsics hvx/hvx_check.py TIMEOUT 900 COST 60)
foreach(level IN LISTS NPU_HTP_LEVELS)
  foreach(name math image quantise attn convert float)
    add_executable(hvx_${name}_${level} hvx/${name}_run.c
                   $<FILTER:$<TARGET_OBJECTS:npu_htp_${level}_objects>,INCLUDE,/htp/hvx/|/mutants/>)
    set_target_properties(hvx_${name}_${level} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/hvx/${level}
                          OUTPUT_NAME ${name}_run)
    target_include_directories(hvx_${name}_${level} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src
                               ${PROJECT_SOURCE_DIR}/emu/hexagon/hvx)
    target_compile_definitions(hvx_${name}_${level} PRIVATE HTP_BUILD_NATIVE)
    target_compile_options(hvx_${name}_${level} PRIVATE $<TARGET_PROPERTY:npu_htp_${level}_objects,COMPILE_OPTIONS> -O1)
    target_link_libraries(hvx_${name}_${level} PRIVATE npu_static npu_flags)
  endforeach()
  list(APPEND HVX_FOLDERS ${CMAKE_CURRENT_BINARY_DIR}/hvx/${level})
endforeach()
npu_python_test(hvx_kernels.native hvx/kernel_check.py ${HVX_FOLDERS} SANITIZED TIMEOUT 1200)
npu_python_test(hvx_kernels.compiled hvx/kernel_check.py TIMEOUT 1200 COST 60)
