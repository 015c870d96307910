// SPDX-License-Identifier: Apache-2.0
// Elements whose members are callbacks of a C program.
#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/bindings/c/internal/element_handles.hpp>
#include <tenon/bindings/c/internal/guard.hpp>
#include <tenon/core/error.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon::c {
namespace {

using elements::Description;
using elements::Environment;
using elements::Item;
using elements::Parameter;
using elements::Parameters;
using elements::StreamInfo;
using elements::Value;

std::int64_t milliseconds_until(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return std::max<std::int64_t>(left, 0);
}

tenon_stream_info_t to_c(const StreamInfo& info) {
  tenon_stream_info_t value{};
  value.struct_size = sizeof value;
  value.fourcc = info.frame.format.fourcc;
  value.modifier = info.frame.format.modifier;
  value.width_px = info.frame.width_px;
  value.height_px = info.frame.height_px;
  value.colour_space = static_cast<tenon_colour_space_t>(info.frame.colour_space);
  value.colour_range = static_cast<tenon_colour_range_t>(info.frame.colour_range);
  value.rotation = static_cast<tenon_rotation_t>(info.frame.rotation);
  value.frames_per_second = info.frames_per_second;
  value.is_live = info.is_live;
  value.delay_ns = info.delay.count();
  return value;
}

/// `like` with what C may say of a stream.
StreamInfo from_c(const tenon_stream_info_t& value, StreamInfo like) {
  tenon_frame_info_t frame{};
  frame.struct_size = sizeof frame;
  frame.fourcc = value.fourcc;
  frame.modifier = value.modifier;
  frame.width_px = value.width_px;
  frame.height_px = value.height_px;
  frame.colour_space = value.colour_space;
  frame.colour_range = value.colour_range;
  frame.rotation = value.rotation;
  like.frame = frame_info_of(&frame, "info");
  like.frames_per_second = value.frames_per_second;
  like.is_live = value.is_live;
  like.delay = std::chrono::nanoseconds(value.delay_ns);
  return like;
}

/// A description of which everything is our own copy.
struct Known {
  tenon_element_t calls{};
  Description description;
};

/// One element's state, and how its callbacks are called.
class Callbacks {
 public:
  Callbacks(std::shared_ptr<const Known> known, const Parameters& given, const Environment& environment)
      : calls(known->calls), known_(std::move(known)), owner_(given.owner()) {
    state = calls.user;
    if (!calls.create) return;
    const tenon_parameters handle(given, known_->description.parameters);
    state = nullptr;
    check("create", [&] { return calls.create(&handle, environment.name.c_str(), calls.user, &state); });
  }
  ~Callbacks() {
    if (calls.destroy) calls.destroy(state);
  }
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;

  /// @errors as the callback's status, with the text that it set
  template <typename Call>
  void check(const char* what, Call call) const {
    tenon_set_last_error_message(nullptr);
    const tenon_status_t status = call();
    if (status == TENON_OK) return;
    const bool is_known = status > TENON_OK && status <= TENON_DATA_LOSS;
    std::string why = tenon_last_error_message();
    if (why.empty())
      why = is_known ? tenon_status_name(status) : "status " + std::to_string(status) + ", which is none";
    throw Error(is_known ? static_cast<Code>(status) : Code::kUnknown, owner_ + ": " + what + ": " + why);
  }
  StreamInfo open(std::uint32_t stream, const StreamInfo& in) const {
    if (!calls.open) return in;
    const tenon_stream_info_t from = to_c(in);
    tenon_stream_info_t to = from;
    check("open", [&] { return calls.open(state, stream, &from, &to); });
    return from_c(to, in);
  }
  void process(std::uint32_t stream, const Frame& frame) const {
    tenon_frame handle{Frame(frame)};
    check("process", [&] { return calls.process(state, stream, &handle); });
  }
  void end(std::uint32_t stream, tenon_output_t* output) const {
    if (calls.end) check("end", [&] { return calls.end(state, stream, output); });
  }
  void interrupt() const noexcept {
    if (calls.interrupt) calls.interrupt(state);
  }

  const tenon_element_t& calls;
  void* state = nullptr;

 private:
  const std::shared_ptr<const Known> known_;
  const std::string owner_;
};

class CSource final : public elements::Source {
 public:
  CSource(std::shared_ptr<const Known> known, const Parameters& given, const Environment& environment)
      : c_(std::move(known), given, environment) {}
  StreamInfo open(Deadline deadline) override {
    tenon_stream_info_t info = to_c({});
    c_.check("source_open", [&] { return c_.calls.source_open(c_.state, milliseconds_until(deadline), &info); });
    return from_c(info, {});
  }
  std::optional<Frame> read(Deadline deadline) override {
    tenon_frame_t* made = nullptr;
    c_.check("read", [&] { return c_.calls.read(c_.state, milliseconds_until(deadline), &made); });
    if (!made) return std::nullopt;
    const std::unique_ptr<tenon_frame> owned(&checked(made, "read: *out"));
    return std::move(owned->value);
  }
  void interrupt() noexcept override { c_.interrupt(); }

 private:
  const Callbacks c_;
};

class CTransform final : public elements::Transform {
 public:
  CTransform(std::shared_ptr<const Known> known, const Parameters& given, const Environment& environment)
      : c_(std::move(known), given, environment) {}
  StreamInfo open(std::uint32_t stream, const StreamInfo& in) override { return c_.open(stream, in); }
  void process(Item item, elements::Output& output) override {
    const tenon_frame frame{std::move(item.frame)};
    tenon_output to(output);
    c_.check("transform", [&] { return c_.calls.transform(c_.state, item.stream, &frame, &to); });
  }
  std::optional<Deadline> due() const override {
    const std::int64_t wait = c_.calls.due ? c_.calls.due(c_.state) : -1;
    if (wait < 0) return std::nullopt;
    if (wait == 0) return Deadline{};  // Long ago: before frames that wait.
    return Clock::now() + std::chrono::milliseconds(std::min<std::int64_t>(wait, 86'400'000));
  }
  void proceed(elements::Output& output) override {
    tenon_output to(output);
    if (c_.calls.proceed) c_.check("proceed", [&] { return c_.calls.proceed(c_.state, &to); });
  }
  void end(std::uint32_t stream, elements::Output& output) override {
    tenon_output to(output);
    c_.end(stream, &to);
  }
  void interrupt() noexcept override { c_.interrupt(); }

 private:
  const Callbacks c_;
};

class CInplace final : public elements::TransformInplace {
 public:
  CInplace(std::shared_ptr<const Known> known, const Parameters& given, const Environment& environment)
      : c_(std::move(known), given, environment) {}
  StreamInfo open(std::uint32_t stream, const StreamInfo& in) override { return c_.open(stream, in); }
  void process(std::uint32_t stream, Frame& frame) override {
    tenon_frame handle{std::move(frame)};
    c_.check("process", [&] { return c_.calls.process(c_.state, stream, &handle); });
    frame = std::move(handle.value);
  }
  void end(std::uint32_t stream) override { c_.end(stream, nullptr); }
  void interrupt() noexcept override { c_.interrupt(); }

 private:
  const Callbacks c_;
};

class CSink final : public elements::Sink {
 public:
  CSink(std::shared_ptr<const Known> known, const Parameters& given, const Environment& environment)
      : c_(std::move(known), given, environment) {}
  void open(std::uint32_t stream, const StreamInfo& in) override { c_.open(stream, in); }
  void write(std::uint32_t stream, const Frame& frame) override { c_.process(stream, frame); }
  void end(std::uint32_t stream) override { c_.end(stream, nullptr); }
  void finish() override {
    if (c_.calls.finish) c_.check("finish", [&] { return c_.calls.finish(c_.state); });
  }
  void resume() override {
    if (c_.calls.resume) c_.check("resume", [&] { return c_.calls.resume(c_.state); });
  }
  void interrupt() noexcept override { c_.interrupt(); }

 private:
  const Callbacks c_;
};

template <typename T>
elements::Factory factory(std::shared_ptr<const Known> known) {
  return [known = std::move(known)](const Parameters& given, const Environment& environment) -> elements::AnyElement {
    return std::make_unique<T>(known, given, environment);
  };
}

Parameter parameter_of(const tenon_parameter_t& from, const std::string& what) {
  Parameter made;
  made.name = required(from.name, (what + ".name").c_str());
  made.about = from.about ? from.about : "";
  made.is_required = !from.default_value;
  constexpr std::int64_t kNoInteger = 0;
  const Value of_type[] = {false, kNoInteger, 0.0, std::string()};
  if (from.type < TENON_PARAMETER_BOOL || from.type > TENON_PARAMETER_TEXT)
    refuse(what + ".type " + std::to_string(from.type) + " does not exist");
  made.default_value = of_type[from.type];
  if (from.least) made.least = *from.least;
  if (from.most) made.most = *from.most;
  for (std::string rest = from.choices ? from.choices : ""; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    made.choices.push_back(rest.substr(0, comma));
    rest.erase(0, comma + 1);
  }
  if (!from.default_value) return made;
  // Read as a user's text would be, so that a default out of bounds is refused here.
  const Parameters read(what, {made}, {{made.name, from.default_value}});
  switch (from.type) {
    case TENON_PARAMETER_BOOL:
      made.default_value = read.flag(made.name);
      break;
    case TENON_PARAMETER_INT:
      made.default_value = read.integer(made.name);
      break;
    case TENON_PARAMETER_DOUBLE:
      made.default_value = read.number(made.name);
      break;
    default:
      made.default_value = read.text(made.name);
  }
  return made;
}

elements::Factory factory_of(const std::shared_ptr<const Known>& known) {
  const tenon_element_t& calls = known->calls;
  switch (calls.role) {
    case TENON_ROLE_SOURCE:
      required(calls.source_open, "element->source_open");
      required(calls.read, "element->read");
      return factory<CSource>(known);
    case TENON_ROLE_TRANSFORM:
      required(calls.transform, "element->transform");
      return factory<CTransform>(known);
    case TENON_ROLE_TRANSFORM_INPLACE:
      required(calls.process, "element->process");
      return factory<CInplace>(known);
    case TENON_ROLE_SINK:
      required(calls.process, "element->process");
      return factory<CSink>(known);
    default:
      refuse("element->role " + std::to_string(calls.role) + " does not exist");
  }
}

template <typename T, typename Given>
tenon_status_t get(const tenon_parameters_t* parameters, const char* name, Given* out) {
  return give(out, [&] {
    const tenon_parameters& held = checked(parameters, "parameters");
    const std::string wanted = required(name, "name");
    std::string all;
    for (const Parameter& one : held.known) {
      if (one.name == wanted) return static_cast<Given>(held.value.get<T>(wanted));
      all += (all.empty() ? "" : ", ") + one.name;
    }
    throw Error(Code::kNotFound, held.value.owner() + " describes no parameter '" + wanted + "'; there are: " + all);
  });
}

}  // namespace
}  // namespace tenon::c

using namespace tenon::c;

tenon_status_t tenon_element_register(const tenon_element_t* element) {
  return run([&] {
    const auto known = std::make_shared<Known>();
    known->calls = read_struct(element, "element");
    tenon_element_t& calls = known->calls;
    known->description.name = required(calls.name, "element->name");
    known->description.about = calls.about ? calls.about : "";
    required_array(calls.parameters, calls.parameter_count, "element->parameters");
    for (std::size_t i = 0; i < calls.parameter_count; ++i) {
      known->description.parameters.push_back(
          parameter_of(calls.parameters[i], "element->parameters[" + std::to_string(i) + "]"));
    }
    known->description.is_shared = calls.is_shared;
    known->description.has_thread = calls.has_thread;
    tenon::elements::Factory made = factory_of(known);
    known->description.role = static_cast<tenon::elements::Role>(calls.role);
    // What belongs to the caller is not looked at again.
    calls.name = calls.about = nullptr;
    calls.parameters = nullptr;
    tenon::elements::register_element(known->description, std::move(made));
  });
}

tenon_status_t tenon_parameters_get_bool(const tenon_parameters_t* parameters, const char* name, bool* out) {
  return get<bool>(parameters, name, out);
}
tenon_status_t tenon_parameters_get_int64(const tenon_parameters_t* parameters, const char* name, int64_t* out) {
  return get<std::int64_t>(parameters, name, out);
}
tenon_status_t tenon_parameters_get_double(const tenon_parameters_t* parameters, const char* name, double* out) {
  return get<double>(parameters, name, out);
}
tenon_status_t tenon_parameters_get_text(const tenon_parameters_t* parameters, const char* name, const char** out) {
  return run([&] {
    *required(out, "out") = nullptr;
    const tenon_parameters& held = checked(parameters, "parameters");
    const std::string wanted = required(name, "name");
    const auto is_wanted = [&](const Parameter& one) { return one.name == wanted; };
    if (std::none_of(held.known.begin(), held.known.end(), is_wanted))
      throw tenon::Error(tenon::Code::kNotFound, held.value.owner() + " describes no parameter '" + wanted + "'");
    *out = held.value.text(wanted).c_str();
  });
}

tenon_status_t tenon_output_emit(tenon_output_t* output, uint32_t stream, const tenon_frame_t* frame) {
  return run([&] {
    tenon::elements::Output& to = checked(output, "output").value;
    Item item;
    item.stream = stream;
    item.frame = checked(frame, "frame").value;
    to.emit(std::move(item));
  });
}
