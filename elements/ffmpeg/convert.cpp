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
        results_(av::context(), static_cast<std::size_t>(given.integer("limit"))),
        swscale_(given.text("quality") == "exact" ? av::client::Quality::kExact : av::client::Quality::kFast,
                 static_cast<int>(given.integer("threads"))) {}

  Requirements wanted(const StreamInfo&) const override {
    Requirements all = av::context()->requirements();
    all.host_access = true;
    return all;
  }
  StreamInfo open(std::uint32_t, const StreamInfo& in) override { return params_.stream_of(in); }
  void allocate(std::uint32_t, const Requirements& wanted, std::span<const Party> readers) override {
    results_.allocate(Wanted(wanted, readers));
  }

  void process(Item item, Output& output) override {
    const FrameInfo& in = item.frame.info();
    const VideoConvertParams::Part part = params_.part_of(in);
    const FrameInfo info = params_.result_of(in);
    Frame source = on_host_.map(item.frame);
    if (part.width != in.width_px || part.height != in.height_px) {
      Frame cut = tenon::crop(source, part.x, part.y, part.width, part.height);
      VideoConvertParams::carry(source, part,
                                cut);  // With its place in the source, whose own metadata others may have.
      source = std::move(cut);
    }
    if (!(source.info() == info)) source = converted(source, info);
    output.emit({item.stream, std::move(source)});
  }
  void interrupt() noexcept override { results_.interrupt(); }

 private:
  Frame converted(const Frame& source, const FrameInfo& info) {
    Frame result = results_.acquire(info);
    if (has_same_values(source.info(), info)) {
      av::client::repack(source, result, ledger_);
    } else if (av::client::swscale_writes(info.format)) {
      scale(source, result);
    } else {
      const Frame planar = Frame::allocate(planar_form(info));
      scale(source, planar);
      av::client::repack(planar, result, ledger_);
    }
    VideoConvertParams::carry(source, {0, 0, source.info().width_px, source.info().height_px}, result);
    return result;
  }

  /// @errors kUnimplemented: swscale does not know the format, and neither do we read it pixel by pixel.
  static FrameInfo planar_form(const FrameInfo& info) {
    FrameInfo planar = info;
    const auto format = av::client::planar_of(info.format);
    if (!format)
      throw Error(Code::kUnimplemented, "convert_cpu: neither swscale nor Tenon converts " + to_string(info.format) +
                                            "; give or ask for another format, such as nv12 or rgb");
    planar.format = *format;
    return planar;
  }
  /// Whether only the places of samples differ, for formats that swscale does not know: NV16 and NV61.
  static bool has_same_values(const FrameInfo& from, const FrameInfo& to) {
    if (av::client::swscale_reads(from.format) && av::client::swscale_writes(to.format)) return false;
    FrameInfo moved = from;
    moved.format = to.format;
    const auto planar = av::client::planar_of(from.format);
    return planar && planar == av::client::planar_of(to.format) && moved == to;
  }
  void scale(const Frame& source, const Frame& result) {
    if (!av::client::swscale_reads(source.info().format)) {
      const Frame planar = Frame::allocate(planar_form(source.info()));
      av::client::repack(source, planar, ledger_);
      return scale(planar, result);
    }
    const av::FramePtr from = av::av_frame(source, default_deadline(), &ledger_);
    const av::FramePtr to = av::av_frame(result, default_deadline(), &ledger_);
    swscale_.convert(*from, *to, ledger_);
  }

  const VideoConvertParams params_;
  Ledger& ledger_;
  HostFrames on_host_;
  OutputFrames results_;
  av::client::Converter swscale_;
};

}  // namespace

KnownElement convert() {
  Description made{"convert_cpu", "Crops, scales and converts pictures on the CPU, into memory that all readers share",
                   Role::kTransform, VideoConvertParams::cpu_parameters()};
  made.formats = convertible_formats();
  return {std::move(made), [](const Parameters& given, const Environment& environment) -> AnyElement {
            return std::make_unique<CpuConverter>(given, environment);
          }};
}

}  // namespace ffmpeg
}  // namespace elements
}  // namespace v1
}  // namespace tenon
