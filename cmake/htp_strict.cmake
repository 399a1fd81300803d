# For strict mode of the emulated Hexagon (driver "sim-strict"): the native build with a hook before each access, and a
# switch in each safeguard (wire/guard.h).
if(NPU_EMU AND EMU_STRICT_FLAGS)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(level -march=x86-64-v3)
  endif()
  npu_htp_native(strict ${level} -O2 ${EMU_STRICT_FLAGS})
  if(NOT NPU_MUTABLE)
    target_sources(npu_htp_strict_objects PRIVATE tests/mutants/guard.c)
    target_compile_definitions(npu_htp_strict_objects PRIVATE NPU_MUTABLE)
  endif()
  target_link_options(npu_htp_strict PRIVATE ${EMU_STRICT_LINK})
endif()
