# Models through the public interface, against reference logits and against themselves.
add_executable(model_tool model_tool.c)
target_include_directories(model_tool PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
target_link_libraries(model_tool PRIVATE npu_static npu_flags)
npu_python_test(refs_a refs_a.py $<TARGET_FILE:model_tool> TIMEOUT 600)
npu_python_test(random_models random_models.py)
npu_python_test(model_tiny model_tiny.py $<TARGET_FILE:model_tool> SANITIZED)
npu_python_test(model_same model_same.py $<TARGET_FILE:model_tool>)
npu_python_test(model_peer model_peer.py FULL TIMEOUT 1800)
