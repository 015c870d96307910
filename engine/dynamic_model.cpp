// SPDX-License-Identifier: Apache-2.0
// Copies of dynamic models, from one maker of plans to the next.
#include <tenon/engine/dynamic_model.hpp>

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

namespace tenon::inline v1::engine {
namespace {

constexpr std::size_t kIdleCopies = 4;

DynamicModel::Copy copy_of(const Model& model) {
  DynamicModel::Copy copy{planning::ShapedCopy(model), {}};
  // Nothing has been checked yet.
  copy.before.changed.assign(copy.shaped.order().size(), true);
  return copy;
}

}  // namespace

DynamicModel::DynamicModel(std::shared_ptr<const Model> prepared)
    : id_([] {
        static std::atomic<std::uint64_t> last{0};
        return ++last;
      }()),
      prepared_(std::move(prepared)) {}

DynamicModel::Copy DynamicModel::take(std::span<const Tensor> inputs) {
  std::optional<Copy> idle;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      idle = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  Copy copy = idle ? std::move(*idle) : copy_of(*prepared_);
  std::vector<planning::InputShape> shapes;
  for (const Tensor& input : inputs) shapes.push_back({input.element_type(), input.shape()});
  copy.shaped.give(shapes, copy.before.changed);  // A copy whose shapes do not fit is dropped.
  return copy;
}

void DynamicModel::give_back(Copy copy) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kIdleCopies) idle_.push_back(std::move(copy));
}

}  // namespace tenon::inline v1::engine
