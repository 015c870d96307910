// SPDX-License-Identifier: Apache-2.0
// Reads a model and writes it as IR: convert IN OUT.xml.
#include <cstdio>

#include <tenon/core/error.hpp>
#include <tenon/graph/readers/read_model.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: %s MODEL OUT.xml\n", arguments[0]);
    return 2;
  }
  try {
    tenon::serialize(*tenon::read_model(arguments[1]), arguments[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", tenon::describe(error).c_str());
    return 1;
  }
  return 0;
}
