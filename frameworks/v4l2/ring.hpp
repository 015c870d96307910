// SPDX-License-Identifier: Apache-2.0
// The buffers of one queue of a device: with the driver, with the user under a lease, or idle.
#pragma once

#include <linux/videodev2.h>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/fd.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/v4l2/context.hpp>
#include <tenon/frameworks/v4l2/device.hpp>
#include <tenon/frameworks/v4l2/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2 {

/// Whose memory a device works on. kMmap: its driver's. kUserptr, kDmabuf: ours, by address and by descriptor.
enum class Transfer : std::uint8_t {
  kMmap = V4L2_MEMORY_MMAP,
  kUserptr = V4L2_MEMORY_USERPTR,
  kDmabuf = V4L2_MEMORY_DMABUF
};

constexpr const char* name(Transfer transfer) {
  return transfer == Transfer::kMmap ? "mmap" : transfer == Transfer::kUserptr ? "userptr" : "dmabuf";
}

namespace detail {

/// v4l2_buffer and its planes, filled for `type`.
struct BufferArgument {
  BufferArgument(std::uint32_t type, Transfer transfer, std::size_t memories);
  BufferArgument(const BufferArgument&) = delete;
  BufferArgument& operator=(const BufferArgument&) = delete;
  bool many() const { return V4L2_TYPE_IS_MULTIPLANAR(buffer.type); }
  std::size_t length(std::size_t m) const { return many() ? planes[m].length : buffer.length; }
  std::size_t used(std::size_t m) const { return many() ? planes[m].bytesused : buffer.bytesused; }
  std::size_t data_offset(std::size_t m) const { return many() ? planes[m].data_offset : 0; }
  std::uint32_t mmap_offset(std::size_t m) const { return many() ? planes[m].m.mem_offset : buffer.m.offset; }
  void set(std::size_t m, const Place& place, std::size_t length, std::size_t used);

  v4l2_buffer buffer{};
  std::array<v4l2_plane, VIDEO_MAX_PLANES> planes{};
};

class Ring;

/// One buffer of a ring, and the state of its current use: reused, so that a picture allocates no lease.
class Slot final : public LeaseState {
 public:
  std::uint32_t index = 0;
  std::array<Ref<Memory>, 4> memories;
  std::array<Place, 4> places;
  bool queued = false;  ///< With the driver.
  Ref<Ring> owner;      ///< While a user holds it.

  bool busy(std::size_t count) const;

 protected:
  void dispose() noexcept override;
};

/// The buffers of one stream. A buffer that a picture refers to, or that a device still works on, is not queued again. The
/// ring may be closed while pictures are out: they stay valid, and each buffer is freed when its picture goes.
/// @thread the owner's, except give_back(): any.
class Ring final : public RefCounted {
 public:
  /// Buffers of the driver (VIDIOC_REQBUFS, QUERYBUF, EXPBUF). @errors kUnavailable: in use elsewhere; kUnimplemented: the
  /// device has no such transfer; kInternal: a driver that gives less than it said; those of the calls.
  static Ref<Ring> of_driver(const Device& device, std::uint32_t type, const BufferLayout& layout, std::uint32_t count);
  /// Buffers that `allocate` makes. @errors as above; kFailedPrecondition: memory that the device cannot take.
  static Ref<Ring> of_memory(const Device& device, std::uint32_t type, const BufferLayout& layout, Transfer transfer,
                             std::uint32_t count, const std::function<Ref<Memory>(std::size_t)>& allocate);
  ~Ring() override;

  /// How the device can take `memory`: its real dma-buf, or one over its memfd, or its address. Nothing if neither.
  static std::optional<Transfer> way_for(const Memory& memory);

  std::size_t size() const { return slots_.size(); }
  Transfer transfer() const { return transfer_; }
  const BufferLayout& layout() const { return layout_; }
  const Memory& memory() const { return *slots_.front()->memories[0]; }
  std::size_t queued() const { return queued_; }

  /// Gives every idle buffer that nothing works on to the driver. @errors kFailedPrecondition: the device does not take this
  /// memory; kUnavailable: unplugged.
  void queue_idle();
  /// Waits until a buffer is idle that nothing works on. @return false at the deadline: all are with the user.
  /// @errors kDeadlineExceeded: a device is late with one.
  bool wait_idle(Deadline deadline, Ledger* ledger);

  void start();

  /// A buffer that the driver has filled.
  struct Filled {
    Slot* slot = nullptr;  ///< Null: none is ready.
    bool damaged = false;  ///< The driver says so, or its bytes do not make a picture.
    std::uint32_t sequence = 0;
    std::int64_t timestamp_ns = kNoTimestamp;
  };
  /// Takes one without waiting. Its slot goes on with frame_of() or put_back(). @errors kUnavailable: unplugged, or the
  /// driver failed; kInternal: a buffer that the driver does not have.
  Filled take();
  /// The picture in `filled`, under a lease. Allocates nothing.
  Frame frame_of(const Filled& filled);
  void put_back(Slot* slot) noexcept;

  /// Stops the stream and gives the queue up, so that other programs may have the device while pictures are still out.
  void close() noexcept;
  /// A picture over `slot` has gone. @thread any
  void give_back(Slot* slot) noexcept;

 private:
  Ring(const Device& device, std::uint32_t type, const BufferLayout& layout, Transfer transfer);

  std::string what() const { return device_; }

  /// @return how many buffers the driver lets us have.
  std::uint32_t request(std::uint32_t count);
  void check_length(std::size_t got, std::size_t m, const char* who) const;
  static Place place_in(const Memory& memory, Transfer transfer);
  void add(std::array<Ref<Memory>, 4>&& memories, const std::array<Place, 4>& places);

  void queue(Slot& slot);
  void free_idle() noexcept;

  SharedFd fd_;
  const std::string device_;
  const std::uint32_t type_;
  const BufferLayout layout_;
  const Transfer transfer_;
  std::vector<Slot*> slots_;  ///< By index. Each belongs to idle_, to the driver, or to the leases on it.
  std::size_t queued_ = 0;
  bool streaming_ = false;
  std::mutex mutex_;  ///< Guards idle_ and closed_.
  std::condition_variable returned_;
  std::vector<Slot*> idle_;
  bool closed_ = false;
};

/// Closes its ring when it goes.
class OpenRing {
 public:
  OpenRing() = default;
  explicit OpenRing(Ref<Ring> ring) : ring_(std::move(ring)) {}
  OpenRing(OpenRing&&) noexcept = default;
  OpenRing& operator=(OpenRing&& other) noexcept;
  ~OpenRing();
  Ring* operator->() const { return ring_.get(); }
  explicit operator bool() const { return static_cast<bool>(ring_); }

 private:
  Ref<Ring> ring_;
};

}  // namespace detail
}  // namespace v4l2
}  // namespace v1
}  // namespace tenon
