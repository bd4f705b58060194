# SPDX-License-Identifier: MIT
# cmake -DNM= -DREADELF= -DLIBRARY= -DINCLUDE= -P symbols.cmake: fails unless LIBRARY exports exactly the functions that
# the headers in INCLUDE mark with STRETTO_API, and calls itself libstretto.so.VERSION.
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n]+\n" exported "${listing}")
list(TRANSFORM exported STRIP)
list(FILTER exported EXCLUDE REGEX "^__(asan|odr_asan|ubsan|tsan)") # a sanitizer's own

set(declared "")
file(GLOB headers ${INCLUDE}/*.h)
foreach(header ${headers})
  file(READ ${header} text)
  string(REPLACE ";" "\n" text "${text}")
  string(REGEX MATCHALL "STRETTO_API [^\n(]*[ *](stretto_[a-z0-9_]+)\\(" marked "${text}")
  foreach(declaration ${marked})
    string(REGEX REPLACE ".*[ *](stretto_[a-z0-9_]+)\\($" "\\1" name "${declaration}")
    list(APPEND declared ${name})
  endforeach()
endforeach()
list(LENGTH declared count)
if(count LESS 20)
  message(FATAL_ERROR "found only ${count} declarations in ${INCLUDE}")
endif()

list(SORT exported)
list(SORT declared)
if(NOT exported STREQUAL declared)
  set(hidden ${declared})
  list(REMOVE_ITEM hidden ${exported})
  list(REMOVE_ITEM exported ${declared})
  message(FATAL_ERROR "declared but not exported: ${hidden}; exported but not declared: ${exported}")
endif()

execute_process(COMMAND ${READELF} -d ${LIBRARY} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
if(NOT dynamic MATCHES "soname: \\[libstretto\\.so\\.[0-9.]+\\]")
  message(FATAL_ERROR "the library's name has no version: ${dynamic}")
endif()
message("${count} functions exported")
