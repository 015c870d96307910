// SPDX-License-Identifier: Apache-2.0
// A V4L2 driver that answers anything: each call of a camera or a converter may fail with any error, and any byte of its answer may be
// another. Pictures lie inside memory that the driver gave, or there is an Error by the deadline; no descriptor stays open.
#include <sys/ioctl.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include <tenon/core/deferred.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>
#include <tenon/frameworks/v4l2/testing/fake_driver.hpp>
#include <tenon/frameworks/v4l2/v4l2.hpp>
#include <tenon/fuzz/bytes.hpp>

namespace {

using namespace tenon;
using namespace std::chrono_literals;

constexpr const char* kPath = "/dev/fake";
constexpr std::chrono::milliseconds kForRead{20};
/// Far more than a read, on a busy machine, too: a call that goes on behind its deadline is a finding.
constexpr std::chrono::seconds kHangs{20};

void expect(bool holds) {
  if (!holds) std::abort();
}

using fuzz::Bytes;

/// The kernel takes as much memory as a driver says: here it says no more than 64 KiB.
void bound_sizes(unsigned long request, void* argument) {
  if (request != VIDIOC_S_FMT && request != VIDIOC_G_FMT && request != VIDIOC_TRY_FMT) return;
  auto& format = *static_cast<v4l2_format*>(argument);
  if (!V4L2_TYPE_IS_MULTIPLANAR(format.type)) {
    format.fmt.pix.sizeimage &= 0xffff;
    return;
  }
  for (v4l2_plane_pix_format& plane : format.fmt.pix_mp.plane_fmt) plane.sizeimage &= 0xffff;
}

/// The errno of a call, 0: it succeeds; its answer may become another.
int tampered(Bytes& bytes, unsigned long request, void* argument) {
  constexpr std::array kErrors{EINVAL,  ENOTTY, EAGAIN, EIO,    ENODEV, EBUSY,
                               ENODATA, EPERM,  ERANGE, ENOMEM, EPIPE,  ENOLINK};
  if (request == VIDIOC_EXPBUF)
    return 0;  // The descriptor that it gave is the process's: no driver takes it back, or gives another's.
  const auto what = bytes.is_empty() ? std::uint8_t{0} : bytes.next<std::uint8_t>();
  if (what >= 128 && what < 144) return kErrors[what % kErrors.size()];
  if (what < 144) return 0;
  const std::size_t size = _IOC_SIZE(request);
  // The kernel gives pointers back as it got them.
  const bool is_buffer = request == VIDIOC_QBUF || request == VIDIOC_DQBUF || request == VIDIOC_QUERYBUF;
  const bool has_pointer = request == VIDIOC_G_EXT_CTRLS || request == VIDIOC_S_EXT_CTRLS ||
                           (is_buffer && V4L2_TYPE_IS_MULTIPLANAR(static_cast<v4l2_buffer*>(argument)->type));
  const std::size_t most = has_pointer ? 24 : size;
  for (unsigned left = 1 + what % 4; left > 0 && most > 0; --left)
    static_cast<std::uint8_t*>(argument)[bytes.next<std::uint16_t>() % most] = bytes.next<std::uint8_t>();
  bound_sizes(request, argument);
  return 0;
}

template <typename Work>
void attempt(Work work) {
  const Deadline begin = Clock::now();
  try {
    work();
  } catch (const Error&) {
  }
  expect(Clock::now() - begin < kHangs);
}

/// Reads and writes the ends of each plane.
void touch(const Frame& frame) {
  if (!frame) return;
  for (std::size_t p = 0; p < frame.plane_count(); ++p) {
    const Tensor plane = frame.plane(p);
    auto* const data = static_cast<volatile std::uint8_t*>(plane.data());
    if (!data) continue;
    std::ptrdiff_t last = 0;
    for (std::size_t i = 0; i < plane.shape().size(); ++i) {
      if (plane.shape()[i] == 0) return;
      last += static_cast<std::ptrdiff_t>(plane.shape()[i] - 1) * plane.byte_strides()[i];
    }
    data[0] = data[last];
    data[last] = data[0];
  }
}

void use_camera(Bytes& bytes) {
  v4l2::Options options;
  const auto flags = bytes.next<std::uint8_t>();
  if (flags & 1) options.format.format = flags & 2 ? kNv12 : kYuy2;
  if (flags & 4) options.format.width_px = 64, options.format.height_px = 48;
  if (flags & 8) options.format.fps = bytes.next<std::uint8_t>();
  if (flags & 16) options.input = bytes.next<std::uint8_t>();
  options.buffers = 1 + flags % 4;
  attempt([&] {
    v4l2::Camera camera(kPath, options);
    std::array<Frame, 2> kept;
    for (unsigned i = 0; i < 8 && !bytes.is_empty(); ++i) {
      switch (bytes.next<std::uint8_t>() % 8) {
        case 0:
          attempt([&] { camera.use_pool(Requirements{}); });
          break;
        case 1:
          camera.stop();
          break;
        default:
          attempt([&] {
            kept[i % 2] = camera.read(Clock::now() + kForRead);
            touch(kept[i % 2]);
          });
      }
    }
  });
}

void use_converter(Bytes& bytes) {
  attempt([&] {
    v4l2::WantedFormat to;
    to.format = kNv12;
    const FrameInfo from{kNv12, 64, 48};
    v4l2::Converter converter(kPath, from, to, 2);
    Requirements pages;
    pages.alignment = 4096;
    pages.size_bytes = Frame::size_bytes_for(from, pages);
    const Frame source = Frame::over(from, cpu::allocate_memory(pages), pages);
    for (unsigned i = 0; i < 4 && !bytes.is_empty(); ++i)
      attempt([&] { touch(converter.convert(source, Clock::now() + kForRead)); });
  });
}

void ask_device() {
  attempt([&] {
    const v4l2::Device device(kPath);
    attempt([&] {
      for (const v4l2::OfferedFormat& one : device.formats(device.capture_type()))
        if (!one.sizes.empty()) device.rates(one.fourcc, one.sizes[0].min_width_px, one.sizes[0].min_height_px);
    });
    attempt([&] {
      for (const v4l2::Control& one : device.controls()) {
        attempt([&] { device.set(one.name, device.get(one.name)); });
        if (!one.menu.empty()) attempt([&] { device.set(one.name, one.menu[0].second); });
      }
    });
  });
}

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::ptrdiff_t before = open_descriptors();
  {
    Bytes bytes(data, size);
    v4l2::test::FakeDriver driver;
    const auto flags = bytes.next<std::uint8_t>();
    driver.converts = flags & 1;
    driver.exports = flags & 2;
    driver.has_userptr = flags & 4;
    driver.has_dmabuf = flags & 8;
    driver.tamper = [&](unsigned long request, void* argument) { return tampered(bytes, request, argument); };
    if (flags & 16) ask_device();
    if (driver.converts)
      use_converter(bytes);
    else
      use_camera(bytes);
  }
  expect(drain_deferred(Clock::now() + kHangs));
  expect(open_descriptors() == before);
  return 0;
}
