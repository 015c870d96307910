// SPDX-License-Identifier: Apache-2.0
// Another request of the device for another format of frames.
#include <tenon/runtime/request/device_requests.hpp>

#include <algorithm>
#include <utility>

namespace tenon {
inline namespace v1 {

bool DeviceRequests::use(const InputVariant::Key& key) {
  const auto known =
      std::find_if(all_.begin(), all_.end(), [&](const DeviceRequest& one) { return one.variant->key == key; });
  const std::size_t before = active_;
  const bool first = all_.empty();
  if (known == all_.end()) {
    // An input_frames() option, if given, compiled the model for frames first; main_variant() is that one.
    auto variant = first && key.empty() ? model_.main_variant() : model_.variant(key);
    auto impl = variant->impl->create_request();
    all_.push_back({std::move(variant), std::move(impl)});
    active_ = all_.size() - 1;
  } else {
    active_ = static_cast<std::size_t>(known - all_.begin());
  }
  running_.store(all_[active_].impl.get(), std::memory_order_release);
  if (first || active_ == before) return false;
  // The request that is left must not hold anyone's memory.
  const DeviceRequest& left = all_[before];
  const Ports& ports = left.compiled().ports();
  for (std::size_t i = 0; i < ports.inputs.size(); ++i) left.impl->bind_input(i, Tensor());
  for (std::size_t i = 0; i < model_.outputs().size(); ++i) left.impl->bind_output(i, Tensor());
  return true;
}

void DeviceRequests::cancel() noexcept {
  if (InferRequestImpl* impl = running_.load(std::memory_order_acquire)) impl->cancel();
}

void DeviceRequests::end_in_caller() noexcept {
  if (InferRequestImpl* impl = running_.load(std::memory_order_acquire)) impl->end_in_caller();
}

void DeviceRequests::clear() noexcept {
  running_.store(nullptr, std::memory_order_relaxed);
  all_.clear();
}

}  // namespace v1
}  // namespace tenon
