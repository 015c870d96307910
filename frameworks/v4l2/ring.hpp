// SPDX-License-Identifier: Apache-2.0
// The buffers of one queue of a device: with the driver, with the user under a lease, or idle.
#pragma once

#include <linux/videodev2.h>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/v4l2/context.hpp>
#include <tenon/frameworks/v4l2/device.hpp>
#include <tenon/frameworks/v4l2/native.hpp>
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
  BufferArgument(std::uint32_t type, Transfer transfer, std::size_t memories) {
    buffer.type = type;
    buffer.memory = static_cast<std::uint32_t>(transfer);
    if (!V4L2_TYPE_IS_MULTIPLANAR(type)) return;
    buffer.m.planes = planes.data();
    buffer.length = static_cast<std::uint32_t>(memories);
  }
  BufferArgument(const BufferArgument&) = delete;
  BufferArgument& operator=(const BufferArgument&) = delete;
  bool many() const { return V4L2_TYPE_IS_MULTIPLANAR(buffer.type); }
  std::size_t length(std::size_t m) const { return many() ? planes[m].length : buffer.length; }
  std::size_t used(std::size_t m) const { return many() ? planes[m].bytesused : buffer.bytesused; }
  std::size_t data_offset(std::size_t m) const { return many() ? planes[m].data_offset : 0; }
  std::uint32_t mmap_offset(std::size_t m) const { return many() ? planes[m].m.mem_offset : buffer.m.offset; }
  void set(std::size_t m, const Place& place, std::size_t length, std::size_t used) {
    const bool by_fd = buffer.memory == V4L2_MEMORY_DMABUF, by_pointer = buffer.memory == V4L2_MEMORY_USERPTR;
    if (many()) {
      if (by_fd) planes[m].m.fd = place.fd;
      if (by_pointer) planes[m].m.userptr = reinterpret_cast<unsigned long>(place.pointer);
      planes[m].length = static_cast<std::uint32_t>(length);
      planes[m].bytesused = static_cast<std::uint32_t>(used);
      return;
    }
    if (by_fd) buffer.m.fd = place.fd;
    if (by_pointer) buffer.m.userptr = reinterpret_cast<unsigned long>(place.pointer);
    buffer.length = static_cast<std::uint32_t>(length);
    buffer.bytesused = static_cast<std::uint32_t>(used);
  }

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

  bool busy(std::size_t count) const {
    for (std::size_t m = 0; m < count; ++m)
      if (memories[m]->has_hazards() && memories[m]->hazards().busy()) return true;
    return false;
  }

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
  static Ref<Ring> of_driver(const Device& device, std::uint32_t type, const BufferLayout& layout,
                             std::uint32_t count) {
    Ref<Ring> ring(new Ring(device, type, layout, Transfer::kMmap));
    const std::uint32_t given = ring->request(count);
    const Context context = v4l2::context(device.path());
    for (std::uint32_t i = 0; i < given; ++i) {
      std::array<Ref<Memory>, 4> memories;
      BufferArgument asked(type, Transfer::kMmap, layout.memories);
      asked.buffer.index = i;
      native::require(device.fd().get(), VIDIOC_QUERYBUF, &asked.buffer,
                      ring->what() + ": buffer " + std::to_string(i));
      for (std::size_t m = 0; m < layout.memories; ++m) {
        ring->check_length(asked.length(m), m, "its driver allocated");
        memories[m] = BufferMemory::make(context, device, type, i, static_cast<std::uint32_t>(m), asked.length(m),
                                         asked.mmap_offset(m));
      }
      ring->add(std::move(memories), {});
    }
    return ring;
  }
  /// Buffers that `allocate` makes. @errors as above; kFailedPrecondition: memory that the device cannot take.
  template <typename Allocate>
  static Ref<Ring> of_memory(const Device& device, std::uint32_t type, const BufferLayout& layout, Transfer transfer,
                             std::uint32_t count, Allocate allocate) {
    Ref<Ring> ring(new Ring(device, type, layout, transfer));
    const std::uint32_t given = ring->request(count);
    for (std::uint32_t i = 0; i < given; ++i) {
      std::array<Ref<Memory>, 4> memories;
      std::array<Place, 4> places;
      for (std::size_t m = 0; m < layout.memories; ++m) {
        memories[m] = allocate(layout.size_bytes[m]);
        ring->check_length(memories[m]->size_bytes(), m, "the allocator gave");
        places[m] = place_in(*memories[m], transfer);
      }
      ring->add(std::move(memories), places);
    }
    return ring;
  }
  ~Ring() override {
    if (fd_) close();  // Construction failed half-way.
    free_idle();
  }

  /// How the device can take `memory`: its real dma-buf, or one over its memfd, or its address. Nothing if neither.
  static std::optional<Transfer> way_for(const Memory& memory) {
    if (memory.fd_kind() == FdKind::kDmabuf ||
        (takes_stand_ins() && memory.fd_kind() == FdKind::kMemfd && !memory.host()))
      return Transfer::kDmabuf;
    if (memory.host() && reinterpret_cast<std::uintptr_t>(memory.host()) % cpu::page_bytes() == 0)
      return Transfer::kUserptr;
    return std::nullopt;
  }

  std::size_t size() const { return slots_.size(); }
  Transfer transfer() const { return transfer_; }
  const BufferLayout& layout() const { return layout_; }
  const Memory& memory() const { return *slots_.front()->memories[0]; }
  std::size_t queued() const { return queued_; }

  /// Gives every idle buffer that nothing works on to the driver. @errors kFailedPrecondition: the device does not take this
  /// memory; kUnavailable: unplugged.
  void queue_idle() {
    for (;;) {
      Slot* slot = nullptr;
      {
        std::lock_guard lock(mutex_);
        for (std::size_t i = 0; i < idle_.size() && !slot; ++i) {
          if (idle_[i]->busy(layout_.memories)) continue;
          slot = idle_[i];
          idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));  // Within its capacity: nothing is freed.
        }
      }
      if (!slot) return;
      queue(*slot);
    }
  }
  /// Waits until a buffer is idle that nothing works on. @return false at the deadline: all are with the user.
  /// @errors kDeadlineExceeded: a device is late with one.
  bool wait_idle(Deadline deadline, Ledger* ledger) {
    Slot* slot;
    {
      std::unique_lock lock(mutex_);
      if (!returned_.wait_until(lock, deadline, [this] { return !idle_.empty(); })) return false;
      slot = idle_.front();
    }
    for (std::size_t m = 0; m < layout_.memories; ++m) {
      if (!slot->memories[m]->has_hazards()) continue;
      slot->memories[m]->wait_for(Access::kWrite, deadline, ledger);
      slot->memories[m]->hazards().forget_failures();
    }
    return true;
  }

  void start() {
    int type = static_cast<int>(type_);
    native::require(fd_.get(), VIDIOC_STREAMON, &type, what() + ": starting it");
    streaming_ = true;
  }

  /// A buffer that the driver has filled.
  struct Filled {
    Slot* slot = nullptr;  ///< Null: none is ready.
    bool damaged = false;  ///< The driver says so, or its bytes do not make a picture.
    std::uint32_t sequence = 0;
    std::int64_t timestamp_ns = kNoTimestamp;
  };
  /// Takes one without waiting. Its slot goes on with frame_of() or put_back(). @errors kUnavailable: unplugged, or the
  /// driver failed; kInternal: a buffer that the driver does not have.
  Filled take() {
    BufferArgument got(type_, transfer_, layout_.memories);
    if (const int error = native::ioctl(fd_.get(), VIDIOC_DQBUF, &got.buffer)) {
      if (error == EAGAIN) return {};
      native::fail(what() + ": it stopped", native::name(VIDIOC_DQBUF), error);
    }
    const std::uint32_t index = got.buffer.index;
    if (index >= slots_.size() || !slots_[index]->queued)
      throw Error(
          Code::kInternal,
          "v4l2: " + what() + ": its driver gave back buffer " + std::to_string(index) + ", which it did not have",
          native::name(VIDIOC_DQBUF), 0);
    Filled filled;
    filled.slot = slots_[index];
    filled.slot->queued = false;
    --queued_;
    filled.sequence = got.buffer.sequence;
    if ((got.buffer.flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) != V4L2_BUF_FLAG_TIMESTAMP_UNKNOWN)
      filled.timestamp_ns =
          std::int64_t{got.buffer.timestamp.tv_sec} * 1'000'000'000 + got.buffer.timestamp.tv_usec * 1000;
    filled.damaged = (got.buffer.flags & V4L2_BUF_FLAG_ERROR) != 0;
    for (std::size_t m = 0; m < layout_.memories; ++m)
      filled.damaged |= got.used(m) < layout_.used_bytes[m] || got.data_offset(m) != 0;
    return filled;
  }
  /// The picture in `filled`, under a lease. Allocates nothing.
  Frame frame_of(const Filled& filled) {
    Slot* slot = filled.slot;
    slot->owner = Ref<Ring>(this);
    const Lease lease(slot);
    std::array<PlanePlace, 4> places;
    for (std::size_t p = 0; p < layout_.planes; ++p) {
      const BufferLayout::Plane& plane = layout_.plane[p];
      places[p] = {slot->memories[plane.memory], plane.offset, plane.pitch_bytes};
    }
    return Frame(layout_.info, std::span(places).first(layout_.planes), lease, filled.timestamp_ns);
  }
  void put_back(Slot* slot) noexcept {
    std::lock_guard lock(mutex_);
    idle_.push_back(slot);
  }

  /// Stops the stream and gives the queue up, so that other programs may have the device while pictures are still out.
  void close() noexcept {
    int type = static_cast<int>(type_);
    if (streaming_) static_cast<void>(native::ioctl(fd_.get(), VIDIOC_STREAMOFF, &type));
    streaming_ = false;
    v4l2_requestbuffers none{};
    none.type = type_;
    none.memory = static_cast<std::uint32_t>(transfer_);
    // Fails on kernels that free no buffers which someone has mapped; closing the device ends it there.
    static_cast<void>(native::ioctl(fd_.get(), VIDIOC_REQBUFS, &none));
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
      for (Slot* slot : slots_) {
        if (!slot->queued) continue;
        slot->queued = false;
        idle_.push_back(slot);
      }
      queued_ = 0;
    }
    free_idle();
    fd_ = {};
  }
  /// A picture over `slot` has gone. @thread any
  void give_back(Slot* slot) noexcept {
    {
      std::lock_guard lock(mutex_);
      if (!closed_) {
        idle_.push_back(slot);
        // Under the lock: the caller's reference keeps this object, but a woken thread must not get ahead of the notice.
        returned_.notify_one();
        return;
      }
    }
    delete slot;  // Outside the lock: freeing memory drops its views, which calls foreign code.
  }

 private:
  Ring(const Device& device, std::uint32_t type, const BufferLayout& layout, Transfer transfer)
      : fd_(device.fd()), device_(device.what()), type_(type), layout_(layout), transfer_(transfer) {}

  std::string what() const { return device_; }

  /// @return how many buffers the driver lets us have.
  std::uint32_t request(std::uint32_t count) {
    v4l2_requestbuffers wanted{};
    wanted.count = count;
    wanted.type = type_;
    wanted.memory = static_cast<std::uint32_t>(transfer_);
    const int error = native::ioctl(fd_.get(), VIDIOC_REQBUFS, &wanted);
    if (error == EINVAL)
      native::fail(Code::kUnimplemented,
                   what() + ": its driver has no buffers by " + std::string(v4l2::name(transfer_)),
                   native::name(VIDIOC_REQBUFS), error);
    if (error) native::fail(what() + ": " + std::to_string(count) + " buffers", native::name(VIDIOC_REQBUFS), error);
    if (wanted.count == 0 || wanted.count > 1024)
      throw Error(Code::kInternal,
                  "v4l2: " + what() + ": its driver gave " + std::to_string(wanted.count) + " buffers of " +
                      std::to_string(count),
                  native::name(VIDIOC_REQBUFS), 0);
    slots_.reserve(wanted.count);
    idle_.reserve(wanted.count);
    return wanted.count;
  }
  void check_length(std::size_t got, std::size_t m, const char* who) const {
    if (got >= layout_.used_bytes[m]) return;
    throw Error(Code::kInternal, "v4l2: " + what() + ": a picture needs " + std::to_string(layout_.used_bytes[m]) +
                                     " bytes, " + who + " " + std::to_string(got));
  }
  static Place place_in(const Memory& memory, Transfer transfer) {
    if (transfer == Transfer::kUserptr) return {-1, memory.host()};
    return {memory.borrow_fd(), nullptr};
  }
  void add(std::array<Ref<Memory>, 4>&& memories, const std::array<Place, 4>& places) {
    auto* slot = new Slot;
    slot->index = static_cast<std::uint32_t>(slots_.size());
    slot->memories = std::move(memories);
    slot->places = places;
    slots_.push_back(slot);
    idle_.push_back(slot);
  }

  void queue(Slot& slot) {
    BufferArgument given(type_, transfer_, layout_.memories);
    given.buffer.index = slot.index;
    if (transfer_ != Transfer::kMmap)
      for (std::size_t m = 0; m < layout_.memories; ++m)
        given.set(m, slot.places[m], slot.memories[m]->size_bytes(), 0);
    const int error = native::ioctl(fd_.get(), VIDIOC_QBUF, &given.buffer);
    if (error) {
      put_back(&slot);
      const std::string attempt =
          what() + ": queueing buffer " + std::to_string(slot.index) + " by " + v4l2::name(transfer_);
      if (transfer_ == Transfer::kMmap || error == ENODEV) native::fail(attempt, native::name(VIDIOC_QBUF), error);
      native::fail(
          Code::kFailedPrecondition,
          attempt + ", memory of " + std::string(slot.memories[0]->context()->name()) +
              ": the driver does not take it (scattered pages, a foreign descriptor, too small); let the device use "
              "its own buffers",
          native::name(VIDIOC_QBUF), error);
    }
    slot.queued = true;
    ++queued_;
  }

  void free_idle() noexcept {
    std::vector<Slot*> idle;
    {
      std::lock_guard lock(mutex_);
      idle.swap(idle_);
    }
    for (Slot* slot : idle) delete slot;
  }

  SharedFd fd_;
  const std::string device_;
  const std::uint32_t type_;
  const BufferLayout layout_;
  const Transfer transfer_;
  std::vector<Slot*> slots_;  ///< By index. Each belongs to idle_, to the driver, or to the leases on it.
  std::size_t queued_ = 0;
  bool streaming_ = false;
  std::mutex mutex_;  ///< Of idle_ and closed_.
  std::condition_variable returned_;
  std::vector<Slot*> idle_;
  bool closed_ = false;
};

inline void Slot::dispose() noexcept {
  const Ref<Ring> ring = std::move(owner);
  ring->give_back(this);
}

/// Closes its ring when it goes.
class OpenRing {
 public:
  OpenRing() = default;
  explicit OpenRing(Ref<Ring> ring) : ring_(std::move(ring)) {}
  OpenRing(OpenRing&&) noexcept = default;
  OpenRing& operator=(OpenRing&& other) noexcept {
    if (ring_) ring_->close();
    ring_ = std::move(other.ring_);
    return *this;
  }
  ~OpenRing() {
    if (ring_) ring_->close();
  }
  Ring* operator->() const { return ring_.get(); }
  explicit operator bool() const { return static_cast<bool>(ring_); }

 private:
  Ref<Ring> ring_;
};

}  // namespace detail
}  // namespace v4l2
}  // namespace v1
}  // namespace tenon
