// SPDX-License-Identifier: Apache-2.0
// The picture for people: a copy of the frame with the detections on it, encoded as video or as PNG.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/ffmpeg/client.hpp>
#include <tenon/frameworks/ffmpeg/writer.hpp>
#include <tenon/vision/detection.hpp>

#include <tenon/core/pixel_format.hpp>
#include <tenon/tools/tenon/shared/interrupt.hpp>
#include <tenon/tools/tenon/shared/output_file.hpp>

namespace tenon::tool {

/// Encodes one picture by the encoder of `codec`, which must take its format. @param what  For messages.
/// @errors kUnimplemented: this FFmpeg has no such encoder, or it refuses the format.
std::vector<char> encode_picture(AVCodecID codec, AVFrame& picture, const std::string& what);

/// A frame as PNG. @errors kUnimplemented: an FFmpeg without swscale's conversion or a PNG encoder.
std::vector<char> to_png(const Frame& frame);

/// Draws and encodes. Its copies are booked separately from the way to the model.
/// @thread one at a time.
class Pictures {
 public:
  /// Either path may be empty. @errors as ffmpeg::Writer and OutputFile
  Pictures(const std::string& video_path, const std::string& snapshot_path, CommandFiles& files, const FrameInfo& info,
           double fps);

  bool wanted() const { return writer_ || snapshot_; }
  /// Copies `frame`, upright, draws, passes it to the encoder. If the size changes, pictures keep the first one's:
  /// cut, or with a black rim. @param all  If not null: drawn instead, with masks, points and texts.
  void show(const Frame& frame, std::span<const vision::Detection> detections,
            const std::shared_ptr<metadata::Collection>& all = nullptr);
  /// Writes the files. Otherwise they do not appear.
  void finish();

  const Ledger& ledger() const { return ledger_; }
  /// The encoder's name, for example "libx264"; empty without a video.
  std::string codec() const { return writer_ ? writer_->codec() : std::string(); }
  /// Pictures whose format differs from the first one's, and which are therefore missing from the video.
  std::uint64_t left_out() const { return left_out_; }

 private:
  Frame as_i420(const Frame& frame);
  void draw_all(Frame& picture, const std::shared_ptr<metadata::Collection>& all);
  Frame canvas(const Frame& frame);

  Ledger ledger_;
  FrameInfo info_;
  OutputFile snapshot_;
  cpu::FramePool pool_;
  std::optional<ffmpeg::Writer> writer_;
  ffmpeg::client::Converter converter_;
  std::unique_ptr<elements::TransformInplace> draw_;  ///< Draws what is more than boxes.
  Frame best_;
  double best_clarity_ = -1;
  std::uint64_t left_out_ = 0;
};

}  // namespace tenon::tool
