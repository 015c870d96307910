// SPDX-License-Identifier: Apache-2.0
// A VADisplay: opened on a DRM node, or wrapped; and what its driver can do.
#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <va/va.h>
#include <va/va_drm.h>
#include <va/va_vpp.h>

#include <fcntl.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/device_identity.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/vaapi/native.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {
namespace detail {

/// The device behind a DRM node, as sysfs knows it. Empty where the node is none.
inline DeviceIdentity identity_of_node(int fd) {
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

/// A display with all that is asked of its driver once. Live objects of a display keep it.
/// @thread any, as far as the driver allows; those in use today do.
class Display final : public RefCounted {
 public:
  /// Opens the driver of a DRM node ("/dev/dri/renderD128"); no window system is needed. Ends with the last reference.
  /// @errors kNotFound: no such node; kPermissionDenied; kUnavailable: no driver for it (vainfo says more).
  static Ref<Display> open(const std::string& node) {
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
      throw Error(
          Code::kUnavailable,
          "vaapi: no driver for " + node + ": " + vaErrorStr(status) +
              "; install it, or set LIBVA_DRIVERS_PATH and LIBVA_DRIVER_NAME (`vainfo --display drm` says more)",
          "vaInitialize", status);
    }
    made->ask();
    return made;
  }

  /// Wraps an application's initialised display, which must live until the last object over it goes: `keeper` may see
  /// to that. It is never terminated here. @errors kInvalidArgument: null, or no display.
  static Ref<Display> wrap(VADisplay display, std::shared_ptr<const void> keeper = nullptr) {
    if (!display || !vaDisplayIsValid(display)) throw Error(Code::kInvalidArgument, "vaapi: that is not a VADisplay");
    Ref<Display> made(new Display(display, UniqueFd(), std::move(keeper)));
    made->ask();
    return made;
  }

  ~Display() override {
    if (processing_ != VA_INVALID_ID) vaDestroyConfig(display_, processing_);
    if (fd_) vaTerminate(display_);
  }

  VADisplay handle() const { return display_; }
  /// As the driver names itself.
  const std::string& vendor() const { return vendor_; }
  const DeviceIdentity& device() const { return device_; }
  /// Whether the driver has surfaces of VA_FOURCC `format`. A driver that lists none is taken to have all.
  bool has_format(std::uint32_t format) const {
    return formats_.empty() || std::find(formats_.begin(), formats_.end(), format) != formats_.end();
  }
  /// VAConfigID of video processing; VA_INVALID_ID if the driver has none.
  VAConfigID processing() const { return processing_; }

 private:
  Display(VADisplay display, UniqueFd fd, std::shared_ptr<const void> keeper)
      : display_(display), fd_(std::move(fd)), keeper_(std::move(keeper)) {}

  void ask() {
    const char* vendor = vaQueryVendorString(display_);
    vendor_ = vendor ? vendor : "a VA-API driver without a name";
    if (fd_) device_ = detail::identity_of_node(fd_.get());
    processing_ = make_config(VAProfileNone, VAEntrypointVideoProc);
    const VAConfigID decoding = processing_ == VA_INVALID_ID ? any_decoder() : VA_INVALID_ID;
    const VAConfigID config = processing_ == VA_INVALID_ID ? decoding : processing_;
    if (config != VA_INVALID_ID) ask_formats(config);
    if (decoding != VA_INVALID_ID) vaDestroyConfig(display_, decoding);
  }
  VAConfigID make_config(VAProfile profile, VAEntrypoint entrypoint) const {
    VAConfigID config = VA_INVALID_ID;
    const VAStatus status = native::call("vaCreateConfig", vaCreateConfig, display_, profile, entrypoint,
                                         static_cast<VAConfigAttrib*>(nullptr), 0, &config);
    return status == VA_STATUS_SUCCESS ? config : VA_INVALID_ID;
  }
  VAConfigID any_decoder() const {
    std::vector<VAProfile> profiles(static_cast<std::size_t>(std::max(vaMaxNumProfiles(display_), 1)));
    int count = 0;
    if (vaQueryConfigProfiles(display_, profiles.data(), &count) != VA_STATUS_SUCCESS) return VA_INVALID_ID;
    for (int i = 0; i < count; ++i) {
      const VAConfigID config = make_config(profiles[static_cast<std::size_t>(i)], VAEntrypointVLD);
      if (config != VA_INVALID_ID) return config;
    }
    return VA_INVALID_ID;
  }
  void ask_formats(VAConfigID config) {
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

  VADisplay display_;
  UniqueFd fd_;  ///< Of a display that was opened here.
  std::shared_ptr<const void> keeper_;
  std::string vendor_;
  DeviceIdentity device_;
  std::vector<std::uint32_t> formats_;
  VAConfigID processing_ = VA_INVALID_ID;
};

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
