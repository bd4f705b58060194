# SPDX-License-Identifier: MIT
# Toolchain of the preset arm64: Debian's cross compiler, the libraries that scripts/test unpacks in build/arm64-root
# (scripts/lib/arm64.sh), and an emulator that runs the tests.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER NOTFOUND) # only the headers' test in C++ would need one

get_filename_component(arm64_root ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-root ABSOLUTE)
set(CMAKE_SYSROOT ${arm64_root})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${arm64_root})
set(ENV{PKG_CONFIG_LIBDIR} ${arm64_root}/usr/lib/aarch64-linux-gnu/pkgconfig:${arm64_root}/usr/share/pkgconfig)
# "max" has every instruction that the emulator knows; tests of lesser processors name their own.
set(ST_EMULATOR qemu-aarch64-static -L ${arm64_root})
set(CMAKE_CROSSCOMPILING_EMULATOR ${ST_EMULATOR} -cpu max)
