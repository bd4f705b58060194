# SPDX-License-Identifier: MIT
# What `cmake --install` and CPack ship: the command with its man pages and completions, and, once src/api gives it a
# surface, the library (shared and static) with the public headers, a pkg-config file and a package of CMake's.
if(TARGET stretto)
  install(TARGETS stretto RUNTIME COMPONENT command)
endif()
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
# What README and the help texts point to, in the same folders, so that links hold.
file(GLOB documents CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.md)
install(FILES ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT command)
install(FILES examples/decode.c examples/probe-job.json DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT command)

if(TARGET st_api)
  get_target_property(api_type st_api TYPE)
endif()
if(api_type STREQUAL STATIC_LIBRARY)
  # As long as the major version is 0, a minor one may change anything: the library's name says both.
  set(soversion ${PROJECT_VERSION_MAJOR})
  if(soversion EQUAL 0)
    set(soversion 0.${PROJECT_VERSION_MINOR})
  endif()
  # Both libraries hold the objects of every module; hidden visibility keeps what is not marked out of the shared one.
  set(objects "")
  foreach(module base json stat unit gguf kern token model chunk device plan probe run report api)
    get_target_property(type st_${module} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
      list(APPEND objects $<TARGET_OBJECTS:st_${module}>)
    endif()
  endforeach()
  foreach(kind SHARED STATIC)
    string(TOLOWER stretto_${kind} target)
    add_library(${target} ${kind} ${objects})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME stretto LINKER_LANGUAGE C VERSION ${PROJECT_VERSION}
                                               SOVERSION ${soversion})
  endforeach()
  install(TARGETS stretto_shared EXPORT stretto LIBRARY COMPONENT library NAMELINK_COMPONENT development)
  install(TARGETS stretto_static ARCHIVE COMPONENT development)
  target_link_libraries(stretto_shared PRIVATE Threads::Threads PkgConfig::HWLOC PkgConfig::PCRE2 PkgConfig::JANSSON m)
  target_link_options(stretto_shared PRIVATE -Wl,--no-undefined)

  install(DIRECTORY include/stretto DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
  # Relative to where the file itself lies, so that a tree installed with another --prefix, or unpacked, works too.
  file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(cmake/stretto.pc.in stretto.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/stretto.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

  # find_package(stretto) in a program's CMake: the shared library as stretto::stretto, which needs no other package.
  # What links the static one needs those of stretto.pc, and asks pkg-config --static.
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/stretto)
  set_target_properties(stretto_shared PROPERTIES EXPORT_NAME stretto)
  target_include_directories(stretto_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  install(EXPORT stretto NAMESPACE stretto:: FILE stretto-config.cmake DESTINATION ${package} COMPONENT development)
  set(compatible SameMajorVersion)
  if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(compatible SameMinorVersion)
  endif()
  include(CMakePackageConfigHelpers)
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/stretto-config-version.cmake COMPATIBILITY ${compatible})
  install(FILES ${CMAKE_BINARY_DIR}/stretto-config-version.cmake DESTINATION ${package} COMPONENT development)
endif()

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}) # wherever cpack is called
set(CPACK_PACKAGE_CONTACT "The Stretto developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)
