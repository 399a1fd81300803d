# The shared library and what `make install` puts where: program, both libraries, public headers, npu.pc.
include(GNUInstallDirs)
add_library(npu_shared SHARED $<TARGET_OBJECTS:npu_objects>)
set_target_properties(npu_shared PROPERTIES OUTPUT_NAME npu VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
target_link_libraries(npu_shared PRIVATE PkgConfig::JANSSON PkgConfig::UTF8PROC Threads::Threads m ${CMAKE_DL_LIBS})

set(NPU_PC ${PROJECT_BINARY_DIR}/npu.pc)
configure_file(${PROJECT_SOURCE_DIR}/cmake/npu.pc.in ${NPU_PC} @ONLY)
install(TARGETS npu_static npu_shared)
if(TARGET npu_cli)
  install(TARGETS npu_cli)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/npu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${NPU_PC} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
