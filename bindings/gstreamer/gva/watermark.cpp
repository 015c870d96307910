// SPDX-License-Identifier: Apache-2.0
// gvawatermark: the elements blur and draw, each with the objects that displ-cfg chooses for it.
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include <tenon/bindings/gstreamer/gva/gva.hpp>
#include <tenon/core/error.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace gva {
namespace {

using elements::TransformInplace;

/// The labels that are meant: those of `only`, or all but those of `without`.
struct Choice {
  std::set<std::string> only, without;
  bool is_all() const { return only.empty() && without.empty(); }
  bool has(const std::string& label) const { return only.empty() ? without.count(label) == 0 : only.count(label) != 0; }
};

struct Looks {
  Choice shown, blurred;
  bool blurs = false;
  Texts draw;
};

std::set<std::string> labels_of(const std::string& value) {
  const std::vector<std::string> parts = parts_of(value, ':');
  return {parts.begin(), parts.end()};
}

/// Reads displ-cfg. Options without an effect here are taken.
void read_options(const std::string& text, const std::string& owner, Looks& looks) {
  static const std::set<std::string> without_effect{"font-type"};
  constexpr double kFirstLine =
      25;  ///< text-y is the lower edge of the first line; this, its default, is the picture's upper edge here.
  constexpr double kMost = 1e6;
  static const std::pair<const char*, const char*> colours[] = {{"0", "#ff0000"}, {"1", "#00ff00"}, {"2", "#0000ff"}};
  for (const auto& [key, value] : options_of(text, owner)) {
    const std::string what = owner + ": " + key;
    if (key == "show-labels") {
      looks.draw["labels"] = looks.draw["scores"] = looks.draw["ids"] = looks.draw["texts"] =
          flag_of(value, what) ? "true" : "false";
    } else if (key == "font-scale") {
      // A letter has seven dots; there it is about 22 pixels high with the scale 1.
      looks.draw["text_scale"] = std::to_string(std::lround(std::max(number_of(value, what, 0.1, 2) * 3, 1.0)));
    } else if (key == "thickness") {
      looks.draw["thickness"] = std::to_string(std::lround(number_of(value, what, 1, 100)));
    } else if (key == "color-idx") {
      for (const auto& [index, colour] : colours) {
        if (value == index) looks.draw["colours"] = std::string("*=") + colour;
      }
    } else if (key == "draw-txt-bg") {
      looks.draw["bars"] = flag_of(value, what) ? "true" : "false";
    } else if (key == "text-x") {
      looks.draw["texts_x"] = std::to_string(std::lround(number_of(value, what, 0, kMost)));
    } else if (key == "text-y") {
      looks.draw["texts_y"] = std::to_string(std::lround(std::max(number_of(value, what, 0, kMost) - kFirstLine, 0.0)));
    } else if (key == "ff-custom-txt") {
      looks.draw["text"] = value;
    } else if (key == "show-roi") {
      looks.shown.only = labels_of(value);
    } else if (key == "hide-roi") {
      looks.shown.without = labels_of(value);
    } else if (key == "enable-blur") {
      looks.blurs = flag_of(value, what);
    } else if (key == "show-blur-roi") {
      looks.blurred.only = labels_of(value);
    } else if (key == "hide-blur-roi") {
      looks.blurred.without = labels_of(value);
    } else if (without_effect.count(key) == 0) {
      throw Error(Code::kInvalidArgument, owner + ": there is no option \"" + key + "\"");
    }
  }
}

std::unique_ptr<TransformInplace> made_inplace(const char* name, const Texts& texts,
                                               const elements::Environment& environment) {
  return std::get<std::unique_ptr<TransformInplace>>(elements::make_element(name, texts, environment));
}

class Watermark final : public TransformInplace {
 public:
  Watermark(Looks looks, const elements::Environment& environment)
      : looks_(std::move(looks)),
        draw_(made_inplace("draw", looks_.draw, environment)),
        blur_(looks_.blurs ? made_inplace("blur", {}, environment) : nullptr) {}

  Requirements wanted(const elements::StreamInfo& in) const override { return draw_->wanted(in); }
  Context used_in(const elements::StreamInfo& in) const override { return draw_->used_in(in); }
  elements::StreamInfo open(std::uint32_t stream, const elements::StreamInfo& in) override {
    if (blur_) blur_->open(stream, in);
    return draw_->open(stream, in);
  }
  void process(std::uint32_t stream, Frame& frame) override {
    if (blur_) with(looks_.blurred, frame, [&] { blur_->process(stream, frame); });
    with(looks_.shown, frame, [&] { draw_->process(stream, frame); });
  }
  void end(std::uint32_t stream) override {
    if (blur_) blur_->end(stream);
    draw_->end(stream);
  }

 private:
  /// Calls `work` while the frame has only the chosen objects.
  template <typename Work>
  static void with(const Choice& choice, Frame& frame, Work work) {
    const auto known = choice.is_all() ? nullptr : metadata::find(frame);
    if (!known) return work();
    const std::shared_ptr<metadata::Collection> all = known->copy(), some = known->copy();
    for (const auto& object : all->all<metadata::Detection>()) {
      if (!choice.has(object->label)) some->remove(object.id);
    }
    metadata::set(frame, some);
    work();
    metadata::set(frame, all);
  }

  const Looks looks_;
  const std::unique_ptr<TransformInplace> draw_, blur_;
};

}  // namespace

elements::AnyElement make_watermark(const Texts& given, const elements::Environment& environment) {
  const std::string owner = "element '" + environment.name + "' (gvawatermark): displ-cfg";
  Looks looks;
  if (const auto rates = given.find("displ-avgfps"); rates != given.end() && rates->second == "true")
    looks.draw["text"] = "{fps} fps";
  if (const auto options = given.find("displ-cfg"); options != given.end()) read_options(options->second, owner, looks);
  return std::make_unique<Watermark>(std::move(looks), environment);
}

}  // namespace gva
}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
