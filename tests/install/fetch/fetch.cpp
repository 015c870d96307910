// SPDX-License-Identifier: Apache-2.0
// Uses core as a program does that builds it.
#include <cstdio>

#include <tenon/core/tensor.hpp>
#include <tenon/core/version.hpp>

int main() {
  const tenon::Tensor tensor(tenon::element::f32, {2, 3});
  std::printf("tenon " TENON_VERSION ": %zu bytes\n", tensor.get_byte_size());
  return tensor.get_byte_size() == 24 ? 0 : 1;
}
