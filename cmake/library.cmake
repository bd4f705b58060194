# SPDX-License-Identifier: MIT
# The library, shared and static, of the objects of every module. Hidden visibility keeps what is not marked out of the
# shared one, which needs no other package of who links it: it is stretto::stretto, in a project that has this one inside
# (add_subdirectory, FetchContent) as with find_package.
# As long as the major version is 0, a minor one may change anything: the library's name says both.
set(soversion ${PROJECT_VERSION_MAJOR})
if(soversion EQUAL 0)
  set(soversion 0.${PROJECT_VERSION_MINOR})
endif()
set(objects "")
foreach(module base json stat unit gguf kern token model chunk device plan probe run report api)
  list(APPEND objects $<TARGET_OBJECTS:st_${module}>)
endforeach()
foreach(kind SHARED STATIC)
  string(TOLOWER stretto_${kind} target)
  add_library(${target} ${kind} ${objects})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME stretto LINKER_LANGUAGE C VERSION ${PROJECT_VERSION}
                                             SOVERSION ${soversion})
endforeach()
add_library(stretto::stretto ALIAS stretto_shared)
set_target_properties(stretto_shared PROPERTIES EXPORT_NAME stretto)
target_include_directories(stretto_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(stretto_shared PRIVATE Threads::Threads PkgConfig::HWLOC PkgConfig::PCRE2 PkgConfig::JANSSON m)
target_link_options(stretto_shared PRIVATE -Wl,--no-undefined)
