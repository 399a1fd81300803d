# For driver "qemu": one Hexagon program up to v73, which runs for every architecture the emulator is told to be.
if(NPU_EMU AND NOT NPU_SANITIZE)
  set(files ${NPU_HTP_SOURCES})
  list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/ REGEX "^[^/]")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS htp/*.h wire/*.h)
  emu_hexagon_program(npu_htp_qemu ${NPU_EMU_DIR}/libnpu-htp.elf npu_htp_skel_handle_invoke ${files}
                      FLAGS -DHTP_BUILD_QEMU -I${PROJECT_SOURCE_DIR} -std=gnu11 -O3 -ffp-contract=off -fno-math-errno
                      HEADERS ${headers})
  if(TARGET npu_htp_qemu)
    foreach(arch ${NPU_HTP_ARCHES})
      set(link ${NPU_EMU_DIR}/libnpu-htp-v${arch}.elf)
      add_custom_command(OUTPUT ${link} COMMAND ${CMAKE_COMMAND} -E create_symlink libnpu-htp.elf ${link}
                         DEPENDS ${NPU_EMU_DIR}/libnpu-htp.elf)
      list(APPEND links ${link})
    endforeach()
    add_custom_target(npu_htp_qemu_links ALL DEPENDS ${links})
    add_dependencies(npu_htp_qemu_links npu_htp_qemu)
  endif()
endif()
