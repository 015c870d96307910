// SPDX-License-Identifier: Apache-2.0
// Pictures.
#include <algorithm>

#include <tenon/core/frame.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/metadata.hpp>

#include <tenon/bindings/c/internal/guard.hpp>
#include <tenon/bindings/c/internal/release.hpp>

namespace tenon::c {

FrameInfo frame_info_of(const tenon_frame_info_t* from, const char* name) {
  const tenon_frame_info_t info = read_struct(from, name);
  if (info.colour_space < 0 || info.colour_space > TENON_COLOUR_SPACE_SMPTE240M)
    refuse("colour_space " + std::to_string(info.colour_space) + " does not exist");
  if (info.colour_range < 0 || info.colour_range > TENON_COLOUR_RANGE_FULL)
    refuse("colour_range " + std::to_string(info.colour_range) + " does not exist");
  if (info.rotation < 0 || info.rotation > TENON_ROTATION_MIRRORED_270)
    refuse("rotation " + std::to_string(info.rotation) + " does not exist; it is a tenon_rotation_t, not degrees");
  FrameInfo result;
  result.format = PixelFormat{info.fourcc, info.modifier};
  result.width_px = info.width_px;
  result.height_px = info.height_px;
  result.colour_space = static_cast<ColourSpace>(info.colour_space);
  result.colour_range = static_cast<ColourRange>(info.colour_range);
  result.rotation = static_cast<Rotation>(info.rotation);
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
    value.rotation = static_cast<tenon_rotation_t>(from.rotation);
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
tenon_status_t tenon_frame_share(const tenon_frame_t* frame, tenon_frame_t** out) {
  return make(out, [&] { return tenon::Frame(checked(frame, "frame").value); });
}

tenon_status_t tenon_frame_add_detection(tenon_frame_t* frame, const tenon_detection_t* detection) {
  return run([&] {
    tenon::Frame& to = checked(frame, "frame").value;
    const tenon_detection_t given = read_struct(detection, "detection");
    tenon::metadata::Detection made{{given.x1, given.y1, given.x2, given.y2},
                                    given.label ? given.label : "",
                                    given.label_id,
                                    given.score,
                                    given.track_id};
    tenon::metadata::of(to).add(std::move(made));
  });
}
size_t tenon_frame_detection_count(const tenon_frame_t* frame) {
  return ask(frame, size_t{0}, [](const tenon_frame& held) {
    const auto known = tenon::metadata::find(held.value);
    return known ? known->all<tenon::metadata::Detection>().size() : 0;
  });
}
tenon_status_t tenon_frame_get_detection(const tenon_frame_t* frame, size_t index, tenon_detection_t* detection) {
  return run([&] {
    const auto known = tenon::metadata::find(checked(frame, "frame").value);
    required(detection, "detection");
    const auto objects = known ? known->all<tenon::metadata::Detection>()
                               : std::vector<tenon::metadata::Entry<tenon::metadata::Detection>>();
    if (index >= objects.size()) refuse_past_end("detection", index, objects.size());
    const tenon::metadata::Detection& from = *objects[index].value;  // The collection keeps it.
    tenon_detection_t value{};
    value.x1 = from.box.x1, value.y1 = from.box.y1, value.x2 = from.box.x2, value.y2 = from.box.y2;
    value.label = from.label.c_str();
    value.label_id = from.label_id;
    value.score = from.score;
    value.track_id = from.track_id;
    write_struct(detection, value, "detection");
  });
}
size_t tenon_frame_tensor_output_count(const tenon_frame_t* frame) {
  return ask(frame, size_t{0}, [](const tenon_frame& held) {
    const auto known = tenon::metadata::find(held.value);
    return known ? known->all<tenon::metadata::TensorOutput>().size() : 0;
  });
}
tenon_status_t tenon_frame_get_tensor_output(const tenon_frame_t* frame, size_t index, tenon_tensor_output_t* about,
                                             tenon_tensor_t** out) {
  return make(out, [&] {
    const auto known = tenon::metadata::find(checked(frame, "frame").value);
    required(about, "about");
    const auto tensors = known ? known->all<tenon::metadata::TensorOutput>()
                               : std::vector<tenon::metadata::Entry<tenon::metadata::TensorOutput>>();
    if (index >= tensors.size()) refuse_past_end("tensor", index, tensors.size());
    const auto& from = tensors[index];  // The collection keeps its value.
    const auto objects = known->all<tenon::metadata::Detection>();
    const auto object =
        std::find_if(objects.begin(), objects.end(), [&](const auto& one) { return one.id == from.parent; });
    tenon_tensor_output_t value{};
    value.name = from->name.c_str();
    value.model = from->model.c_str();
    value.format = from->format.c_str();
    value.detection = object == objects.end() ? -1 : object - objects.begin();
    write_struct(about, value, "about");
    return from->tensor;
  });
}
tenon_status_t tenon_frame_metadata_json(const tenon_frame_t* frame, char** out) {
  return give_text(out, [&] { return tenon::metadata::json_line(checked(frame, "frame").value); });
}
void tenon_frame_free(tenon_frame_t* frame) { free_handle(frame); }
