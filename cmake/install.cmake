# SPDX-License-Identifier: MIT
# What `cmake --install` and CPack ship: the command with its man pages and completions, and the library (shared and
# static) with the public headers, a pkg-config file and a package of CMake's.
install(TARGETS stretto RUNTIME COMPONENT command)
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
# What README and the help texts point to, in the same folders, so that links hold.
file(GLOB documents CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md)
install(FILES ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT command)
install(FILES examples/decode.c examples/probe-job.json DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT command)

install(TARGETS stretto_shared EXPORT stretto LIBRARY COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS stretto_static ARCHIVE COMPONENT development)

install(DIRECTORY include/stretto DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
# Relative to where the file itself lies, so that a tree installed with another --prefix, or unpacked, works too.
file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/stretto.pc.in stretto.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/stretto.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# find_package(stretto) in a program's CMake: the shared library as stretto::stretto, which needs no other package.
# What links the static one needs those of stretto.pc, and asks pkg-config --static.
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/stretto)
install(EXPORT stretto NAMESPACE stretto:: FILE stretto-config.cmake DESTINATION ${package} COMPONENT development)
set(compatible SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatible SameMinorVersion)
endif()
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/stretto-config-version.cmake COMPATIBILITY ${compatible})
install(FILES ${PROJECT_BINARY_DIR}/stretto-config-version.cmake DESTINATION ${package} COMPONENT development)

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}) # wherever cpack is called
set(CPACK_PACKAGE_CONTACT "The Stretto developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)
