// SPDX-License-Identifier: Apache-2.0
// Random schedules of devices and of the host over shared memories. The checker knows which bytes each reader must see:
// those of the last write that was issued before it, whole; or the failure of that write.
#include <tenon/core/deferred.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/core/tensor.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace tenon;

constexpr std::size_t kBytes = 96;

/// Runs submitted work in order, on a thread of its own, and settles a timeline with it.
class Device {
 public:
  Device() : thread_([this] { run(); }) {}
  ~Device() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  TimelinePoint next() { return timeline_->next(); }
  /// `work` is done at `point` of this device; an exception fails the point.
  void enqueue(const TimelinePoint& point, std::function<void()> work) {
    {
      std::lock_guard lock(mutex_);
      queue_.push_back({point, std::move(work)});
    }
    changed_.notify_one();
  }

 private:
  struct Job {
    TimelinePoint point;
    std::function<void()> work;
  };
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      Job job = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      try {
        job.work();
        job.work = {};
        timeline_->advance(job.point.value());
      } catch (...) {
        job.work = {};
        timeline_->fail(job.point.value(), std::current_exception());
      }
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> queue_;
  bool stopping_ = false;
  Ref<HostTimeline> timeline_ = make_ref<HostTimeline>("a device");
  std::thread thread_;
};

/// Raw access to bytes: devices do not call Tenon before an access.
void write_slowly(unsigned char* bytes, unsigned char value) {
  for (std::size_t i = 0; i < kBytes; ++i) {
    bytes[i] = value;
    if (i % 32 == 31) std::this_thread::yield();
  }
}
/// The value that all bytes have; -1 if they differ.
int value_of(const unsigned char* bytes) {
  for (std::size_t i = 1; i < kBytes; ++i) {
    if (i % 32 == 31) std::this_thread::yield();
    if (bytes[i] != bytes[0]) return -1;
  }
  return bytes[0];
}

class Schedule {
 public:
  explicit Schedule(unsigned seed) : random_(seed), seed_(seed) {
    for (Place& place : places_) renew(place);
  }
  void run(int operations) {
    for (int i = 0; i < operations; ++i) step();
    for (Place& place : places_) read_on_host(place);
  }
  std::vector<std::string> mistakes() {
    std::lock_guard lock(mutex_);
    return mistakes_;
  }

 private:
  struct Place {
    Tensor tensor;
    int value = 0;        ///< Value of the last write that was issued.
    bool failed = false;  ///< That write fails.
  };

  unsigned below(unsigned bound) { return std::uniform_int_distribution<unsigned>(0, bound - 1)(random_); }
  unsigned char* bytes_of(const Place& place) const { return place.tensor.data<unsigned char>(); }
  void mistake(const std::string& what) {
    std::lock_guard lock(mutex_);
    mistakes_.push_back("seed " + std::to_string(seed_) + ": " + what);
  }

  void renew(Place& place) {
    // The old memory is released while devices may still work on it.
    place.tensor = Tensor({ElementType::kU8, {kBytes}, {}}, HostMemory::allocate(kBytes));
    place.value = 0;
    place.failed = false;
    std::fill_n(bytes_of(place), kBytes, static_cast<unsigned char>(0));
  }

  void step() {
    Place& place = places_[below(places_.size())];
    switch (below(10)) {
      case 0:
        return renew(place);
      case 1:
        return read_on_host(place);
      case 2:
        return write_on_host(place);
      case 3:
      case 4:
      case 5:
        return read_on_device(place, devices_[below(devices_.size())]);
      case 6:
        return change_on_device(place, devices_[below(devices_.size())]);
      default:
        return write_on_device(place, devices_[below(devices_.size())], below(12) == 0);
    }
  }

  void read_on_host(Place& place) {
    try {
      const Tensor mapped = router_.map(place.tensor, host_context());
      if (place.failed) mistake("a failed write was read by the host");
      if (const int seen = value_of(bytes_of(place)); seen != place.value)
        mistake("the host read " + std::to_string(seen) + " for " + std::to_string(place.value));
    } catch (const Error& error) {
      if (!place.failed) mistake(std::string("the host heard of a failure that was not: ") + error.what());
    }
  }

  void write_on_host(Place& place) {
    const Tensor mapped = router_.map(place.tensor, host_context(), Access::kWrite);
    place.value = next_value();
    place.failed = false;
    write_slowly(bytes_of(place), static_cast<unsigned char>(place.value));
  }

  using Earlier = std::shared_ptr<Hazards::Points>;
  static void wait(const Earlier& earlier, Access access) {
    earlier->wait_for(access, default_deadline(), nullptr, [](const TimelinePoint&) { return false; });
  }
  Earlier begin(const Place& place, Access access, const TimelinePoint& end) {
    return std::make_shared<Hazards::Points>(place.tensor.memory()->hazards().begin(access, end));
  }

  void read_on_device(Place& place, Device& device) {
    const TimelinePoint end = device.next();
    const Earlier earlier = begin(place, Access::kRead, end);
    device.enqueue(end, [this, earlier, bytes = bytes_of(place), expected = place.value, failed = place.failed] {
      try {
        wait(earlier, Access::kRead);
      } catch (const Error& error) {
        if (!failed) mistake(std::string("a device heard of a failure that was not: ") + error.what());
        throw;
      }
      if (failed) return mistake("a failed write was read by a device");
      if (const int seen = value_of(bytes); seen != expected)
        mistake("a device read " + std::to_string(seen) + " for " + std::to_string(expected));
    });
  }

  void write_on_device(Place& place, Device& device, bool fails) {
    const TimelinePoint end = device.next();
    const Earlier earlier = begin(place, Access::kWrite, end);
    place.value = next_value();
    place.failed = fails;
    device.enqueue(end, [earlier, bytes = bytes_of(place), value = place.value, fails] {
      wait(earlier, Access::kWrite);
      write_slowly(bytes, static_cast<unsigned char>(value));
      if (fails) throw Error(Code::kAborted, "the kernel failed");
    });
  }

  /// Reads and writes; fails if the read value was not written before.
  void change_on_device(Place& place, Device& device) {
    const TimelinePoint end = device.next();
    const Earlier earlier = begin(place, Access::kReadWrite, end);
    const int before = std::exchange(place.value, next_value());
    device.enqueue(end, [this, earlier, bytes = bytes_of(place), before, value = place.value, failed = place.failed] {
      wait(earlier, Access::kReadWrite);
      if (failed) mistake("a failed write was changed by a device");
      if (const int seen = value_of(bytes); seen != before)
        mistake("a device changed " + std::to_string(seen) + " for " + std::to_string(before));
      write_slowly(bytes, static_cast<unsigned char>(value));
    });
  }

  int next_value() { return last_value_ = last_value_ % 250 + 1; }

  std::mt19937 random_;
  unsigned seed_;
  int last_value_ = 0;
  std::mutex mutex_;
  std::vector<std::string> mistakes_;
  std::array<Place, 3> places_;
  Router router_;
  std::array<Device, 3> devices_;  // The last member: joined before the memory is destroyed.
};

/// TENON_SCHEDULES: how many; TENON_SCHEDULE_SEED: the first one, to repeat a failure.
unsigned from_environment(const char* name, unsigned otherwise) {
  const char* text = std::getenv(name);
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : otherwise;
}

TEST(RandomSchedules, EveryReaderSeesTheLastWriteOrItsFailure) {
  const unsigned first = from_environment("TENON_SCHEDULE_SEED", 1);
  const unsigned count = from_environment("TENON_SCHEDULES", 300);
  for (unsigned seed = first; seed < first + count; ++seed) {
    Schedule schedule(seed);
    schedule.run(60);
    for (const std::string& mistake : schedule.mistakes()) ADD_FAILURE() << mistake;
    if (HasFailure()) break;
  }
  EXPECT_TRUE(drain_deferred(default_deadline())) << "memory was not freed";
}

}  // namespace
