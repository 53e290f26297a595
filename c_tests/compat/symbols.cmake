# The drop-in library exports CANN's ten names and nothing else, the engine one; both stay in the process. The functions
# of GE that it looks up are named as a compiler names them: those of the tests' GE (GE), which declares them in C++.
#   cmake -DLIBRARY=.. -DENGINE=.. -DGE=.. -DSOURCE=graph.cpp -DNM=.. -DREADELF=.. -P symbols.cmake
cmake_minimum_required(VERSION 3.22)

# exports(FILE LIST): the names that a library exports, sorted.
function(exports file list)
  execute_process(COMMAND ${NM} -D --defined-only --format=posix "${file}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n ]+ [A-Z] [^\n]*" found "${symbols}")
  list(TRANSFORM found REPLACE "[ @].*" "")
  list(SORT found)
  set(${list} "${found}" PARENT_SCOPE)
endfunction()

set(ten AoeCreateSession AoeDestroySession AoeFinalize AoeInitialize AoeSetDependGraphs AoeSetDependGraphsInputs
  AoeSetGeSession AoeSetTuningGraph AoeSetTuningGraphInput AoeTuningGraph)
exports("${LIBRARY}" exported)
if(NOT exported STREQUAL "${ten}")
  message(FATAL_ERROR "${LIBRARY} exports ${exported}")
endif()
exports("${ENGINE}" exported)
if(NOT exported STREQUAL "AoeGetApi")
  message(FATAL_ERROR "${ENGINE} exports ${exported}")
endif()

foreach(file "${LIBRARY}" "${ENGINE}")
  get_filename_component(name "${file}" NAME)
  execute_process(COMMAND ${READELF} -d "${file}" OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
  if(NOT dynamic MATCHES "SONAME[^\n]*\\[${name}\\]" OR NOT dynamic MATCHES "FLAGS_1[^\n]*NODELETE")
    message(FATAL_ERROR "${file}: no SONAME ${name}, or no NODELETE flag:\n${dynamic}")
  endif()
  if(dynamic MATCHES "NEEDED[^\n]*(libaoe|libgraph|libge)")
    message(FATAL_ERROR "${file} is linked with what it must find at run time:\n${dynamic}")
  endif()
endforeach()

set(of_cann
  _ZNK2ge5Graph10SaveToFileEPKc _ZNK2ge5Graph7GetNameERNS_12AscendStringE _ZNK2ge5Graph9SaveToMemERNS_11GraphBufferE
  _ZN2ge11GraphBufferC1Ev _ZN2ge11GraphBufferD1Ev _ZNK2ge11GraphBuffer7GetDataEv _ZNK2ge11GraphBuffer7GetSizeEv
  _ZNK2ge6Tensor13GetTensorDescEv _ZNK2ge6Tensor7GetSizeEv _ZNK2ge6Tensor7GetDataEv _ZNK2ge10TensorDesc8GetShapeEv
  _ZNK2ge10TensorDesc11GetDataTypeEv _ZNK2ge10TensorDesc9GetFormatEv _ZNK2ge10TensorDesc15GetOriginFormatEv
  _ZNK2ge10TensorDesc14GetOriginShapeEv
  _ZNK2ge5Shape9GetDimNumEv _ZNK2ge5Shape6GetDimEm _ZN2ge12AscendStringC1EPKc
  _ZNK2ge12AscendString9GetStringEv)
exports("${GE}" exported)
foreach(symbol ${of_cann})
  if(NOT symbol IN_LIST exported)
    message(FATAL_ERROR "${GE} has no ${symbol}, which CANN's has")
  endif()
endforeach()
file(READ "${SOURCE}" source)
string(REGEX MATCHALL "_Z[A-Za-z0-9_]+" looked_up "${source}")
list(LENGTH looked_up count)
if(count LESS 14)
  message(FATAL_ERROR "${SOURCE} looks up ${count} symbols only: ${looked_up}")
endif()
foreach(symbol ${looked_up})
  if(NOT symbol IN_LIST of_cann)
    message(FATAL_ERROR "${SOURCE} looks up ${symbol}, which is not of CANN's")
  endif()
endforeach()
