// SPDX-License-Identifier: Apache-2.0
// Sends patterns through the memory of decoders, drivers and elements.
#include <tenon/tools/tenon/proof/source_proof.hpp>

#include <chrono>
#include <cstddef>
#include <optional>

#include <fmt/core.h>

#include <tenon/core/memory.hpp>
#include <tenon/frameworks/ffmpeg/client.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>

#include <tenon/tools/tenon/proof/second_view.hpp>

namespace tenon::tool {
namespace {

constexpr std::chrono::seconds kFramePatience{15};
constexpr int kMostFrames = 512;  ///< The number of frames within which a buffer should be used again.

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
      return {Proof::kCopies, "a pattern written through AVFrame.data is not in the pool's memory"};
    write_pattern(frame.info(), pool.rows(), 2 * round + 1);
    if (!holds_pattern(frame.info(), decoder, 2 * round + 1))
      return {Proof::kCopies, "a pattern written into the pool's memory is not in AVFrame.data"};
  }
  return {Proof::kProved,
          "written through AVFrame.data, read through a second mapping of the pool's descriptor, and back; every "
          "byte, twice"};
}

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
      return {Proof::kCopies, "a pattern written through the descriptor is not in the decoder's surface"};
    write_pattern(frame.info(), decoder_rows(frame, *host), 2 * round + 1);
    transfer(&surface, host.get());
    if (!holds_pattern(frame.info(), descriptor.rows(), 2 * round + 1))
      return {Proof::kCopies, "a pattern that the driver uploaded into the surface is not seen through the descriptor"};
  }
  return {Proof::kProved,
          "written through the descriptor of the decoder's surface, read by the driver's download, and back by its "
          "upload; every byte, twice"};
}

HopProof prove_surface_of(FrameSource& source, const Frame& last) {
  const Frame surface = source.surface();
  const auto* lease = dynamic_cast<const ffmpeg::FrameLease*>(surface ? surface.plane(0).lease().get() : nullptr);
  if (!lease || surface.plane(0).memory() != last.plane(0).memory())
    return {Proof::kClaimed, "the last frame is not the one that ran last"};
  source.close();  // After this the decoder does not refer to the surface any more.
  return prove_surface(surface, *lease->frame());
}

/// A pattern in a buffer that goes back to the writer must be gone when the buffer is given out again. It is read through another
/// mapping than the one that wrote it. A launch line that has an end runs once more for this test.
HopProof prove_written_over(FrameSource& source) {
  const bool by_driver = source.kind() == FrameSource::Kind::kCamera;
  const char* const writer = by_driver ? "the driver" : "the elements";
  if (!by_driver && !source.live()) source.restart();
  constexpr unsigned kSeed = 7;
  MemoryIdentity marked;
  for (int i = 0; i < kMostFrames; ++i) {
    const std::optional<Frame> frame = source.read(Clock::now() + kFramePatience);
    if (!frame) break;
    const MemoryIdentity identity = frame->plane(0).memory()->identity();
    const SecondView view(*frame);
    // A driver's buffers are mapped by itself; elements may have no more than copies.
    if (!view.is_second() && !by_driver)
      return {Proof::kClaimed, "the elements use memory of their own, without a descriptor"};
    if (marked == MemoryIdentity{}) {
      marked = identity;
      write_pattern(frame->info(), view.rows(), kSeed);
      continue;
    }
    if (!(identity == marked)) continue;
    const std::size_t rows = row_count(frame->info());
    const std::size_t written = rows_written_over(frame->info(), view.rows(), kSeed);
    if (written != rows)
      return {Proof::kCopies, fmt::format("{} of {} rows still hold what was there before {} filled the buffer",
                                          rows - written, rows, writer)};
    return {
        Proof::kProved,
        fmt::format("a pattern written into a buffer before {0} got it back was written over by {0}: all {1} rows, "
                    "seen through {2}",
                    writer, rows, view.is_second() ? "a second mapping of its descriptor" : "the driver's mapping")};
  }
  return {Proof::kClaimed, fmt::format("{} did not use a buffer again before the stream ended", writer)};
}

HopProof prove(FrameSource& source, const Frame& last) {
  if (source.kind() == FrameSource::Kind::kProcess || source.kind() == FrameSource::Kind::kNode)
    return {Proof::kClaimed, "another process writes the frames, and lets no reader write to them"};
  if (source.kind() != FrameSource::Kind::kFile) return prove_written_over(source);
  if (source.decodes_by_va()) return prove_surface_of(source, last);
  source.close();
  return prove_decoder_to_pool(last);
}

}  // namespace

HopProof prove_writes_in_place(FrameSource& source, const Frame& last) {
  HopProof proof = guarded([&] { return prove(source, last); });
  source.close();
  return proof;
}

}  // namespace tenon::tool
