# Tokenizers against the reference ids of the real models.
add_executable(tokenizer_tool tokenizer_tool.c)
target_include_directories(tokenizer_tool PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
target_link_libraries(tokenizer_tool PRIVATE npu_static npu_flags)

npu_python_test(tokenizer_real tokenizer_real.py $<TARGET_FILE:tokenizer_tool> SERIAL)
npu_python_test(tokenizer_peer tokenizer_peer.py $<TARGET_FILE:tokenizer_tool>)
npu_python_test(tokenizer_random tokenizer_random.py $<TARGET_FILE:tokenizer_tool>)
npu_python_test(tokenizer_time tokenizer_time.py $<TARGET_FILE:tokenizer_tool> SERIAL)
