# SPDX-License-Identifier: Apache-2.0
# The readers and the writer as parts of tenon::graph. Sets TENON_READER_SOURCES, TENON_READER_OBJECTS and TENON_READER_LIBS (all
# private); graph/CMakeLists.txt includes this file and passes them to tenon_add_library.
set(_readers "${CMAKE_CURRENT_LIST_DIR}")
find_package(pugixml REQUIRED)
file(GLOB TENON_READER_SOURCES CONFIGURE_DEPENDS "${_readers}/*.cpp" "${_readers}/openvino_ir/*.cpp"
     "${_readers}/../writers/openvino_ir/*.cpp")
set(TENON_READER_LIBS pugixml::pugixml)
# These know every reader: an island that links one reader of the archive must not get the others with it.
file(GLOB _all_readers "${_readers}/*.cpp")
set_source_files_properties(${_all_readers} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# ONNX: generates the C++ classes of its schema from the file that the onnx wheel ships.
set(TENON_ONNX_PROTO "" CACHE FILEPATH "ONNX's onnx-ml.proto; empty: looked for in build/data")
set(_proto "${TENON_ONNX_PROTO}")
foreach(_candidate "build/data/onnx/onnx/onnx-ml.proto" "build/data/onnx/onnx-ml.proto")
  if(NOT _proto AND EXISTS "${PROJECT_SOURCE_DIR}/${_candidate}")
    set(_proto "${PROJECT_SOURCE_DIR}/${_candidate}")
  endif()
endforeach()
set(_onnx_off "")
if(NOT _proto OR NOT EXISTS "${_proto}")
  set(_onnx_off "onnx-ml.proto is missing: './dev setup' fetches it, or set TENON_ONNX_PROTO")
else()
  find_package(Protobuf QUIET)
  if(NOT TARGET protobuf::libprotobuf-lite OR NOT TARGET protobuf::protoc)
    set(_onnx_off "protobuf is missing: install libprotobuf-dev and protobuf-compiler")
  else()
    # Compiler and library must be of the same release, but another protoc on the path may be found first.
    set(_probe "${PROJECT_BINARY_DIR}/probes/protobuf")
    file(WRITE "${_probe}.proto" "syntax = \"proto2\";\noption optimize_for = LITE_RUNTIME;\nmessage Probe { repeated float values = 1 [packed = true]; }\n")
    file(WRITE "${_probe}.cpp" "#include \"protobuf.pb.cc\"\nint main() {\n  Probe probe;\n  probe.add_values(1);\n  return probe.SerializeAsString().empty();\n}\n")
    get_target_property(_protoc protobuf::protoc IMPORTED_LOCATION)
    if(NOT _protoc)
      get_target_property(_protoc protobuf::protoc LOCATION)
    endif()
    tenon_probe_command(TENON_PROTOC_WORKS "${_protoc}" "--proto_path=${PROJECT_BINARY_DIR}/probes" "--cpp_out=${PROJECT_BINARY_DIR}/probes" protobuf.proto)
    if(TENON_PROTOC_WORKS)
      tenon_probe(TENON_PROTOBUF_WORKS SOURCE "${_probe}.cpp" LINK protobuf::libprotobuf-lite)
    endif()
    if(NOT TENON_PROTOC_WORKS OR NOT TENON_PROTOBUF_WORKS)
      set(_onnx_off "protobuf's compiler and library (${_protoc}, ${Protobuf_VERSION}) do not work together, see probes/TENON_PROTO*_WORKS.log")
    endif()
  endif()
endif()

if(_onnx_off)
  tenon_switched_off("the ONNX reader" "${_onnx_off}")
  list(APPEND TENON_READER_SOURCES "${_readers}/onnx/off/onnx_reader_off.cpp")
  set_source_files_properties("${_readers}/onnx/off/onnx_reader_off.cpp" PROPERTIES
                              COMPILE_DEFINITIONS "TENON_ONNX_OFF_REASON=\"${_onnx_off}\"")
else()
  # A package name of our own: other libraries in the process (OpenVINO, ONNX Runtime) have a class onnx::ModelProto.
  set(_generated "${PROJECT_BINARY_DIR}/generated/onnx")
  file(READ "${_proto}" _schema)
  string(REGEX REPLACE "\npackage onnx;" "\npackage tenon.onnx_schema;" _schema "${_schema}")
  string(REGEX REPLACE "optimize_for = [A-Z_]+" "optimize_for = LITE_RUNTIME" _schema "${_schema}")
  # Recorded values of backend tests: the fields of ONNX's onnx-data.proto that hold tensors.
  string(APPEND _schema "
message SequenceProto { optional int32 elem_type = 2; repeated TensorProto tensor_values = 3; }
message OptionalProto {
  optional int32 elem_type = 2; optional TensorProto tensor_value = 3; optional SequenceProto sequence_value = 5;
}
")
  file(CONFIGURE OUTPUT "${_generated}/tenon_onnx_schema.proto" CONTENT "${_schema}" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_proto}")
  add_custom_command(
    OUTPUT "${_generated}/tenon_onnx_schema.pb.cc" "${_generated}/tenon_onnx_schema.pb.h"
    COMMAND protobuf::protoc "--proto_path=${_generated}" "--cpp_out=${_generated}" tenon_onnx_schema.proto
    DEPENDS "${_generated}/tenon_onnx_schema.proto" VERBATIM)
  add_library(tenon_onnx_schema OBJECT EXCLUDE_FROM_ALL "${_generated}/tenon_onnx_schema.pb.cc")
  set_target_properties(tenon_onnx_schema PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(tenon_onnx_schema SYSTEM PUBLIC "${_generated}")
  target_link_libraries(tenon_onnx_schema PUBLIC protobuf::libprotobuf-lite)
  file(GLOB _onnx_sources CONFIGURE_DEPENDS "${_readers}/onnx/*.cpp" "${_readers}/onnx/ops/*.cpp")
  list(FILTER _onnx_sources EXCLUDE REGEX "_(test|bench)\\.cpp$")
  add_library(tenon_graph_onnx OBJECT ${_onnx_sources})
  target_link_libraries(tenon_graph_onnx PRIVATE tenon_flags tenon::core tenon_onnx_schema)
  list(APPEND TENON_READER_OBJECTS tenon_graph_onnx)
  list(APPEND TENON_READER_LIBS tenon_onnx_schema)
endif()
list(FILTER TENON_READER_SOURCES EXCLUDE REGEX "_(test|bench)\\.cpp$")
