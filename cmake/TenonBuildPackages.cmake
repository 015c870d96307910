# SPDX-License-Identifier: Apache-2.0
# For `pip install .`, whose build requirements lie in a folder of their own: oneDNN for CMake's packages to be found, and the schema of ONNX.
if(NOT SKBUILD)
  return()
endif()
execute_process(COMMAND "${Python_EXECUTABLE}" -c
                "import importlib.metadata as m; print(m.distribution('onednn-devel-cpu-tbb').locate_file('../../..').resolve())"
                OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
if(NOT failed)
  list(APPEND CMAKE_PREFIX_PATH "${prefix}")
endif()
execute_process(COMMAND "${Python_EXECUTABLE}" -c "import importlib.metadata as m; print(m.distribution('onnx').locate_file('onnx/onnx-ml.proto'))"
                OUTPUT_VARIABLE proto OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
if(NOT failed AND NOT TENON_ONNX_PROTO)
  set(TENON_ONNX_PROTO "${proto}")
endif()
