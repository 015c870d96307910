// SPDX-License-Identifier: Apache-2.0
// A driver that a test plays: a camera over memfds, which can be made to lie, fail, and go away.
#pragma once

#include <linux/videodev2.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/fd.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/v4l2/native.hpp>
#include <tenon/frameworks/v4l2/pixel_format.hpp>

namespace tenon::v4l2::test {

/// Plays one camera behind every path while it lives. Its pictures hold their number in every byte. It gives YUYV, NV12 and
/// MJPG of 64x48 and 128x96. Kernel answers that no test needs are ENOTTY. @thread any
class FakeDriver {
 public:
  FakeDriver() {
    current() = this;
    format_ = adjusted(request_of(V4L2_PIX_FMT_NV12, 64, 48));
    native::driver = &kDriver;
  }
  ~FakeDriver() {
    native::driver = &native::kKernel;
    current() = nullptr;
  }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  /// Called after each call that succeeded, with its argument; what it returns is the call's errno.
  std::function<int(unsigned long request, void* argument)> tamper;
  bool exports = true;  ///< VIDIOC_EXPBUF works.
  std::atomic<bool> unplugged{false};
  std::atomic<bool> silent{false};  ///< Gives no picture.
  bool has_userptr = true, has_dmabuf = true;

  /// The source changes: the format is another from now on, and an event says so.
  void change_source(std::uint32_t fourcc, std::uint32_t width, std::uint32_t height) {
    std::lock_guard lock(mutex_);
    format_ = adjusted(request_of(fourcc, width, height));
    ++events_;
  }
  /// Buffers with the driver now.
  std::size_t queued() {
    std::lock_guard lock(mutex_);
    return queue_.size();
  }
  /// Device descriptors that are open, and the memory of buffers that this driver keeps.
  std::size_t open_nodes() {
    std::lock_guard lock(mutex_);
    drop_closed();
    return nodes_.size();
  }

 private:
  static FakeDriver*& current() {
    static FakeDriver* one = nullptr;
    return one;
  }
  static const native::Driver kDriver;

  struct Buffer {
    UniqueFd memory;  ///< Of the driver's own buffers.
    std::size_t size = 0;
    v4l2_buffer given{};
  };

  static v4l2_format request_of(std::uint32_t fourcc, std::uint32_t width, std::uint32_t height) {
    v4l2_format format{};
    format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    format.fmt.pix.pixelformat = fourcc;
    format.fmt.pix.width = width;
    format.fmt.pix.height = height;
    return format;
  }
  /// As a driver adjusts what it is asked for.
  static v4l2_format adjusted(v4l2_format wanted) {
    v4l2_pix_format& pix = wanted.fmt.pix;
    const bool nv12 = pix.pixelformat == V4L2_PIX_FMT_NV12;
    if (!nv12 && pix.pixelformat != V4L2_PIX_FMT_MJPEG) pix.pixelformat = V4L2_PIX_FMT_YUYV;
    pix.width = pix.width > 96 ? 128 : 64;
    pix.height = pix.width == 128 ? 96 : 48;
    const std::uint32_t row = nv12 ? pix.width : 2 * pix.width;
    pix.bytesperline = std::max(row, std::min(pix.bytesperline, 4096u));
    pix.sizeimage = nv12 ? pix.bytesperline * pix.height * 3 / 2 : pix.bytesperline * pix.height;
    if (pix.pixelformat == V4L2_PIX_FMT_MJPEG) pix.bytesperline = 0;
    pix.field = V4L2_FIELD_NONE;
    pix.colorspace = V4L2_COLORSPACE_REC709;
    return wanted;
  }

  int open() {
    std::lock_guard lock(mutex_);
    if (unplugged) return errno = ENODEV, -1;
    const int fd = ::memfd_create("node", MFD_CLOEXEC);
    if (fd >= 0) nodes_[fd] = inode_of(fd);
    return fd;
  }
  static std::uint64_t inode_of(int fd) {
    struct stat status {};
    return ::fstat(fd, &status) == 0 ? static_cast<std::uint64_t>(status.st_ino) : 0;
  }
  /// Nobody tells a fake that a descriptor was closed: it looks.
  void drop_closed() {
    std::erase_if(nodes_, [](const auto& node) { return inode_of(node.first) != node.second; });
    if (owner_ >= 0 && !nodes_.count(owner_)) release();
  }
  void release() {
    owner_ = -1;
    buffers_.clear();
    queue_.clear();
    streaming_ = false;
  }

  int ioctl(int fd, unsigned long request, void* argument) {
    int error;
    {
      std::lock_guard lock(mutex_);
      drop_closed();
      error = unplugged ? ENODEV : answer(fd, request, argument);
    }
    if (error == 0 && tamper) error = tamper(request, argument);
    if (error == 0) return 0;
    errno = error;
    return -1;
  }

  int answer(int fd, unsigned long request, void* argument) {
    switch (request) {
      case VIDIOC_QUERYCAP: {
        auto& can = *static_cast<v4l2_capability*>(argument);
        std::memcpy(can.driver, "fake", 5);
        std::memcpy(can.card, "Fake camera", 12);
        can.capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING | V4L2_CAP_DEVICE_CAPS;
        can.device_caps = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
        return 0;
      }
      case VIDIOC_ENUM_FMT: {
        auto& entry = *static_cast<v4l2_fmtdesc*>(argument);
        constexpr std::uint32_t kFormats[] = {V4L2_PIX_FMT_YUYV, V4L2_PIX_FMT_NV12, V4L2_PIX_FMT_MJPEG};
        if (entry.index >= std::size(kFormats)) return EINVAL;
        entry.pixelformat = kFormats[entry.index];
        if (entry.pixelformat == V4L2_PIX_FMT_MJPEG) entry.flags = V4L2_FMT_FLAG_COMPRESSED;
        return 0;
      }
      case VIDIOC_ENUM_FRAMESIZES: {
        auto& entry = *static_cast<v4l2_frmsizeenum*>(argument);
        if (entry.index > 1) return EINVAL;
        entry.type = V4L2_FRMSIZE_TYPE_DISCRETE;
        entry.discrete = {entry.index ? 128u : 64u, entry.index ? 96u : 48u};
        return 0;
      }
      case VIDIOC_G_FMT:
        static_cast<v4l2_format*>(argument)->fmt = format_.fmt;
        return 0;
      case VIDIOC_S_FMT:
        if (!buffers_.empty()) return EBUSY;
        *static_cast<v4l2_format*>(argument) = format_ = adjusted(*static_cast<v4l2_format*>(argument));
        return 0;
      case VIDIOC_REQBUFS:
        return request_buffers(fd, *static_cast<v4l2_requestbuffers*>(argument));
      case VIDIOC_CREATE_BUFS:
        return create_buffers(fd, *static_cast<v4l2_create_buffers*>(argument));
      case VIDIOC_QUERYBUF: {
        auto& buffer = *static_cast<v4l2_buffer*>(argument);
        if (buffer.index >= buffers_.size()) return EINVAL;
        buffer.length = static_cast<std::uint32_t>(buffers_[buffer.index].size);
        buffer.m.offset = buffer.index * 4096;
        return 0;
      }
      case VIDIOC_EXPBUF: {
        auto& wanted = *static_cast<v4l2_exportbuffer*>(argument);
        if (!exports) return ENOTTY;
        if (wanted.index >= buffers_.size()) return EINVAL;
        wanted.fd = UniqueFd::duplicate(buffers_[wanted.index].memory.get()).release();
        return 0;
      }
      case VIDIOC_QBUF: {
        auto& buffer = *static_cast<v4l2_buffer*>(argument);
        if (fd != owner_ || buffer.index >= buffers_.size() || buffer.memory != memory_) return EINVAL;
        if (buffer.memory != V4L2_MEMORY_MMAP && buffer.length < format_.fmt.pix.sizeimage) return EINVAL;
        if (std::find(queue_.begin(), queue_.end(), buffer.index) != queue_.end()) return EINVAL;
        buffers_[buffer.index].given = buffer;
        queue_.push_back(buffer.index);
        return 0;
      }
      case VIDIOC_DQBUF:
        return dequeue(*static_cast<v4l2_buffer*>(argument));
      case VIDIOC_STREAMON:
        streaming_ = true;
        return 0;
      case VIDIOC_STREAMOFF:
        streaming_ = false;
        queue_.clear();
        return 0;
      case VIDIOC_SUBSCRIBE_EVENT:
        return 0;
      case VIDIOC_DQEVENT: {
        if (events_ == 0) return ENOENT;
        --events_;
        auto& event = *static_cast<v4l2_event*>(argument);
        event.type = V4L2_EVENT_SOURCE_CHANGE;
        event.u.src_change.changes = V4L2_EVENT_SRC_CH_RESOLUTION;
        return 0;
      }
      default:
        return ENOTTY;
    }
  }

  int request_buffers(int fd, v4l2_requestbuffers& wanted) {
    if (owner_ >= 0 && owner_ != fd) return EBUSY;
    if (wanted.memory == V4L2_MEMORY_USERPTR && !has_userptr) return EINVAL;
    if (wanted.memory == V4L2_MEMORY_DMABUF && !has_dmabuf) return EINVAL;
    release();
    if (wanted.count == 0) return 0;
    owner_ = fd;
    memory_ = wanted.memory;
    for (std::uint32_t i = 0; i < wanted.count; ++i) add_buffer(format_.fmt.pix.sizeimage);
    return 0;
  }
  int create_buffers(int fd, v4l2_create_buffers& wanted) {
    if (owner_ >= 0 && owner_ != fd) return EBUSY;
    if (wanted.format.fmt.pix.sizeimage < format_.fmt.pix.sizeimage) return EINVAL;
    owner_ = fd;
    memory_ = wanted.memory;
    wanted.index = static_cast<std::uint32_t>(buffers_.size());
    add_buffer(wanted.format.fmt.pix.sizeimage);
    return 0;
  }
  void add_buffer(std::size_t size) {
    Buffer buffer;
    buffer.size = (size + 4095) / 4096 * 4096;
    if (memory_ == V4L2_MEMORY_MMAP) buffer.memory = dmabuf::client::sealed_memfd(buffer.size);
    buffers_.push_back(std::move(buffer));
  }

  int dequeue(v4l2_buffer& wanted) {
    if (!streaming_) return EINVAL;
    if (queue_.empty() || silent) return EAGAIN;
    const std::uint32_t index = queue_.front();
    queue_.pop_front();
    Buffer& buffer = buffers_[index];
    fill(buffer, static_cast<int>(sequence_ & 0xff));
    wanted = buffer.given;
    wanted.bytesused = format_.fmt.pix.sizeimage;
    wanted.sequence = sequence_++;
    wanted.flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    wanted.timestamp = {1, static_cast<suseconds_t>(sequence_)};
    return 0;
  }
  void fill(const Buffer& buffer, int value) const {
    const std::size_t size = format_.fmt.pix.sizeimage;
    if (memory_ == V4L2_MEMORY_USERPTR) {
      std::memset(reinterpret_cast<void*>(buffer.given.m.userptr), value, size);
      return;
    }
    const int fd = memory_ == V4L2_MEMORY_DMABUF ? buffer.given.m.fd : buffer.memory.get();
    void* const address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (address == MAP_FAILED) return;
    std::memset(address, value, size);
    ::munmap(address, size);
  }

  void* mmap(int fd, std::size_t size, std::uint64_t offset) {
    std::lock_guard lock(mutex_);
    drop_closed();
    int memory = fd;
    if (nodes_.count(fd)) {
      if (offset / 4096 >= buffers_.size()) return errno = EINVAL, MAP_FAILED;
      memory = buffers_[offset / 4096].memory.get();
    }
    return ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  }

  int poll(struct pollfd& entry, int timeout_ms) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    for (;;) {
      {
        std::lock_guard lock(mutex_);
        entry.revents = 0;
        if (unplugged)
          entry.revents = POLLERR | POLLHUP;
        else if (events_)
          entry.revents = POLLPRI;
        else if (streaming_ && !queue_.empty() && !silent)
          entry.revents = POLLIN;
        if (entry.revents) return 1;
      }
      if (std::chrono::steady_clock::now() >= end) return 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::mutex mutex_;
  std::map<int, std::uint64_t> nodes_;
  int owner_ = -1;
  std::uint32_t memory_ = 0;
  v4l2_format format_{};
  std::vector<Buffer> buffers_;
  std::deque<std::uint32_t> queue_;
  bool streaming_ = false;
  std::uint32_t sequence_ = 0;
  int events_ = 0;
};

inline const native::Driver FakeDriver::kDriver{
    [](const char*) { return current()->open(); },
    [](int fd, unsigned long request, void* argument) { return current()->ioctl(fd, request, argument); },
    [](int fd, std::size_t size, std::uint64_t offset) { return current()->mmap(fd, size, offset); },
    [](struct pollfd* entries, nfds_t, int timeout_ms) { return current()->poll(*entries, timeout_ms); }};

}  // namespace tenon::v4l2::test
