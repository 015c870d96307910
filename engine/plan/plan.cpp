// SPDX-License-Identifier: Apache-2.0
// Queries on a plan.
#include <algorithm>

#include <tenon/engine/plan/plan.hpp>

namespace tenon::inline v1::engine {
namespace {

/// Whether the step reads buffer `from` only element by element of buffer `to`, which it writes from its begin.
bool works_in_place(const PlanImpl& plan, const Step& step, BufferKind from, std::size_t from_index, BufferKind to,
                    std::size_t to_index) {
  const auto* primitive = dynamic_cast<const PrimitiveStep*>(&step);
  if (primitive) {
    const auto kind = primitive->primitive.get_kind();
    if (kind != dnnl::primitive::kind::eltwise && kind != dnnl::primitive::kind::binary) return false;
  }
  const md* written = nullptr;
  std::size_t writes = 0;
  std::vector<const md*> read;
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    const Operand& operand = step.operands[i];
    if (!operand.place) continue;
    const BufferSlice root = plan.root(operand.place);
    const Buffer& buffer = plan.buffers[root.buffer];
    const bool is_to = buffer.kind == to && buffer.index == to_index;
    if (!is_to && !(buffer.kind == from && buffer.index == from_index)) continue;
    if (root.offset != 0) return false;
    if (is_to) {
      ++writes;
      if (primitive) written = &primitive->arguments[i].second;
    } else if (primitive) {
      read.push_back(&primitive->arguments[i].second);
    } else if (!operand.in_step) {
      return false;
    }
  }
  return writes == 1 && std::all_of(read.begin(), read.end(), [&](const md* desc) { return *desc == *written; });
}

}  // namespace

Plan::~Plan() = default;

const std::vector<Port>& Plan::inputs() const { return impl_->inputs; }
const std::vector<Port>& Plan::outputs() const { return impl_->outputs; }
const Options& Plan::options() const { return impl_->options; }
bool Plan::reads_strided(std::size_t input) const { return impl_->input_read_strided.at(input); }
bool Plan::may_share(std::size_t input, std::size_t output) const {
  std::size_t last_read = 0, first_write = impl_->steps.size();
  bool is_read = false;
  for (std::size_t i = 0; i < impl_->steps.size(); ++i) {
    for (const Operand& operand : impl_->steps[i]->operands) {
      if (!operand.place) continue;
      const Buffer& buffer = impl_->buffers[impl_->root(operand.place).buffer];
      if (buffer.kind == BufferKind::kInput && buffer.index == input) {
        last_read = i;
        is_read = true;
      }
      if (buffer.kind == BufferKind::kOutput && buffer.index == output) first_write = std::min(first_write, i);
    }
  }
  if (!is_read || last_read < first_write) return true;
  return last_read == first_write &&
         works_in_place(*impl_, *impl_->steps[first_write], BufferKind::kInput, input, BufferKind::kOutput, output);
}
bool Plan::is_grown(std::size_t output) const {
  return std::any_of(impl_->growths.begin(), impl_->growths.end(),
                     [&](const Growth& growth) { return growth.result == output; });
}
std::vector<StepInfo> Plan::steps() const {
  std::vector<StepInfo> infos;
  for (const auto& step : impl_->steps) infos.push_back(step->info);
  return infos;
}
std::vector<std::pair<std::string, std::string>> Plan::optimized_out() const { return impl_->optimized_out; }
std::size_t Plan::reference_step_count() const {
  std::size_t count = 0;
  for (const auto& step : impl_->steps) count += step->info.is_reference;
  return count;
}
std::size_t Plan::arena_bytes() const { return impl_->arena_bytes; }
std::size_t Plan::held_bytes() const {
  // Measured: what a process grows by per plan.
  constexpr std::size_t kPrimitiveBytes = 16U << 10, kStepBytes = 2U << 10;
  std::size_t bytes = impl_->own_constant_bytes;
  for (const auto& step : impl_->steps)
    bytes += dynamic_cast<const PrimitiveStep*>(step.get()) ? kPrimitiveBytes : kStepBytes;
  return bytes;
}
std::size_t Plan::constant_bytes() const {
  std::size_t bytes = 0;
  for (const Buffer& buffer : impl_->buffers)
    if (buffer.kind == BufferKind::kConstant) bytes += buffer.size_bytes;
  return bytes;
}

}  // namespace tenon::inline v1::engine
