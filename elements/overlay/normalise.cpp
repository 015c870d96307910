// SPDX-License-Identifier: Apache-2.0
// The transform "normalise": adds the picture as a normalised tensor, as models want it.
#include <array>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/frame_layout.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/overlay/known.hpp>
#include <tenon/elements/overlay/stage.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/frameworks/cpu/pool.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace overlay {
namespace {

constexpr std::size_t kMaxTensors = 64;

/// Parses "123.7,116.3,103.5", or one number for all channels.
std::array<double, 3> three_numbers(const Parameters& given, const char* name) {
  std::istringstream text(given.text(name));
  std::array<double, 3> all{};
  std::size_t count = 0;
  char comma = ',';
  for (double value = 0; count < 3 && comma == ',' && text >> value; comma = 0, text >> comma) all[count++] = value;
  if (count != 1 && count != 3)
    throw Error(Code::kInvalidArgument, given.owner() + ": parameter '" + name + "' is '" + given.text(name) +
                                            "'; it must be one number, or three with commas");
  if (count == 1) all[1] = all[2] = all[0];
  return all;
}

InputStageOptions options_from(const Parameters& given) {
  InputStageOptions options;
  options.width = static_cast<std::size_t>(given.integer("width"));
  options.height = static_cast<std::size_t>(given.integer("height"));
  options.mean = three_numbers(given, "mean");
  options.scale = three_numbers(given, "scale");
  for (const double scale : options.scale)
    if (scale == 0) throw Error(Code::kInvalidArgument, given.owner() + ": parameter 'scale' divides, and has a 0");
  options.layout = given.text("layout") == "nchw" ? ImageLayout::kNchw : ImageLayout::kNhwc;
  const std::string& channels = given.text("channels");
  options.channels = channels == "rgb"   ? ChannelOrder::kRgb
                     : channels == "bgr" ? ChannelOrder::kBgr
                                         : ChannelOrder::kGray;
  options.fit = given.text("fit") == "stretch" ? Fit::kStretch : Fit::kLetterbox;
  return options;
}

class Normalise final : public TransformInplace {
 public:
  Normalise(const Parameters& given, const Environment& environment)
      : name_(given.text("name")),
        stage_(options_from(given)),
        frames_(environment.ledger),
        ledger_(*environment.ledger) {}

  void process(std::uint32_t, Frame& frame) override {
    const Frame host = frames_.map(frame);
    stage_.prepare(host.info());
    const Shape shape = stage_.shape();
    const std::size_t bytes = element_count(shape) * sizeof(float);
    if (!pool_ || pool_->requirements().size_bytes != bytes) pool_.emplace(bytes, kMaxTensors);
    const Tensor made = pool_->acquire_tensor({ElementType::kF32, shape, {}});
    stage_.run(host, made.data(), ledger_);
    metadata::of(frame).add(metadata::TensorOutput{made, name_, "", "picture"});
  }

 private:
  const std::string name_;
  Stage stage_;
  HostFrames frames_;
  Ledger& ledger_;
  std::optional<cpu::Pool> pool_;
};

}  // namespace

KnownElement normalise() {
  Description made;
  made.name = "normalise";
  made.about = "Adds the picture as an f32 tensor, (value - mean) / scale, to the frame's metadata";
  made.role = Role::kTransformInplace;
  made.formats = readable_formats();
  made.parameters = {
      {"width", "Width of the tensor in pixels; 0: that of the picture", std::int64_t{0}, false, 0, 65536},
      {"height", "Height of the tensor in pixels; 0: that of the picture", std::int64_t{0}, false, 0, 65536},
      {"mean", "Mean of the values 0 to 255: one number, or one for each channel, separated by commas",
       std::string("0")},
      {"scale", "Divisor after the mean is subtracted: one number, or one for each channel, separated by commas",
       std::string("255")},
      choice("layout", "Order of the axes", "nchw", {"nchw", "nhwc"}),
      choice("channels", "Order of the colours", "rgb", {"rgb", "bgr", "gray"}),
      choice("fit", "stretch: fills the tensor; letterbox: keeps the aspect ratio", "stretch",
             {"stretch", "letterbox"}),
      {"name", "Name of the tensor", std::string("normalised")}};
  return {made, [](const Parameters& given, const Environment& environment) -> AnyElement {
            return std::make_unique<Normalise>(given, environment);
          }};
}

}  // namespace overlay
}  // namespace elements
}  // namespace v1
}  // namespace tenon
