// SPDX-License-Identifier: Apache-2.0
// Devices that convert pictures.
#include <tenon/frameworks/v4l2/converter.hpp>

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/v4l2/native.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2 {
namespace detail {

TENON_INLINE Feed::Feed(const Device& device, const BufferLayout& layout, Transfer transfer)
    : fd_(device.fd()), what_(device.what()), type_(device.output_type()), layout_(layout), transfer_(transfer) {
  v4l2_requestbuffers wanted = request(1);
  const int error = native::ioctl(fd_.get(), VIDIOC_REQBUFS, &wanted);
  if (error == EINVAL)
    native::fail(Code::kUnimplemented, what_ + ": its driver reads no buffers by " + v4l2::name(transfer),
                 native::name(VIDIOC_REQBUFS), error);
  if (error) native::fail(what_ + ": a buffer to read from", native::name(VIDIOC_REQBUFS), error);
  int type = static_cast<int>(type_);
  if (const int refused = native::ioctl(fd_.get(), VIDIOC_STREAMON, &type)) {
    close();
    native::fail(what_ + ": starting it", native::name(VIDIOC_STREAMON), refused);
  }
}

TENON_INLINE void Feed::queue(const Picture& picture) {
  BufferArgument given(type_, transfer_, layout_.memories);
  given.buffer.field = layout_.field;
  for (std::size_t m = 0; m < layout_.memories; ++m)
    given.set(m, picture.places[m], picture.size_bytes[m], std::min(picture.size_bytes[m], layout_.size_bytes[m]));
  const int error = native::ioctl(fd_.get(), VIDIOC_QBUF, &given.buffer);
  if (!error) return;
  const std::string attempt = what_ + ": giving it a picture by " + v4l2::name(transfer_);
  if (error == ENODEV || error == EIO) native::fail(attempt, native::name(VIDIOC_QBUF), error);
  native::fail(Code::kFailedPrecondition,
               attempt + ": the driver does not take this memory (scattered pages, a foreign descriptor, too small)",
               native::name(VIDIOC_QBUF), error);
}

TENON_INLINE bool Feed::take() {
  BufferArgument got(type_, transfer_, layout_.memories);
  const int error = native::ioctl(fd_.get(), VIDIOC_DQBUF, &got.buffer);
  if (error && error != EAGAIN) native::fail(what_ + ": it stopped", native::name(VIDIOC_DQBUF), error);
  return error == 0;
}

TENON_INLINE v4l2_requestbuffers Feed::request(std::uint32_t count) const {
  v4l2_requestbuffers wanted{};
  wanted.count = count;
  wanted.type = type_;
  wanted.memory = static_cast<std::uint32_t>(transfer_);
  return wanted;
}

TENON_INLINE void Feed::close() noexcept {
  int type = static_cast<int>(type_);
  static_cast<void>(native::ioctl(fd_.get(), VIDIOC_STREAMOFF, &type));
  v4l2_requestbuffers none = request(0);
  static_cast<void>(native::ioctl(fd_.get(), VIDIOC_REQBUFS, &none));
}

}  // namespace detail

TENON_INLINE Converter::Converter(const std::string& path, const FrameInfo& from, WantedFormat to,
                                  std::uint32_t buffers, Ledger* ledger)
    : device_(path), to_(to), buffers_(buffers), ledger_(ledger) {
  if (!device_.converts())
    throw Error(Code::kInvalidArgument,
                "v4l2: " + device_.what() + " does not turn pictures into others; cameras are opened by v4l2::open()");
  detail::check_buffers(device_, buffers_);
  router_->add(host_context());
  router_->add(dmabuf::context());
  router_->add(v4l2::context(path));
  agree(from, 1);
}

TENON_INLINE void Converter::use_pool(const Requirements& wanted, Context allocator) {
  detail::Pool pool(device_, wanted, std::move(allocator));
  to_.pitch_alignment = std::max(to_.pitch_alignment, wanted.pitch_alignment);
  stop();
  agree(read_.info, read_.plane[0].pitch_bytes);
  pool.check(device_, written_);
  pool_ = std::move(pool);
  try {
    start();
  } catch (...) {
    pool_ = {};
    stop();
    throw;
  }
}

TENON_INLINE Frame Converter::convert(const Frame& source, Deadline deadline) {
  try {
    return converted(source, deadline);
  } catch (...) {
    stop();  // The device may still hold both pictures.
    throw;
  }
}

TENON_INLINE void Converter::stop() {
  feed_.reset();
  ring_ = {};
}

TENON_INLINE void Converter::agree(const FrameInfo& from, std::size_t pitch_bytes) {
  WantedFormat source;
  source.format = from.format;
  source.width_px = from.width_px;
  source.height_px = from.height_px;
  source.colour_space = from.colour_space;
  source.colour_range = from.colour_range;
  source.pitch_alignment = pitch_bytes;  // A multiple of it that a row fits in: itself.
  read_ = device_.negotiate(device_.output_type(), source);
  written_ = device_.negotiate(device_.capture_type(), to_);
}

TENON_INLINE void Converter::start() {
  ring_ = detail::OpenRing(pool_.make(device_, device_.capture_type(), written_, buffers_));
  ring_->queue_idle();
  ring_->start();
}

TENON_INLINE Frame Converter::converted(const Frame& source, Deadline deadline) {
  if (!source) throw Error(Code::kInvalidArgument, "v4l2: " + device_.what() + ": convert(): an empty frame");
  const std::size_t pitch = static_cast<std::size_t>(source.plane(0).byte_strides()[0]);
  if (!same_picture(source.info(), read_.info) || pitch != read_.plane[0].pitch_bytes) {
    stop();
    agree(source.info(), pitch);
  }
  // Held until the device has read it.
  router_->add(source.plane(0).context());
  MapOptions options;
  options.access = Access::kRead;
  options.policy = ZeroCopy::kRequire;
  options.ledger = ledger_;
  options.deadline = deadline;
  const Frame mapped = router_->map(source, v4l2::context(device_.path()), options);
  Transfer transfer = Transfer::kDmabuf;
  const detail::Feed::Picture picture = picture_of(mapped, transfer);
  if (!feed_ || feed_->transfer() != transfer) {
    feed_.reset();
    feed_ = std::make_unique<detail::Feed>(device_, read_, transfer);
  }
  if (!ring_) start();
  ring_->queue_idle();
  while (ring_->queued() == 0) {
    if (!ring_->wait_idle(deadline, ledger_))
      throw Error(Code::kDeadlineExceeded,
                  "v4l2: " + device_.what() + ": all " + std::to_string(ring_->size()) +
                      " buffers are in use by pictures, and none came back in time; drop pictures earlier");
    ring_->queue_idle();
  }
  feed_->queue(picture);
  const detail::Ring::Filled filled = wait_for_both(deadline);
  if (filled.damaged) {
    ring_->put_back(filled.slot);
    throw Error(Code::kDataLoss, "v4l2: " + device_.what() + ": its driver calls the picture that it made damaged");
  }
  Frame frame = ring_->frame_of(filled);
  frame.set_timestamp_ns(source.timestamp_ns());
  return frame;
}

TENON_INLINE bool Converter::same_picture(const FrameInfo& a, const FrameInfo& b) {
  return a.format == b.format && a.width_px == b.width_px && a.height_px == b.height_px;
}

TENON_INLINE detail::Feed::Picture Converter::picture_of(const Frame& mapped, Transfer& transfer) const {
  const auto refuse = [&](const std::string& why) {
    return Error(Code::kFailedPrecondition, "v4l2: " + device_.what() + ": convert(): " + why +
                                                "; allocate pictures as input_layout() says, or copy them");
  };
  detail::Feed::Picture picture;
  std::array<const Memory*, 4> memories{};
  for (std::size_t p = 0; p < read_.planes; ++p) {
    const BufferLayout::Plane& plane = read_.plane[p];
    const Tensor& tensor = mapped.plane(p);
    const auto pitch = static_cast<std::size_t>(tensor.byte_strides()[0]);
    const std::string label = "plane " + std::to_string(p);
    if (pitch != plane.pitch_bytes)
      throw refuse(label + " has rows of " + std::to_string(pitch) + " bytes, the device reads rows of " +
                   std::to_string(plane.pitch_bytes));
    if (tensor.offset() != plane.offset)
      throw refuse(label + " begins at byte " + std::to_string(tensor.offset()) +
                   " of its memory, the device reads it from byte " + std::to_string(plane.offset));
    const Memory*& memory = memories[plane.memory];
    if (memory && memory != tensor.memory().get())
      throw refuse(label + " lies in a memory of its own, the device reads all planes from one");
    memory = tensor.memory().get();
    picture.places[plane.memory] = place_of(tensor);
    picture.size_bytes[plane.memory] = memory->size_bytes();
  }
  transfer = picture.places[0].fd >= 0 ? Transfer::kDmabuf : Transfer::kUserptr;
  for (std::size_t m = 0; m < read_.memories; ++m)
    if ((picture.places[m].fd >= 0) != (transfer == Transfer::kDmabuf))
      throw refuse("some of its memory has a descriptor and some has none");
  return picture;
}

TENON_INLINE detail::Ring::Filled Converter::wait_for_both(Deadline deadline) {
  detail::Ring::Filled filled;
  try {
    for (bool read = false; !read || !filled.slot;) {
      const auto wanted = static_cast<short>((filled.slot ? 0 : POLLIN) | (read ? 0 : POLLOUT));
      const short events = detail::wait_for(device_, wanted, deadline);
      if (!filled.slot) filled = ring_->take();
      read = read || feed_->take();
      if (read && filled.slot) break;
      if (events == 0 || Clock::now() >= deadline)
        throw Error(Code::kDeadlineExceeded,
                    "v4l2: " + device_.what() + " did not convert a picture in time; it is slow or stalled", "poll", 0);
      // A device that reports an error again and again must not keep this thread busy.
      if (!(events & wanted)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (...) {
    if (filled.slot) ring_->put_back(filled.slot);
    throw;
  }
  return filled;
}

}  // namespace v4l2
}  // namespace v1
}  // namespace tenon
