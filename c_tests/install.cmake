# scripts/install takes a library with test hooks only when it is asked to, and no arguments at all:
#   cmake -DWORK=.. -DCC=.. -DAR=.. -P install.cmake
# Cargo is replaced by a program that only says where its build script has written, so that what lies in the output folder is
# what was built.
cmake_minimum_required(VERSION 3.22)

file(REMOVE_RECURSE "${WORK}")
set(out "${WORK}/release/build/aoe-1/out")
file(WRITE "${WORK}/tools/bin/cargo" "#!/bin/sh\n[ \"$1\" != build ] || "
  "echo '{\"reason\":\"build-script-executed\",\"package_id\":\"aoe\",\"out_dir\":\"${out}\"}'\n")
file(CHMOD "${WORK}/tools/bin/cargo" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
file(WRITE "${WORK}/release/aoe" "")
file(WRITE "${out}/installed/include/deep/only.h" "/* a header */\n")
file(WRITE "${out}/installed/share/cmake/aoe/aoeConfig.cmake" "# a package\n")
file(WRITE "${out}/installed/aoe.pc" "prefix=@PREFIX@\nlibdir=\${prefix}/@LIBDIR@\n")

# install(FUNCTIONS FEATURES [ARGUMENT...]): installs a library of these functions into an empty prefix; sets `status`
# and `error`.
function(install functions features)
  file(REMOVE_RECURSE "${WORK}/prefix" "${WORK}/release/libaoe.a")
  list(TRANSFORM functions REPLACE "(.+)" "void \\1(void) {}\n")
  file(WRITE "${WORK}/functions.c" ${functions})
  execute_process(COMMAND ${CC} -fPIC -c "${WORK}/functions.c" -o "${WORK}/functions.o" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${AR} rcs "${WORK}/release/libaoe.a" "${WORK}/functions.o" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=DESTDIR "CARGO_TARGET_DIR=${WORK}" "CC=${CC}" "PREFIX=${WORK}/prefix"
      LIBDIR=lib PROFILE=release DROP_IN=no "FEATURES=${features}" "${CMAKE_CURRENT_LIST_DIR}/../scripts/install" ${ARGN}
    RESULT_VARIABLE status ERROR_VARIABLE error)
  set(status "${status}" PARENT_SCOPE)
  set(error "${error}" PARENT_SCOPE)
endfunction()

install("AoeGetApi;AoeTestPanic" "")
if(status EQUAL 0 OR NOT error MATCHES "test-hooks" OR EXISTS "${WORK}/prefix")
  message(FATAL_ERROR "a library with test hooks was installed, or not named: ${status} ${error}")
endif()
install("AoeGetApi;AoeTestPanic" "test-hooks")
if(NOT status EQUAL 0 OR NOT EXISTS "${WORK}/prefix/lib/libaoe.so")
  message(FATAL_ERROR "a library with test hooks was refused though asked for: ${status} ${error}")
endif()
install("AoeGetApi" "")
if(NOT status EQUAL 0 OR NOT EXISTS "${WORK}/prefix/lib/libaoe.so")
  message(FATAL_ERROR "a library without test hooks was refused: ${status} ${error}")
endif()
# What is laid down is what the build script wrote, at the place of this prefix.
file(STRINGS "${WORK}/prefix/lib/pkgconfig/aoe.pc" lines)
if(NOT EXISTS "${WORK}/prefix/include/deep/only.h" OR NOT EXISTS "${WORK}/prefix/lib/cmake/aoe/aoeConfig.cmake"
    OR NOT "${lines}" STREQUAL "prefix=\${pcfiledir}/../..;libdir=\${prefix}/lib")
  message(FATAL_ERROR "what the build script wrote was not installed, or for another prefix: ${lines}")
endif()
install("AoeGetApi" "" --help)
if(status EQUAL 0 OR NOT error MATCHES "--help" OR EXISTS "${WORK}/prefix")
  message(FATAL_ERROR "an argument that does not exist was not refused or not named: ${status} ${error}")
endif()
