// SPDX-License-Identifier: Apache-2.0
// The transform "convert_va": crop, scale and format by a VA-API driver, from surface to surface.
#include <tenon/elements/vaapi/elements.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/elements/picture_change.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/vaapi/contexts.hpp>
#include <tenon/frameworks/vaapi/vaapi.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace vaapi {
namespace {

namespace va = tenon::vaapi;

class VaConverter final : public Transform {
 public:
  VaConverter(const Parameters& given, const Environment& environment)
      : params_(given), ledger_(environment.ledger ? *environment.ledger : Ledger::process()) {
    const auto all = va::contexts();
    if (all.empty())
      throw Error(
          Code::kUnavailable,
          given.owner() + ": no render node here has a VA-API driver; vainfo tells why. Convert by=cpu instead");
    display_ = all.front();
  }

  StreamInfo open(std::uint32_t, const StreamInfo& in) override { return params_.stream_of(in); }

  void process(Item item, Output& output) override {
    const FrameInfo& in = item.frame.info();
    const VideoConvertParams::Part part = params_.part_of(in);
    prepare(item.frame.plane(0).context(), params_.result_of(in));
    MapOptions options;
    options.ledger = &ledger_;
    const Frame surface = router_->map(item.frame, display_, options);
    va::Processing how;
    how.crop = {part.x, part.y, part.width, part.height};
    Frame result = processor_->run(surface, how, default_deadline(), &ledger_);
    VideoConvertParams::carry(item.frame, part, result);
    output.emit({item.stream, std::move(result)});
  }

 private:
  /// Frames of a display are processed on that display; other frames are mapped to the first display.
  void prepare(const Context& from, const FrameInfo& info) {
    const bool is_other_display = from->kind() == display_->kind() && !(from == display_);
    if (is_other_display) display_ = from;
    if (!router_ || is_other_display) {
      router_ = std::make_unique<Router>();
      for (const Context& one : {display_, dmabuf::context(), host_context()}) router_->add(one);
      processor_.reset();
    }
    router_->add(from);
    if (processor_ && processed_ == info) return;
    processor_ = std::make_unique<va::Processor>(display_, info, kResults);
    processed_ = info;
  }

  static constexpr std::size_t kResults = 32;  ///< Surfaces that may be in use at a time.

  const VideoConvertParams params_;
  Ledger& ledger_;
  Context display_;
  std::unique_ptr<Router> router_;
  std::unique_ptr<va::Processor> processor_;
  FrameInfo processed_;
};

}  // namespace

std::vector<KnownElement> elements() {
  return {{{"convert_va", "Crops, scales and converts pictures by a VA-API driver, into surfaces of that driver",
            Role::kTransform, VideoConvertParams::parameters()},
           [](const Parameters& given, const Environment& environment) -> AnyElement {
             return std::make_unique<VaConverter>(given, environment);
           }}};
}

}  // namespace vaapi
}  // namespace elements
}  // namespace v1
}  // namespace tenon
