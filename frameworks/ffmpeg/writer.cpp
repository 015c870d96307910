// SPDX-License-Identifier: Apache-2.0
// Encoding of video into files.
#include <tenon/frameworks/ffmpeg/writer.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

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
  if (!format_) throw Error(Code::kFailedPrecondition, what() + ": it is finished; open another one");
  encoder_->write(frame, format_);
  ++frames_;
}

TENON_INLINE void Writer::finish() {
  if (!format_) return;
  encoder_->flush(format_);
  if (const int error = av_write_trailer(format_); error < 0)
    throw detail::make_error(error, what(), "av_write_trailer");
  if (const int error = avio_closep(&format_->pb); error < 0) throw detail::make_error(error, what(), "avio_close");
  std::error_code failure;
  std::filesystem::rename(partial_, path_, failure);
  if (failure)
    throw Error(Code::kPermissionDenied, what() + " cannot be put in place: " + failure.message(), "rename",
                failure.value());
  partial_.clear();
  discard();
}

TENON_INLINE void Writer::open() {
  std::error_code ignored;
  if (path_.empty() || path_.filename().empty()) throw Error(Code::kInvalidArgument, what() + ": give a file name");
  if (std::filesystem::is_directory(path_, ignored))
    throw Error(Code::kInvalidArgument, what() + " is a folder; give a file name");
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::is_directory(folder, ignored))
    throw Error(Code::kNotFound, what() + ": there is no folder \"" + folder.string() + "\"; make it first");
  if (std::filesystem::exists(path_, ignored) && ::access(path_.c_str(), W_OK) != 0) {
    throw Error(Code::kPermissionDenied, what() + " exists and may not be overwritten; choose another name");
  }
  const AVOutputFormat* container = av_guess_format(nullptr, path_.c_str(), nullptr);
  if (!container || container->video_codec == AV_CODEC_ID_NONE) {
    throw Error(Code::kInvalidArgument, what() + ": no video container goes by that extension; use .mp4 or .mkv");
  }
  if (info_.rotation != Rotation::kNone && !says_rotation(*container)) {
    throw Error(Code::kUnimplemented, what() + ": this container cannot say that its pictures are to be " +
                                          tenon::to_string(info_.rotation) +
                                          "; use .mp4 or .mov, or write upright frames");
  }
  const std::string name = make_partial(folder);
  if (const int error = avformat_alloc_output_context2(&format_, container, nullptr, name.c_str()); error < 0) {
    throw detail::make_error(error, what(), "avformat_alloc_output_context2");
  }
  encoder_.emplace(what(), info_, options_, *container);
  encoder_name_ = encoder_->name();
  encoder_->add_to(format_);
  if (const int error = avio_open(&format_->pb, ("file:" + name).c_str(), AVIO_FLAG_WRITE); error < 0) {
    throw detail::make_error(error, what() + " cannot be written", "avio_open");
  }
  if (const int error = avformat_write_header(format_, nullptr); error < 0) {
    throw detail::make_error(error, what() + ": " + container->name + " takes no " + encoder_name_,
                             "avformat_write_header");
  }
}

TENON_INLINE bool Writer::says_rotation(const AVOutputFormat& container) {
  const std::string_view name = container.name;
  return name == "mov" || name == "mp4" || name == "3gp" || name == "3g2" || name == "ipod" || name == "ismv";
}

TENON_INLINE std::string Writer::make_partial(const std::filesystem::path& folder) {
  std::random_device random;
  for (int attempt = 0; attempt < 16; ++attempt) {
    std::string name =
        (folder / ("." + path_.filename().string() + "." + std::to_string(random()) + ".partial")).string();
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
      ::close(fd);
      partial_ = name;
      return name;
    }
    if (errno != EEXIST)
      throw detail::make_error(AVERROR(errno), what() + " cannot be written; choose a folder that you may write to",
                               "open");
  }
  throw Error(Code::kAlreadyExists, what() + ": no free temporary name beside it");
}

TENON_INLINE void Writer::discard() noexcept {
  encoder_.reset();
  if (format_) {
    if (format_->pb) avio_closep(&format_->pb);
    avformat_free_context(format_);
    format_ = nullptr;
  }
  if (!partial_.empty()) ::unlink(partial_.c_str());
  partial_.clear();
}

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
