// SPDX-License-Identifier: Apache-2.0
// Random graphs on the CPU engine beside the reference. TENON_GRAPHS=N runs that many instead of a few;
// TENON_GRAPHS_SEED=N starts there; TENON_GRAPHS_BYTES=HEX runs the one that a failure printed; TENON_GRAPHS_KERNELS=1
// prints which kernels ran.
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include <tenon/tests/graphs/judge.hpp>

namespace tenon::graphs {
namespace graphs_test {

std::uint64_t number_from(const char* variable, std::uint64_t fallback) {
  const char* text = std::getenv(variable);
  return text && *text ? std::strtoull(text, nullptr, 10) : fallback;
}

TEST(Graphs, TheEngineComputesWhatTheReferenceDoes) {
  if (const char* hex = std::getenv("TENON_GRAPHS_BYTES")) {
    const std::string text = report(from_hex(hex), engine_subject);
    if (text[0] != '\n') FAIL() << text;
    std::cout << text;
    return;
  }
  const std::uint64_t first = number_from("TENON_GRAPHS_SEED", 1), count = number_from("TENON_GRAPHS", 2000);
  std::size_t outputs = 0, blind = 0, failures = 0;
  std::map<std::string, std::size_t> kernels;
  std::size_t sums = 0;  // Steps that add their result to what lies in their output.
  std::size_t relowered = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < 5; ++seed) {
    Choices choices(seed);
    const Case what = random_case(choices);
    for (const auto& node : what.model->get_ordered_ops()) ++kernels[node->get_type_name()];
    const Verdict verdict = judge(what, engine_subject);
    outputs += verdict.outputs;
    blind += verdict.blind;
    relowered += verdict.relowered;
    for (const auto& [kernel, steps] : verdict.kernels) {
      kernels[kernel] += steps;
      if (kernel.find("+Add(in place)") != kernel.npos) sums += steps;
    }
    if (verdict.failure.empty()) continue;
    ++failures;
    ADD_FAILURE() << "TENON_GRAPHS_SEED=" << seed << ": " << verdict.failure
                  << "\nsmallest: " << report(shrink(choices.taken(), engine_subject), engine_subject);
  }
  std::cout << outputs << " outputs judged, " << blind << " of them hardly; " << kernels["in place"]
            << " steps wrote over what they read, " << relowered << " plans were made from others\n";
  if (std::getenv("TENON_GRAPHS_KERNELS"))
    for (const auto& [kernel, steps] : kernels) std::cout << steps << " " << kernel << "\n";
  if (count < 1000) return;
  // Otherwise the graphs show little.
  EXPECT_LT(blind * 5, outputs);
  EXPECT_GT(kernels["in place"], count / 2);
  EXPECT_GT(sums, 0U);
  EXPECT_GT(relowered, count / 100);
  for (const char* seen : {"table",
                           "combine",
                           "join",
                           "column softmax",
                           "compiled body",
                           "levels",
                           "loop",
                           "If",
                           "Loop",
                           "ReadValue",
                           "Assign",
                           "FakeQuantize",
                           "Round",
                           "Interpolate",
                           "MaxPool",
                           "AvgPool",
                           "Convolution",
                           "MatMul",
                           "MVN",
                           "GroupConvolution",
                           "Softmax",
                           "ReduceMean",
                           "Transpose",
                           "Gather",
                           "StridedSlice",
                           "Concat",
                           "Split",
                           "VariadicSplit",
                           "Broadcast",
                           "Tile",
                           "Pad",
                           "Squeeze",
                           "AdaptiveAvgPool",
                           "AdaptiveMaxPool",
                           "SpaceToBatch",
                           "BatchToSpace",
                           "ReverseSequence"})
    EXPECT_GT(kernels[seen], 0U) << seen;
}

}  // namespace graphs_test
}  // namespace tenon::graphs
