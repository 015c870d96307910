// SPDX-License-Identifier: Apache-2.0
// A V4L2 device: what it is, the formats, sizes and rates that it gives, its controls by name, and agreeing on a format.
#pragma once

#include <linux/videodev2.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/frameworks/v4l2/native.hpp>
#include <tenon/frameworks/v4l2/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2 {

/// Sizes that a device gives in one format: one (the steps are 0), or all from `min` to `max` in steps.
struct SizeRange {
  std::uint32_t min_width_px = 0, max_width_px = 0, step_width_px = 0;
  std::uint32_t min_height_px = 0, max_height_px = 0, step_height_px = 0;
};

/// A format that a device gives.
struct OfferedFormat {
  std::uint32_t fourcc = 0;
  std::string description;  ///< The driver's.
  bool compressed = false;
  const FormatMapping* mapping = nullptr;  ///< Null: Tenon cannot describe it.
  std::vector<SizeRange> sizes;            ///< Empty where the driver does not say.
};

/// A control of a device ("brightness", "exposure_time_absolute").
struct Control {
  std::uint32_t id = 0;
  std::uint32_t type = 0;  ///< V4L2_CTRL_TYPE_*
  std::string name;        ///< In lower case with underscores, as v4l2-ctl has it.
  std::int64_t minimum = 0, maximum = 0, default_value = 0;
  std::uint64_t step = 0;
  bool read_only = false, write_only = false;
  std::vector<std::pair<std::int64_t, std::string>> menu;
};

/// What to agree on with a device. 0: as the device has it.
struct WantedFormat {
  PixelFormat format{0};
  std::uint32_t width_px = 0, height_px = 0;
  double fps = 0;
  std::size_t pitch_alignment = 1;  ///< Asked for; the answer is in the layout.
  ColourSpace colour_space = ColourSpace::kUnknown;
  ColourRange colour_range = ColourRange::kUnknown;
};

/// An open device node. @thread one at a time; the kernel's own calls (queueing a buffer) from any.
class Device {
 public:
  /// Opens a node such as "/dev/video0". @errors kNotFound; kPermissionDenied; kInvalidArgument: no V4L2 device;
  /// kUnavailable: unplugged, or its driver allows one user and has one. @cost open and one ioctl.
  explicit Device(const std::string& path);

  const std::string& path() const { return path_; }
  /// "/dev/video0 (Integrated Camera)": for messages.
  const std::string& what() const { return what_; }
  const std::string& driver() const { return driver_; }
  const std::string& card() const { return card_; }
  const std::string& bus() const { return bus_; }
  const SharedFd& fd() const { return fd_; }
  /// Whether it gives pictures into buffers.
  bool captures() const;
  /// Whether it turns pictures into others: a scaler, a converter, a codec.
  bool converts() const;
  /// Whether its pictures may lie in several buffers each.
  bool multiplanar() const { return flags_ & (V4L2_CAP_VIDEO_CAPTURE_MPLANE | V4L2_CAP_VIDEO_M2M_MPLANE); }
  /// The type of the buffers that it fills, and of those that it reads.
  std::uint32_t capture_type() const;
  std::uint32_t output_type() const;

  /// The formats of buffers of `type`, in the driver's order, with their sizes. @errors those of the calls
  std::vector<OfferedFormat> formats(std::uint32_t type) const;

  /// The rates, in frames per second, of a format and size; empty where the driver does not say. A range gives its ends.
  std::vector<double> rates(std::uint32_t fourcc, std::uint32_t width_px, std::uint32_t height_px) const;

  /// The format that buffers of `type` have now. @errors those of the call
  v4l2_format format(std::uint32_t type) const;

  /// Sets format and size, and says where the driver then puts what. Among the formats that Tenon can describe it takes the
  /// one wanted; else the present one; else the first in the order NV12, I420, ..., RGB that the device has.
  /// @errors kUnimplemented: it gives no such picture, naming the nearest and what it gives, or only compressed ones;
  /// kUnavailable: busy or unplugged; as make_layout().
  BufferLayout negotiate(std::uint32_t type, const WantedFormat& wanted) const;

  /// Sets the frame rate, if `fps` is not 0. @return the rate that it then has; 0 where the device does not say.
  /// @errors kUnimplemented: it has no such rate, naming those of `layout`.
  double negotiate_rate(std::uint32_t type, const BufferLayout& layout, double fps) const;

  /// @name Controls
  /// All controls. @errors those of the calls
  std::vector<Control> controls() const;
  /// By name, as v4l2-ctl has it or as the driver does ("brightness", "Brightness"). @errors kNotFound naming them all
  Control control(const std::string& name) const;
  /// @errors kNotFound; kFailedPrecondition: write-only, or no number; those of the call
  std::int64_t get(const std::string& name) const;
  /// Sets a number, a switch (0, 1), an entry of a menu by its index, or presses a button. @errors kNotFound;
  /// kOutOfRange with the range; kPermissionDenied: read-only; kUnavailable: not while streaming, or no such device
  void set(const std::string& name, std::int64_t to) const;
  /// Sets a menu by the text of its entry. @errors kInvalidArgument: no such entry, naming them; as above
  void set(const std::string& name, const std::string& entry) const;

  /// Selects an input ("HDMI") by its index. @errors kInvalidArgument naming the inputs; kUnavailable: while streaming
  void select_input(std::uint32_t index) const;

 private:
  static constexpr std::uint32_t kMostEntries = 512;

  static std::string rate_name(double fps);
  static std::string describe(const FrameInfo& info);
  static std::string entries(const Control& control);
  static bool is_number(const Control& control);
  std::vector<SizeRange> sizes(std::uint32_t fourcc) const;

  /// The device's format for `wanted`; null if it has none.
  static const FormatMapping* choose(PixelFormat wanted, std::uint32_t present,
                                     const std::vector<OfferedFormat>& offered);

  static std::size_t wanted_pitch(const FrameInfo& info, std::size_t alignment);

  /// The error for a picture that the device does not give: the nearest that it gives, and all.
  Error no_such(const FrameInfo& wanted, const std::vector<OfferedFormat>& offered,
                const v4l2_format* answer = nullptr) const;

  Control described(const v4l2_query_ext_ctrl& query) const;
  void exchange(unsigned long request, const Control& control, v4l2_ext_control& value) const;

  std::string path_, what_;
  std::string driver_, card_, bus_;
  std::uint32_t flags_ = 0;
  SharedFd fd_;
};

/// The video nodes of this machine, by number. @cost reads /dev
std::vector<std::string> device_paths();

/// Whether `path` is a camera or capture card that gives pictures which Tenon can describe. Others give compressed ones,
/// which FFmpeg decodes, or are of another kind, or no device. @errors as Device, of a device that cannot be asked.
bool gives_pictures(const std::string& path);

}  // namespace v4l2
}  // namespace v1
}  // namespace tenon
