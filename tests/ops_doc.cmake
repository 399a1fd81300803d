# docs/ops.md is what the tables say.
add_executable(ops_doc ops_doc.c)
target_include_directories(ops_doc PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
target_link_libraries(ops_doc PRIVATE npu_static npu_flags)
npu_command_test(ops_doc $<TARGET_FILE:ops_doc> ${PROJECT_SOURCE_DIR}/docs/ops.md)
