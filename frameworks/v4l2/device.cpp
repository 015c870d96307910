// SPDX-License-Identifier: Apache-2.0
// V4L2 devices: what they give, their formats and controls; calls of the kernel.
#include <tenon/frameworks/v4l2/device.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <system_error>

namespace tenon {
inline namespace v1 {
namespace v4l2 {
namespace detail {

/// "White Balance, Automatic" -> "white_balance_automatic".
TENON_INLINE std::string control_name(const char* said, std::size_t most) {
  std::string name;
  for (std::size_t i = 0; i < most && said[i]; ++i) {
    const auto letter = static_cast<unsigned char>(said[i]);
    if (std::isalnum(letter))
      name += static_cast<char>(std::tolower(letter));
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  while (name.ends_with('_')) name.pop_back();
  return name;
}

template <std::size_t N>
std::string text_of(const unsigned char (&said)[N]) {
  return std::string(reinterpret_cast<const char*>(said), ::strnlen(reinterpret_cast<const char*>(said), N));
}

TENON_INLINE std::uint32_t nearest_in(std::uint32_t value, std::uint32_t low, std::uint32_t high, std::uint32_t step) {
  const std::uint32_t within = std::clamp(value, low, std::max(low, high));
  return step > 1 ? low + (within - low) / step * step : within;
}

}  // namespace detail

TENON_INLINE Device::Device(const std::string& path) : path_(path), what_(path) {
  struct stat status {};
  if (native::driver.load() == &native::kKernel) {
    if (::stat(path.c_str(), &status) != 0) native::fail("\"" + path + "\"", "stat", errno);
    if (!S_ISCHR(status.st_mode))
      throw Error(Code::kInvalidArgument, "v4l2: \"" + path + "\" is no device; give a node such as /dev/video0");
  }
  fd_ = SharedFd(UniqueFd(native::open(path.c_str())));
  if (!fd_) native::fail("\"" + path + "\"", "open", errno);
  v4l2_capability can{};
  if (const int error = native::ioctl(fd_.get(), VIDIOC_QUERYCAP, &can)) {
    if (error != ENOTTY && error != EINVAL) native::fail("\"" + path + "\"", native::name(VIDIOC_QUERYCAP), error);
    native::fail(Code::kInvalidArgument, "\"" + path + "\" is no V4L2 device; give a node such as /dev/video0",
                 native::name(VIDIOC_QUERYCAP), error);
  }
  driver_ = detail::text_of(can.driver);
  card_ = detail::text_of(can.card);
  bus_ = detail::text_of(can.bus_info);
  flags_ = can.capabilities & V4L2_CAP_DEVICE_CAPS ? can.device_caps : can.capabilities;
  what_ = path + " (" + card_ + ")";
}

TENON_INLINE bool Device::captures() const {
  return (flags_ & (V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_VIDEO_CAPTURE_MPLANE)) && (flags_ & V4L2_CAP_STREAMING);
}

TENON_INLINE bool Device::converts() const {
  return (flags_ & (V4L2_CAP_VIDEO_M2M | V4L2_CAP_VIDEO_M2M_MPLANE)) && (flags_ & V4L2_CAP_STREAMING);
}

TENON_INLINE std::uint32_t Device::capture_type() const {
  return multiplanar() ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE;
}

TENON_INLINE std::uint32_t Device::output_type() const {
  return multiplanar() ? V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE : V4L2_BUF_TYPE_VIDEO_OUTPUT;
}

TENON_INLINE std::vector<OfferedFormat> Device::formats(std::uint32_t type) const {
  std::vector<OfferedFormat> found;
  // A driver that never says EINVAL must not hold us up for ever.
  for (std::uint32_t i = 0; i < kMostEntries; ++i) {
    v4l2_fmtdesc entry{};
    entry.index = i;
    entry.type = type;
    if (const int error = native::ioctl(fd_.get(), VIDIOC_ENUM_FMT, &entry)) {
      if (error == EINVAL || error == ENOTTY) break;
      native::fail(what_ + ": listing its formats", native::name(VIDIOC_ENUM_FMT), error);
    }
    found.push_back({entry.pixelformat, detail::text_of(entry.description),
                     (entry.flags & V4L2_FMT_FLAG_COMPRESSED) != 0, find_mapping(entry.pixelformat),
                     sizes(entry.pixelformat)});
  }
  return found;
}

TENON_INLINE std::vector<double> Device::rates(std::uint32_t fourcc, std::uint32_t width_px,
                                               std::uint32_t height_px) const {
  std::vector<double> found;
  const auto add = [&](const v4l2_fract& interval) {
    if (interval.numerator) found.push_back(static_cast<double>(interval.denominator) / interval.numerator);
  };
  for (std::uint32_t i = 0; i < kMostEntries; ++i) {
    v4l2_frmivalenum entry{};
    entry.index = i;
    entry.pixel_format = fourcc;
    entry.width = width_px;
    entry.height = height_px;
    if (native::ioctl(fd_.get(), VIDIOC_ENUM_FRAMEINTERVALS, &entry)) break;
    if (entry.type == V4L2_FRMIVAL_TYPE_DISCRETE) {
      add(entry.discrete);
      continue;
    }
    add(entry.stepwise.min);
    add(entry.stepwise.max);
    break;
  }
  return found;
}

TENON_INLINE v4l2_format Device::format(std::uint32_t type) const {
  v4l2_format now{};
  now.type = type;
  native::require(fd_.get(), VIDIOC_G_FMT, &now, what_ + ": its format");
  return now;
}

TENON_INLINE BufferLayout Device::negotiate(std::uint32_t type, const WantedFormat& wanted) const {
  const v4l2_format now = format(type);
  const detail::Said present = detail::said_by(now);
  const std::vector<OfferedFormat> offered = formats(type);
  FrameInfo info;
  info.format = wanted.format;
  info.width_px = wanted.width_px ? wanted.width_px : present.width;
  info.height_px = wanted.height_px ? wanted.height_px : present.height;
  info.colour_space = wanted.colour_space;
  info.colour_range = wanted.colour_range;
  const FormatMapping* mapping = choose(wanted.format, present.fourcc, offered);
  if (!mapping) throw no_such(info, offered);
  info.format = mapping->format;
  v4l2_format asked = make_format(type, info, *mapping, wanted_pitch(info, wanted.pitch_alignment));
  native::require(fd_.get(), VIDIOC_S_FMT, &asked, what_ + ": setting " + to_string(asked));
  const detail::Said got = detail::said_by(asked);
  if (got.fourcc != mapping->v4l2 || got.width != info.width_px || got.height != info.height_px) {
    v4l2_format before = now;
    static_cast<void>(native::ioctl(fd_.get(), VIDIOC_S_FMT, &before));  // As if it had not been asked.
    throw no_such(info, offered, &asked);
  }
  return make_layout(asked, what_);
}

TENON_INLINE double Device::negotiate_rate(std::uint32_t type, const BufferLayout& layout, double fps) const {
  v4l2_streamparm parameters{};
  parameters.type = type;
  const int error = native::ioctl(fd_.get(), VIDIOC_G_PARM, &parameters);
  const auto& rate = parameters.parm.capture.timeperframe;
  const auto now = [&] { return rate.numerator ? static_cast<double>(rate.denominator) / rate.numerator : 0; };
  if (error && error != ENOTTY && error != EINVAL)
    native::fail(what_ + ": its rate", native::name(VIDIOC_G_PARM), error);
  if (fps == 0) return error ? 0 : now();
  if (!error && (parameters.parm.capture.capability & V4L2_CAP_TIMEPERFRAME)) {
    parameters.parm.capture.timeperframe = {1000, static_cast<std::uint32_t>(std::lround(fps * 1000))};
    native::require(fd_.get(), VIDIOC_S_PARM, &parameters, what_ + ": setting its rate");
    if (std::abs(now() - fps) <= fps * 0.01) return now();
  }
  std::string all;
  for (const double each : rates(layout.fourcc, layout.info.width_px, layout.info.height_px))
    all += " " + rate_name(each);
  throw Error(Code::kUnimplemented, "v4l2: " + what_ + ": it does not give " + rate_name(fps) +
                                        " pictures per second of " + describe(layout.info) +
                                        "; nearest: " + (error ? "its own rate" : rate_name(now())) +
                                        (all.empty() ? "" : "; it gives:" + all));
}

TENON_INLINE std::vector<Control> Device::controls() const {
  std::vector<Control> found;
  v4l2_query_ext_ctrl query{};
  for (std::uint32_t i = 0; i < kMostEntries; ++i) {
    query.id |= V4L2_CTRL_FLAG_NEXT_CTRL;
    if (const int error = native::ioctl(fd_.get(), VIDIOC_QUERY_EXT_CTRL, &query)) {
      if (error == EINVAL || error == ENOTTY) break;
      native::fail(what_ + ": listing its controls", native::name(VIDIOC_QUERY_EXT_CTRL), error);
    }
    if (query.type == V4L2_CTRL_TYPE_CTRL_CLASS || (query.flags & V4L2_CTRL_FLAG_DISABLED)) continue;
    found.push_back(described(query));
  }
  return found;
}

TENON_INLINE Control Device::control(const std::string& name) const {
  const std::string wanted = detail::control_name(name.c_str(), name.size());
  std::string all;
  for (Control& each : controls()) {
    if (each.name == wanted) return std::move(each);
    all += (all.empty() ? " " : ", ") + each.name;
  }
  throw Error(Code::kNotFound, "v4l2: " + what_ + " has no control \"" + name +
                                   "\"; it has:" + (all.empty() ? std::string(" none") : all));
}

TENON_INLINE std::int64_t Device::get(const std::string& name) const {
  const Control wanted = control(name);
  if (wanted.write_only || !is_number(wanted))
    throw Error(Code::kFailedPrecondition,
                "v4l2: " + what_ + ": control " + wanted.name + " cannot be read as a number");
  v4l2_ext_control value{};
  exchange(VIDIOC_G_EXT_CTRLS, wanted, value);
  return wanted.type == V4L2_CTRL_TYPE_INTEGER64 ? value.value64 : value.value;
}

TENON_INLINE void Device::set(const std::string& name, std::int64_t to) const {
  const Control wanted = control(name);
  if (wanted.read_only)
    throw Error(Code::kPermissionDenied, "v4l2: " + what_ + ": control " + wanted.name + " is read-only");
  if (!is_number(wanted))
    throw Error(Code::kFailedPrecondition, "v4l2: " + what_ + ": control " + wanted.name + " takes no number");
  if (wanted.type != V4L2_CTRL_TYPE_BUTTON && (to < wanted.minimum || to > wanted.maximum)) {
    throw Error(Code::kOutOfRange, "v4l2: " + what_ + ": control " + wanted.name + " takes " +
                                       std::to_string(wanted.minimum) + ".." + std::to_string(wanted.maximum) +
                                       ", not " + std::to_string(to) + entries(wanted));
  }
  v4l2_ext_control value{};
  if (wanted.type == V4L2_CTRL_TYPE_INTEGER64)
    value.value64 = to;
  else
    value.value = static_cast<std::int32_t>(to);
  exchange(VIDIOC_S_EXT_CTRLS, wanted, value);
}

TENON_INLINE void Device::set(const std::string& name, const std::string& entry) const {
  const Control wanted = control(name);
  for (const auto& [index, text] : wanted.menu)
    if (text == entry) return set(name, index);
  throw Error(Code::kInvalidArgument,
              "v4l2: " + what_ + ": control " + wanted.name + " has no entry \"" + entry + "\"" + entries(wanted));
}

TENON_INLINE void Device::select_input(std::uint32_t index) const {
  int wanted = static_cast<int>(index);
  const int error = native::ioctl(fd_.get(), VIDIOC_S_INPUT, &wanted);
  if (!error) return;
  if (error != EINVAL) native::fail(what_ + ": input " + std::to_string(index), native::name(VIDIOC_S_INPUT), error);
  std::string all;
  for (std::uint32_t i = 0; i < kMostEntries; ++i) {
    v4l2_input input{};
    input.index = i;
    if (native::ioctl(fd_.get(), VIDIOC_ENUMINPUT, &input)) break;
    all += " " + std::to_string(i) + " (" + detail::text_of(input.name) + ")";
  }
  throw Error(Code::kInvalidArgument, "v4l2: " + what_ + " has no input " + std::to_string(index) + "; it has:" + all,
              native::name(VIDIOC_S_INPUT), error);
}

TENON_INLINE std::string Device::rate_name(double fps) {
  const double rounded = std::round(fps * 100) / 100;
  std::string text = std::to_string(rounded);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

TENON_INLINE std::string Device::describe(const FrameInfo& info) {
  return std::string(info.format.fourcc ? format_info(info.format).name : "any format") + " " +
         std::to_string(info.width_px) + "x" + std::to_string(info.height_px);
}

TENON_INLINE std::string Device::entries(const Control& control) {
  std::string all;
  for (const auto& [index, text] : control.menu)
    all += (all.empty() ? "; it has: " : ", ") + std::to_string(index) + " " + text;
  return all;
}

TENON_INLINE bool Device::is_number(const Control& control) {
  switch (control.type) {
    case V4L2_CTRL_TYPE_INTEGER:
    case V4L2_CTRL_TYPE_BOOLEAN:
    case V4L2_CTRL_TYPE_MENU:
    case V4L2_CTRL_TYPE_BUTTON:
    case V4L2_CTRL_TYPE_INTEGER64:
    case V4L2_CTRL_TYPE_BITMASK:
    case V4L2_CTRL_TYPE_INTEGER_MENU:
      return true;
    default:
      return false;
  }
}

TENON_INLINE std::vector<SizeRange> Device::sizes(std::uint32_t fourcc) const {
  std::vector<SizeRange> found;
  for (std::uint32_t i = 0; i < kMostEntries; ++i) {
    v4l2_frmsizeenum entry{};
    entry.index = i;
    entry.pixel_format = fourcc;
    if (native::ioctl(fd_.get(), VIDIOC_ENUM_FRAMESIZES, &entry)) break;
    if (entry.type == V4L2_FRMSIZE_TYPE_DISCRETE) {
      const auto [width, height] = std::pair{entry.discrete.width, entry.discrete.height};
      found.push_back({width, width, 0, height, height, 0});
      continue;
    }
    const v4l2_frmsize_stepwise& range = entry.stepwise;
    found.push_back(
        {range.min_width, range.max_width, range.step_width, range.min_height, range.max_height, range.step_height});
    break;
  }
  return found;
}

TENON_INLINE const FormatMapping* Device::choose(PixelFormat wanted, std::uint32_t present,
                                                 const std::vector<OfferedFormat>& offered) {
  const auto has = [&](const FormatMapping& mapping) {
    return std::any_of(offered.begin(), offered.end(), [&](const auto& each) { return each.mapping == &mapping; });
  };
  if (wanted.modifier != kModifierLinear) return nullptr;
  const FormatMapping* const now = find_mapping(present);
  if (now && has(*now) && (wanted.fourcc == 0 || now->format == wanted)) return now;
  for (const FormatMapping& mapping : detail::kMappings)
    if ((wanted.fourcc == 0 || mapping.format == wanted) && has(mapping)) return &mapping;
  return nullptr;
}

TENON_INLINE std::size_t Device::wanted_pitch(const FrameInfo& info, std::size_t alignment) {
  if (alignment <= 1) return 0;
  const std::size_t row = plane_extent(info, 0).row_bytes;
  return (row + alignment - 1) / alignment * alignment;
}

TENON_INLINE Error Device::no_such(const FrameInfo& wanted, const std::vector<OfferedFormat>& offered,
                                   const v4l2_format* answer) const {
  std::string nearest, all, others;
  std::uint64_t least = UINT64_MAX;
  for (const OfferedFormat& format : offered) {
    if (!format.mapping) {
      others += " " + fourcc_name(format.fourcc);
      continue;
    }
    const std::string name(format_info(format.mapping->format).name);
    all += " " + name;
    const char* separator = " ";
    for (const SizeRange& size : format.sizes) {
      all += separator + std::to_string(size.min_width_px) + "x" + std::to_string(size.min_height_px);
      separator = "/";
      if (size.step_width_px)
        all += ".." + std::to_string(size.max_width_px) + "x" + std::to_string(size.max_height_px);
      const std::uint32_t w =
          detail::nearest_in(wanted.width_px, size.min_width_px, size.max_width_px, size.step_width_px);
      const std::uint32_t h =
          detail::nearest_in(wanted.height_px, size.min_height_px, size.max_height_px, size.step_height_px);
      const auto apart = [](std::uint32_t a, std::uint32_t b) { return std::uint64_t{a > b ? a - b : b - a}; };
      // If two are as near in size, the wanted format goes first.
      const std::uint64_t distance = 2 * (apart(w, wanted.width_px) + apart(h, wanted.height_px)) +
                                     (wanted.format.fourcc && !(format.mapping->format == wanted.format));
      if (distance >= least) continue;
      least = distance;
      nearest = name + " " + std::to_string(w) + "x" + std::to_string(h);
    }
    all += ",";
  }
  if (all.ends_with(',')) all.pop_back();
  if (nearest.empty() && answer) nearest = to_string(*answer);
  if (all.empty()) {
    return Error(Code::kUnimplemented, "v4l2: " + what_ + ": it gives no pictures that Tenon can describe, only" +
                                           (others.empty() ? std::string(" unnamed ones") : others) +
                                           "; compressed ones are decoded by ffmpeg::open(\"" + path_ + "\")");
  }
  return Error(Code::kUnimplemented, "v4l2: " + what_ + ": it does not give " + describe(wanted) +
                                         (nearest.empty() ? "" : "; nearest: " + nearest) + "; it gives:" + all +
                                         (others.empty() ? "" : "; and, not readable in place:" + others));
}

TENON_INLINE Control Device::described(const v4l2_query_ext_ctrl& query) const {
  Control control;
  control.id = query.id;
  control.type = query.type;
  control.name = detail::control_name(query.name, sizeof query.name);
  control.minimum = query.minimum;
  control.maximum = query.maximum;
  control.default_value = query.default_value;
  control.step = query.step;
  control.read_only = (query.flags & V4L2_CTRL_FLAG_READ_ONLY) != 0;
  control.write_only = (query.flags & V4L2_CTRL_FLAG_WRITE_ONLY) != 0;
  if (query.type != V4L2_CTRL_TYPE_MENU && query.type != V4L2_CTRL_TYPE_INTEGER_MENU) return control;
  for (std::int64_t i = query.minimum; i <= query.maximum && i - query.minimum < std::int64_t{kMostEntries}; ++i) {
    v4l2_querymenu entry{};
    entry.id = query.id;
    entry.index = static_cast<std::uint32_t>(i);
    if (native::ioctl(fd_.get(), VIDIOC_QUERYMENU, &entry)) continue;  // Menus have gaps.
    control.menu.emplace_back(
        i, query.type == V4L2_CTRL_TYPE_MENU ? detail::text_of(entry.name) : std::to_string(entry.value));
  }
  return control;
}

TENON_INLINE void Device::exchange(unsigned long request, const Control& control, v4l2_ext_control& value) const {
  value.id = control.id;
  v4l2_ext_controls all{};
  all.which = V4L2_CTRL_WHICH_CUR_VAL;
  all.count = 1;
  all.controls = &value;
  native::require(fd_.get(), request, &all, what_ + ": control " + control.name);
}

TENON_INLINE std::vector<std::string> device_paths() {
  std::vector<std::pair<int, std::string>> found;
  if (DIR* folder = ::opendir("/dev")) {
    while (const dirent* entry = ::readdir(folder)) {
      const std::string name = entry->d_name;
      if (name.rfind("video", 0) == 0 && name.size() > 5 &&
          std::all_of(name.begin() + 5, name.end(), [](unsigned char c) { return std::isdigit(c) != 0; }))
        found.emplace_back(std::atoi(name.c_str() + 5), "/dev/" + name);
    }
    ::closedir(folder);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (auto& [number, path] : found) paths.push_back(std::move(path));
  return paths;
}

TENON_INLINE bool gives_pictures(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISCHR(status.st_mode)) return false;
  try {
    const Device device(path);
    const auto formats = device.formats(device.capture_type());
    return device.captures() &&
           std::any_of(formats.begin(), formats.end(), [](const auto& each) { return each.mapping; });
  } catch (const Error& error) {
    if (error.code() == Code::kInvalidArgument) return false;  // A device of another kind.
    throw;
  }
}

}  // namespace v4l2

namespace v4l2::native {

TENON_INLINE bool faulted(const char* call) {
  const Fault ask = fault.load(std::memory_order_relaxed);
  if (!ask) return false;
  const int error = ask(call);
  if (error == 0) return false;
  errno = error;
  return true;
}

TENON_INLINE const char* name(unsigned long request) {
  switch (request) {
    case VIDIOC_QUERYCAP:
      return "ioctl(VIDIOC_QUERYCAP)";
    case VIDIOC_ENUM_FMT:
      return "ioctl(VIDIOC_ENUM_FMT)";
    case VIDIOC_ENUM_FRAMESIZES:
      return "ioctl(VIDIOC_ENUM_FRAMESIZES)";
    case VIDIOC_ENUM_FRAMEINTERVALS:
      return "ioctl(VIDIOC_ENUM_FRAMEINTERVALS)";
    case VIDIOC_G_FMT:
      return "ioctl(VIDIOC_G_FMT)";
    case VIDIOC_S_FMT:
      return "ioctl(VIDIOC_S_FMT)";
    case VIDIOC_TRY_FMT:
      return "ioctl(VIDIOC_TRY_FMT)";
    case VIDIOC_G_PARM:
      return "ioctl(VIDIOC_G_PARM)";
    case VIDIOC_S_PARM:
      return "ioctl(VIDIOC_S_PARM)";
    case VIDIOC_REQBUFS:
      return "ioctl(VIDIOC_REQBUFS)";
    case VIDIOC_CREATE_BUFS:
      return "ioctl(VIDIOC_CREATE_BUFS)";
    case VIDIOC_QUERYBUF:
      return "ioctl(VIDIOC_QUERYBUF)";
    case VIDIOC_EXPBUF:
      return "ioctl(VIDIOC_EXPBUF)";
    case VIDIOC_QBUF:
      return "ioctl(VIDIOC_QBUF)";
    case VIDIOC_DQBUF:
      return "ioctl(VIDIOC_DQBUF)";
    case VIDIOC_STREAMON:
      return "ioctl(VIDIOC_STREAMON)";
    case VIDIOC_STREAMOFF:
      return "ioctl(VIDIOC_STREAMOFF)";
    case VIDIOC_SUBSCRIBE_EVENT:
      return "ioctl(VIDIOC_SUBSCRIBE_EVENT)";
    case VIDIOC_DQEVENT:
      return "ioctl(VIDIOC_DQEVENT)";
    case VIDIOC_QUERY_EXT_CTRL:
      return "ioctl(VIDIOC_QUERY_EXT_CTRL)";
    case VIDIOC_QUERYMENU:
      return "ioctl(VIDIOC_QUERYMENU)";
    case VIDIOC_G_EXT_CTRLS:
      return "ioctl(VIDIOC_G_EXT_CTRLS)";
    case VIDIOC_S_EXT_CTRLS:
      return "ioctl(VIDIOC_S_EXT_CTRLS)";
    case VIDIOC_ENUMINPUT:
      return "ioctl(VIDIOC_ENUMINPUT)";
    case VIDIOC_G_INPUT:
      return "ioctl(VIDIOC_G_INPUT)";
    case VIDIOC_S_INPUT:
      return "ioctl(VIDIOC_S_INPUT)";
    case VIDIOC_QUERY_DV_TIMINGS:
      return "ioctl(VIDIOC_QUERY_DV_TIMINGS)";
    case VIDIOC_S_DV_TIMINGS:
      return "ioctl(VIDIOC_S_DV_TIMINGS)";
    default:
      return "ioctl";
  }
}

TENON_INLINE int open(const char* path) { return faulted("open") ? -1 : driver.load()->open(path); }

TENON_INLINE void* mmap(int fd, std::size_t size_bytes, std::uint64_t offset) {
  return faulted("mmap") ? MAP_FAILED : driver.load()->mmap(fd, size_bytes, offset);
}

TENON_INLINE int poll(struct pollfd* entries, nfds_t count, int timeout_ms) {
  return faulted("poll") ? -1 : driver.load()->poll(entries, count, timeout_ms);
}

TENON_INLINE Code code_of(int error) {
  switch (error) {
    case ENODEV:
    case ENXIO:
    case EBUSY:
    case ENOLINK:
    case ENOLCK:
    case EIO:
      return Code::kUnavailable;
    case ENOENT:
      return Code::kNotFound;
    case EACCES:
    case EPERM:
      return Code::kPermissionDenied;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return Code::kResourceExhausted;
    case EINVAL:
    case ERANGE:
    case EDOM:
      return Code::kInvalidArgument;
    case ENOTTY:
      return Code::kUnimplemented;
    default:
      return Code::kInternal;
  }
}

TENON_INLINE const char* remedy_of(int error) {
  switch (error) {
    case ENODEV:
    case ENXIO:
      return "; it was unplugged, or its driver was unloaded";
    case EBUSY:
      return "; another program or another object of this one uses it: close that first";
    case EACCES:
    case EPERM:
      return "; its permissions do not allow that (cameras mostly belong to the group video)";
    case EIO:
      return "; the driver or the hardware failed";
    case ENOLINK:
    case ENOLCK:
      return "; there is no signal at its input";
    default:
      return "";
  }
}

[[noreturn]] TENON_INLINE void fail(Code code, const std::string& what, const char* call, int error) {
  throw Error(code, "v4l2: " + what + ": " + std::generic_category().message(error) + remedy_of(error), call, error);
}

[[noreturn]] TENON_INLINE void fail(const std::string& what, const char* call, int error) {
  fail(code_of(error), what, call, error);
}

}  // namespace v4l2::native
}  // namespace v1
}  // namespace tenon
