// SPDX-License-Identifier: Apache-2.0
// Implementation of Video; included by video.hpp.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>
#include <tenon/frameworks/ffmpeg/convert.hpp>
#include <tenon/frameworks/ffmpeg/frame.hpp>
#include <tenon/frameworks/ffmpeg/input.hpp>
#include <tenon/frameworks/ffmpeg/pixel_format.hpp>
#include <tenon/frameworks/ffmpeg/rotation.hpp>
#include <tenon/frameworks/ffmpeg/video.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

inline Video::Impl::Impl(const std::string& name, Options given)
    : options(std::move(given)), input(name, options), decoder(name, *input.stream(), options) {
  const AVCodecParameters& parameters = *input.stream()->codecpar;
  auto format = static_cast<AVPixelFormat>(parameters.format);
  const FormatMapping* mapping = find_mapping(format);
  if (!mapping && format != AV_PIX_FMT_NONE) {
    const AVPixelFormat target = detail::nearest_mapped(format);
    if (options.policy == ZeroCopy::kRequire) {
      throw Error(Code::kFailedPrecondition, what() + ": its pictures are " + ffmpeg::to_string(format) +
                                                 ", which would be converted to " + ffmpeg::to_string(target) +
                                                 ", and zero copy is required; the formats read in place are" +
                                                 detail::mapped_names());
    }
    converted = true;
    mapping = find_mapping(target);
  }
  if (!mapping) mapping = find_mapping(AV_PIX_FMT_YUV420P);  // Not known before the first frame.
  // Devices write chroma interleaved.
  if (decoder.is_hardware() && mapping->format == kI420) mapping = find_mapping(kNv12);
  info =
      detail::make_info(*mapping, parameters.width, parameters.height, parameters.color_space, parameters.color_range);
  info.rotation = rotation = rotation_of(*input.stream());
  const AVRational rate = av_guess_frame_rate(input.format(), input.stream(), nullptr);
  if (rate.num > 0 && rate.den > 0) fps = av_q2d(rate);
}

inline std::optional<std::chrono::nanoseconds> Video::duration() const {
  if (live()) return std::nullopt;
  const AVStream& stream = *impl_->input.stream();
  if (stream.duration != AV_NOPTS_VALUE && stream.duration > 0)
    return std::chrono::nanoseconds(to_ns(stream.duration, stream.time_base));
  const std::int64_t us = impl_->input.format()->duration;
  if (us == AV_NOPTS_VALUE || us <= 0) return std::nullopt;
  return std::chrono::microseconds(us);
}

inline std::optional<std::uint64_t> Video::frame_count() const {
  if (live()) return std::nullopt;
  if (const std::int64_t count = impl_->input.stream()->nb_frames; count > 0) return static_cast<std::uint64_t>(count);
  const auto length = duration();
  if (!length || impl_->fps <= 0) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(std::chrono::duration<double>(*length).count() * impl_->fps));
}

inline std::string Video::path() const {
  std::string text = codec();
  if (impl_->converted) text += " -> swscale";
  if (!impl_->decoder.pooled())
    return text + " -> " + impl_->decoder.place();
  else if (impl_->copied || (impl_->decoder.pooled() && !impl_->decoder.direct()))
    text += " -> copy";
  return text + " -> pool(" + impl_->decoder.pool_name() + ")";
}

inline void Video::Impl::use_pool(const Requirements& wanted, Context allocator, std::size_t limit) {
  if (!allocator) allocator = host_context();
  if (limit == 0) throw Error(Code::kInvalidArgument, what() + ": a pool of 0 buffers cannot hold a picture");
  const auto refuse = [&](const std::string& why) {
    return Error(Code::kFailedPrecondition, what() + ": use_pool(): " + why);
  };
  if (decoder.is_hardware())
    throw refuse("a device decodes into surfaces of its own; map its frames, or open the video without a device");
  if (wanted.contiguous)
    throw refuse(
        "a consumer wants rows and planes without padding, and decoders need padded rows; let it take a pitch");
  if (!wanted.kinds.empty() &&
      std::find(wanted.kinds.begin(), wanted.kinds.end(), allocator->kind()) == wanted.kinds.end()) {
    throw refuse("the consumer does not take memory of kind " + std::string(allocator->kind().name()) +
                 "; pass the allocator whose memory it takes");
  }
  if (!wanted.modifiers.empty() &&
      std::find(wanted.modifiers.begin(), wanted.modifiers.end(), kModifierLinear) == wanted.modifiers.end()) {
    throw refuse("the consumer takes tiled pictures only, and software decoders write linear ones");
  }
  if (!FdKind::kMemfd.serves(wanted.fd) && allocator == host_context()) {
    throw refuse("host memory has no descriptor of kind " + std::string(wanted.fd.name()) +
                 "; pass an allocator that makes them");
  }
  if (options.policy == ZeroCopy::kRequire && !decoder.direct()) {
    throw refuse("decoder " + std::string(decoder.codec()->codec->name) +
                 " writes into memory of its own only, and zero copy is required; read it without a pool");
  }
  decoder.use_pool(wanted, allocator, limit);
}

inline void Video::Impl::use_pool(const AllocationPlan& plan, std::size_t limit) {
  if (!plan.possible)
    throw Error(Code::kFailedPrecondition, what() + ": use_pool(): the plan is not possible: " + plan.explanation);
  use_pool(plan.requirements, plan.allocator, limit);
}

/// Sends one packet to the decoder, or the end of the stream.
inline void Video::Impl::feed(Deadline deadline) {
  AVCodecContext* codec = decoder.codec();
  bool more = false;
  try {
    more = input.read(packet.get(), deadline);
  } catch (const Error& error) {
    if (error.code() == Code::kDeadlineExceeded) throw;
    source_failure = std::current_exception();  // The decoder may still hold good pictures; they come first.
  }
  if (!more) {
    draining = true;
    avcodec_send_packet(codec, nullptr);
    return;
  }
  const int error = avcodec_send_packet(codec, packet.get());
  av_packet_unref(packet.get());
  decoder.rethrow();
  if (error == AVERROR(ENOMEM)) throw detail::make_error(error, what(), "avcodec_send_packet");
  // A damaged packet costs one picture, not the stream: a broadcast joined in the middle starts with some.
  if (error < 0) ++damaged;
}

inline std::optional<Frame> Video::Impl::read(Deadline deadline) {
  if (ended) return std::nullopt;
  while (true) {
    const int error = avcodec_receive_frame(decoder.codec(), frame.get());
    if (error == 0) {
      try {
        return deliver();
      } catch (...) {
        av_frame_unref(frame.get());
        throw;
      }
    }
    decoder.rethrow();
    if (error == AVERROR_EOF) {
      ended = true;
      if (source_failure) std::rethrow_exception(std::exchange(source_failure, nullptr));
      check_end();
      return std::nullopt;
    }
    if (error == AVERROR(ENOMEM)) throw detail::make_error(error, what(), "avcodec_receive_frame");
    if (error != AVERROR(EAGAIN)) {
      ++damaged;
      if (draining && damaged > 1'000'000)
        throw detail::make_error(error, what() + " cannot be decoded", "avcodec_receive_frame");
      continue;
    }
    feed(deadline);
  }
}

/// After the last frame: checks that the file held all that its header promised.
inline void Video::Impl::check_end() const {
  if (input.truncated()) {
    throw Error(Code::kDataLoss, what() + " ends early: " + std::to_string(frames) +
                                     " frames could be read, then bytes are missing; "
                                     "the file is truncated, copy or record it again");
  }
  if (frames == 0) {
    throw Error(Code::kDataLoss, what() + ": no frame could be decoded (" + std::to_string(damaged) +
                                     " damaged packets); the file is damaged");
  }
  if (damaged != 0 && !input.live()) {
    throw Error(Code::kDataLoss, what() + ": " + std::to_string(damaged) + " packets were damaged, " +
                                     std::to_string(frames) + " frames could be read; copy or record it again");
  }
}

inline void Video::Impl::convert_if_needed() {
  const auto format = static_cast<AVPixelFormat>(frame->format);
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(format);
  if (find_mapping(format) || !descriptor || (descriptor->flags & AV_PIX_FMT_FLAG_HWACCEL)) return;
  const AVPixelFormat target = detail::nearest_mapped(format);
  if (options.policy == ZeroCopy::kRequire) {
    throw Error(Code::kFailedPrecondition, what() + ": a picture is " + ffmpeg::to_string(format) +
                                               ", which would be converted to " + ffmpeg::to_string(target) +
                                               ", and zero copy is required");
  }
  FramePtr out = detail::new_frame();
  out->format = target;
  out->width = frame->width;
  out->height = frame->height;
  if (decoder.pooled()) {
    decoder.fill(decoder.codec(), *out);
  } else if (const int error = av_frame_get_buffer(out.get(), 0); error < 0) {
    throw detail::make_error(error, what(), "av_frame_get_buffer");
  }
  converter.convert(*frame, *out, ledger());
  frame = std::move(out);
  converted = true;
}

/// For decoders without direct rendering, when pool memory was asked for.
inline void Video::Impl::copy_into_pool() {
  FramePtr pooled = detail::new_frame();
  pooled->format = frame->format;
  pooled->width = frame->width;
  pooled->height = frame->height;
  decoder.fill(decoder.codec(), *pooled);
  if (const int error = av_frame_copy_props(pooled.get(), frame.get()); error < 0)
    throw detail::make_error(error, what(), "av_frame_copy_props");
  pooled->crop_top = pooled->crop_bottom = pooled->crop_left = pooled->crop_right = 0;
  if (frame->crop_top | frame->crop_bottom | frame->crop_left | frame->crop_right) {
    av_frame_apply_cropping(frame.get(), AV_FRAME_CROP_UNALIGNED);
    pooled->width = frame->width;
    pooled->height = frame->height;
  }
  av_image_copy(pooled->data, pooled->linesize, const_cast<const std::uint8_t**>(frame->data), frame->linesize,
                static_cast<AVPixelFormat>(frame->format), frame->width, frame->height);
  static const EdgeId edge = register_edge("ffmpeg.decoder-copy");
  ledger().book_map(edge, false);
  const int bytes = av_image_get_buffer_size(static_cast<AVPixelFormat>(frame->format), frame->width, frame->height, 1);
  ledger().book_copied(edge, bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0);
  copied = true;
  frame = std::move(pooled);
}

/// The device's frame, as the caller wants it, or as dma-bufs.
inline Frame Video::Impl::take_hardware() {
  const AVRational time_base = input.stream()->time_base;
  if (options.take_hardware) return options.take_hardware(frame.get(), time_base);
  if (frame->hw_frames_ctx && (!surfaces_of || surfaces_of->data != frame->hw_frames_ctx->data)) {
    // Held, so that no other context can have its address.
    surfaces_of = std::shared_ptr<AVBufferRef>(av_buffer_ref(frame->hw_frames_ctx),
                                               [](AVBufferRef* last) { av_buffer_unref(&last); });
    surfaces = dmabuf::ImportCache();
  }
  return adopt_hardware(frame.get(), time_base, &surfaces);
}

inline std::optional<Frame> Video::Impl::deliver() {
  if ((frame->flags & AV_FRAME_FLAG_CORRUPT) != 0 || frame->decode_error_flags != 0) ++damaged_frames;
  // A picture without a rotation of its own has the container's.
  if (rotation != Rotation::kNone && !av_frame_get_side_data(frame.get(), AV_FRAME_DATA_DISPLAYMATRIX))
    set_rotation(*frame, rotation);
  convert_if_needed();
  const bool in_pool = frame->buf[0] && detail::PoolRegistry::process().find(frame->buf[0]->data);
  // Under `require` use_pool() admits only direct decoders. The few pictures that such a decoder began before
  // use_pool() was called stay where they are.
  if (decoder.pooled() && !in_pool && !frame->hw_frames_ctx && options.policy != ZeroCopy::kRequire) copy_into_pool();
  Frame result = detail::is_hardware(*frame) ? take_hardware() : adopt(frame.get(), input.stream()->time_base);
  const bool changed = result.info().width_px != info.width_px || result.info().height_px != info.height_px ||
                       !(result.info().format == info.format) || result.info().rotation != info.rotation;
  if (changed && frames != 0) {
    ++size_changes;
    result.metadata()["size_changed"] = true;
  }
  info = result.info();
  ++frames;
  return result;
}

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
