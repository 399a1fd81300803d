# Faults by catalogue (tests/faults/NAME.json): ten rows of each, all in the full tier. tests/faults.py has the rest.
add_executable(faults_tool faults_tool.c)
target_include_directories(faults_tool PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
target_link_libraries(faults_tool PRIVATE npu_static npu_flags)
if(NOT NPU_SANITIZE)
  foreach(name fail_malloc shrink_mmap)
    add_library(${name} MODULE support/${name}.c)
    set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/support)
    list(APPEND PRELOADS --preload $<TARGET_FILE:${name}>)
  endforeach()
  list(JOIN NPU_TARGETS "," targets)
  set(HOST_FAULTS faults.py host ${PRELOADS} --targets host,${targets}) # rows name targets
  npu_python_test(faults.host ${HOST_FAULTS} TIMEOUT 900)
  foreach(kind interrupt shrunk) # quick, and one row a command
    npu_python_test(faults.host_${kind} ${HOST_FAULTS} --kind ${kind} TIMEOUT 600)
  endforeach()
  file(GLOB catalogues CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/faults/*.json)
  foreach(path IN LISTS catalogues) # each target with an emulated device; the tool finds emu/ one folder up
    get_filename_component(name ${path} NAME_WE)
    if(name IN_LIST NPU_TARGETS)
      npu_python_test(faults.${name} faults.py ${name} --tool $<TARGET_FILE:faults_tool> TIMEOUT 900 COST 45)
    endif()
  endforeach()
endif()
