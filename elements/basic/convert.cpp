// SPDX-License-Identifier: Apache-2.0
// The transform "convert" chooses among the converters that the modules register, which all have the same parameters.
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/elements/internal/basic.hpp>
#include <tenon/elements/internal/text.hpp>
#include <tenon/elements/internal/turned_frames.hpp>
#include <tenon/elements/picture_change.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

/// The choices of the parameter "by", each with the element that it stands for.
constexpr std::pair<std::string_view, std::string_view> kConverters[] = {
    {"cpu", "convert_cpu"}, {"opencl", "convert_cl"}, {"va", "convert_va"}};

/// The converters that suit frames in this kind of memory, the best first.
std::vector<std::string> suitable(std::string_view kind) {
  if (kind.starts_with("opencl")) return {"convert_cl", "convert_cpu"};
  if (kind.starts_with("vaapi") || kind == "dmabuf") return {"convert_va", "convert_cpu"};
  return {"convert_cpu"};
}

/// The converter that the parameter "by" names; empty: it depends on the frames.
std::string named_by(const Parameters& given) {
  for (const auto& [by, name] : kConverters)
    if (given.text("by") == by) return std::string(name);
  return "";
}

/// Those of the parameters that are in the list, turned back into texts.
std::map<std::string, std::string> texts_of(const Parameters& given, const std::vector<Parameter>& list) {
  std::map<std::string, std::string> texts;
  for (const Parameter& parameter : list) {
    std::visit(
        [&](const auto& like) {
          texts[parameter.name] = to_text(given.get<std::decay_t<decltype(like)>>(parameter.name));
        },
        parameter.default_value);
  }
  return texts;
}

class Convert final : public Transform, private Output {
 public:
  Convert(const Parameters& given, Environment environment)
      : named_(named_by(given)),
        is_upright_(given.flag("upright")),
        params_(given),
        given_(texts_of(given, VideoConvertParams::parameters())),
        given_cpu_(texts_of(given, VideoConvertParams::cpu_parameters())),
        environment_(std::move(environment)),
        turned_(given.owner(), environment_.ledger ? *environment_.ledger : Ledger::process(),
                static_cast<std::size_t>(given.integer("limit"))) {
    if (!named_.empty()) use(made(named_));
  }

  Requirements wanted(const StreamInfo& in) const override {
    const std::lock_guard lock(mutex_);
    return chosen_ ? chosen_->wanted(in) : Requirements();
  }
  Context used_in(const StreamInfo& in) const override {
    const std::lock_guard lock(mutex_);
    return chosen_ ? chosen_->used_in(in) : Context();
  }
  StreamInfo open(std::uint32_t stream, const StreamInfo& in) override {
    in_ = in;
    turn_to(in.frame.rotation);
    const StreamInfo out = chosen_         ? chosen_->open(stream, in)
                           : is_sideways() ? params_.sideways().stream_of(in)
                                           : params_.stream_of(in);
    return turn_ == Rotation::kNone ? out : turned_.upright(out);
  }
  void allocate(std::uint32_t stream, const Requirements& wanted, std::span<const Party> readers) override {
    readers_ = Wanted(wanted, readers);
    if (chosen_) allocate_for(*chosen_, stream);
  }
  void process(Item item, Output& output) override {
    if (turn_to(item.frame.info().rotation) && chosen_) {
      chosen_->open(item.stream, in_);
      allocate_for(*chosen_, item.stream);
    }
    if (!chosen_) choose(item);
    if (turn_ == Rotation::kNone) return chosen_->process(std::move(item), output);
    chosen_->process(std::move(item), *this);
    Item lying = std::exchange(lying_, Item());
    lying.frame = turned_.copied(lying.frame, turn_);
    output.emit(std::move(lying));
  }
  void end(std::uint32_t stream, Output& output) override {
    if (chosen_) chosen_->end(stream, output);
  }
  void interrupt() noexcept override {
    turned_.interrupt();
    const std::lock_guard lock(mutex_);
    is_interrupted_ = true;
    if (chosen_) chosen_->interrupt();
  }

 private:
  /// Takes a converted picture that is still to be turned.
  void emit(Item item) override { lying_ = std::move(item); }

  /// Whether the picture that is converted, and turned then, has the width that was asked for as its height.
  bool is_sideways() const { return is_quarter_turn(turn_); }

  /// Frames from now on are to be turned in this way: a converter that was made for others goes.
  /// @return Whether that is new. A converter that was named is a new one then, which is not open yet.
  bool turn_to(Rotation rotation) {
    if (!is_upright_ || rotation == turn_) return false;
    turn_ = rotation;
    in_.frame.rotation = rotation;
    use(named_.empty() ? nullptr : made(named_));
    return true;
  }

  std::unique_ptr<Transform> made(const std::string& name) const {
    std::map<std::string, std::string> given = name == "convert_cpu" ? given_cpu_ : given_;
    if (is_sideways()) std::swap(given["width"], given["height"]);
    return std::get<std::unique_ptr<Transform>>(make_element(name, given, environment_));
  }

  /// @post interrupt() reaches the converter, even if it was called before.
  void use(std::unique_ptr<Transform> one) {
    const std::lock_guard lock(mutex_);
    chosen_ = std::move(one);
    if (chosen_ && is_interrupted_) chosen_->interrupt();
  }

  void allocate_for(Transform& one, std::uint32_t stream) {
    if (turn_ == Rotation::kNone) return one.allocate(stream, readers_.joined, readers_.readers);
    Requirements host;
    host.host_access = true;
    one.allocate(stream, host, {});
    turned_.allocate(readers_.joined, readers_.readers);
  }

  /// Chooses by the memory of the first frame. @errors If no suitable converter can be used: the error of the last one.
  void choose(const Item& item) {
    const std::vector<std::string> names = suitable(item.frame.plane(0).kind().name());
    for (const std::string& name : names) {
      try {
        std::unique_ptr<Transform> one = made(name);
        one->open(item.stream, in_);
        allocate_for(*one, item.stream);
        return use(std::move(one));
      } catch (const Error& error) {
        const bool is_absent = error.code() == Code::kNotFound || error.code() == Code::kUnavailable;
        if (!is_absent || name == names.back()) throw;
      }
    }
  }

  const std::string named_;
  const bool is_upright_;
  const VideoConvertParams params_;
  const std::map<std::string, std::string> given_, given_cpu_;
  const Environment environment_;
  StreamInfo in_;
  Wanted readers_;
  Rotation turn_ = Rotation::kNone;  ///< What is done to pictures after they are converted.
  Item lying_;
  TurnedFrames turned_;
  mutable std::mutex mutex_;  ///< For chosen_, where it changes or other threads use it, and is_interrupted_.
  std::unique_ptr<Transform> chosen_;
  bool is_interrupted_ = false;
};

}  // namespace

KnownElement convert_element() {
  std::vector<Parameter> parameters = VideoConvertParams::cpu_parameters();
  parameters.insert(
      parameters.begin(),
      choice("by", "Which converter does the work; auto: the one for the memory that holds the first frame", "auto",
             {"auto", "cpu", "opencl", "va"}));
  parameters.push_back({"upright",
                        "Stores pictures upright that are stored sideways; width and height are then those of the "
                        "upright picture",
                        false});
  Description made{"convert", "Crops, scales and converts pictures, on the device whose memory holds them",
                   Role::kTransform, std::move(parameters)};
  made.formats = convertible_formats();
  return {std::move(made), [](const Parameters& given, const Environment& environment) -> AnyElement {
            return std::make_unique<Convert>(given, environment);
          }};
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
