// SPDX-License-Identifier: Apache-2.0
// Files, streams, and cameras that only FFmpeg can decode.
#include <fmt/core.h>

#include <tenon/core/error.hpp>
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

}  // namespace

std::unique_ptr<FrameSource> open_ffmpeg_source(const SourceOptions& options) {
  ffmpeg::Options wanted;
  wanted.policy = options.policy;
  wanted.ledger = options.ledger;
  wanted.width_px = options.width_px;
  wanted.height_px = options.height_px;
  wanted.fps = options.fps;
  auto source = std::make_unique<FfmpegSource>(options, wanted);
  const bool camera = options.input.starts_with("/dev/video");
  if (options.format.fourcc || (options.asks_a_camera() && !camera))
    throw Error(Code::kInvalidArgument,
                fmt::format("\"{}\": --size, --fps and --format are asked of cameras that give whole pictures{}",
                            options.input, camera ? "; this one gives compressed ones" : ", and this is none"));
  return source;
}

}  // namespace tenon::tool
