// SPDX-License-Identifier: Apache-2.0
// Files, streams, and cameras that only FFmpeg can decode.
#include <algorithm>

#include <fmt/core.h>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/ffmpeg/client.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>

#include <tenon/tools/tenon/proof/second_view.hpp>
#include <tenon/tools/tenon/sources/open_source.hpp>

namespace tenon::tool {
namespace {

/// The picture as FFmpeg sees it: through AVFrame.data, in Tenon's order of planes.
Rows decoder_rows(const Frame& frame, const AVFrame& picture) {
  const ffmpeg::FormatMapping* mapping = ffmpeg::find_mapping(frame.info().format);
  Rows rows;
  for (std::size_t p = 0; p < frame.plane_count(); ++p) {
    rows.base[p] = reinterpret_cast<std::byte*>(picture.data[mapping->planes[p]]);
    rows.pitch[p] = picture.linesize[mapping->planes[p]];
  }
  return rows;
}

/// A pattern written through AVFrame.data is read through a second mapping of the pool's descriptor, and the other way
/// round, every byte of every plane.
HopProof prove_decoder_to_pool(const Frame& frame) {
  if (!frame.plane(0).is_writable()) return {Proof::kClaimed, "the buffer is still in use by the decoder"};
  const ffmpeg::FramePtr picture = ffmpeg::av_frame(frame);
  const Rows decoder = decoder_rows(frame, *picture);
  const SecondView pool(frame);
  if (!pool.is_second()) return {Proof::kClaimed, "the buffer has no descriptor to map a second time"};
  for (unsigned round = 1; round <= 2; ++round) {
    write_pattern(frame.info(), decoder, 2 * round);
    if (!holds_pattern(frame.info(), pool.rows(), 2 * round))
      return {Proof::kCopies, "what was written through AVFrame.data is not in the pool's memory"};
    write_pattern(frame.info(), pool.rows(), 2 * round + 1);
    if (!holds_pattern(frame.info(), decoder, 2 * round + 1))
      return {Proof::kCopies, "what was written into the pool's memory is not in AVFrame.data"};
  }
  return {Proof::kProved,
          "written through AVFrame.data, read through a second mapping of the pool's descriptor, and back; every "
          "byte, twice"};
}

class FfmpegSource final : public FrameSource {
 public:
  FfmpegSource(const SourceOptions& options, const ffmpeg::Options& wanted)
      : policy_(options.policy), video_(std::make_unique<ffmpeg::Video>(options.input, wanted)) {}

  const FrameInfo& info() const override { return video_->info(); }
  double fps() const override { return video_->fps(); }
  std::optional<std::uint64_t> frame_count() const override { return video_->frame_count(); }
  bool live() const override { return video_->live(); }
  std::string arrives_as() const override { return ends_of(video_->path()).first; }
  std::string lies_in() const override { return ends_of(video_->path()).second; }
  std::size_t buffers() const override { return video_->pool_size(); }
  std::uint64_t size_changes() const override { return video_->size_changes(); }
  Context writer() const override { return ffmpeg::context(); }
  void use_pool(const AllocationPlan& plan, std::size_t) override {
    try {
      video_->use_pool(plan);
    } catch (const Error& error) {
      // A decoder that only uses memory of its own, under require: its pictures are read where it puts them.
      if (policy_ != ZeroCopy::kRequire || error.code() != Code::kFailedPrecondition) throw;
    }
  }
  std::optional<Frame> read(Deadline deadline) override { return video_->read(deadline); }
  HopProof prove_writes_in_place(const Frame& last) override {
    video_.reset();  // So that only we refer to the frame.
    return guarded([&] { return prove_decoder_to_pool(last); });
  }

 private:
  ZeroCopy policy_;
  std::unique_ptr<ffmpeg::Video> video_;
};

/// A pattern written through the surface's descriptor comes out of the driver's own download, and what the driver uploads
/// is read through the descriptor, every byte of every plane.
HopProof prove_surface(const Frame& frame, AVFrame& surface) {
  const ffmpeg::FramePtr host = ffmpeg::client::new_frame();
  host->format = ffmpeg::find_mapping(frame.info().format)->av;
  host->width = surface.width;
  host->height = surface.height;
  if (const int error = av_frame_get_buffer(host.get(), 0); error < 0)
    throw ffmpeg::client::make_error(error, "a picture for the driver", "av_frame_get_buffer");
  const SecondView descriptor(frame);
  const auto transfer = [](AVFrame* to, const AVFrame* from) {
    if (const int error = av_hwframe_transfer_data(to, from, 0); error < 0)
      throw ffmpeg::client::make_error(error, "the driver moves no pixels", "av_hwframe_transfer_data");
  };
  for (unsigned round = 1; round <= 2; ++round) {
    write_pattern(frame.info(), descriptor.rows(), 2 * round);
    transfer(host.get(), &surface);
    if (!holds_pattern(frame.info(), decoder_rows(frame, *host), 2 * round))
      return {Proof::kCopies, "what was written through the descriptor is not in the decoder's surface"};
    write_pattern(frame.info(), decoder_rows(frame, *host), 2 * round + 1);
    transfer(&surface, host.get());
    if (!holds_pattern(frame.info(), descriptor.rows(), 2 * round + 1))
      return {Proof::kCopies, "what the driver put into the surface is not seen through the descriptor"};
  }
  return {Proof::kProved,
          "written through the descriptor of the decoder's surface, read by the driver's download, and back by its "
          "upload; every byte, twice"};
}

/// A video that a VA-API driver decodes: frames are its surfaces, by their descriptors.
class VaSource final : public FrameSource {
 public:
  explicit VaSource(const SourceOptions& options, const ffmpeg::Options& wanted)
      : ledger_(options.ledger), video_(std::make_unique<ffmpeg::Video>(options.input, wanted)) {
    router_.add(dmabuf::context());
    router_.add(host_context());
  }
  const FrameInfo& info() const override { return video_->info(); }
  double fps() const override { return video_->fps(); }
  std::optional<std::uint64_t> frame_count() const override { return video_->frame_count(); }
  bool live() const override { return video_->live(); }
  std::string arrives_as() const override { return video_->codec(); }
  std::string lies_in() const override { return "vaapi(" + descriptor_ + ")"; }
  std::size_t buffers() const override { return surfaces_.size(); }
  std::uint64_t size_changes() const override { return video_->size_changes(); }
  Context writer() const override { return dmabuf::context(); }
  /// The driver has surfaces of its own, which are read where they lie.
  void use_pool(const AllocationPlan&, std::size_t) override {}
  std::optional<Frame> read(Deadline deadline) override {
    std::optional<Frame> frame = video_->read(deadline);
    if (!frame) return frame;
    last_ = *frame;
    const Memory& memory = *last_.plane(0).memory();
    descriptor_ = std::string(memory.fd_kind().name());
    if (std::find(surfaces_.begin(), surfaces_.end(), memory.identity()) == surfaces_.end())
      surfaces_.push_back(memory.identity());
    MapOptions options;
    options.policy = ZeroCopy::kRequire;
    options.ledger = ledger_;
    options.access = last_.plane(0).is_writable() ? Access::kReadWrite : Access::kRead;
    return router_.map(last_, host_context(), options);
  }
  HopProof prove_writes_in_place(const Frame& last) override {
    return guarded([&]() -> HopProof {
      const auto* lease = dynamic_cast<const ffmpeg::FrameLease*>(last_ ? last_.plane(0).lease().get() : nullptr);
      if (!lease || last_.plane(0).memory() != last.plane(0).memory())
        return {Proof::kClaimed, "the last frame is not the one that ran last"};
      video_.reset();  // So that the decoder does not refer to the surface.
      return prove_surface(last_, *lease->frame());
    });
  }

 private:
  Ledger* ledger_;
  Router router_;
  std::unique_ptr<ffmpeg::Video> video_;
  std::vector<MemoryIdentity> surfaces_;  ///< Those seen so far.
  std::string descriptor_ = "dma-buf";
  Frame last_;  ///< As the decoder gave it.
};

ffmpeg::HardwareDevice open_va(const std::string& node) {
  try {
    return ffmpeg::HardwareDevice::open("vaapi", node);
  } catch (const Error& error) {
    throw Error(error.code(), std::string(error.what()) +
                                  " `tenon va-env -- tenon run ...` runs this with the software "
                                  "driver, also where there is no such node.");
  }
}

}  // namespace

std::unique_ptr<FrameSource> open_ffmpeg_source(const SourceOptions& options) {
  ffmpeg::Options wanted;
  wanted.policy = options.policy;
  wanted.ledger = options.ledger;
  wanted.width_px = options.width_px;
  wanted.height_px = options.height_px;
  wanted.fps = options.fps;
  // Over UDP a busy machine loses packets, and pictures arrive damaged; servers without TCP are asked for UDP then.
  if (options.input.starts_with("rtsp://")) wanted.input["rtsp_flags"] = "prefer_tcp";
  if (!options.va_node.empty()) {
    wanted.hardware = open_va(options.va_node);
    wanted.hardware_frames = static_cast<int>(std::max<std::size_t>(16, options.in_flight + 4));
  }
  std::unique_ptr<FrameSource> source;
  if (wanted.hardware)
    source = std::make_unique<VaSource>(options, wanted);
  else
    source = std::make_unique<FfmpegSource>(options, wanted);
  const bool camera = options.input.starts_with("/dev/video");
  if (options.format.fourcc || (options.asks_a_camera() && !camera))
    throw Error(Code::kInvalidArgument,
                fmt::format("\"{}\": --size, --fps and --format are asked of cameras that give whole pictures{}",
                            options.input, camera ? "; this one gives compressed ones" : ", and this is none"));
  return source;
}

}  // namespace tenon::tool
