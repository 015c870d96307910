// SPDX-License-Identifier: Apache-2.0
// Buffers and fences of the kernel's vgem driver, for tests: a real exporter independent of our code.
#pragma once

#include <fcntl.h>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>
#include <tenon/frameworks/dmabuf/native.hpp>

namespace tenon {
inline namespace v1 {
namespace dmabuf::vgem {

/// @source drm.h, drm_mode.h, vgem_drm.h
struct Version {
  int major, minor, patch;
  std::size_t name_length;
  char* name;
  std::size_t date_length;
  char* date;
  std::size_t description_length;
  char* description;
};
struct CreateDumb {
  std::uint32_t height, width, bits_per_pixel, flags, handle, pitch;
  std::uint64_t size;
};
struct PrimeHandle {
  std::uint32_t handle, flags;
  std::int32_t fd;
};
struct CloseHandle {
  std::uint32_t handle, pad;
};
struct AttachFence {
  std::uint32_t handle, flags, out_fence, pad;
};
struct SignalFence {
  std::uint32_t fence, flags;
};

/// The vgem driver's card; empty if there is none.
inline UniqueFd open_card() {
  for (int i = 0; i < 16; ++i) {
    UniqueFd card(::open(("/dev/dri/card" + std::to_string(i)).c_str(), O_RDWR | O_CLOEXEC));
    if (!card) continue;
    char name[16] = {};
    Version version{};
    version.name = name;
    version.name_length = sizeof name - 1;
    if (::ioctl(card.get(), _IOWR('d', 0x00, Version), &version) == 0 && std::strcmp(name, "vgem") == 0) return card;
  }
  return {};
}

struct Buffer {
  UniqueFd card;
  std::uint32_t handle = 0;
  UniqueFd fd;  ///< The dma-buf.
};

/// A dumb buffer as a dma-buf. @errors kUnavailable
inline Buffer allocate(std::size_t size_bytes) {
  Buffer made{open_card(), 0, {}};
  CreateDumb dumb{static_cast<std::uint32_t>((size_bytes + 4095) / 4096), 1024, 32, 0, 0, 0, 0};
  if (!made.card || ::ioctl(made.card.get(), _IOWR('d', 0xb2, CreateDumb), &dumb) != 0)
    native::fail(Code::kUnavailable, "a buffer of vgem", "ioctl(DRM_IOCTL_MODE_CREATE_DUMB)", errno);
  made.handle = dumb.handle;
  PrimeHandle prime{dumb.handle, O_RDWR | O_CLOEXEC, -1};
  if (::ioctl(made.card.get(), _IOWR('d', 0x2d, PrimeHandle), &prime) != 0)
    native::fail(Code::kUnavailable, "a buffer of vgem as a descriptor", "ioctl(DRM_IOCTL_PRIME_HANDLE_TO_FD)", errno);
  made.fd.reset(prime.fd);
  return made;
}

/// Attaches an unsignalled fence to the buffer, like a device that begins to write. @return its number
inline std::uint32_t begin_write(const Buffer& buffer) {
  AttachFence attach{buffer.handle, 1, 0, 0};
  if (::ioctl(buffer.card.get(), _IOWR('d', 0x41, AttachFence), &attach) != 0)
    native::fail(Code::kUnavailable, "a fence of vgem", "ioctl(DRM_IOCTL_VGEM_FENCE_ATTACH)", errno);
  return attach.out_fence;
}
/// @return false when the fence was already signalled or had failed.
inline bool end_write(const Buffer& buffer, std::uint32_t fence) {
  SignalFence signal{fence, 0};
  return ::ioctl(buffer.card.get(), _IOW('d', 0x42, SignalFence), &signal) == 0;
}

}  // namespace dmabuf::vgem
}  // namespace v1
}  // namespace tenon
