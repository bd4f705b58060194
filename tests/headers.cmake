# SPDX-License-Identifier: MIT
# Every header compiles alone and twice: the public ones as C11 and as C++, those inside the library as C11. Compiling is
# the whole test.
include(CheckLanguage)
file(GLOB public_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/include/stretto/*.h)
file(GLOB inner_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/src/*/*.h)
# A header named for an instruction set needs its flags.
list(FILTER inner_headers EXCLUDE REGEX "[/_](avx2|avxvnni|avx512|neon|dotprod)\\.h$")

function(headers_alone target suffix)
  set(sources "")
  foreach(header ${ARGN})
    string(MAKE_C_IDENTIFIER ${header} name)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}/${name}.${suffix})
    set(text "#include \"${header}\"\n#include \"${header}\"\nextern int ${name}_is_not_empty;\n")
    file(GENERATE OUTPUT ${source} CONTENT "${text}")
    list(APPEND sources ${source})
  endforeach()
  add_library(${target} OBJECT ${sources})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
endfunction()

headers_alone(headers_inner c ${inner_headers})
target_include_directories(headers_inner PRIVATE ${PROJECT_SOURCE_DIR}/src)
headers_alone(headers_c c ${public_headers})
# A user's program defines no _GNU_SOURCE and may be pedantic.
set_target_properties(headers_c PROPERTIES COMPILE_OPTIONS "-Wall;-Wextra;-Wpedantic;-Wstrict-prototypes;-Werror;-U_GNU_SOURCE")
check_language(CXX)
if(CMAKE_CXX_COMPILER)
  enable_language(CXX)
  headers_alone(headers_cxx cpp ${public_headers})
  set_target_properties(headers_cxx PROPERTIES COMPILE_OPTIONS "-Wall;-Wextra;-Wpedantic;-Werror" CXX_STANDARD 11)
endif()
