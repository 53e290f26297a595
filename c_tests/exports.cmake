# The installed library exports what the installed header declares, and says how it wants to be loaded:
#   cmake -DLIBRARY=.. -DHEADER=.. -DVERSION=.. -DNM=.. -DREADELF=.. -P exports.cmake
cmake_minimum_required(VERSION 3.22)

file(READ "${HEADER}" header)
string(REGEX REPLACE "/\\*([^*]|\\*[^/])*\\*+/" "" header "${header}")
string(REGEX MATCHALL "(^|[\n ;*])Aoe[A-Za-z]+\\(" declared "${header}")
list(TRANSFORM declared REPLACE "[^A-Za-z]" "")
execute_process(COMMAND ${NM} -D --defined-only --format=posix "${LIBRARY}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
# "AoeCancel@@AOE_0.1 T ...", and the versions' own names.
string(REGEX MATCHALL "[^\n ]+ [B-Z] [^\n]*" exported "${symbols}")
foreach(symbol IN LISTS exported)
  if(NOT symbol MATCHES "^[A-Za-z]+@@AOE_[0-9.]+ ")
    message(FATAL_ERROR "no version: ${symbol}")
  endif()
endforeach()
list(TRANSFORM exported REPLACE "@.*" "")
list(REMOVE_ITEM exported AoeTestPanic) # the hook of test builds
list(SORT declared)
list(SORT exported)
if(NOT declared STREQUAL exported)
  message(FATAL_ERROR "declared: ${declared}\nexported: ${exported}")
endif()

execute_process(COMMAND ${READELF} -d "${LIBRARY}" OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "\\..*" "" major "${VERSION}")
if(NOT dynamic MATCHES "SONAME[^\n]*\\[libaoe\\.so\\.${major}\\]")
  message(FATAL_ERROR "no SONAME libaoe.so.${major}:\n${dynamic}")
endif()
if(NOT dynamic MATCHES "FLAGS_1[^\n]*NODELETE")
  message(FATAL_ERROR "no NODELETE flag:\n${dynamic}")
endif()
