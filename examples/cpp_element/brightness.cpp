// SPDX-License-Identifier: Apache-2.0
// An element in one file: adds the mean luma of each frame to its metadata, and tells whether the frame is dark.
// Compiled as a module, it is available to every pipeline: tenon pipeline, GStreamer's, those of programs.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/elements/module.hpp>

namespace {

using namespace tenon::elements;

class Brightness final : public TransformInplace {
 public:
  explicit Brightness(const Parameters& given)
      : owner_(given.owner()), step_(static_cast<std::size_t>(given.integer("step"))), dark_(given.number("dark")) {}

  /// Requirements for process() to use frames in place: the host can access them.
  tenon::Requirements wanted(const StreamInfo&) const override {
    tenon::Requirements all;
    all.host_access = true;
    return all;
  }

  /// Refuses formats that it cannot read before anything runs.
  StreamInfo open(std::uint32_t, const StreamInfo& in) override {
    const tenon::PixelFormat format = in.frame.format;
    if (format.fourcc != 0 && format != tenon::kNv12 && format != tenon::kI420 && format != tenon::kGray8)
      throw tenon::Error(tenon::Code::kInvalidArgument, owner_ +
                                                            " reads luma of NV12, I420 and GRAY8, and the stream is " +
                                                            tenon::to_string(format) + "; put 'convert' before it");
    return in;
  }

  void process(std::uint32_t, tenon::Frame& frame) override {
    const tenon::Tensor& luma = frame.plane(0);
    const auto* row = static_cast<const std::uint8_t*>(luma.data());
    std::uint64_t sum = 0, count = 0;
    for (std::size_t y = 0; y < luma.shape()[0]; y += step_) {
      for (std::size_t x = 0; x < luma.shape()[1]; x += step_, ++count)
        sum += row[luma.byte_strides()[0] * static_cast<std::ptrdiff_t>(y) + static_cast<std::ptrdiff_t>(x)];
    }
    const double mean = static_cast<double>(sum) / static_cast<double>(count);
    const bool is_dark = mean < dark_;
    tenon::metadata::Collection& known = tenon::metadata::of(frame);
    known.add(tenon::metadata::Json{"{\"brightness\":" + std::to_string(mean) + "}"});
    known.add(tenon::metadata::Classification{is_dark ? "dark" : "bright", is_dark ? 0 : 1, 1, "brightness"});
  }

 private:
  const std::string owner_;
  const std::size_t step_;
  const double dark_;
};

std::vector<KnownElement> elements() {
  Description brightness;
  brightness.name = "brightness";
  brightness.about = "Adds the mean luma of each frame, and whether it is dark";
  brightness.role = Role::kTransformInplace;
  brightness.parameters = {{"step", "Looks at every nth pixel of every nth row", std::int64_t{4}, false, 1, 64},
                           {"dark", "Below this mean, 0 to 255, a frame is dark", 60.0, false, 0, 255}};
  return {{brightness, [](const Parameters& given, const Environment&) -> AnyElement {
             return std::make_unique<Brightness>(given);
           }}};
}

}  // namespace

TENON_ELEMENT_MODULE(elements)
