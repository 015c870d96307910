// SPDX-License-Identifier: Apache-2.0
// The buffers of one queue of a device.
#include <tenon/frameworks/v4l2/ring.hpp>

#include <span>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/frameworks/cpu/fd.hpp>
#include <tenon/frameworks/cpu/pages.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/v4l2/native.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2 {
namespace detail {

/// A driver's time; none where 64 bits do not hold it.
inline std::int64_t nanoseconds_of(const timeval& time) {
  std::int64_t seconds = 0, rest = 0, all = 0;
  const bool is_too_large = __builtin_mul_overflow(std::int64_t{time.tv_sec}, std::int64_t{1'000'000'000}, &seconds) ||
                            __builtin_mul_overflow(std::int64_t{time.tv_usec}, std::int64_t{1000}, &rest) ||
                            __builtin_add_overflow(seconds, rest, &all);
  return is_too_large ? kNoTimestamp : all;
}

TENON_INLINE BufferArgument::BufferArgument(std::uint32_t type, Transfer transfer, std::size_t memories) {
  buffer.type = type;
  buffer.memory = static_cast<std::uint32_t>(transfer);
  if (!V4L2_TYPE_IS_MULTIPLANAR(type)) return;
  buffer.m.planes = planes.data();
  buffer.length = static_cast<std::uint32_t>(memories);
}

TENON_INLINE void BufferArgument::set(std::size_t m, const Place& place, std::size_t length, std::size_t used) {
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

TENON_INLINE bool Slot::busy(std::size_t count) const {
  for (std::size_t m = 0; m < count; ++m)
    if (memories[m]->has_hazards() && memories[m]->hazards().busy()) return true;
  return false;
}

TENON_INLINE Ref<Ring> Ring::of_driver(const Device& device, std::uint32_t type, const BufferLayout& layout,
                                       std::uint32_t count) {
  Ref<Ring> ring(new Ring(device, type, layout, Transfer::kMmap));
  const std::uint32_t given = ring->request(count);
  const Context context = v4l2::context(device.path());
  for (std::uint32_t i = 0; i < given; ++i) {
    std::array<Ref<Memory>, 4> memories;
    BufferArgument asked(type, Transfer::kMmap, layout.memories);
    asked.buffer.index = i;
    native::require(device.fd().get(), VIDIOC_QUERYBUF, &asked.buffer, ring->what() + ": buffer " + std::to_string(i));
    for (std::size_t m = 0; m < layout.memories; ++m) {
      ring->check_length(asked.length(m), m, "its driver allocated");
      memories[m] = BufferMemory::make(context, device, type, i, static_cast<std::uint32_t>(m), asked.length(m),
                                       asked.mmap_offset(m));
    }
    ring->add(std::move(memories), {});
  }
  return ring;
}

TENON_INLINE Ref<Ring> Ring::of_memory(const Device& device, std::uint32_t type, const BufferLayout& layout,
                                       Transfer transfer, std::uint32_t count,
                                       const std::function<Ref<Memory>(std::size_t)>& allocate) {
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

TENON_INLINE Ring::~Ring() {
  if (fd_) close();  // Construction failed half-way.
  free_idle();
}

TENON_INLINE std::optional<Transfer> Ring::way_for(const Memory& memory) {
  if (memory.fd_kind() == FdKind::kDmabuf ||
      (takes_stand_ins() && memory.fd_kind() == FdKind::kMemfd && !memory.host()))
    return Transfer::kDmabuf;
  if (memory.host() && reinterpret_cast<std::uintptr_t>(memory.host()) % cpu::page_bytes() == 0)
    return Transfer::kUserptr;
  return std::nullopt;
}

TENON_INLINE void Ring::queue_idle() {
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

TENON_INLINE bool Ring::wait_idle(Deadline deadline, Ledger* ledger) {
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

TENON_INLINE void Ring::start() {
  int type = static_cast<int>(type_);
  native::require(fd_.get(), VIDIOC_STREAMON, &type, what() + ": starting it");
  streaming_ = true;
}

TENON_INLINE Ring::Filled Ring::take() {
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
    filled.timestamp_ns = nanoseconds_of(got.buffer.timestamp);
  filled.damaged = (got.buffer.flags & V4L2_BUF_FLAG_ERROR) != 0;
  for (std::size_t m = 0; m < layout_.memories; ++m)
    filled.damaged |= got.used(m) < layout_.used_bytes[m] || got.data_offset(m) != 0;
  return filled;
}

TENON_INLINE Frame Ring::frame_of(const Filled& filled) {
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

TENON_INLINE void Ring::put_back(Slot* slot) noexcept {
  std::lock_guard lock(mutex_);
  idle_.push_back(slot);
}

TENON_INLINE void Ring::close() noexcept {
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

TENON_INLINE void Ring::give_back(Slot* slot) noexcept {
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

TENON_INLINE Ring::Ring(const Device& device, std::uint32_t type, const BufferLayout& layout, Transfer transfer)
    : fd_(device.fd()), device_(device.what()), type_(type), layout_(layout), transfer_(transfer) {}

TENON_INLINE std::uint32_t Ring::request(std::uint32_t count) {
  v4l2_requestbuffers wanted{};
  wanted.count = count;
  wanted.type = type_;
  wanted.memory = static_cast<std::uint32_t>(transfer_);
  const int error = native::ioctl(fd_.get(), VIDIOC_REQBUFS, &wanted);
  if (error == EINVAL)
    native::fail(Code::kUnimplemented, what() + ": its driver has no buffers by " + std::string(v4l2::name(transfer_)),
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

TENON_INLINE void Ring::check_length(std::size_t got, std::size_t m, const char* who) const {
  if (got >= layout_.used_bytes[m]) return;
  throw Error(Code::kInternal, "v4l2: " + what() + ": a picture needs " + std::to_string(layout_.used_bytes[m]) +
                                   " bytes, " + who + " " + std::to_string(got));
}

TENON_INLINE Place Ring::place_in(const Memory& memory, Transfer transfer) {
  if (transfer == Transfer::kUserptr) return {-1, memory.host()};
  return {memory.borrow_fd(), nullptr};
}

TENON_INLINE void Ring::add(std::array<Ref<Memory>, 4>&& memories, const std::array<Place, 4>& places) {
  auto* slot = new Slot;
  slot->index = static_cast<std::uint32_t>(slots_.size());
  slot->memories = std::move(memories);
  slot->places = places;
  slots_.push_back(slot);
  idle_.push_back(slot);
}

TENON_INLINE void Ring::queue(Slot& slot) {
  BufferArgument given(type_, transfer_, layout_.memories);
  given.buffer.index = slot.index;
  if (transfer_ != Transfer::kMmap)
    for (std::size_t m = 0; m < layout_.memories; ++m) given.set(m, slot.places[m], slot.memories[m]->size_bytes(), 0);
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

TENON_INLINE void Ring::free_idle() noexcept {
  std::vector<Slot*> idle;
  {
    std::lock_guard lock(mutex_);
    idle.swap(idle_);
  }
  for (Slot* slot : idle) delete slot;
}

TENON_INLINE void Slot::dispose() noexcept {
  const Ref<Ring> ring = std::move(owner);
  ring->give_back(this);
}

TENON_INLINE OpenRing& OpenRing::operator=(OpenRing&& other) noexcept {
  if (ring_) ring_->close();
  ring_ = std::move(other.ring_);
  return *this;
}

TENON_INLINE OpenRing::~OpenRing() {
  if (ring_) ring_->close();
}

}  // namespace detail
}  // namespace v4l2
}  // namespace v1
}  // namespace tenon
