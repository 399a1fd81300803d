# The op tests alone, for a machine that has only a C compiler (cmake/aarch64-zig.cmake): every optest_*.c is a program of
# its own with main(), linked with base, quant, wire, the host target, Hexagon's repacking and the conform cases.
enable_testing()
include(cmake/testing.cmake)
find_package(Threads REQUIRED)
file(GLOB_RECURSE NPU_SOURCES CONFIGURE_DEPENDS src/base/*.c src/quant/*.c src/target/host/*.c src/conform/*.c
     src/target/gemv_helper.c src/target/hexagon/hexagon_repack*.c wire/*.c)
list(FILTER NPU_SOURCES EXCLUDE REGEX "_test\\.c$|_fuzz\\.c$|/optest_[^/]*$|/json_text\\.c$")
npu_isa_filter(NPU_SOURCES)
# No archive: the machine's ar may not know the target's object files.
add_library(npu_static OBJECT ${NPU_SOURCES})
target_include_directories(npu_static PUBLIC include PRIVATE src .)
target_link_libraries(npu_static PUBLIC Threads::Threads m PRIVATE npu_flags)
npu_optests()
