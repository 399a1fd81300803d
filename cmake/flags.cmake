# Flags of all code of the project, as one interface target (private: users of the library don't inherit them).
add_library(npu_flags INTERFACE)
target_compile_definitions(npu_flags INTERFACE _GNU_SOURCE)
# -ffp-contract=off: results must not depend on the compiler (docs/numerics.md); both gcc in gnu mode and clang fuse
# multiply and add otherwise. -fno-math-errno only lets sqrtf become an instruction.
target_compile_options(npu_flags INTERFACE
  -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-missing-field-initializers
  -ffp-contract=off -fno-math-errno)
if(NPU_WERROR)
  target_compile_options(npu_flags INTERFACE -Werror)
endif()
if(NPU_SANITIZE)
  # Vector code that is made of inlined pieces takes compilers minutes with checks in it: calls are as good to a sanitizer.
  target_compile_definitions(npu_flags INTERFACE NPU_NO_INLINE)
  target_compile_options(npu_flags INTERFACE -fsanitize=${NPU_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(npu_flags INTERFACE -fsanitize=${NPU_SANITIZE})
endif()
