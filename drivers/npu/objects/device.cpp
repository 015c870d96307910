// SPDX-License-Identifier: Apache-2.0
// The driver's single instance and its devices, created by zeInit.
#include <cstdio>
#include <cstdlib>
#include <new>

#include <tenon/drivers/npu/objects/device.hpp>
#include <tenon/drivers/npu/objects/pace.hpp>
#include <tenon/drivers/npu/objects/reservation.hpp>
#include <tenon/drivers/npu/objects/result.hpp>
#include <tenon/drivers/npu/objects/wait.hpp>
#include <tenon/frameworks/level_zero/abi/context_npu.hpp>
#include <tenon/frameworks/level_zero/abi/driver_npu.hpp>

namespace tenon::npu {

Device::Device(const Platform& platform, std::uint32_t index)
    : platform_(platform),
      index_(index),
      workers_(static_cast<std::uint32_t>(platform.max_tiles), Pace::get().is_on()) {}

std::array<std::uint8_t, ZE_MAX_DEVICE_UUID_SIZE> Device::uuid() const noexcept {
  std::array<std::uint8_t, ZE_MAX_DEVICE_UUID_SIZE> uuid{};
  for (std::size_t i = 0; i < uuid.size(); ++i) uuid[i] = abi::kNpuDeviceUuid[i];
  // Clients recognise NPUs by the first UUID; further devices differ in the two bytes before the last.
  uuid[13] = static_cast<std::uint8_t>(uuid[13] ^ (index_ >> 8));
  uuid[14] = static_cast<std::uint8_t>(uuid[14] ^ index_);
  return uuid;
}

Driver::Driver() {
  guard_against_fork();
  const char* text = std::getenv("TENON_NPU_PLATFORM");
  std::string_view mistake;
  const auto platforms = parse_platforms(text ? text : "", &mistake);
  if (!mistake.empty()) {
    std::fprintf(
        stderr,
        "libze_tenon_npu: TENON_NPU_PLATFORM=%s: no device: '%.*s' is not a platform; 3720, 4000 and 5010 are\n", text,
        static_cast<int>(mistake.size()), mistake.data());
    return;
  }
  devices_.reserve(platforms.size());
  for (const Platform* platform : platforms) {
    Device* const device = make_object<Device>(*platform, static_cast<std::uint32_t>(devices_.size()));
    if (!device) {  // Fewer than were asked for would stay so: none, and the next try makes them all.
      for (const Device* made : devices_) destroy_handle(made->handle(), Kind::kDevice);
      throw std::bad_alloc();
    }
    devices_.push_back(device);
  }
}

Driver* Driver::get() noexcept {
  static std::atomic<Driver*> driver{nullptr};
  static std::mutex making;
  if (Driver* const made = driver.load(std::memory_order_acquire)) return made;
  const std::lock_guard lock(making);
  if (!driver.load(std::memory_order_relaxed)) driver.store(make_object<Driver>(), std::memory_order_release);
  return driver.load(std::memory_order_relaxed);
}

Context::~Context() {
  memory_table().remove_all(this);
  Reservations::all().remove_all(this);
}

void Context::add(Prunable* part) {
  std::lock_guard lock(mutex_);
  parts_.push_back(part);
}

void Context::remove(Prunable* part) noexcept {
  std::lock_guard lock(mutex_);
  std::erase(parts_, part);
}

void Context::prune() noexcept {
  std::lock_guard lock(mutex_);
  for (Prunable* part : parts_) part->prune();
}

std::uint64_t Context::idle_timeout_ns() const noexcept {
  return options.load(std::memory_order_relaxed) & abi::kContextIdleOptimizations ? idle_timeout_ns_.load() : 0;
}

void Context::note_work() noexcept {
  if (idle_timeout_ns_.load(std::memory_order_relaxed) != 0) last_work_ns_.store(now_ns());
}

void Context::prune_if_idle() noexcept {
  const std::uint64_t timeout_ns = idle_timeout_ns();
  if (timeout_ns != 0 && now_ns() - last_work_ns_.load() >= timeout_ns) prune();
}

void Driver::add_executor(std::weak_ptr<Executor> executor) {
  std::lock_guard lock(mutex_);
  std::erase_if(executors_, [](const auto& each) { return each.expired(); });
  executors_.push_back(std::move(executor));
}

std::vector<std::shared_ptr<Executor>> Driver::executors(std::unique_lock<std::mutex>* lock) const {
  std::vector<std::shared_ptr<Executor>> found;
  std::unique_lock held(mutex_);
  for (const auto& each : executors_)
    if (auto executor = each.lock()) found.push_back(std::move(executor));
  if (lock) *lock = std::move(held);
  return found;
}

}  // namespace tenon::npu
