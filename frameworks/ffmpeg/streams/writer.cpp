// SPDX-License-Identifier: Apache-2.0
// Encoding of video and pictures into files.
#include <tenon/frameworks/ffmpeg/writer.hpp>

#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

namespace detail {

/// Whether it gives each picture at once, as encoders of pictures do.
TENON_INLINE bool encodes_pictures(const std::string& encoder) {
  const AVCodec* const codec = avcodec_find_encoder_by_name(encoder.c_str());
  return !codec || (codec->capabilities & AV_CODEC_CAP_DELAY) == 0;
}

}  // namespace detail

TENON_INLINE Writer::Writer(const std::filesystem::path& path, const FrameInfo& info, WriterOptions options)
    : path_(path), info_(info), options_(std::move(options)) {
  try {
    open();
  } catch (...) {
    discard();
    throw;
  }
}

TENON_INLINE void Writer::write(const Frame& frame) {
  if (is_finished_) throw Error(Code::kFailedPrecondition, what() + ": it is finished; open another one");
  if (!makes_pictures_) {
    if (encoder_->write(frame, format_)) ++frames_;
    return;
  }
  if (frames_ == 1 && !has_number(path_))
    throw Error(Code::kInvalidArgument, what() + " holds one picture, and more come; put a number into the name, as " +
                                            path_.stem().string() + "%04d" + path_.extension().string());
  if (!format_ || !fits(frame.info(), info_)) {
    discard();
    info_ = frame.info();
    begin(next_picture());
  }
  encoder_->write(frame, format_);
  complete();
  ++frames_;
}

TENON_INLINE bool Writer::takes(const FrameInfo& info) const { return makes_pictures_ || fits(info, info_); }

TENON_INLINE void Writer::finish() {
  if (std::exchange(is_finished_, true)) return;
  if (!makes_pictures_) complete();
  discard();
}

TENON_INLINE void Writer::complete() {
  encoder_->flush(format_);
  if (const int error = av_write_trailer(format_); error < 0)
    throw detail::make_error(error, what(), "av_write_trailer");
  if (const int error = avio_closep(&format_->pb); error < 0) throw detail::make_error(error, what(), "avio_close");
  try {
    file_->commit();
  } catch (const Error& error) {
    throw Error(error.code(), what() + " cannot be put in place: " + error.what(), error.native_api(),
                error.native_code());
  }
  discard();
}

TENON_INLINE bool Writer::fits(const FrameInfo& a, const FrameInfo& b) {
  return a.width_px == b.width_px && a.height_px == b.height_px && a.rotation == b.rotation;
}

TENON_INLINE bool Writer::has_number(const std::filesystem::path& path) {
  return av_filename_number_test(path.c_str()) == 1;
}

TENON_INLINE std::filesystem::path Writer::next_picture() const {
  if (!has_number(path_)) return path_;
  char name[4096];
  const int number = static_cast<int>(frames_ + 1);
  if (av_get_frame_filename2(name, sizeof name, path_.c_str(), number, 0) < 0)
    throw Error(Code::kInvalidArgument, what() + ": give one number in it, as %04d, and a shorter name");
  return name;
}

TENON_INLINE void Writer::check_path() const {
  std::error_code ignored;
  if (path_.empty() || path_.filename().empty()) throw Error(Code::kInvalidArgument, what() + ": give a file name");
  if (std::filesystem::is_directory(path_, ignored))
    throw Error(Code::kInvalidArgument, what() + " is a folder; give a file name");
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::is_directory(folder, ignored))
    throw Error(Code::kNotFound, what() + ": there is no folder \"" + folder.string() + "\"; make it first", "stat",
                ENOENT);
  if (std::filesystem::exists(path_, ignored) && ::access(path_.c_str(), W_OK) != 0) {
    throw Error(Code::kPermissionDenied, what() + " exists and may not be overwritten; choose another name");
  }
}

TENON_INLINE void Writer::open() {
  check_path();
  container_ = av_guess_format(nullptr, path_.c_str(), nullptr);
  if (!container_ || container_->video_codec == AV_CODEC_ID_NONE) {
    throw Error(Code::kInvalidArgument, what() + ": no video container goes by that extension; use .mp4 or .mkv");
  }
  makes_pictures_ = std::string_view(container_->name) == "image2";
  if ((container_->flags & AVFMT_NOFILE) != 0 && !makes_pictures_) {
    throw Error(Code::kUnimplemented, what() + ": " + container_->long_name +
                                          " is made of several files, which cannot appear at once when they are "
                                          "complete; write .mp4 or .ts and let `ffmpeg -c copy` cut it");
  }
  begin(next_picture());
}

TENON_INLINE void Writer::begin(const std::filesystem::path& target) {
  try {
    if (frames_ == 0) NewFile::remove_abandoned(target);
    file_ = std::make_unique<NewFile>(target, 0666, Durability::kProcess);
  } catch (const Error& error) {
    throw Error(error.code(), what() + " cannot be written; choose a folder that you may write to: " + error.what(),
                error.native_api(), error.native_code());
  }
  partial_ = file_->temporary().string();
  unfinished_ = Unfinished(partial_);
  const std::string url = "file:" + partial_;
  if (const int error = avformat_alloc_output_context2(&format_, container_, nullptr, url.c_str()); error < 0)
    throw detail::make_error(error, what(), "avformat_alloc_output_context2");
  WriterOptions options = options_;
  if (makes_pictures_ && options.threads == 0) options.threads = 1;  // Each picture has an encoder of its own.
  encoder_.emplace(what(), info_, std::move(options), *container_, target.string());
  encoder_name_ = encoder_->name();
  if (makes_pictures_ && !detail::encodes_pictures(encoder_name_))
    throw Error(Code::kInvalidArgument, what() + ": " + encoder_name_ +
                                            " makes pictures that need others, and here each is a file of its own; "
                                            "take an encoder of pictures (png, mjpeg), or leave the choice to FFmpeg");
  encoder_->add_to(format_);
  detail::Dictionary muxer;
  if (makes_pictures_)
    muxer.set("update", "1");  // The name is meant as it is.
  else if (const int error = avio_open(&format_->pb, url.c_str(), AVIO_FLAG_WRITE); error < 0)
    throw detail::make_error(error, what() + " cannot be written", "avio_open");
  if (const int error = avformat_write_header(format_, muxer.get()); error < 0)
    throw detail::make_error(error, what() + ": " + container_->name + " takes no " + encoder_name_,
                             "avformat_write_header");
}

TENON_INLINE void Writer::discard() noexcept {
  encoder_.reset();
  if (format_) {
    if (format_->pb) avio_closep(&format_->pb);
    avformat_free_context(format_);
    format_ = nullptr;
  }
  file_.reset();  // Removes a file that was not committed.
  partial_.clear();
  unfinished_.forget();
}

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
