// SPDX-License-Identifier: Apache-2.0
// Displays, and what their drivers can do; statuses of libva as errors.
#include <tenon/frameworks/vaapi/display.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <va/va_drm.h>
#include <va/va_vpp.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/frameworks/vaapi/native.hpp>
#include <tenon/frameworks/vaapi/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {
namespace detail {

/// The device behind a DRM node, as sysfs knows it. Empty where the node is none.
TENON_INLINE DeviceIdentity identity_of_node(int fd) {
  DeviceIdentity identity;
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISCHR(status.st_mode)) return identity;
  identity.set(kDrmNode, static_cast<std::uint64_t>(status.st_rdev));
  char link[64], target[256];
  std::snprintf(link, sizeof link, "/sys/dev/char/%u:%u/device", major(status.st_rdev), minor(status.st_rdev));
  const ssize_t size = ::readlink(link, target, sizeof target - 1);
  if (size <= 0) return identity;
  target[size] = 0;
  const std::string path(target);
  PciAddress pci;
  if (std::sscanf(path.substr(path.rfind('/') + 1).c_str(), "%x:%x:%x.%x", &pci.domain, &pci.bus, &pci.device,
                  &pci.function) == 4)
    identity.set(kPciAddress, pci);
  return identity;
}

}  // namespace detail

TENON_INLINE Ref<Display> Display::open(const std::string& node) {
  UniqueFd fd(::open(node.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) {
    const int error = errno;
    throw Error(error == ENOENT                     ? Code::kNotFound
                : error == EACCES || error == EPERM ? Code::kPermissionDenied
                                                    : Code::kUnavailable,
                "vaapi: the DRM node " + node + " cannot be opened; `tenon va-env` runs programs where there is none",
                "open", error);
  }
  const VADisplay display = vaGetDisplayDRM(fd.get());
  if (!display) throw Error(Code::kUnavailable, "vaapi: libva takes no display on " + node + ": it is no DRM device");
  Ref<Display> made(new Display(display, std::move(fd), nullptr));
  int version[2] = {};
  vaSetInfoCallback(display, nullptr, nullptr);
  const VAStatus status = native::call("vaInitialize", vaInitialize, display, &version[0], &version[1]);
  if (status != VA_STATUS_SUCCESS) {
    throw Error(Code::kUnavailable,
                "vaapi: no driver for " + node + ": " + vaErrorStr(status) +
                    "; install it, or set LIBVA_DRIVERS_PATH and LIBVA_DRIVER_NAME (`vainfo --display drm` says more)",
                "vaInitialize", status);
  }
  made->ask();
  return made;
}

TENON_INLINE Ref<Display> Display::wrap(VADisplay display, std::shared_ptr<const void> keeper) {
  if (!display || !vaDisplayIsValid(display)) throw Error(Code::kInvalidArgument, "vaapi: that is not a VADisplay");
  Ref<Display> made(new Display(display, UniqueFd(), std::move(keeper)));
  made->ask();
  return made;
}

TENON_INLINE Display::~Display() {
  if (processing_ != VA_INVALID_ID) vaDestroyConfig(display_, processing_);
  if (fd_) vaTerminate(display_);
}

TENON_INLINE bool Display::has_format(std::uint32_t format) const {
  return formats_.empty() || std::find(formats_.begin(), formats_.end(), format) != formats_.end();
}

TENON_INLINE Display::Display(VADisplay display, UniqueFd fd, std::shared_ptr<const void> keeper)
    : display_(display), fd_(std::move(fd)), keeper_(std::move(keeper)) {}

TENON_INLINE void Display::ask() {
  const char* vendor = vaQueryVendorString(display_);
  vendor_ = vendor ? vendor : "a VA-API driver without a name";
  if (fd_) device_ = detail::identity_of_node(fd_.get());
  processing_ = make_config(VAProfileNone, VAEntrypointVideoProc);
  const VAConfigID decoding = processing_ == VA_INVALID_ID ? any_decoder() : VA_INVALID_ID;
  const VAConfigID config = processing_ == VA_INVALID_ID ? decoding : processing_;
  if (config != VA_INVALID_ID) ask_formats(config);
  if (decoding != VA_INVALID_ID) vaDestroyConfig(display_, decoding);
}

TENON_INLINE VAConfigID Display::make_config(VAProfile profile, VAEntrypoint entrypoint) const {
  VAConfigID config = VA_INVALID_ID;
  const VAStatus status = native::call("vaCreateConfig", vaCreateConfig, display_, profile, entrypoint,
                                       static_cast<VAConfigAttrib*>(nullptr), 0, &config);
  return status == VA_STATUS_SUCCESS ? config : VA_INVALID_ID;
}

TENON_INLINE VAConfigID Display::any_decoder() const {
  std::vector<VAProfile> profiles(static_cast<std::size_t>(std::max(vaMaxNumProfiles(display_), 1)));
  int count = 0;
  if (vaQueryConfigProfiles(display_, profiles.data(), &count) != VA_STATUS_SUCCESS) return VA_INVALID_ID;
  for (int i = 0; i < count; ++i) {
    const VAConfigID config = make_config(profiles[static_cast<std::size_t>(i)], VAEntrypointVLD);
    if (config != VA_INVALID_ID) return config;
  }
  return VA_INVALID_ID;
}

TENON_INLINE void Display::ask_formats(VAConfigID config) {
  unsigned count = 0;
  if (vaQuerySurfaceAttributes(display_, config, nullptr, &count) != VA_STATUS_SUCCESS) return;
  std::vector<VASurfaceAttrib> attributes(count);
  if (vaQuerySurfaceAttributes(display_, config, attributes.data(), &count) != VA_STATUS_SUCCESS) return;
  attributes.resize(std::min<std::size_t>(count, attributes.size()));
  for (const VASurfaceAttrib& attribute : attributes) {
    if (attribute.type == VASurfaceAttribPixelFormat)
      formats_.push_back(static_cast<std::uint32_t>(attribute.value.value.i));
  }
}

}  // namespace vaapi

namespace vaapi::native {

TENON_INLINE Code code_of(VAStatus status) {
  switch (status) {
    case VA_STATUS_ERROR_ALLOCATION_FAILED:
    case VA_STATUS_ERROR_MAX_NUM_EXCEEDED:
    case VA_STATUS_ERROR_NOT_ENOUGH_BUFFER:
      return Code::kResourceExhausted;
    case VA_STATUS_ERROR_INVALID_DISPLAY:
    case VA_STATUS_ERROR_INVALID_CONFIG:
    case VA_STATUS_ERROR_INVALID_CONTEXT:
    case VA_STATUS_ERROR_INVALID_SURFACE:
    case VA_STATUS_ERROR_INVALID_BUFFER:
    case VA_STATUS_ERROR_INVALID_IMAGE:
    case VA_STATUS_ERROR_INVALID_PARAMETER:
    case VA_STATUS_ERROR_INVALID_VALUE:
    case VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED:
      return Code::kInvalidArgument;
    case VA_STATUS_ERROR_UNIMPLEMENTED:
    case VA_STATUS_ERROR_UNSUPPORTED_PROFILE:
    case VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT:
    case VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT:
    case VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE:
    case VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE:
    case VA_STATUS_ERROR_UNSUPPORTED_FILTER:
    case VA_STATUS_ERROR_INVALID_IMAGE_FORMAT:
    case VA_STATUS_ERROR_ATTR_NOT_SUPPORTED:
      return Code::kUnimplemented;
    case VA_STATUS_ERROR_DECODING_ERROR:
    case VA_STATUS_ERROR_ENCODING_ERROR:
      return Code::kDataLoss;
    case VA_STATUS_ERROR_TIMEDOUT:
      return Code::kDeadlineExceeded;
    case VA_STATUS_ERROR_SURFACE_BUSY:
    case VA_STATUS_ERROR_SURFACE_IN_DISPLAYING:
    case VA_STATUS_ERROR_HW_BUSY:
      return Code::kUnavailable;
    default:
      return Code::kInternal;
  }
}

[[noreturn]] TENON_INLINE void fail(VAStatus status, const char* call, const std::string& what) {
  throw Error(code_of(status), "vaapi: " + what + ": " + vaErrorStr(status), call, status);
}

TENON_INLINE void check(VAStatus status, const char* call, const std::string& what) {
  if (status != VA_STATUS_SUCCESS) fail(status, call, what);
}

}  // namespace vaapi::native

namespace vaapi {

namespace detail {

/// The first line with a fourcc gives its PixelFormat, and the first with a PixelFormat its fourcc.
inline constexpr FormatMapping kMappings[] = {
    {VA_FOURCC_NV12, kNv12, VA_RT_FORMAT_YUV420},    {VA_FOURCC_NV21, kNv21, VA_RT_FORMAT_YUV420},
    {VA_FOURCC_P010, kP010, VA_RT_FORMAT_YUV420_10}, {VA_FOURCC_I420, kI420, VA_RT_FORMAT_YUV420},
    {VA_FOURCC_IYUV, kI420, VA_RT_FORMAT_YUV420},    {VA_FOURCC_YV12, kYv12, VA_RT_FORMAT_YUV420},
    {VA_FOURCC_YUY2, kYuy2, VA_RT_FORMAT_YUV422},    {VA_FOURCC_UYVY, kUyvy, VA_RT_FORMAT_YUV422},
    {VA_FOURCC_422H, kI422, VA_RT_FORMAT_YUV422},    {VA_FOURCC_444P, kI444, VA_RT_FORMAT_YUV444},
    {VA_FOURCC_Y800, kGray8, VA_RT_FORMAT_YUV400},   {VA_FOURCC_RGBA, kRgba, VA_RT_FORMAT_RGB32},
    {VA_FOURCC_BGRA, kBgra, VA_RT_FORMAT_RGB32},     {VA_FOURCC_RGBX, kRgbx, VA_RT_FORMAT_RGB32},
    {VA_FOURCC_BGRX, kBgrx, VA_RT_FORMAT_RGB32},     {VA_FOURCC_RGBP, kRgbPlanar, VA_RT_FORMAT_RGBP},
    {VA_FOURCC_BGRP, kBgrPlanar, VA_RT_FORMAT_RGBP},
};

}  // namespace detail

TENON_INLINE const FormatMapping* find_mapping(std::uint32_t va) {
  for (const FormatMapping& mapping : detail::kMappings) {
    if (mapping.va == va) return &mapping;
  }
  return nullptr;
}

TENON_INLINE const FormatMapping* find_mapping(PixelFormat format) {
  for (const FormatMapping& mapping : detail::kMappings) {
    if (mapping.format.fourcc == format.fourcc) return &mapping;
  }
  return nullptr;
}

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
