# What is installed, used from outside.
npu_command_test(install ${CMAKE_CURRENT_LIST_DIR}/install_test.sh)
