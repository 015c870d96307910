// SPDX-License-Identifier: Apache-2.0
// libva, loaded by name at run time: surfaces handed out as dma-bufs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/fd.hpp>
#include <tenon/core/policy.hpp>

namespace tenon::inline v1::gpu_device {
namespace va_abi {

/// VADRMPRIMESurfaceDescriptor. @source va/va_drmcommon.h
struct SurfaceDescriptor {
  struct Object {
    int fd;
    std::uint32_t size;
    std::uint64_t modifier;
  };
  struct Layer {
    std::uint32_t format;  ///< DRM fourcc of this plane alone.
    std::uint32_t plane_count;
    std::uint32_t object[4], offset[4], pitch[4];
  };
  std::uint32_t fourcc, width, height;
  std::uint32_t object_count;
  Object objects[4];
  std::uint32_t layer_count;
  Layer layers[4];
};
static_assert(sizeof(SurfaceDescriptor) == 312 && offsetof(SurfaceDescriptor, objects) == 16 &&
              offsetof(SurfaceDescriptor, layer_count) == 80 && offsetof(SurfaceDescriptor, layers) == 84);

inline constexpr std::uint32_t kDrmPrime2 = 0x40000000;                      ///< VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2
inline constexpr std::uint32_t kReadWrite = 0x0003, kSeparateLayers = 0x4;   ///< VA_EXPORT_SURFACE_*
inline constexpr int kSuccess = 0, kUnimplemented = 0x14, kTimedOut = 0x26;  ///< VA_STATUS_*

}  // namespace va_abi

/// A plane of a surface that was handed out.
struct SurfacePlane {
  UniqueFd fd;  ///< A dma-buf, or what the driver has instead.
  std::size_t object_bytes = 0, offset = 0, pitch = 0;
  std::uint64_t modifier = 0;               ///< The DRM format modifier: how pixels lie.
  std::uint32_t format = 0;                 ///< DRM fourcc of this plane alone.
  std::size_t width_px = 0, height_px = 0;  ///< The surface's size.
};

/// Waits until the surface is decoded, and hands a plane of it out. The surface stays its owner's.
/// @param display  A VADisplay of an application.
/// @errors kUnavailable: no libva, or an old one; kOutOfRange: no such plane; kDeadlineExceeded; those of the driver, with its
/// code. @thread any, as far as the VADisplay's driver allows.
SurfacePlane export_plane(void* display, std::uint32_t surface, std::uint32_t plane, Deadline deadline);

/// Why libva cannot be used; empty if it can.
std::string va_obstacle();

}  // namespace tenon::inline v1::gpu_device
