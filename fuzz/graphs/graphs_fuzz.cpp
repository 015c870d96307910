// SPDX-License-Identifier: Apache-2.0
// Bytes choose a graph (tests/graphs): the CPU engine must agree with the reference kernels.
#include <cstdlib>
#include <iostream>

#include <tenon/tests/graphs/judge.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenon::graphs;
  if (size > 512) return 0;  // More than the largest graph uses.
  const std::vector<std::uint8_t> bytes(data, data + size);
  Choices choices(bytes);
  const Case what = random_case(choices);
  const Verdict verdict = judge(what, engine_subject);
  if (verdict.failure.empty()) return 0;
  std::cerr << verdict.failure << "\nTENON_GRAPHS_BYTES=" << to_hex(bytes) << "\n" << what.text();
  std::abort();
}
