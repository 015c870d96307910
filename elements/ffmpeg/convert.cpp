// SPDX-License-Identifier: Apache-2.0
// The transform "convert_cpu": crop, scale and format by swscale.
#include <memory>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/ffmpeg/elements.hpp>
#include <tenon/elements/picture_change.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/frameworks/ffmpeg/client.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace ffmpeg {
namespace {

namespace av = tenon::ffmpeg;

class CpuConverter final : public Transform {
 public:
  CpuConverter(const Parameters& given, const Environment& environment)
      : params_(given),
        ledger_(environment.ledger ? *environment.ledger : Ledger::process()),
        on_host_(&ledger_),
        results_(av::context()) {}

  Requirements wanted(const StreamInfo&) const override {
    Requirements all = av::context()->requirements();
    all.host_access = true;
    return all;
  }
  StreamInfo open(std::uint32_t, const StreamInfo& in) override {
    StreamInfo out = in;
    if (in.frame.format.fourcc != 0 && in.frame.width_px != 0) out.frame = params_.result_of(in.frame);
    return out;
  }
  void allocate(std::uint32_t, const Requirements& wanted, std::span<const Party> readers) override {
    results_.allocate(Wanted(wanted, readers));
  }

  void process(Item item, Output& output) override {
    const FrameInfo& in = item.frame.info();
    const VideoConvertParams::Part part = params_.part_of(in);
    const FrameInfo info = params_.result_of(in);
    Frame source = on_host_.map(item.frame);
    if (part.width != in.width_px || part.height != in.height_px)
      source = tenon::crop(source, part.x, part.y, part.width, part.height);
    if (!(source.info() == info)) source = converted(source, info);
    output.emit({item.stream, std::move(source)});
  }
  void interrupt() noexcept override { results_.interrupt(); }

 private:
  Frame converted(const Frame& source, const FrameInfo& info) {
    Frame result = results_.acquire(info);
    const av::FramePtr from = av::av_frame(source, default_deadline(), &ledger_);
    const av::FramePtr to = av::av_frame(result, default_deadline(), &ledger_);
    swscale_.convert(*from, *to, ledger_);
    VideoConvertParams::carry(source, {0, 0, source.info().width_px, source.info().height_px}, result);
    return result;
  }

  const VideoConvertParams params_;
  Ledger& ledger_;
  HostFrames on_host_;
  OutputFrames results_;
  av::client::Converter swscale_;
};

}  // namespace

KnownElement convert() {
  return {{"convert_cpu", "Crops, scales and converts pictures on the CPU, into memory that all readers share",
           Role::kTransform, VideoConvertParams::parameters()},
          [](const Parameters& given, const Environment& environment) -> AnyElement {
            return std::make_unique<CpuConverter>(given, environment);
          }};
}

}  // namespace ffmpeg
}  // namespace elements
}  // namespace v1
}  // namespace tenon
