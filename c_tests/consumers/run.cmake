# Builds consumers/main.c against an installed prefix in one WAY and runs it:
#   cmake -DWAY=find_package -DPREFIX=.. -DLIBDIR=.. -DWORK=.. -DCC=.. -P run.cmake
# Ways: find_package, pkg_config, pkg_config_static, plain; add_subdirectory builds the library itself. With _moved at the end, the prefix is first
# copied to another place, and only the copy is used.
cmake_minimum_required(VERSION 3.22)

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE error)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGV}: ${status}\n${output}\n${error}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
string(REGEX REPLACE "_moved$" "" way "${WAY}")
if(NOT way STREQUAL "${WAY}")
  set(moved "${WORK}/moved")
  if(way STREQUAL "find_package")
    set(moved "${WORK}/moved prefix") # pkg-config separates flags by spaces
  endif()
  file(COPY "${PREFIX}/" DESTINATION "${moved}")
  set(PREFIX "${moved}")
endif()
set(ENV{LD_LIBRARY_PATH} "${PREFIX}/${LIBDIR}")
set(ENV{PKG_CONFIG_PATH} "${PREFIX}/${LIBDIR}/pkgconfig")
set(source "${CMAKE_CURRENT_LIST_DIR}/main.c")
set(program "${WORK}/program")

if(way STREQUAL "find_package")
  unset(ENV{LD_LIBRARY_PATH}) # CMake's build tree has the path in the program
  run(${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}/find_package" -B "${WORK}/build" "-DCMAKE_PREFIX_PATH=${PREFIX}"
    "-DEXPECTED_PREFIX=${PREFIX}" "-DCMAKE_C_COMPILER=${CC}")
  run(${CMAKE_COMMAND} --build "${WORK}/build")
  run("${WORK}/build/static")
  set(program "${WORK}/build/shared")
elseif(way STREQUAL "add_subdirectory")
  unset(ENV{LD_LIBRARY_PATH})
  run(${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}/add_subdirectory" -B "${WORK}/build" "-DCMAKE_C_COMPILER=${CC}"
    "-DAOE_CARGO_PROFILE=${PROFILE}" "-DAOE_CARGO_FEATURES=${FEATURES}")
  run(${CMAKE_COMMAND} --build "${WORK}/build")
  run(${CMAKE_COMMAND} --install "${WORK}/build" --prefix "${WORK}/installed")
  if(NOT EXISTS "${WORK}/installed/include/aoe.h")
    message(FATAL_ERROR "nothing was installed: ${output}")
  endif()
  run("${WORK}/build/static")
  set(program "${WORK}/build/shared")
elseif(way STREQUAL "pkg_config")
  run(pkg-config --cflags --libs aoe)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run(${CC} "${source}" -o "${program}" ${flags})
elseif(way STREQUAL "pkg_config_static")
  # In this copy only the archive is there to be found.
  file(GLOB shared "${PREFIX}/${LIBDIR}/libaoe.so*")
  file(REMOVE ${shared})
  run(pkg-config --static --cflags --libs aoe)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run(${CC} "${source}" -o "${program}" ${flags})
else()
  run(${CC} "${source}" -o "${program}" "-I${PREFIX}/include" "-L${PREFIX}/${LIBDIR}" -laoe)
endif()

run("${program}")
if(NOT output MATCHES "^libaoe [0-9]+\\.[0-9]+\\.[0-9]+\n$")
  message(FATAL_ERROR "unexpected output: ${output}")
endif()
