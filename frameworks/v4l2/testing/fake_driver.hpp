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
/// MJPG of 64x48 and 128x96. With `converts` it is a device from memory to memory instead: each byte that it writes is the
/// complement of the first that it read. Kernel answers that no test needs are ENOTTY. @thread any
class FakeDriver {
 public:
  FakeDriver() {
    current() = this;
    capture_.format = adjusted(request_of(V4L2_PIX_FMT_NV12, 64, 48));
    output_.format = capture_.format;
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
  bool converts = false;

  /// The source changes: the format is another from now on, and an event says so.
  void change_source(std::uint32_t fourcc, std::uint32_t width, std::uint32_t height) {
    std::lock_guard lock(mutex_);
    capture_.format = adjusted(request_of(fourcc, width, height));
    ++events_;
  }
  /// Buffers with the driver now.
  std::size_t queued() {
    std::lock_guard lock(mutex_);
    return capture_.waiting.size();
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
    UniqueFd memory;  ///< The memory of the driver's own buffers.
    std::size_t size = 0;
    v4l2_buffer given{};
  };
  /// The buffers of one direction.
  struct Queue {
    v4l2_format format{};
    int owner = -1;
    std::uint32_t memory = 0;
    std::vector<Buffer> buffers;
    std::deque<std::uint32_t> waiting, done;
    bool streaming = false;

    void release() {
      owner = -1;
      buffers.clear();
      stop();
    }
    void stop() {
      waiting.clear();
      done.clear();
      streaming = false;
    }
  };
  Queue& queue_of(std::uint32_t type) { return type == V4L2_BUF_TYPE_VIDEO_OUTPUT ? output_ : capture_; }

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
  /// A fake is not told that a descriptor was closed: it looks.
  void drop_closed() {
    std::erase_if(nodes_, [](const auto& node) { return inode_of(node.first) != node.second; });
    for (Queue* queue : {&capture_, &output_})
      if (queue->owner >= 0 && !nodes_.count(queue->owner)) queue->release();
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
        can.device_caps = (converts ? V4L2_CAP_VIDEO_M2M : V4L2_CAP_VIDEO_CAPTURE) | V4L2_CAP_STREAMING;
        can.capabilities = can.device_caps | V4L2_CAP_DEVICE_CAPS;
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
      case VIDIOC_G_FMT: {
        auto& asked = *static_cast<v4l2_format*>(argument);
        asked.fmt = queue_of(asked.type).format.fmt;
        return 0;
      }
      case VIDIOC_S_FMT: {
        auto& asked = *static_cast<v4l2_format*>(argument);
        Queue& queue = queue_of(asked.type);
        if (!queue.buffers.empty()) return EBUSY;
        asked = queue.format = adjusted(asked);
        return 0;
      }
      case VIDIOC_REQBUFS:
        return request_buffers(fd, *static_cast<v4l2_requestbuffers*>(argument));
      case VIDIOC_CREATE_BUFS:
        return create_buffers(fd, *static_cast<v4l2_create_buffers*>(argument));
      case VIDIOC_QUERYBUF: {
        auto& buffer = *static_cast<v4l2_buffer*>(argument);
        const Queue& queue = queue_of(buffer.type);
        if (buffer.index >= queue.buffers.size()) return EINVAL;
        buffer.length = static_cast<std::uint32_t>(queue.buffers[buffer.index].size);
        buffer.m.offset = buffer.index * 4096;
        return 0;
      }
      case VIDIOC_EXPBUF: {
        auto& wanted = *static_cast<v4l2_exportbuffer*>(argument);
        const Queue& queue = queue_of(wanted.type);
        if (!exports) return ENOTTY;
        if (wanted.index >= queue.buffers.size()) return EINVAL;
        wanted.fd = UniqueFd::duplicate(queue.buffers[wanted.index].memory.get()).release();
        return 0;
      }
      case VIDIOC_QBUF: {
        auto& buffer = *static_cast<v4l2_buffer*>(argument);
        Queue& queue = queue_of(buffer.type);
        if (fd != queue.owner || buffer.index >= queue.buffers.size() || buffer.memory != queue.memory) return EINVAL;
        if (buffer.memory != V4L2_MEMORY_MMAP && buffer.length < queue.format.fmt.pix.sizeimage) return EINVAL;
        if (std::find(queue.waiting.begin(), queue.waiting.end(), buffer.index) != queue.waiting.end()) return EINVAL;
        queue.buffers[buffer.index].given = buffer;
        queue.waiting.push_back(buffer.index);
        return 0;
      }
      case VIDIOC_DQBUF:
        return dequeue(*static_cast<v4l2_buffer*>(argument));
      case VIDIOC_STREAMON:
        queue_of(static_cast<std::uint32_t>(*static_cast<int*>(argument))).streaming = true;
        return 0;
      case VIDIOC_STREAMOFF:
        queue_of(static_cast<std::uint32_t>(*static_cast<int*>(argument))).stop();
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
    Queue& queue = queue_of(wanted.type);
    if (queue.owner >= 0 && queue.owner != fd) return EBUSY;
    if (wanted.memory == V4L2_MEMORY_USERPTR && !has_userptr) return EINVAL;
    if (wanted.memory == V4L2_MEMORY_DMABUF && !has_dmabuf) return EINVAL;
    queue.release();
    if (wanted.count == 0) return 0;
    queue.owner = fd;
    queue.memory = wanted.memory;
    for (std::uint32_t i = 0; i < wanted.count; ++i) add_buffer(queue, queue.format.fmt.pix.sizeimage);
    return 0;
  }
  int create_buffers(int fd, v4l2_create_buffers& wanted) {
    Queue& queue = queue_of(wanted.format.type);
    if (queue.owner >= 0 && queue.owner != fd) return EBUSY;
    if (wanted.format.fmt.pix.sizeimage < queue.format.fmt.pix.sizeimage) return EINVAL;
    queue.owner = fd;
    queue.memory = wanted.memory;
    wanted.index = static_cast<std::uint32_t>(queue.buffers.size());
    add_buffer(queue, wanted.format.fmt.pix.sizeimage);
    return 0;
  }
  static void add_buffer(Queue& queue, std::size_t size) {
    Buffer buffer;
    buffer.size = (size + 4095) / 4096 * 4096;
    if (queue.memory == V4L2_MEMORY_MMAP) buffer.memory = dmabuf::client::sealed_memfd(buffer.size);
    queue.buffers.push_back(std::move(buffer));
  }

  int dequeue(v4l2_buffer& wanted) {
    Queue& queue = queue_of(wanted.type);
    if (!queue.streaming) return EINVAL;
    if (silent) return EAGAIN;
    if (converts)
      convert();
    else
      capture();
    if (queue.done.empty()) return EAGAIN;
    const std::uint32_t index = queue.done.front();
    queue.done.pop_front();
    wanted = queue.buffers[index].given;
    wanted.bytesused = queue.format.fmt.pix.sizeimage;
    wanted.sequence = sequence_;
    wanted.flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    if (&queue == &capture_) ++sequence_;
    wanted.timestamp = {1, static_cast<suseconds_t>(sequence_)};
    return 0;
  }
  static void finish_first(Queue& queue) {
    queue.done.push_back(queue.waiting.front());
    queue.waiting.pop_front();
  }
  void capture() {
    if (capture_.waiting.empty()) return;
    fill(capture_, static_cast<int>(sequence_ & 0xff));
    finish_first(capture_);
  }
  void convert() {
    if (!works()) return;
    fill(capture_, ~first_byte(output_) & 0xff);
    finish_first(capture_);
    finish_first(output_);
  }
  bool works() const {
    return capture_.streaming && output_.streaming && !capture_.waiting.empty() && !output_.waiting.empty();
  }

  /// Calls visit(address) with the memory of the buffer that is next.
  template <typename Visit>
  static void with_next(const Queue& queue, Visit&& visit) {
    const Buffer& buffer = queue.buffers[queue.waiting.front()];
    if (queue.memory == V4L2_MEMORY_USERPTR) return visit(reinterpret_cast<void*>(buffer.given.m.userptr));
    const std::size_t size = queue.format.fmt.pix.sizeimage;
    const int fd = queue.memory == V4L2_MEMORY_DMABUF ? buffer.given.m.fd : buffer.memory.get();
    void* const address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (address == MAP_FAILED) return;
    visit(address);
    ::munmap(address, size);
  }
  static void fill(const Queue& queue, int value) {
    with_next(queue, [&](void* address) { std::memset(address, value, queue.format.fmt.pix.sizeimage); });
  }
  static int first_byte(const Queue& queue) {
    int first = 0;
    with_next(queue, [&](const void* address) { first = *static_cast<const unsigned char*>(address); });
    return first;
  }

  void* mmap(int fd, std::size_t size, std::uint64_t offset) {
    std::lock_guard lock(mutex_);
    drop_closed();
    int memory = fd;
    if (nodes_.count(fd)) {
      if (offset / 4096 >= capture_.buffers.size()) return errno = EINVAL, MAP_FAILED;
      memory = capture_.buffers[offset / 4096].memory.get();
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
        else if (!silent && (converts ? works() : capture_.streaming && !capture_.waiting.empty()))
          entry.revents = POLLIN;
        if (converts && !capture_.done.empty()) entry.revents |= POLLIN;
        if (converts && !output_.done.empty()) entry.revents |= POLLOUT;
        if (entry.revents) return 1;
      }
      if (std::chrono::steady_clock::now() >= end) return 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::mutex mutex_;
  std::map<int, std::uint64_t> nodes_;
  Queue capture_, output_;
  std::uint32_t sequence_ = 0;
  int events_ = 0;
};

inline const native::Driver FakeDriver::kDriver{
    [](const char*) { return current()->open(); },
    [](int fd, unsigned long request, void* argument) { return current()->ioctl(fd, request, argument); },
    [](int fd, std::size_t size, std::uint64_t offset) { return current()->mmap(fd, size, offset); },
    [](struct pollfd* entries, nfds_t, int timeout_ms) { return current()->poll(*entries, timeout_ms); }};

}  // namespace tenon::v4l2::test
