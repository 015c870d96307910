// SPDX-License-Identifier: Apache-2.0
#include <tenon/bindings/python/native/python_elements.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/bindings/python/native/frames.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/element.hpp>
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
  return call();
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
  for (const auto& [key, value] : nb::cast<nb::dict>(given)) {
    const auto name = nb::cast<std::string>(key);
    if (name == "width")
      info.frame.width_px = nb::cast<std::uint32_t>(value);
    else if (name == "height")
      info.frame.height_px = nb::cast<std::uint32_t>(value);
    else if (name == "format")
      info.frame.format = format_from(nb::cast<std::string>(value));
    else if (name == "fps")
      info.frames_per_second = nb::cast<double>(value);
    else if (name == "live")
      info.is_live = nb::cast<bool>(value);
    else
      throw Error(Code::kInvalidArgument,
                  "open(): a stream has no \"" + name + "\"; there are width, height, format, fps and live");
  }
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
      frames_ = Held(nb::object(nb::iter(object_->call("frames"))));
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
  explicit PythonTransform(std::unique_ptr<PythonObject> object) : object_(std::move(object)) {}
  StreamInfo open(std::uint32_t, const StreamInfo& in) override {
    object_->open(in);
    StreamInfo out = in;
    out.frame = FrameInfo();  // Only Python knows what it will give.
    return out;
  }
  void process(Item item, elements::Output& output) override {
    metadata::of(item.frame);  // What Python adds to its copy of the frame then belongs to the frame, too.
    const std::vector<Frame> frames =
        in_python([&] { return frames_of(object_->call("process", item.frame), item.frame); });
    for (const Frame& each : frames) output.emit({item.stream, each, {}, item.born});
  }
  void end(std::uint32_t stream, elements::Output& output) override {
    const std::vector<Frame> rest = in_python([&] { return frames_of(object_->call("end"), Frame()); });
    for (const Frame& each : rest) output.emit({stream, each});
  }

 private:
  /// None: the frame goes on; a frame takes its place; an iterable gives those that go on.
  static std::vector<Frame> frames_of(const nb::object& result, const Frame& given) {
    if (result.is_none()) return given ? std::vector<Frame>{given} : std::vector<Frame>{};
    const bool is_one = nb::isinstance<Frame>(result) || nb::hasattr(result, "__array_interface__");
    if (is_one) return {with_origin(frame_from(result), given)};
    std::vector<Frame> frames;
    for (const nb::handle each : nb::iter(result)) frames.push_back(with_origin(frame_from(each), given));
    return frames;
  }
  /// An array has neither time nor metadata: those of the frame that it was made from.
  static Frame with_origin(Frame made, const Frame& given) {
    if (made.timestamp_ns() == kNoTimestamp && given) made.set_timestamp_ns(given.timestamp_ns());
    return made;
  }

  std::unique_ptr<PythonObject> object_;
};

class PythonSink final : public elements::Sink {
 public:
  explicit PythonSink(std::unique_ptr<PythonObject> object) : object_(std::move(object)) {}
  void open(std::uint32_t, const StreamInfo& in) override { object_->open(in); }
  void write(std::uint32_t, const Frame& frame) override {
    in_python([&] { object_->call("write", frame); });
  }
  void finish() override {
    in_python([&] { object_->call("finish"); });
  }

 private:
  std::unique_ptr<PythonObject> object_;
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

AnyElement made(Role role, std::unique_ptr<PythonObject> object) {
  if (role == Role::kSource) return std::make_unique<PythonSource>(std::move(object));
  if (role == Role::kSink) return std::make_unique<PythonSink>(std::move(object));
  return std::make_unique<PythonTransform>(std::move(object));
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
    return made(role, std::make_unique<PythonObject>(maker, values, parameters, environment));
  };
  return {std::move(description), std::move(factory)};
}

}  // namespace tenon::python
