// SPDX-License-Identifier: Apache-2.0
// What libva hands a surface out as. Declared here, so that the layer needs none of VA-API's headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::gpu_layer::va_abi {

/// VADRMPRIMESurfaceDescriptor. @source va/va_drmcommon.h
struct Descriptor {
  struct Object {
    int fd;
    std::uint32_t size;
    std::uint64_t modifier;
  };
  struct Layer {
    std::uint32_t format;  ///< DRM fourcc of this plane alone.
    std::uint32_t planes, object[4], offset[4], pitch[4];
  };
  std::uint32_t fourcc, width, height, object_count;
  Object objects[4];
  std::uint32_t layer_count;
  Layer layers[4];
};
static_assert(sizeof(Descriptor) == 312 && offsetof(Descriptor, objects) == 16 && offsetof(Descriptor, layers) == 84);

inline constexpr std::uint32_t kDrmPrime2 = 0x40000000;                     ///< VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2
inline constexpr std::uint32_t kReadWrite = 0x0003, kSeparateLayers = 0x4;  ///< VA_EXPORT_SURFACE_*
inline constexpr int kSuccess = 0;                                          ///< VA_STATUS_SUCCESS

constexpr std::uint32_t fourcc(char a, char b, char c, char d) {
  return static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b) << 8 | static_cast<std::uint32_t>(c) << 16 |
         static_cast<std::uint32_t>(d) << 24;
}

}  // namespace tenon::gpu_layer::va_abi
