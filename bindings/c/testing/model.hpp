// SPDX-License-Identifier: Apache-2.0
// For tests of the C API, including clients that link nothing else: a model, and texts as strings.
#pragma once

#include <cstddef>
#include <string>

#include <tenon/bindings/c/tenon.h>  // IWYU pragma: export

namespace tenon::c_api_test {

/// Converts a text from an out-parameter to a string and frees it.
inline std::string taken(char* text) {
  std::string copy = text ? text : "(null)";
  tenon_string_free(text);
  return copy;
}

/// y = relu(x), f32 [1,columns], as IR v11.
inline std::string relu_ir(std::size_t columns) {
  const std::string size = std::to_string(columns);
  const std::string dims = "<dim>1</dim><dim>" + size + "</dim></port>";
  const auto input = [&] { return "<input><port id=\"0\" precision=\"FP32\">" + dims + "</input>"; };
  const auto output = [&](const char* id, const char* name) {
    return std::string("<output><port id=\"") + id + "\" precision=\"FP32\" names=\"" + name + "\">" + dims +
           "</output>";
  };
  return R"(<?xml version="1.0"?><net name="relu" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,)" +
         size + R"(" element_type="f32"/>)" + output("0", "x") +
         R"(</layer><layer id="1" name="relu" type="ReLU" version="opset1">)" + input() + output("1", "y") +
         R"(</layer><layer id="2" name="y/sink_port_0" type="Result" version="opset1">)" + input() +
         R"(</layer></layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>)";
}

}  // namespace tenon::c_api_test
