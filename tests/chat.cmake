# Chat templates against Python's jinja2.
add_executable(template_tool template_tool.c)
target_include_directories(template_tool PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
target_link_libraries(template_tool PRIVATE npu_static npu_flags)

npu_python_test(chat_templates chat_templates.py $<TARGET_FILE:template_tool> SANITIZED)
npu_python_test(chat_language chat_templates.py $<TARGET_FILE:template_tool> cases SANITIZED)
npu_python_test(chat_run chat_run.py SANITIZED)
npu_python_test(text_doc text_doc.py)
