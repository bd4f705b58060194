# SPDX-License-Identifier: MIT
# st_embed(MODULE FILE SYMBOL): makes the bytes of a text file, and a NUL, an array of the module st_MODULE:
# `extern const char SYMBOL[];`. Included by CMakeLists.txt; run as a script (-P) it writes one such source.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${FROM}" bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n"
         bytes "${bytes}")
  file(WRITE "${TO}" "extern const char ${SYMBOL}[];\nconst char ${SYMBOL}[] = {\n${bytes}0};\n")
  return()
endif()

set(ST_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
function(st_embed module file symbol)
  set(source ${PROJECT_BINARY_DIR}/embed/${symbol}.c)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DFROM=${PROJECT_SOURCE_DIR}/${file} -DTO=${source} -DSYMBOL=${symbol} -P ${ST_EMBED_SCRIPT}
    DEPENDS ${PROJECT_SOURCE_DIR}/${file} ${ST_EMBED_SCRIPT}
    VERBATIM)
  target_sources(st_${module} PRIVATE ${source})
endfunction()
