// SPDX-License-Identifier: Apache-2.0
// Loads libva, and calls it.
#include <tenon/devices/gpu/remote/va_library.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <tenon/core/error.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

struct Library {
  int (*export_handle)(void*, unsigned, std::uint32_t, std::uint32_t, void*) = nullptr;
  int (*sync)(void*, unsigned) = nullptr;
  int (*sync_until)(void*, unsigned, std::uint64_t) = nullptr;  ///< Since libva 2.9; may be null.
  const char* (*text)(int) = nullptr;
  std::string obstacle;
};

template <typename Function>
void look_up(Function& function, void* library, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
}

/// Stays loaded: an application's VADisplay refers to it.
const Library& library() {
  static const Library loaded = [] {
    Library made;
    void* const handle = ::dlopen("libva.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char* const reason = ::dlerror();
      made.obstacle = std::string("libva.so.2 cannot be loaded: ") + (reason ? reason : "no reason given");
      return made;
    }
    look_up(made.export_handle, handle, "vaExportSurfaceHandle");
    look_up(made.sync, handle, "vaSyncSurface");
    look_up(made.sync_until, handle, "vaSyncSurface2");
    look_up(made.text, handle, "vaErrorStr");
    if (!made.export_handle || !made.sync || !made.text)
      made.obstacle = "libva.so.2 has no vaExportSurfaceHandle (libva 2.1), vaSyncSurface or vaErrorStr";
    return made;
  }();
  return loaded;
}

void check(int status, const char* call, std::uint32_t surface) {
  if (status == va_abi::kSuccess) return;
  throw Error(status == va_abi::kTimedOut        ? Code::kDeadlineExceeded
              : status == va_abi::kUnimplemented ? Code::kUnimplemented
                                                 : Code::kInvalidArgument,
              "GPU: VA surface " + std::to_string(surface) + ": " + library().text(status), call, status);
}

/// What was decoded is there afterwards. Fences of the dma-buf say so as well, but not every driver attaches them.
void wait_for_surface(void* display, std::uint32_t surface, Deadline deadline) {
  if (library().sync_until) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()).count();
    const int status =
        library().sync_until(display, surface, static_cast<std::uint64_t>(std::max<decltype(left)>(left, 0)));
    if (status != va_abi::kUnimplemented) return check(status, "vaSyncSurface2", surface);
  }
  check(library().sync(display, surface), "vaSyncSurface", surface);
}

}  // namespace

std::string va_obstacle() { return library().obstacle; }

SurfacePlane export_plane(void* display, std::uint32_t surface, std::uint32_t plane, Deadline deadline) {
  if (!library().obstacle.empty()) throw Error(Code::kUnavailable, "GPU: " + library().obstacle);
  wait_for_surface(display, surface, deadline);
  va_abi::SurfaceDescriptor found{};
  check(library().export_handle(display, surface, va_abi::kDrmPrime2, va_abi::kReadWrite | va_abi::kSeparateLayers,
                                &found),
        "vaExportSurfaceHandle", surface);
  std::vector<UniqueFd> objects;  // Ours from here on.
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(found.object_count, 4); ++i)
    objects.emplace_back(found.objects[i].fd);
  if (plane >= std::min<std::uint32_t>(found.layer_count, 4))
    throw Error(Code::kOutOfRange, "GPU: VA surface " + std::to_string(surface) + " has no plane " +
                                       std::to_string(plane) + "; it has " + std::to_string(found.layer_count));
  const va_abi::SurfaceDescriptor::Layer& layer = found.layers[plane];
  if (layer.plane_count != 1 || layer.object[0] >= objects.size())
    throw Error(Code::kInternal, "GPU: the driver of VA surface " + std::to_string(surface) + " describes plane " +
                                     std::to_string(plane) + " as " + std::to_string(layer.plane_count) +
                                     " planes in object " + std::to_string(layer.object[0]) + " of " +
                                     std::to_string(objects.size()));
  const va_abi::SurfaceDescriptor::Object& object = found.objects[layer.object[0]];
  return {std::move(objects[layer.object[0]]),
          object.size,
          layer.offset[0],
          layer.pitch[0],
          object.modifier,
          layer.format,
          found.width,
          found.height};
}

}  // namespace tenon::inline v1::gpu_device
