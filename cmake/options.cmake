# SPDX-License-Identifier: MIT
option(STRETTO_TESTS "Build the tests" ON)
option(STRETTO_WERROR "Treat warnings as errors" OFF)
option(STRETTO_FUZZ "Build the libFuzzer targets (needs clang)" OFF)
set(STRETTO_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
elseif(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo) # in this folder and below: a project around this one has its own
endif()
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_C_FLAGS_RELEASE "-O2") # as below, so that both are the same code
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")
if(STRETTO_SANITIZE)
  # What a report of a sanitizer shows, functions and lines. More of either takes longer to compile than it saves.
  set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O1 -g1")
endif()

# Contraction off: a kernel that wants a fused multiply-add says so, and the dequantizers are exact.
add_compile_definitions(_GNU_SOURCE)
add_compile_options(-Wall -Wextra -Wvla -Wmissing-prototypes -Wstrict-prototypes -Wshadow -Wpointer-arith -Wundef
                    -ffp-contract=off -fno-math-errno)
if(STRETTO_WERROR)
  add_compile_options(-Werror)
endif()
if(STRETTO_SANITIZE)
  add_compile_options(-fsanitize=${STRETTO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${STRETTO_SANITIZE})
endif()

# The most bytes of one function's frame in src/ and cli/: callers, and `ulimit -s`, may leave 128 KiB for all of them.
# What is larger belongs on the heap. Sanitizers, and code that is not optimised, have frames of their own.
set(ST_FRAME_OPTIONS "")
if(NOT STRETTO_SANITIZE)
  set(ST_FRAME_OPTIONS $<$<NOT:$<CONFIG:Debug>>:-Wframe-larger-than=25600>)
endif()
