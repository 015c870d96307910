// SPDX-License-Identifier: Apache-2.0
// A VADisplay: opened on a DRM node, or wrapped; and what its driver can do.
#pragma once

#include <va/va.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/device_identity.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/ref_counted.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

/// A display with all that is asked of its driver once. Live objects of a display keep it.
/// @thread any, as far as the driver allows; those in use today do.
class Display final : public RefCounted {
 public:
  /// Opens the driver of a DRM node ("/dev/dri/renderD128"); no window system is needed. Ends with the last reference.
  /// @errors kNotFound: no such node; kPermissionDenied; kUnavailable: no driver for it (vainfo says more).
  static Ref<Display> open(const std::string& node);

  /// Wraps an application's initialised display, which must live until the last object over it goes: `keeper` may see
  /// to that. It is never terminated here. @errors kInvalidArgument: null, or no display.
  static Ref<Display> wrap(VADisplay display, std::shared_ptr<const void> keeper = nullptr);

  ~Display() override;

  VADisplay handle() const { return display_; }
  /// As the driver names itself.
  const std::string& vendor() const { return vendor_; }
  const DeviceIdentity& device() const { return device_; }
  /// Whether the driver has surfaces of VA_FOURCC `format`. A driver that lists none is taken to have all.
  bool has_format(std::uint32_t format) const;
  /// VAConfigID of video processing; VA_INVALID_ID if the driver has none.
  VAConfigID processing() const { return processing_; }

 private:
  Display(VADisplay display, UniqueFd fd, std::shared_ptr<const void> keeper);
  void ask();
  VAConfigID make_config(VAProfile profile, VAEntrypoint entrypoint) const;
  VAConfigID any_decoder() const;
  void ask_formats(VAConfigID config);

  VADisplay display_;
  UniqueFd fd_;  ///< The descriptor of a display that was opened here.
  std::shared_ptr<const void> keeper_;
  std::string vendor_;
  DeviceIdentity device_;
  std::vector<std::uint32_t> formats_;
  VAConfigID processing_ = VA_INVALID_ID;
};

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
