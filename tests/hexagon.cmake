# Tests of the Hexagon path that need no emulated device: the driver and the NPU program in one process (loopback), so that
# a sanitizer sees both.
set(LOOPBACK ${CMAKE_CURRENT_BINARY_DIR}/loopback)
set(HTP_FILES ${NPU_HTP_SOURCES})
list(TRANSFORM HTP_FILES PREPEND ${PROJECT_SOURCE_DIR}/ REGEX "^[^/]")
add_library(hexagon_loopback MODULE hexagon/loopback.c hexagon/loopback_npu.c ${HTP_FILES})
set_target_properties(hexagon_loopback PROPERTIES OUTPUT_NAME cdsprpc LIBRARY_OUTPUT_DIRECTORY ${LOOPBACK}/emu)
target_include_directories(hexagon_loopback PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/emu/hexagon/hvx)
target_link_libraries(hexagon_loopback PRIVATE npu_flags Threads::Threads)
target_compile_definitions(hexagon_loopback PRIVATE HTP_BUILD_NATIVE)
target_compile_options(hexagon_loopback PRIVATE -Wno-psabi)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(hexagon_loopback PRIVATE -march=x86-64-v3)
endif()

add_executable(hexagon_ops hexagon/hexagon_ops.c)
set_target_properties(hexagon_ops PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${LOOPBACK})
target_include_directories(hexagon_ops PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(hexagon_ops PRIVATE npu_static PkgConfig::CMOCKA npu_flags)
add_dependencies(hexagon_ops hexagon_loopback)
npu_command_test(hexagon_ops $<TARGET_FILE:hexagon_ops> SANITIZED)

npu_python_test(htp_builds htp_builds.py TIMEOUT 1200)

# Models on the emulated device, byte for byte.
if(hexagon IN_LIST NPU_TARGETS)
  foreach(driver sim qemu)
    npu_python_test(hexagon_same.${driver} hexagon_same.py ${driver} type-q4_0 type-q4_1 type-q8_0 TIMEOUT 600)
  endforeach()
  npu_python_test(hexagon_same.smollm2 hexagon_same.py sim smollm2 TIMEOUT 1200)
  npu_python_test(hexagon_same.smollm2_qemu hexagon_same.py qemu smollm2 FULL TIMEOUT 1800)
endif()
