// SPDX-License-Identifier: Apache-2.0
// The transform "convert" chooses among the converters that the modules register, which all have the same parameters.
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/elements/internal/basic.hpp>
#include <tenon/elements/internal/text.hpp>
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

class Convert final : public Transform {
 public:
  Convert(const Parameters& given, Environment environment)
      : params_(given),
        given_(texts_of(given, VideoConvertParams::parameters())),
        given_cpu_(texts_of(given, VideoConvertParams::cpu_parameters())),
        environment_(std::move(environment)) {
    for (const auto& [by, name] : kConverters)
      if (given.text("by") == by) use(made(std::string(name)));
  }

  Requirements wanted(const StreamInfo& in) const override { return chosen_ ? chosen_->wanted(in) : Requirements(); }
  Context used_in(const StreamInfo& in) const override { return chosen_ ? chosen_->used_in(in) : Context(); }
  StreamInfo open(std::uint32_t stream, const StreamInfo& in) override {
    in_ = in;
    if (chosen_) return chosen_->open(stream, in);
    return params_.stream_of(in);
  }
  void allocate(std::uint32_t stream, const Requirements& wanted, std::span<const Party> readers) override {
    readers_ = Wanted(wanted, readers);
    if (chosen_) chosen_->allocate(stream, wanted, readers);
  }
  void process(Item item, Output& output) override {
    if (!chosen_) choose(item);
    chosen_->process(std::move(item), output);
  }
  void end(std::uint32_t stream, Output& output) override {
    if (chosen_) chosen_->end(stream, output);
  }
  void interrupt() noexcept override {
    is_interrupted_ = true;
    if (Transform* const one = working_) one->interrupt();
  }

 private:
  std::unique_ptr<Transform> made(const std::string& name) const {
    const auto& given = name == "convert_cpu" ? given_cpu_ : given_;
    return std::get<std::unique_ptr<Transform>>(make_element(name, given, environment_));
  }

  /// @post interrupt() reaches the converter, even if it was called before.
  void use(std::unique_ptr<Transform> one) {
    chosen_ = std::move(one);
    working_ = chosen_.get();
    if (is_interrupted_) chosen_->interrupt();
  }

  /// Chooses by the memory of the first frame. @errors If no suitable converter can be used: the error of the last one.
  void choose(const Item& item) {
    const std::vector<std::string> names = suitable(item.frame.plane(0).kind().name());
    for (const std::string& name : names) {
      try {
        std::unique_ptr<Transform> one = made(name);
        one->open(item.stream, in_);
        one->allocate(item.stream, readers_.joined, readers_.readers);
        return use(std::move(one));
      } catch (const Error& error) {
        const bool is_absent = error.code() == Code::kNotFound || error.code() == Code::kUnavailable;
        if (!is_absent || name == names.back()) throw;
      }
    }
  }

  const VideoConvertParams params_;
  const std::map<std::string, std::string> given_, given_cpu_;
  const Environment environment_;
  StreamInfo in_;
  Wanted readers_;
  std::unique_ptr<Transform> chosen_;
  std::atomic<Transform*> working_{nullptr};  ///< chosen_, for interrupt() on other threads.
  std::atomic<bool> is_interrupted_{false};
};

}  // namespace

KnownElement convert_element() {
  std::vector<Parameter> parameters = VideoConvertParams::cpu_parameters();
  parameters.insert(
      parameters.begin(),
      choice("by", "Which converter does the work; auto: the one for the memory that holds the first frame", "auto",
             {"auto", "cpu", "opencl", "va"}));
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
