// SPDX-License-Identifier: Apache-2.0
#include <tenon/bindings/python/native/pipelines/python_elements.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/bindings/python/native/memory/frames.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/moved_places.hpp>
#include <tenon/elements/parameters.hpp>

namespace tenon::python {
namespace {

using elements::AnyElement;
using elements::Description;
using elements::Environment;
using elements::Item;
using elements::Parameter;
using elements::Parameters;
using elements::Role;
using elements::StreamInfo;

[[noreturn]] void refuse_ending() { throw Error(Code::kCancelled, "Python is ending"); }

/// Runs `call` with the interpreter. A Python exception becomes one of Tenon's that has its text and its lines: it may outlive the
/// interpreter in the pipeline's list of failures.
template <typename Call>
auto in_python(Call call) {
  const Entered entered;
  if (!entered) refuse_ending();
  return showable(call);
}

nb::dict info_of(const StreamInfo& info) {
  nb::dict dict;
  dict["width"] = info.frame.width_px;
  dict["height"] = info.frame.height_px;
  dict["format"] = info.frame.format.fourcc ? to_string(info.frame.format) : std::string();
  dict["fps"] = info.frames_per_second;
  dict["live"] = info.is_live;
  return dict;
}

StreamInfo info_from(nb::handle given) {
  StreamInfo info;
  if (given.is_none()) return info;
  const auto extent = [](nb::handle value, const char* what) {
    return cast_named<std::uint32_t>(value, what, "a number of pixels");
  };
  for (const auto& [key, value] : cast_named<nb::dict>(given, "what open() of a source gives", "a dict, or None")) {
    const auto name = cast_named<std::string>(key, "a name that open() gives", "a str");
    if (name == "width")
      info.frame.width_px = extent(value, "open(): width");
    else if (name == "height")
      info.frame.height_px = extent(value, "open(): height");
    else if (name == "format")
      info.frame.format = format_from(cast_named<std::string>(value, "open(): format", "a str"));
    else if (name == "fps")
      info.frames_per_second = cast_named<double>(value, "open(): fps", "a number");
    else if (name == "live")
      info.is_live = cast_named<bool>(value, "open(): live", "True or False");
    else
      throw Error(Code::kInvalidArgument,
                  "open(): a stream has no \"" + name + "\"; there are width, height, format, fps and live");
  }
  if (!(info.frames_per_second >= 0 && info.frames_per_second < 1e9))
    throw Error(Code::kInvalidArgument,
                "open(): fps is a number from 0 to 1e9, not " + std::to_string(info.frames_per_second));
  return info;
}

nb::object value_of(const Parameters& given, const Parameter& parameter) {
  return std::visit(
      [&](const auto& like) -> nb::object { return nb::cast(given.get<std::decay_t<decltype(like)>>(parameter.name)); },
      parameter.default_value);
}

/// One object of an element's class, with the parameters that the pipeline gave it.
class PythonObject {
 public:
  PythonObject(nb::handle maker, const Parameters& given, const std::vector<Parameter>& parameters,
               const Environment& environment) {
    in_python([&] {
      nb::object self = PyType_Check(maker.ptr()) ? nb::object(maker()) : nb::borrow(maker);
      for (const Parameter& each : parameters) self.attr(each.name.c_str()) = value_of(given, each);
      if (nb::hasattr(self, "name")) self.attr("name") = environment.name;
      self_ = Held(std::move(self));
    });
  }

  template <typename... Arguments>
  nb::object call(const char* method, Arguments&&... arguments) const {
    return self_.get().attr(method)(std::forward<Arguments>(arguments)...);
  }
  void open(const StreamInfo& in) const {
    in_python([&] { call("open", info_of(in)); });
  }

 private:
  Held self_;
};

class PythonSource final : public elements::Source {
 public:
  explicit PythonSource(std::unique_ptr<PythonObject> object) : object_(std::move(object)) {}
  StreamInfo open(Deadline) override {
    return in_python([&] {
      const StreamInfo info = info_from(object_->call("open"));
      const nb::object given = object_->call("frames");
      if (!nb::hasattr(given, "__iter__") && !nb::hasattr(given, "__getitem__"))
        raise(PyExc_TypeError, "frames() of a source gives an iterator of Frames or arrays, not " + shown(given));
      frames_ = Held(nb::object(nb::iter(given)));  // What its __iter__ throws is the program's own.
      return info;
    });
  }
  std::optional<Frame> read(Deadline) override {
    return in_python([&]() -> std::optional<Frame> {
      const nb::object next = nb::steal(PyIter_Next(frames_.get().ptr()));
      if (next.is_valid()) return frame_from(next);
      if (PyErr_Occurred()) throw nb::python_error();
      return std::nullopt;
    });
  }

 private:
  std::unique_ptr<PythonObject> object_;
  Held frames_;
};

class PythonTransform final : public elements::Transform {
 public:
  PythonTransform(std::unique_ptr<PythonObject> object, bool wants_origin)
      : object_(std::move(object)), wants_origin_(wants_origin) {}
  bool wants_origin() const override { return wants_origin_; }
  StreamInfo open(std::uint32_t, const StreamInfo& in) override {
    object_->open(in);
    StreamInfo out = in;
    out.frame = FrameInfo();  // Only Python knows what it will give.
    return out;
  }
  void process(Item item, elements::Output& output) override {
    metadata::of(item.frame);  // What Python adds to its copy of the frame then belongs to the frame, too.
    const std::vector<Frame> frames =
        in_python([&] { return frames_of("process", object_->call("process", item.frame), item.frame); });
    for (const Frame& each : frames) output.emit({item.stream, each, {}, item.born});
  }
  void end(std::uint32_t stream, elements::Output& output) override {
    const std::vector<Frame> rest = in_python([&] { return frames_of("end", object_->call("end"), Frame()); });
    for (const Frame& each : rest) output.emit({stream, each});
  }

 private:
  /// None or True: the frame goes on; False: it does not; a frame or an array takes its place; an iterable gives those that go on.
  std::vector<Frame> frames_of(const char* method, const nb::object& result, const Frame& given) const {
    if (result.is_none()) return given ? std::vector<Frame>{given} : std::vector<Frame>{};
    if (is_verdict(result)) {
      const int goes_on = PyObject_IsTrue(result.ptr());
      if (goes_on < 0) throw nb::python_error();
      return goes_on && given ? std::vector<Frame>{given} : std::vector<Frame>{};
    }
    if (nb::isinstance<Frame>(result) || is_array(result)) return {made_from(result, given)};
    const nb::object each = nb::steal(PyObject_GetIter(result.ptr()));
    if (!each.is_valid()) {
      if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
      PyErr_Clear();
      raise(PyExc_TypeError, std::string(method) +
                                 "() gives a Frame, an array, a list of those that go on, True, False or None, not " +
                                 shown(result));
    }
    std::vector<Frame> frames;
    while (const nb::object one = nb::steal(PyIter_Next(each.ptr()))) frames.push_back(made_from(one, given));
    if (PyErr_Occurred()) throw nb::python_error();
    return frames;
  }
  static bool is_verdict(nb::handle result) {
    if (PyBool_Check(result.ptr())) return true;
    // NumPy's, as comparisons of its numbers give them.
    return nb::hasattr(result, "__array_interface__") && nb::hasattr(result, "ndim") &&
           nb::cast<int>(result.attr("ndim")) == 0;
  }
  static bool is_array(nb::handle result) {
    return nb::isinstance<Tensor>(result) || PyObject_CheckBuffer(result.ptr()) ||
           nb::hasattr(result, "__array_interface__") || nb::hasattr(result, "__dlpack__");
  }
  /// An array shows the picture of the frame that it was made from: it has that frame's time and metadata, whose places are moved where its
  /// size differs. A Frame has its own; without a time, that frame's.
  static Frame made_from(nb::handle object, const Frame& given) {
    Frame made = frame_from(object);
    if (!given) return made;
    if (made.timestamp_ns() == kNoTimestamp) made.set_timestamp_ns(given.timestamp_ns());
    if (nb::isinstance<Frame>(object) || given.metadata().empty()) return made;
    made.metadata() = given.metadata();
    if (const auto known = metadata::find(given)) {
      const auto moved = known->copy();
      const auto ratio = [](std::uint32_t to, std::uint32_t from) {
        return static_cast<float>(to) / static_cast<float>(from);
      };
      const float by_x = ratio(made.info().width_px, given.info().upright_width_px()),
                  by_y = ratio(made.info().height_px, given.info().upright_height_px());
      if (by_x != 1 || by_y != 1) elements::move_places(*moved, [&](float& x, float& y) { x *= by_x, y *= by_y; });
      metadata::set(made, moved);
    }
    return made;
  }

  std::unique_ptr<PythonObject> object_;
  const bool wants_origin_;
};

class PythonSink final : public elements::Sink {
 public:
  PythonSink(std::unique_ptr<PythonObject> object, bool wants_origin)
      : object_(std::move(object)), wants_origin_(wants_origin) {}
  bool wants_origin() const override { return wants_origin_; }
  void open(std::uint32_t, const StreamInfo& in) override { object_->open(in); }
  void write(std::uint32_t, const Frame& frame) override {
    in_python([&] { object_->call("write", frame); });
  }
  void finish() override {
    in_python([&] { object_->call("finish"); });
  }

 private:
  std::unique_ptr<PythonObject> object_;
  const bool wants_origin_;
};

Role role_of(nb::handle element) {
  const auto role = nb::cast<std::string>(element.attr("_role"));
  return role == "source" ? Role::kSource : role == "sink" ? Role::kSink : Role::kTransform;
}

Parameter parameter_from(nb::handle given) {
  const nb::tuple one(nb::borrow(given));  // name, about, default, choices
  Parameter made;
  made.name = nb::cast<std::string>(one[0]);
  made.about = nb::cast<std::string>(one[1]);
  const nb::object value = one[2];
  if (PyBool_Check(value.ptr()))
    made.default_value = nb::cast<bool>(value);
  else if (PyLong_Check(value.ptr()))
    made.default_value = nb::cast<std::int64_t>(value);
  else if (PyFloat_Check(value.ptr()))
    made.default_value = nb::cast<double>(value);
  else if (PyUnicode_Check(value.ptr()))
    made.default_value = nb::cast<std::string>(value);
  else
    raise(PyExc_TypeError, "parameter " + made.name + ": a default is a bool, int, float or str, not " + shown(value));
  made.choices = nb::cast<std::vector<std::string>>(one[3]);
  return made;
}

AnyElement made(Role role, std::unique_ptr<PythonObject> object, bool wants_origin) {
  if (role == Role::kSource) return std::make_unique<PythonSource>(std::move(object));
  if (role == Role::kSink) return std::make_unique<PythonSink>(std::move(object), wants_origin);
  return std::make_unique<PythonTransform>(std::move(object), wants_origin);
}

}  // namespace

elements::KnownElement python_element(nb::handle given, std::vector<nb::object>* kept) {
  // tenon._elements turns functions into elements and says what a class describes.
  const nb::object described = nb::module_::import_("tenon._elements").attr("describe")(given);
  const nb::object element = described["element"];
  Description description;
  description.name = nb::cast<std::string>(described["name"]);
  description.about = nb::cast<std::string>(described["about"]);
  description.role = role_of(element);
  description.is_shared = nb::cast<bool>(described["shared"]);
  description.has_thread = description.role != Role::kSource;
  for (const nb::handle each : nb::iter(described["parameters"]))
    description.parameters.push_back(parameter_from(each));
  std::shared_ptr<Held> held;
  if (kept)
    kept->push_back(element);
  else
    held = std::make_shared<Held>(nb::object(element));
  auto factory = [held, maker = nb::handle(element), parameters = description.parameters, role = description.role](
                     const Parameters& values, const Environment& environment) -> AnyElement {
    // One object for several streams tells them apart by Frame.source.
    return made(role, std::make_unique<PythonObject>(maker, values, parameters, environment),
                environment.streams.size() > 1);
  };
  return {std::move(description), std::move(factory)};
}

}  // namespace tenon::python
