// SPDX-License-Identifier: Apache-2.0
// Random graphs on the GPU device beside the reference. TENON_GRAPHS, TENON_GRAPHS_SEED and TENON_GRAPHS_BYTES as graphs_test.
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/tests/graphs/judge.hpp>

namespace tenon::graphs {
namespace gpu_graphs_test {

std::uint64_t number_from(const char* variable, std::uint64_t fallback) {
  const char* text = std::getenv(variable);
  return text && *text ? std::strtoull(text, nullptr, 10) : fallback;
}

class GpuSubject final : public Subject {
 public:
  explicit GpuSubject(const Case& what) {
    auto model = what.is_dynamic ? with_open_inputs(*what.model) : nullptr;
    for (std::size_t i = 0; model && i < model->get_parameters().size(); ++i) open_.push_back(is_open_input(i));
    if (!model) model = what.model;
    // What is judged with bf16's tolerance lies as f16, where the device stores such.
    const auto precision = what.options.precision == ElementType::kBf16 ? element::f16 : element::f32;
    try {
      compiled_ = core().compile_model(model, "GPU", hint::inference_precision(precision));
    } catch (const NotImplemented&) {
      throw Refused();
    }
    request_ = compiled_.create_infer_request();
  }
  std::vector<bool> open_inputs() const override { return open_; }
  bool can_share_memory() const override { return false; }
  void run(Bound& bound) override {
    for (std::size_t i = 0; i < bound.inputs.size(); ++i) request_.set_input_tensor(i, bound.inputs[i]);
    for (std::size_t i = 0; i < bound.outputs.size() && open_.empty(); ++i)
      request_.set_output_tensor(i, bound.outputs[i]);
    try {
      request_.infer();
    } catch (const NotImplemented&) {
      throw Refused();
    }
    for (std::size_t i = 0; i < bound.outputs.size() && !open_.empty(); ++i)
      request_.get_output_tensor(i).copy_to(bound.outputs[i]);
  }

 private:
  static Core& core() {
    static auto* const core = new Core;
    return *core;
  }
  std::vector<bool> open_;
  CompiledModel compiled_;
  InferRequest request_;
};

std::unique_ptr<Subject> gpu_subject(const Case& what) { return std::make_unique<GpuSubject>(what); }

TEST(GpuGraphs, TheDeviceComputesWhatTheReferenceDoes) {
  if (Core().get_property("GPU", available_devices).empty()) GTEST_SKIP() << "no OpenCL device";
  if (const char* hex = std::getenv("TENON_GRAPHS_BYTES")) {
    const std::string text = report(from_hex(hex), gpu_subject);
    if (text[0] != '\n') FAIL() << text;
    std::cout << text;
    return;
  }
  const std::uint64_t first = number_from("TENON_GRAPHS_SEED", 1), count = number_from("TENON_GRAPHS", 20);
  std::size_t outputs = 0, refused = 0, failures = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < 5; ++seed) {
    Choices choices(seed);
    const Verdict verdict = judge(random_case(choices), gpu_subject);
    outputs += verdict.outputs;
    refused += verdict.is_refused;
    if (verdict.failure.empty()) continue;
    ++failures;
    ADD_FAILURE() << "TENON_GRAPHS_SEED=" << seed << ": " << verdict.failure << "\nsmallest: "
                  << report(std::getenv("TENON_GRAPHS_WHOLE") ? choices.taken() : shrink(choices.taken(), gpu_subject),
                            gpu_subject);
  }
  std::cout << outputs << " outputs judged, " << refused << " graphs refused\n";
  EXPECT_LT(refused * 4, count) << "most graphs have kernels";
}

}  // namespace gpu_graphs_test
}  // namespace tenon::graphs
