// SPDX-License-Identifier: Apache-2.0
// The bf16 trial: one run of each plan.
#include <tenon/drivers/npu/compiler/precision_trial.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

namespace tenon::npu::compiler {
namespace {

/// Stricter than promised (1 - cosine 1e-4, error 2e-2): results for other inputs may differ by a factor of two.
constexpr double kMaxCosineLoss = 4e-5, kMaxError = 1e-2;
/// Smaller models run as fast in f32.
constexpr std::size_t kMinConstantBytes = std::size_t{256} << 10;

std::vector<Tensor> made_up_inputs(const engine::Plan& plan) {
  std::mt19937 generator(20261121);
  std::normal_distribution<float> real;
  std::vector<Tensor> inputs;
  for (const engine::Port& port : plan.inputs()) {
    Tensor tensor(port.type, port.shape);
    // Zero is a valid index; 8-bit inputs are pictures.
    std::memset(tensor.data(), 0, tensor.size_bytes());
    if (port.type == ElementType::kF32) {
      for (std::size_t i = 0; i < tensor.element_count(); ++i) tensor.data<float>()[i] = real(generator);
    } else if (port.type == ElementType::kU8) {
      for (std::size_t i = 0; i < tensor.element_count(); ++i)
        tensor.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(generator());
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

std::vector<Tensor> outputs_of(const std::shared_ptr<const engine::Plan>& plan, const std::vector<Tensor>& inputs,
                               engine::Workers& workers) {
  engine::Execution execution(plan);
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) execution.bind_input(i, inputs[i]);
  for (std::size_t i = 0; i < plan->outputs().size(); ++i) {
    outputs.emplace_back(plan->outputs()[i].type, plan->outputs()[i].shape);
    execution.bind_output(i, outputs.back());
  }
  execution.run(workers);
  return outputs;
}

bool is_close(const Tensor& rounded, const Tensor& exact) {
  if (exact.element_type() != ElementType::kF32)
    return std::memcmp(rounded.data(), exact.data(), exact.size_bytes()) == 0;
  double dot = 0, rr = 0, ee = 0, error = 0, min = 0, max = 0;
  for (std::size_t i = 0; i < exact.element_count(); ++i) {
    const double r = rounded.data<float>()[i], e = exact.data<float>()[i];
    dot += r * e;
    rr += r * r;
    ee += e * e;
    error = std::max(error, std::abs(r - e));
    min = i ? std::min(min, e) : e;
    max = i ? std::max(max, e) : e;
  }
  if (ee == 0) return error == 0;
  // Written so that NaN fails.
  return 1 - dot / std::sqrt(rr * ee) <= kMaxCosineLoss && error <= kMaxError * (max - min);
}

}  // namespace

bool is_worth_trying(const Model& model) {
  if (!engine::has_native_bf16()) return false;
  std::size_t bytes = 0;
  for (const auto& node : model.get_ordered_ops()) {
    if (const auto* constant = as_type<op::v0::Constant>(node.get())) bytes += constant->get_byte_size();
    // Rounding before a quantisation changes 8-bit results by a step.
    if (std::string_view(node->get_type_name()) == "FakeQuantize") return false;
  }
  return bytes >= kMinConstantBytes;
}

bool agree_in_bf16(const std::shared_ptr<const engine::Plan>& exact, const std::shared_ptr<const engine::Plan>& rounded,
                   engine::Workers& workers) {
  const std::vector<Tensor> inputs = made_up_inputs(*exact);
  const std::vector<Tensor> wanted = outputs_of(exact, inputs, workers), found = outputs_of(rounded, inputs, workers);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!is_close(found[i], wanted[i])) return false;
  return true;
}

}  // namespace tenon::npu::compiler
