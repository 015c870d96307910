// SPDX-License-Identifier: Apache-2.0
// Chooses a device: in order, in the background, and again after failures.
#include <algorithm>
#include <chrono>
#include <system_error>

#include <tenon/devices/auto/auto.hpp>
#include <tenon/graph/wanted.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::auto_device {

void Occupancy::take(const std::string& device, hint::Priority priority) {
  const std::lock_guard lock(mutex_);
  ++models_[device][priority];
}
void Occupancy::leave(const std::string& device, hint::Priority priority) {
  const std::lock_guard lock(mutex_);
  --models_[device][priority];
}
std::vector<std::string> Occupancy::order(std::vector<std::string> devices, hint::Priority priority) const {
  const std::lock_guard lock(mutex_);
  std::stable_partition(devices.begin(), devices.end(), [&](const std::string& device) {
    const auto found = models_.find(device);
    return found == models_.end() || std::none_of(found->second.begin(), found->second.end(), [&](const auto& entry) {
             return entry.first > priority && entry.second > 0;
           });
  });
  return devices;
}

Choice::Choice(std::shared_ptr<DeviceHost> host, std::shared_ptr<const Model> model,
               std::vector<std::string> candidates, AnyMap properties, Config config,
               std::shared_ptr<Occupancy> occupancy)
    : host_(std::move(host)),
      model_(std::move(model)),
      candidates_(std::move(candidates)),
      properties_(std::move(properties)),
      config_(std::move(config)),
      occupancy_(std::move(occupancy)) {}

Choice::~Choice() {
  process_end::remove(*this);
  stop_ = true;
  // No code may run after its Core was destroyed. A compilation ends at its next check for cancellation.
  if (background_.joinable()) background_.join();
  if (current_) occupancy_->leave(current_->device, config_.priority);
}

std::shared_ptr<const Target> Choice::compile(const std::string& device) {
  auto target = std::make_shared<Target>();
  target->device = device;
  target->model = host_->compile_model(model_, device, properties_for(*host_, device, candidates_, properties_));
  target->impl = host_->device_model(target->model);
  return target;
}

std::shared_ptr<const Target> Choice::compile_next() {
  const std::lock_guard compiling(compiling_);
  while (!stop_) {
    std::string device;
    {
      const std::lock_guard lock(mutex_);
      if (next_ >= candidates_.size()) return nullptr;
      device = candidates_[next_++];
      // The helper already runs the model: do not compile for it again.
      if (current_ && current_->device == device) return current_;
    }
    try {
      return compile(device);
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      reasons_ += (reasons_.empty() ? "" : "; ") + device + ": " + error.what();
    }
  }
  return nullptr;
}

void Choice::use(std::shared_ptr<const Target> target) {
  const std::lock_guard lock(mutex_);
  if (target == current_) return;
  if (current_) occupancy_->leave(current_->device, config_.priority);
  occupancy_->take(target->device, config_.priority);
  streams_.store(target->impl->stream_count(), std::memory_order_relaxed);
  current_ = std::move(target);
  generation_.fetch_add(1, std::memory_order_release);
}

void Choice::follow_up() {
  {
    const CancellationScope scope([this] { return !stop_; });
    auto target = compile_next();
    // If nothing else compiles, keep the helper.
    if (target && !stop_) use(std::move(target));
  }
  waiting_ = false;
}

bool Choice::settle(Deadline deadline) noexcept {
  cancel();
  while (waiting_ && Clock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return !waiting_;
}

void Choice::start(const std::string& helper) {
  if (!helper.empty()) {
    helper_ = helper;
    try {
      use(compile(helper));
    } catch (const std::exception& error) {  // Then wait for the first candidate.
      const std::lock_guard lock(mutex_);
      reasons_ += (reasons_.empty() ? "" : "; ") + helper + ": " + error.what();
      std::erase(candidates_, helper);
    }
  }
  if (current_) {
    process_end::add(shared_from_this(), kName);
    waiting_ = true;
    try {
      background_ = std::thread([this] { follow_up(); });
    } catch (const std::system_error&) {  // No thread available: compile here instead.
      follow_up();
    }
    return;
  }
  auto target = compile_next();
  if (!target)
    throw Error(Code::kUnavailable, "AUTO: no device runs this model" + (reasons_.empty() ? "" : "; " + reasons_));
  use(std::move(target));
}

void Choice::go_on_with(const std::vector<std::string>& others) {
  const std::lock_guard lock(mutex_);
  for (const std::string& device : others)
    if (device != current_->device) candidates_.push_back(device);
}

std::shared_ptr<const Target> Choice::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

bool Choice::is_waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_ && current_ && current_->device == helper_;
}

bool Choice::give_up(const Target& failed, const std::string& why) {
  // If several requests fail, one switches devices; the others find the new one in use.
  if (current().get() != &failed) return true;
  {
    const std::lock_guard lock(mutex_);
    reasons_ += (reasons_.empty() ? "" : "; ") + failed.device + " while inferring: " + why;
  }
  auto target = compile_next();
  if (!target || target.get() == &failed) return current().get() != &failed;
  use(std::move(target));
  return true;
}

}  // namespace tenon::inline v1::auto_device
