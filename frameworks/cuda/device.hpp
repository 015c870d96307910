// SPDX-License-Identifier: Apache-2.0
// CUDA devices, one CUcontext as Tenon uses it, and its events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/device_identity.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/cuda/native.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {

/// Facts about one device, read once.
struct Device {
  int ordinal = 0;
  std::string name;                    ///< The driver's name for it.
  bool integrated = false;             ///< It works on the host's memory.
  bool managed = false;                ///< Managed memory may be accessed by the host while the device works.
  bool registers_host = false;         ///< The caller's pages can be pinned in place.
  bool exports_fd = false;             ///< The virtual memory API makes memory that is exported as a POSIX fd.
  std::size_t group_bytes = 0;         ///< The most shared memory that a group of work-items may ask for, bytes.
  std::size_t export_granularity = 0;  ///< Such memory comes in multiples of this, bytes.
  DeviceIdentity identity;
};

namespace detail {

abi::AllocationProperties exportable_on(int ordinal);

}  // namespace detail

/// The devices of this machine, in the driver's order. @errors kUnavailable: no driver; those of native calls.
std::vector<Device> devices();

namespace detail {

/// Makes a CUcontext current for this thread, as long as it lives: the caller's comes back afterwards.
class Current {
 public:
  /// @errors those of cuCtxPushCurrent.
  explicit Current(abi::ContextHandle context);
  /// For destructors: a driver that is shutting down refuses, and then so does what is called next.
  Current(abi::ContextHandle context, std::nothrow_t) noexcept
      : pushed_(driver().cuCtxPushCurrent(context) == abi::kSuccess) {}
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current();

 private:
  bool pushed_ = false;
};

/// A CUcontext: a device's primary one, retained, or a user's, borrowed.
class ContextOwner {
 public:
  ContextOwner() = default;
  /// @errors those of cuDevicePrimaryCtxRetain.
  static ContextOwner primary(const Device& device);
  static ContextOwner borrow(abi::ContextHandle context);
  ContextOwner(ContextOwner&& other) noexcept
      : context_(std::exchange(other.context_, nullptr)), retained_(std::exchange(other.retained_, -1)) {}
  ContextOwner& operator=(ContextOwner&& other) noexcept;
  ~ContextOwner();
  abi::ContextHandle get() const { return context_; }

 private:
  abi::ContextHandle context_ = nullptr;
  abi::Device retained_ = -1;
};

/// Events of one CUcontext that are not in use. CUDA lets an event be recorded anew while a stream still waits for its
/// last recording. @thread all members from any thread.
class EventShelf {
 public:
  EventShelf() { idle_.reserve(kMost); }
  /// With the context current. @errors those of cuEventCreate.
  abi::Event take();
  void give_back(abi::Event event) noexcept;
  /// With the context current.
  void drop_idle() noexcept;

 private:
  static constexpr std::size_t kMost = 64;
  static void destroy(abi::Event event) noexcept;
  std::mutex mutex_;
  std::vector<abi::Event> idle_;
};

/// Words of pinned memory for which streams wait, and which the host sets: so a stream waits for work of any API.
/// @thread all members from any thread.
class WordShelf {
 public:
  static constexpr std::size_t kWords = 256;
  /// A word that holds 0, or null when all are in use: then the host waits. With the context current.
  /// @errors those of cuMemHostAlloc.
  std::uint32_t* take();
  void give_back(std::uint32_t* word) noexcept;
  /// Frees the page if no word is in use. With the context current.
  void drop_idle() noexcept;
  static void set(std::uint32_t* word, std::uint32_t value) noexcept;

 private:
  std::mutex mutex_;
  std::uint32_t* page_ = nullptr;
  std::vector<std::uint32_t*> idle_;
};

/// The native objects behind a context. @thread members from any thread once constructed.
class Native final : public RefCounted {
 public:
  explicit Native(Device of, ContextOwner owner);
  ~Native() override;
  abi::ContextHandle handle() const { return context.get(); }
  /// Releases what is kept for reuse.
  void drop_idle() const noexcept;

  const Device device;
  const ContextOwner context;
  abi::Stream transfers = nullptr;  ///< Ours alone: Tenon's copies never wait behind a user's work.
  mutable EventShelf events;
  mutable WordShelf words;
};

}  // namespace detail
}  // namespace cuda
}  // namespace v1
}  // namespace tenon
