// SPDX-License-Identifier: Apache-2.0
// Keeps requests in flight; each is started again from its callback.
#include <tenon/tools/tenon/shared/load.hpp>

#include <cstring>
#include <random>

#include <tenon/tools/tenon/shared/interrupt.hpp>

namespace tenon::tool {

void fill_with_noise(const Tensor& tensor, unsigned seed) {
  if (tensor.element_type() == ElementType::kString) return;  // Empty ones are as good as others.
  std::memset(tensor.data(), 0, tensor.size_bytes());
  std::minstd_rand random(seed);
  std::uniform_real_distribution<float> noise(0, 1);
  if (tensor.element_type() == ElementType::kF32) {
    for (std::size_t i = 0; i < tensor.element_count(); ++i) static_cast<float*>(tensor.data())[i] = noise(random);
  } else if (tensor.element_type() == ElementType::kU8) {
    for (std::size_t i = 0; i < tensor.element_count(); ++i)
      static_cast<std::uint8_t*>(tensor.data())[i] = static_cast<std::uint8_t>(random());
  }
}

Load::Load(CompiledModel& compiled, std::uint64_t requests) : slots_(requests) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].request = compiled.create_infer_request();
    for (std::size_t input = 0; input < compiled.inputs().size(); ++input) {
      const auto& port = compiled.inputs()[input];
      if (port.get_partial_shape().is_dynamic()) {
        throw Error(Code::kInvalidArgument, "input '" + port.get_any_name() + "' has the dynamic shape " +
                                                port.get_partial_shape().to_string() +
                                                "; bench needs static shapes: --shape \"" + port.get_any_name() +
                                                "[...]\" gives one");
      }
      Tensor tensor(port.get_element_type(), port.get_shape());
      fill_with_noise(tensor, static_cast<unsigned>(i * 31 + input));
      slots_[i].request.set_input_tensor(input, tensor);
    }
    slots_[i].request.set_callback([this, i](const std::exception_ptr& error) { done(i, error); });
  }
}

Load::~Load() {
  for (Slot& slot : slots_) {
    try {
      slot.request.wait();
    } catch (...) {  // Reported by run().
    }
  }
}

std::uint64_t Load::run(Clock::time_point until, std::uint64_t most, std::vector<double>* latency_ms) {
  until_ = until;
  left_ = static_cast<std::int64_t>(most);
  latency_ms_ = latency_ms;
  running_ = slots_.size();
  failure_ = nullptr;
  ended_ = 0;
  for (Slot& slot : slots_) start(slot);
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return running_ == 0; });
  lock.unlock();
  if (failure_) std::rethrow_exception(failure_);
  for (Slot& slot : slots_) slot.request.wait();
  return ended_;
}

void Load::start(Slot& slot) {
  std::exception_ptr refused;
  if (Clock::now() < until_.load() && !Interrupt::requested() && left_.fetch_sub(1) > 0) {
    slot.begin = Clock::now();
    try {
      return slot.request.start_async();
    } catch (...) {
      // In a callback there is no caller to report to, and no other callback will follow: this request is over.
      refused = std::current_exception();
      until_ = Clock::time_point::min();
    }
  }
  std::lock_guard lock(mutex_);
  if (refused && !failure_) failure_ = refused;
  if (--running_ == 0) idle_.notify_all();
}

void Load::done(std::size_t index, const std::exception_ptr& error) {
  Slot& slot = slots_[index];
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - slot.begin).count();
  {
    std::lock_guard lock(mutex_);
    if (error && !failure_) failure_ = error;
    ++ended_;
    if (latency_ms_ && latency_ms_->size() < latency_ms_->capacity()) latency_ms_->push_back(ms);
  }
  if (error) until_ = Clock::time_point::min();
  start(slot);
}

}  // namespace tenon::tool
