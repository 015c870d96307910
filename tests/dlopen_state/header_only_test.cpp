// SPDX-License-Identifier: Apache-2.0
// Core without a library: a program of two source files, one state.
#include <tenon/core/header_only.hpp>

#include <cstdio>
#include <cstdlib>

const tenon::Ledger* ledger_of_the_other_file();
tenon::EdgeId edge_of_the_other_file(const char* name);
tenon::Context host_of_the_other_file();

namespace header_only_test {

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "header_only_test: %s\n", what);
  std::exit(1);
}

}  // namespace header_only_test

int main() {
  using namespace tenon;
  expect(&Ledger::process() == ledger_of_the_other_file(), "two ledgers");
  expect(register_edge("header only") == edge_of_the_other_file("header only"), "two numbers for one edge");
  expect(host_context() == host_of_the_other_file(), "two host contexts");
  Tensor tensor(element::f32, {2, 3});
  tensor.data<float>()[5] = 4;
  Tensor copy;
  tensor.copy_to(copy);
  expect(copy.data<float>()[5] == 4, "copy_to");
  Router router;
  router.add(host_context());
  expect(router.map(tensor, host_context()).data() == tensor.data(), "map");
  const Frame frame = Frame::allocate({kNv12, 64, 48});
  expect(frame.plane_count() == 2, "frame");
  try {
    tensor.slice({0, 0}, {9, 9});
    expect(false, "nothing was thrown");
  } catch (const Error& error) {
    expect(error.code() == Code::kOutOfRange, "code");
  }
  return 0;
}
