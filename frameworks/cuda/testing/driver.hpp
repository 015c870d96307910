// SPDX-License-Identifier: Apache-2.0
// What the parts of the software CUDA driver share: its memory, and streams that are threads.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include <tenon/frameworks/cuda/abi.hpp>

namespace abi = tenon::cuda::abi;

struct CUctx_st {
  int device = 0;
  int retained = 0;
};

namespace cuda_stand_in {

constexpr int kDevices = 2;

/// Memory behind a handle of the virtual memory API, or behind one allocation.
struct Physical {
  int fd = -1;
  std::byte* bytes = nullptr;
  std::size_t size = 0;
  int device = 0, handle_types = 0;
  Physical(std::size_t of, int on, int types) : size(of), device(on), handle_types(types) {
    fd = ::memfd_create("cuda stand-in", MFD_CLOEXEC);
    if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(size)) != 0) return;
    void* const mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED) bytes = static_cast<std::byte*>(mapped);
    if (types == 0) ::close(fd), fd = -1;
  }
  /// Another API's memory: the descriptor is the driver's from now on.
  Physical(int of, std::size_t whole, int on) : size(whole), device(on) {
    const off_t end = ::lseek(of, 0, SEEK_END);
    if (end < 0 || static_cast<std::size_t>(end) < whole) return;
    void* const mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, of, 0);
    if (mapped == MAP_FAILED) return;
    bytes = static_cast<std::byte*>(mapped);
    fd = of;
  }
  Physical(const Physical&) = delete;
  ~Physical() {
    if (bytes) ::munmap(bytes, size);
    if (fd >= 0) ::close(fd);
  }
};

/// What lies at an address that CUDA gave out, or pinned.
struct Range {
  std::size_t size = 0;
  unsigned type = abi::kMemoryTypeDevice;
  bool is_managed = false, is_virtual = false, is_registered = false;
  int device = 0;
  std::shared_ptr<Physical> physical;  ///< Null: host memory.
};

struct Machine {
  std::mutex mutex;
  CUctx_st contexts[kDevices];
  std::map<abi::DevicePointer, Range> ranges;
  std::map<abi::DevicePointer, std::size_t> reserved;
  std::map<abi::AllocationHandle, std::shared_ptr<Physical>> handles;  ///< Each with one reference of a caller.
  std::map<Physical*, std::pair<abi::AllocationHandle, int>> numbers;
  std::set<CUstream_st*> streams;
  abi::AllocationHandle next_handle = 1;
  abi::DevicePointer space = 0, next = 0;
  bool is_up = false;
};
/// What all entries share, under its mutex.
Machine& machine();

/// The range that contains [data, data + size); null when there is none.
const std::pair<const abi::DevicePointer, Range>* find(abi::DevicePointer data, std::size_t size = 1);

/// Where the bytes really are. Plain host memory is where it is; an unknown address of the device's space is null.
std::byte* resolve(abi::DevicePointer data, std::size_t size, std::shared_ptr<Physical>& keep);

/// The default streams of each device are one here. @return null: no stream of this driver.
CUstream_st* stream_of(abi::Stream stream);

template <typename T>
abi::Result give(void* to, T value) {
  std::memcpy(to, &value, sizeof value);
  return abi::kSuccess;
}

}  // namespace cuda_stand_in

/// Work in order, on a thread of its own.
struct CUstream_st {
  explicit CUstream_st(abi::ContextHandle of) : context(of), thread([this] { run(); }) {}
  ~CUstream_st() {
    push([this] { ending = true; });
    thread.join();
  }
  void push(std::function<void()> work) {
    const std::lock_guard lock(mutex);
    queue.push_back(std::move(work));
    changed.notify_one();
  }
  bool is_idle() {
    const std::lock_guard lock(mutex);
    return queue.empty() && !busy;
  }
  abi::ContextHandle context;

 private:
  void run() {
    while (!ending) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return !queue.empty(); });
      const std::function<void()> work = std::move(queue.front());
      queue.pop_front();
      busy = true;
      lock.unlock();
      work();
      lock.lock();
      busy = false;
    }
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  bool ending = false, busy = false;
  std::thread thread;
};

#define ENTRY extern "C" __attribute__((visibility("default"))) abi::Result
#define LOCKED const std::lock_guard lock(cuda_stand_in::machine().mutex)
