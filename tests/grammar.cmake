# JSON schemas: what a model writes under them, against Python's jsonschema.
add_executable(schema_tool schema_tool.c)
target_include_directories(schema_tool PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(schema_tool PRIVATE npu_static npu_flags)

npu_python_test(json_schema json_schema.py $<TARGET_FILE:schema_tool> SANITIZED)
