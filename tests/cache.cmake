# The weight cache (docs/cache.md) through the program; its parts: src/cache/*_test.c.
add_executable(start_tool start_tool.c)
target_include_directories(start_tool PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
target_link_libraries(start_tool PRIVATE npu_static npu_flags)
npu_python_test(weight_cache.host weight_cache.py host $<TARGET_FILE:start_tool> TIMEOUT 900 COST 30)
if(hexagon IN_LIST NPU_TARGETS)
  npu_python_test(weight_cache.hexagon weight_cache.py hexagon TIMEOUT 900)
endif()
