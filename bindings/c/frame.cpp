// SPDX-License-Identifier: Apache-2.0
// Pictures.
#include <tenon/core/frame.hpp>
#include <tenon/core/host.hpp>

#include <tenon/bindings/c/internal/guard.hpp>
#include <tenon/bindings/c/internal/release.hpp>

namespace tenon::c {

FrameInfo frame_info_of(const tenon_frame_info_t* from, const char* name) {
  const tenon_frame_info_t info = read_struct(from, name);
  if (info.colour_space < 0 || info.colour_space > TENON_COLOUR_SPACE_BT2020)
    refuse("colour_space " + std::to_string(info.colour_space) + " does not exist");
  if (info.colour_range < 0 || info.colour_range > TENON_COLOUR_RANGE_FULL)
    refuse("colour_range " + std::to_string(info.colour_range) + " does not exist");
  FrameInfo result;
  result.format = PixelFormat{info.fourcc, info.modifier};
  result.width_px = info.width_px;
  result.height_px = info.height_px;
  result.colour_space = static_cast<ColourSpace>(info.colour_space);
  result.colour_range = static_cast<ColourRange>(info.colour_range);
  return result;
}

namespace {

/// A caller's plane as a tensor over the memory that `owner` keeps.
Tensor plane_of(const FrameInfo& info, std::size_t index, const tenon_plane_t& from,
                const std::shared_ptr<void>& owner) {
  const std::string what = "planes[" + std::to_string(index) + "]";
  TensorInfo plane;
  plane.type = find_format(info.format.fourcc)->sample;
  plane.shape = plane_shape(info, index);
  plane.strides = packed_strides(plane.type, plane.shape);
  const auto row_bytes = plane_extent(info, index).row_bytes;
  if (from.pitch_bytes < row_bytes || from.pitch_bytes > PTRDIFF_MAX) {
    refuse(what + ": pitch_bytes " + std::to_string(from.pitch_bytes) + " is below the row's " +
           std::to_string(row_bytes));
  }
  plane.strides[0] = static_cast<std::ptrdiff_t>(from.pitch_bytes);
  const auto extent = checked_extent_bytes(plane);
  if (!extent) refuse(what + " is too large");
  if (!from.data) refuse(what + ".data is NULL");
  return Tensor(std::move(plane), HostMemory::borrow(from.data, *extent, false, release_of(owner)));
}

}  // namespace
}  // namespace tenon::c

using namespace tenon::c;

tenon_status_t tenon_frame_create(const tenon_frame_info_t* info, tenon_frame_t** out) {
  return make(out, [&] { return tenon::Frame::allocate(frame_info_of(info, "info")); });
}

tenon_status_t tenon_frame_wrap(const tenon_frame_info_t* info, const tenon_plane_t* planes, size_t plane_count,
                                tenon_release_t release, void* user, tenon_frame_t** out) {
  // First, so that the callback runs once on every path.
  std::shared_ptr<void> owner;
  if (out) *out = nullptr;
  if (const auto status = run([&] { owner = owner_of(release, user); }); status != TENON_OK) return status;
  return make(out, [&] {
    required(info, "info");
    required_array(planes, plane_count, "planes");
    const tenon::FrameInfo frame_info = frame_info_of(info, "info");
    const tenon::PixelFormatInfo* format = tenon::find_format(frame_info.format.fourcc);
    if (!format) refuse("fourcc " + std::to_string(frame_info.format.fourcc) + " is not a known pixel format");
    if (plane_count != format->plane_count) {
      refuse(std::string(format->name) + " has " + std::to_string(format->plane_count) + " planes, got " +
             std::to_string(plane_count));
    }
    std::vector<tenon::Tensor> tensors;
    for (std::size_t i = 0; i < plane_count; ++i) tensors.push_back(plane_of(frame_info, i, planes[i], owner));
    return tenon::Frame(frame_info, std::move(tensors));
  });
}

tenon_status_t tenon_frame_get_info(const tenon_frame_t* frame, tenon_frame_info_t* info) {
  return run([&] {
    const tenon::FrameInfo& from = checked(frame, "frame").value.info();
    tenon_frame_info_t value{};
    value.fourcc = from.format.fourcc;
    value.modifier = from.format.modifier;
    value.width_px = from.width_px;
    value.height_px = from.height_px;
    value.colour_space = static_cast<tenon_colour_space_t>(from.colour_space);
    value.colour_range = static_cast<tenon_colour_range_t>(from.colour_range);
    write_struct(info, value, "info");
  });
}
size_t tenon_frame_plane_count(const tenon_frame_t* frame) {
  return ask(frame, size_t{0}, [](const tenon_frame& held) { return held.value.plane_count(); });
}
tenon_status_t tenon_frame_plane(const tenon_frame_t* frame, size_t index, tenon_tensor_t** out) {
  return make(out, [&] { return checked(frame, "frame").value.plane(index); });
}
int64_t tenon_frame_timestamp(const tenon_frame_t* frame) {
  return ask(frame, int64_t{TENON_NO_TIMESTAMP}, [](const tenon_frame& held) { return held.value.timestamp_ns(); });
}
tenon_status_t tenon_frame_set_timestamp(tenon_frame_t* frame, int64_t timestamp_ns) {
  return run([&] { checked(frame, "frame").value.set_timestamp_ns(timestamp_ns); });
}
void tenon_frame_free(tenon_frame_t* frame) { free_handle(frame); }
