// SPDX-License-Identifier: Apache-2.0
#include <tenon/bindings/python/native/memory/frames.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <tenon/bindings/python/native/memory/tensors.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/orientation.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/parameters.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon::python {
namespace {

/// Names that FFmpeg, GStreamer and OpenCV have for formats of ours.
constexpr std::pair<const char*, PixelFormat> kOtherNames[] = {
    {"rgb24", kRgb24},  {"bgr24", kBgr24},  {"gray", kGray8},   {"grey", kGray8},
    {"yuv420p", kI420}, {"yuv422p", kI422}, {"yuv444p", kI444}, {"yuyv422", kYuy2},
    {"uyvy422", kUyvy}, {"rgb0", kRgbx},    {"bgr0", kBgrx}};

/// Converts frames of one kind into another; made once for each kind and thread.
class Converter final : elements::Output {
 public:
  explicit Converter(const std::map<std::string, std::string>& parameters)
      : element_(elements::make_element("convert", parameters, {"frame.to()", &Ledger::process(), {0}})) {}
  Frame operator()(const Frame& frame) {
    elements::Transform& convert = *std::get<std::unique_ptr<elements::Transform>>(element_);
    if (!opened_ || !(*opened_ == frame.info())) {
      elements::StreamInfo in;
      in.frame = frame.info();
      convert.open(0, in);
      convert.allocate(0, {}, {});
      opened_ = frame.info();
    }
    result_ = Frame();
    convert.process({0, frame}, *this);
    return std::move(result_);
  }

 private:
  void emit(elements::Item item) override { result_ = std::move(item.frame); }

  elements::AnyElement element_;
  std::optional<FrameInfo> opened_;
  Frame result_;
};

Frame converted(const Frame& frame, const std::string& format, std::int64_t width, std::int64_t height,
                const std::string& quality, bool upright) {
  for (const std::int64_t pixels : {width, height}) {
    if (pixels < 0 || pixels > std::numeric_limits<std::uint32_t>::max())
      throw Error(Code::kInvalidArgument,
                  "width and height are numbers of pixels, 0 for the picture's own, not " + std::to_string(pixels));
  }
  if (quality != "fast" && quality != "exact")
    throw Error(Code::kInvalidArgument, "quality is \"fast\" or \"exact\", not \"" + quality + "\"");
  const std::string name = format.empty() ? std::string() : std::string(format_info(format_from(format)).name);
  const bool same_format = name.empty() || format_from(name) == frame.info().format;
  const bool is_turned = upright && frame.info().rotation != Rotation::kNone;
  if (same_format && !is_turned && (width == 0 || width == frame.info().width_px) &&
      (height == 0 || height == frame.info().height_px))
    return frame;
  const Released released;
  using Kind = std::tuple<std::string, std::int64_t, std::int64_t, std::string, bool>;
  thread_local std::map<Kind, std::unique_ptr<Converter>> converters;
  constexpr std::size_t kKept = 16;
  if (converters.size() > kKept) converters.clear();
  std::unique_ptr<Converter>& converter = converters[Kind(name, width, height, quality, is_turned)];
  if (!converter) {
    std::map<std::string, std::string> parameters{{"quality", quality}, {"upright", is_turned ? "true" : "false"}};
    if (!name.empty()) parameters["format"] = name;
    if (width) parameters["width"] = std::to_string(width);
    if (height) parameters["height"] = std::to_string(height);
    converter = std::make_unique<Converter>(parameters);
  }
  return (*converter)(frame);
}

nb::object picture_of(const Frame& frame) {
  if (frame.plane_count() == 1) return array_over(frame.plane(0));
  throw Error(Code::kInvalidArgument, "a picture of format " + to_string(frame.info().format) + " has " +
                                          std::to_string(frame.plane_count()) +
                                          " planes: take frame.planes, or frame.to(\"rgb\").numpy()");
}

nb::dict detection_of(const metadata::Entry<metadata::Detection>& entry) {
  nb::dict dict;
  dict["id"] = entry.id;
  dict["box"] = nb::make_tuple(entry->box.x1, entry->box.y1, entry->box.x2, entry->box.y2);
  dict["label"] = entry->label;
  dict["label_id"] = entry->label_id;
  dict["score"] = entry->score;
  dict["track_id"] = entry->track_id;
  return dict;
}

nb::dict class_of(const metadata::Entry<metadata::Classification>& entry) {
  nb::dict dict;
  dict["parent"] = entry.parent;
  dict["label"] = entry->label;
  dict["label_id"] = entry->label_id;
  dict["score"] = entry->score;
  dict["model"] = entry->model;
  return dict;
}

nb::dict tensor_of(const metadata::Entry<metadata::TensorOutput>& entry) {
  nb::dict dict;
  dict["parent"] = entry.parent;
  dict["name"] = entry->name;
  dict["model"] = entry->model;
  dict["format"] = entry->format;
  dict["tensor"] = object_of(entry->tensor);
  return dict;
}

nb::dict mask_of(const metadata::Entry<metadata::Segmentation>& entry) {
  nb::dict dict;
  dict["parent"] = entry.parent;
  dict["box"] = nb::make_tuple(entry->box.x1, entry->box.y1, entry->box.x2, entry->box.y2);
  dict["labels"] = entry->labels;
  dict["mask"] = object_of(entry->mask);
  return dict;
}

/// All that is known of one kind, each as a dictionary.
template <typename T, nb::dict (*kDictOf)(const metadata::Entry<T>&)>
nb::list list_of(const Frame& frame) {
  nb::list list;
  if (const auto found = metadata::find(frame)) {
    for (const auto& each : found->all<T>()) list.append(kDictOf(each));
  }
  return list;
}

std::uint32_t add_detection(Frame& frame, const std::array<float, 4>& box, const std::string& label, int label_id,
                            float score, std::int64_t track_id) {
  return metadata::of(frame).add(
      metadata::Detection{{box[0], box[1], box[2], box[3]}, label, label_id, score, track_id});
}

std::optional<double> seconds_of(const Frame& frame) {
  if (frame.timestamp_ns() == kNoTimestamp) return std::nullopt;
  return static_cast<double>(frame.timestamp_ns()) / 1e9;
}

/// @errors kInvalidArgument: no number, or more than 64 bits of nanoseconds hold
std::int64_t timestamp_from(double seconds) {
  if (!(std::abs(seconds) < 9.2e9))
    throw Error(Code::kInvalidArgument,
                "the time of a frame is a number of seconds below 9.2e9, not " + std::to_string(seconds));
  return std::llround(seconds * 1e9);
}

std::string described(const Frame& frame) {
  if (!frame) return "<Frame: empty>";
  const FrameInfo& info = frame.info();
  std::string text =
      "<Frame: " + std::to_string(info.width_px) + "x" + std::to_string(info.height_px) + " " + to_string(info.format);
  if (const auto time = seconds_of(frame)) text += " at " + std::to_string(*time) + " s";
  return text + ", " + std::string(frame.plane(0).context()->name()) + ">";
}

/// The area of the planes that shows an area of the picture as stored, or of the upright one. Boxes of objects may reach beyond the
/// picture, so negative numbers come here. @errors kOutOfRange
Area<std::uint32_t> stored(const FrameInfo& info, const Area<std::int64_t>& given, bool is_upright) {
  const std::int64_t width_px = is_upright ? info.upright_width_px() : info.width_px;
  const std::int64_t height_px = is_upright ? info.upright_height_px() : info.height_px;
  if (std::min({given.x, given.y, given.width, given.height}) < 0 || given.x > width_px ||
      given.width > width_px - given.x || given.y > height_px || given.height > height_px - given.y)
    throw Error(Code::kOutOfRange, "crop of " + std::to_string(given.width) + "x" + std::to_string(given.height) +
                                       " at " + std::to_string(given.x) + "," + std::to_string(given.y) +
                                       " px leaves the " + (is_upright ? "upright " : "") + "picture of " +
                                       std::to_string(width_px) + "x" + std::to_string(height_px) + " px");
  const Area<std::uint32_t> area{static_cast<std::uint32_t>(given.x), static_cast<std::uint32_t>(given.y),
                                 static_cast<std::uint32_t>(given.width), static_cast<std::uint32_t>(given.height)};
  return is_upright ? stored_area(area, info.rotation, info.width_px, info.height_px) : area;
}

/// The name of the source, or None.
nb::object source_of(const Frame& frame) {
  const auto known = metadata::find(frame);
  const auto source = known ? known->first<metadata::Source>() : nullptr;
  return source ? nb::cast(source->uri) : nb::none();
}

/// The memory of a picture of one plane as one of `format`; where that has several planes, they lie one behind the other.
Frame seen_as(PixelFormat format, const Frame& picture) {
  FrameInfo info = picture.info();
  info.format = format;
  const std::size_t planes = format_info(format).plane_count;
  if (planes == 1) return {info, {picture.plane(0)}};
  const Tensor& all = picture.plane(0);
  info.height_px = info.height_px * 2 / 3;  // Formats of 4:2:0 are those that others keep in one array.
  std::size_t bytes = 0;
  for (std::size_t plane = 0; plane < planes; ++plane) bytes += element_count(plane_shape(info, plane));
  if (all.shape().size() != 2 || !all.is_contiguous() || bytes != all.size_bytes())
    throw Error(Code::kInvalidArgument,
                "a picture of format " + to_string(format) + " has " + std::to_string(planes) +
                    " planes: it is made of an array of uint8 [height * 3 / 2, width] without padding, not of " +
                    to_string(all));
  std::vector<Tensor> parts;
  std::size_t offset = all.offset();
  for (std::size_t plane = 0; plane < planes; ++plane) {
    parts.emplace_back(TensorInfo{ElementType::kU8, plane_shape(info, plane), {}}, all.memory(), offset, all.lease());
    offset += parts.back().size_bytes();
  }
  return {info, std::move(parts)};
}

void add_planes(nb::class_<Frame>& frame) {
  frame
      .def(
          "__init__",
          [](Frame* self, nb::handle array, nb::handle format, std::optional<double> time) {
            Frame made = frame_from(array);
            if (!format.is_none()) made = seen_as(format_from(nb::cast<std::string>(format)), made);
            if (time) made.set_timestamp_ns(timestamp_from(*time));
            new (self) Frame(std::move(made));
          },
          nb::arg("array"), nb::arg("format") = nb::none(), nb::arg("time") = nb::none(),
          "A picture over an array [height, width, 3] (RGB; format=\"bgr\" for OpenCV's), [height, width, 4] or "
          "[height, width] of uint8, in place. format=\"nv12\", \"i420\"...: an array [height * 3 / 2, width] that "
          "holds the "
          "planes one behind the other, as OpenCV and PyAV have them.")
      .def_prop_ro(
          "width", [](const Frame& self) { return self.info().width_px; }, "Pixels of the picture as it is stored.")
      .def_prop_ro(
          "height", [](const Frame& self) { return self.info().height_px; }, "Rows of the picture as it is stored.")
      .def_prop_ro(
          "format", [](const Frame& self) { return to_string(self.info().format); }, "\"nv12\", \"rgb\"...")
      .def_prop_ro(
          "rotation", [](const Frame& self) { return degrees(self.info().rotation); },
          "Degrees by which the stored picture is to be turned clockwise, after it was mirrored where `mirrored` says "
          "so.")
      .def_prop_ro(
          "mirrored", [](const Frame& self) { return is_mirrored(self.info().rotation); },
          "Whether the stored picture is to be mirrored left to right.")
      .def_prop_ro(
          "colour_space",
          [](const Frame& self) {
            constexpr const char* kNames[] = {"unknown", "bt601", "bt709", "bt2020", "smpte240m"};
            return std::string(kNames[static_cast<int>(resolved_colour_space(self.info()))]);
          },
          "\"bt601\", \"bt709\", \"bt2020\", \"smpte240m\" or \"unknown\": how luma and chroma are made of RGB.")
      .def_prop_ro(
          "full_range", [](const Frame& self) { return resolved_colour_range(self.info()) == ColourRange::kFull; },
          "Whether luma has the values 0 to 255; else 16 to 235.")
      .def_prop_ro(
          "planes",
          [](const Frame& self) {
            nb::list planes;
            for (const Tensor& each : self.planes()) planes.append(object_of(each));
            return planes;
          },
          "Tensors [height, width] or [height, width, channels] over the planes where they lie.")
      .def_prop_rw(
          "time", &seconds_of,
          [](Frame& self, std::optional<double> time) {
            self.set_timestamp_ns(time ? timestamp_from(*time) : kNoTimestamp);
          },
          nb::for_setter(nb::arg("seconds").none()), "Seconds of the stream's own clock; None where it has no time.")
      .def_prop_ro(
          "kind", [](const Frame& self) { return self ? std::string(self.plane(0).context()->name()) : std::string(); },
          "Name of the context whose memory holds it.")
      .def_prop_ro(
          "source", &source_of,
          "Where the frame comes from: in a pipeline of several sources the name of the source's node, in "
          "iterations and in elements that serve all streams; the file, for a folder's pictures; else None, or what "
          "a sender said of itself.")
      .def("numpy", &picture_of,
           "A NumPy array over the only plane, where it lies. @errors ValueError: several planes.")
      .def(
          "__array__",
          [](const Frame& self, nb::handle dtype, nb::handle copy) {
            nb::object array = picture_of(self);
            if (!copy.is_none() && nb::cast<bool>(copy)) array = array.attr("copy")();
            return as_dtype(array, dtype, copy, false);
          },
          nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def("to", &converted, nb::arg("format") = "", nb::arg("width") = 0, nb::arg("height") = 0,
           nb::arg("quality") = "fast", nb::kw_only(), nb::arg("upright") = true,
           "The picture in another format or size; itself where it has them already. Conversions are booked in the "
           "ledger. quality: as for tenon.open(). upright: a picture that is stored sideways is stored upright, as "
           "boxes are; width and height are those of the upright picture.")
      .def(
          "crop",
          [](const Frame& self, std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height, bool upright) {
            const Area<std::uint32_t> area = stored(self.info(), {x, y, width, height}, upright);
            return crop(self, area.x, area.y, area.width, area.height);
          },
          nb::arg("x"), nb::arg("y"), nb::arg("width"), nb::arg("height"), nb::kw_only(), nb::arg("upright") = false,
          "A part of the picture over the same memory, with the metadata that lies in it. upright=True: the area is "
          "one\n"
          "of the upright picture, as boxes of objects are; the part's planes lie as those of the picture do.");
}

void add_metadata(nb::class_<Frame>& frame) {
  frame.def_prop_ro("_detections", &list_of<metadata::Detection, detection_of>)
      .def_prop_ro("classifications", &list_of<metadata::Classification, class_of>,
                   "Labels as dicts; parent 0 is the whole picture, else an object's id.")
      .def_prop_ro("tensors", &list_of<metadata::TensorOutput, tensor_of>, "Outputs of models as dicts with a Tensor.")
      .def_prop_ro("masks", &list_of<metadata::Segmentation, mask_of>,
                   "Masks as dicts: parent 0 is the whole picture, else an object's id; box is the place in the "
                   "picture over which the cells of mask, a Tensor of u8 [h,w], lie. Cells are numbers of labels.")
      .def(
          "add_detection",
          [](Frame& self, const std::tuple<float, float, float, float>& box, const std::string& label, int label_id,
             float score, std::int64_t track_id) {
            return add_detection(self, {std::get<0>(box), std::get<1>(box), std::get<2>(box), std::get<3>(box)}, label,
                                 label_id, score, track_id);
          },
          nb::arg("box"), nb::arg("label") = "", nb::arg("label_id") = -1, nb::arg("score") = 1.0F,
          nb::arg("track_id") = -1,
          "Adds an object: box (x1, y1, x2, y2) in pixels of the upright picture. Returns its id.")
      .def(
          "add_classification",
          [](Frame& self, const std::string& label, int label_id, float score, std::uint32_t parent) {
            return metadata::of(self).add(metadata::Classification{label, label_id, score, ""}, parent);
          },
          nb::arg("label"), nb::arg("label_id") = -1, nb::arg("score") = 1.0F, nb::arg("parent") = 0,
          "Adds a label with its score (0 to 1) to the picture (parent 0) or to the object of this id. Returns its own "
          "id.")
      .def(
          "add_json", [](Frame& self, const std::string& text) { metadata::of(self).add(metadata::Json{text}); },
          nb::arg("text"), "Adds a JSON value, which appears in JSON lines.")
      .def(
          "remove",
          [](Frame& self, std::int64_t id) {
            if (id < 0 || id > std::numeric_limits<metadata::Id>::max() || !metadata::find(self) ||
                !metadata::of(self).remove(static_cast<metadata::Id>(id)))
              throw Error(Code::kNotFound, "the frame has no object " + std::to_string(id));
          },
          nb::arg("id"), "Takes away an object and what belongs to it. id: Detection.id. @errors NotFound.")
      .def("json", &metadata::json_line, "Time, format, size and all metadata as a line of JSON.")
      .def("__repr__", &described);
}

}  // namespace

PixelFormat format_from(const std::string& name) {
  for (const auto& [other, format] : kOtherNames)
    if (name == other) return format;
  if (const auto found = format_from_name(name)) return *found;
  std::vector<std::string> names;
  std::size_t count = 0;
  const PixelFormatInfo* all = all_formats(count);
  for (std::size_t i = 0; i < count; ++i) names.emplace_back(all[i].name);
  for (const auto& [other, format] : kOtherNames) names.emplace_back(other);
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::string nearest = elements::nearest_name(lower, names);
  throw Error(Code::kInvalidArgument, "no pixel format \"" + name + "\"" +
                                          (nearest.empty() ? std::string(".") : ": did you mean \"" + nearest + "\"?") +
                                          " Most programs want \"rgb24\", \"bgr24\" or \"gray\"");
}

Frame frame_from(nb::handle object) {
  if (nb::isinstance<Frame>(object)) return nb::cast<Frame>(object);
  const Tensor tensor = tensor_from(object, Sharing::kShare);
  const Shape& shape = tensor.shape();
  const std::size_t channels = shape.size() == 3 ? shape[2] : shape.size() == 2 ? 1 : 0;
  if (tensor.element_type() != ElementType::kU8 || (channels != 1 && channels != 3 && channels != 4) || shape[0] == 0 ||
      shape[1] == 0) {
    throw Error(Code::kInvalidArgument,
                "a picture is an array of uint8 [height, width], [height, width, 3] or [height, width, 4], not " +
                    to_string(tensor));
  }
  const ByteStrides& strides = tensor.byte_strides();
  if (strides[1] != static_cast<std::ptrdiff_t>(channels) || strides.back() != 1)
    raise(PyExc_BufferError,
          "a picture's pixels lie one behind the other in each row, and this array has byte strides " +
              to_string(strides) + ": pass numpy.ascontiguousarray(array)");
  FrameInfo info;
  info.format = channels == 1 ? kGray8 : channels == 3 ? kRgb24 : kRgba;
  info.height_px = static_cast<std::uint32_t>(shape[0]);
  info.width_px = static_cast<std::uint32_t>(shape[1]);
  const bool is_flat = channels == 1 && shape.size() == 3;
  return {info, {is_flat ? tensor.reshaped({shape[0], shape[1]}) : tensor}};
}

void add_frames(nb::module_& module) {
  auto frame = nb::class_<Frame>(module, "Frame", nb::is_weak_referenceable(),
                                 "A picture: its planes where they lie, format, time and metadata.");
  add_planes(frame);
  add_metadata(frame);
  module.def("_format_name", [](const std::string& name) { return std::string(format_info(format_from(name)).name); });
}

}  // namespace tenon::python
