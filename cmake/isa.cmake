# Instruction sets by file name: src/**/<name>_<isa>.c is compiled with that set's flags and left out of builds for other
# machines. Which of them runs is decided at run time (src/base/cpu.h), never by the compiler's machine.
set(NPU_ISA_X86 avx2 avxvnni avx512 avx512bf16 amx)
set(NPU_ISA_ARM neon dotprod i8mm)
set(NPU_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(NPU_FLAGS_avxvnni -mavx2 -mfma -mf16c -mavxvnni)
set(NPU_FLAGS_avx512 -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mprefer-vector-width=512)
set(NPU_FLAGS_avx512bf16 ${NPU_FLAGS_avx512} -mavx512bf16)
set(NPU_FLAGS_amx ${NPU_FLAGS_avx512} -mavx512bf16 -mamx-tile -mamx-int8 -mamx-bf16)
set(NPU_FLAGS_neon)
set(NPU_FLAGS_dotprod -march=armv8.2-a+dotprod)
set(NPU_FLAGS_i8mm -march=armv8.2-a+dotprod+i8mm)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(NPU_ISA_HERE ${NPU_ISA_X86})
  set(NPU_ISA_ELSEWHERE ${NPU_ISA_ARM})
else()
  set(NPU_ISA_HERE ${NPU_ISA_ARM})
  set(NPU_ISA_ELSEWHERE ${NPU_ISA_X86})
endif()

# Removes other machines' files from the list named |list| and sets the flags of this machine's.
function(npu_isa_filter list)
  set(sources ${${list}})
  foreach(isa ${NPU_ISA_ELSEWHERE})
    list(FILTER sources EXCLUDE REGEX "_${isa}\\.c$")
  endforeach()
  foreach(isa ${NPU_ISA_HERE})
    foreach(file ${sources})
      if(file MATCHES "_${isa}\\.c$")
        # Unrolled vector code under sanitizers takes minutes to compile at -O3.
        set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS
          "${NPU_FLAGS_${isa}};$<$<BOOL:${NPU_SANITIZE}>:-O1>")
      endif()
    endforeach()
  endforeach()
  set(${list} ${sources} PARENT_SCOPE)
endfunction()
