// SPDX-License-Identifier: Apache-2.0
// libavcodec with frame threads, or slice threads. A frame thread's picture is done when the thread's turn comes again.
#include <tenon/drivers/vaapi/codec/decoder.hpp>

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>

#include <tenon/drivers/vaapi/codec/codecs.hpp>

namespace tenon::va {
namespace {

#if LIBAVCODEC_VERSION_MAJOR >= 60
void let_threads_ask_for_memory(AVCodecContext&) {}  // Nothing to do: from version 60 on they always do.
constexpr int kNumbersFrames = AV_CODEC_FLAG_COPY_OPAQUE;
void number_next(AVCodecContext&, AVPacket& packet, std::uint64_t number) {
  packet.opaque = reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));  // NOLINT: a number, as documented.
}
std::uint64_t number_of(const AVFrame& frame) { return reinterpret_cast<std::uintptr_t>(frame.opaque); }
#else
void let_threads_ask_for_memory(AVCodecContext& context) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // Version 60, which needs no telling, is announced.
  context.thread_safe_callbacks = 1;
#pragma GCC diagnostic pop
}
constexpr int kNumbersFrames = 0;
void number_next(AVCodecContext& context, AVPacket&, std::uint64_t number) {
  context.reordered_opaque = static_cast<std::int64_t>(number);
}
std::uint64_t number_of(const AVFrame& frame) { return static_cast<std::uint64_t>(frame.reordered_opaque); }
#endif

constexpr std::int64_t kAlignment_px = 128;

/// A packet that decodes to nothing, without an error: a delimiter, or a repeated frame. Empty: the codec has none.
Bytes filler_of(AVCodecID codec) {
  Bytes filler;
  switch (codec) {
    case AV_CODEC_ID_H264:
      filler = {'Q', '2', '6', '4', 0, 0, 0, 1, 0x09, 0xf0};  // Without these letters, no picture is an error.
      break;
    case AV_CODEC_ID_HEVC:
      filler = {0, 0, 0, 1, 0x46, 1, 0x50};
      break;
    case AV_CODEC_ID_VP9:
      filler = {0x88};
      break;
    default:
      return filler;
  }
  filler.resize(filler.size() + AV_INPUT_BUFFER_PADDING_SIZE);
  return filler;
}

}  // namespace

std::int64_t max_pixels(const Surface& surface) noexcept {
  return (std::int64_t{surface.width_px} + kAlignment_px) * (std::int64_t{surface.height_px} + kAlignment_px);
}

bool Decoder::exists(const char* name) noexcept { return avcodec_find_decoder_by_name(name) != nullptr; }

Decoder::Decoder(const char* name, bool runs_ahead)
    : taken_(av_frame_alloc()), shown_(av_frame_alloc()), packet_(av_packet_alloc()) {
  const AVCodec* codec = avcodec_find_decoder_by_name(name);
  if (!codec) throw Error(Code::kUnavailable, std::string("libavcodec has no decoder ") + name);
  context_.reset(avcodec_alloc_context3(codec));
  if (!context_ || !taken_ || !shown_ || !packet_) throw std::bad_alloc();
  filler_ = filler_of(codec->id);
  const bool ahead = runs_ahead && !filler_.empty();
  asks_first_ = codec->id == AV_CODEC_ID_HEVC;
  gives_frames_only_ = codec->wrapper_name != nullptr;
  context_->log_level_offset = kQuiet;
  context_->opaque = this;
  context_->get_buffer2 = get_buffer;
  let_threads_ask_for_memory(*context_);
  context_->thread_type = ahead ? FF_THREAD_FRAME : FF_THREAD_SLICE;
  context_->thread_count = codec_threads();
  context_->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT | kNumbersFrames | (ahead ? 0 : AV_CODEC_FLAG_LOW_DELAY);
  context_->flags2 |= AV_CODEC_FLAG2_SHOW_ALL;
  context_->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
  if (const int error = avcodec_open2(context_.get(), codec, nullptr); error < 0)
    throw Error(Code::kUnavailable, std::string("the decoder ") + name + " cannot be opened", "avcodec_open2", error);
  if (context_->active_thread_type & FF_THREAD_FRAME) behind_ = static_cast<std::size_t>(context_->thread_count) - 1;
  steps_.reserve(8 * (behind_ + 2));
}

int Decoder::get_buffer(AVCodecContext* context, AVFrame* frame, int flags) {
  auto* self = static_cast<Decoder*>(context->opaque);
  const std::uint64_t number = number_of(*frame);
  Ref<Surface> target;
  {
    const std::lock_guard lock(self->mutex_);
    const auto found =
        std::find_if(self->steps_.begin(), self->steps_.end(), [&](const Step& step) { return step.number == number; });
    if (found == self->steps_.end() || !found->target ||
        std::int64_t{frame->width} * frame->height > max_pixels(*found->target))
      return AVERROR(EINVAL);
    // The surface is in use by another picture: a stand-in for a lost one, or the client does not wait for its surface.
    const bool is_taken = found->frame || std::any_of(self->steps_.begin(), found, [&](const Step& before) {
                            return before.target.get() == found->target.get();
                          });
    if (!is_taken) target = found->target;
  }
  const int result = self->memory_.get(*context, *frame, flags, target);
  return result < 0 ? result : self->keep(number, frame);
}

int Decoder::keep(std::uint64_t number, AVFrame* frame) {
  Frame kept(av_frame_clone(frame));
  if (!kept) return AVERROR(ENOMEM);
  const std::lock_guard lock(mutex_);
  for (Step& step : steps_)
    if (step.number == number && !(asks_first_ && step.frame)) step.frame = std::move(kept);
  return 0;
}

int Decoder::receive_all() {
  int result = 0;
  while (result >= 0) {
    result = avcodec_receive_frame(context_.get(), shown_.get());
    if (result >= 0 && gives_frames_only_) keep(last_number_, shown_.get());
    av_frame_unref(shown_.get());
  }
  return result == AVERROR(EAGAIN) ? 0 : result;
}

bool Decoder::send(std::span<std::uint8_t> padded) {
  packet_->data = padded.data();  // Without an AVBufferRef: copied by the decoder.
  packet_->size = static_cast<int>(padded.size() - AV_INPUT_BUFFER_PADDING_SIZE);
  number_next(*context_, *packet_, last_number_);
  const int sent = avcodec_send_packet(context_.get(), packet_.get());
  const int received = receive_all();
  packet_->data = nullptr;
  packet_->size = 0;
  return sent >= 0 && received >= 0;
}

/// Submits a packet. The call returns the result of the step that ends now; while the threads fill up there is none
/// yet, and the result is that of `step` itself.
bool Decoder::step(std::span<std::uint8_t> padded, Step step) {
  step.number = ++last_number_;
  {
    const std::lock_guard lock(mutex_);
    steps_.push_back(std::move(step));  // There is room: see steps_.
  }
  const bool good = send(padded);
  const std::lock_guard lock(mutex_);
  const auto running = std::find_if(steps_.begin(), steps_.end(), [](const Step& one) { return !one.done; });
  const bool ends = static_cast<std::size_t>(steps_.end() - running) > behind_;
  if (ends) running->done = true;
  if (!good) (ends ? *running : steps_.back()).failed = true;
  return good;
}

void Decoder::give(Bytes& packet, const Ref<Surface>& target, bool may_be_second_field) {
  const std::size_t size = packet.size();
  packet.resize(size + AV_INPUT_BUFFER_PADDING_SIZE);
  if (behind_ == 0)
    context_->max_pixels = max_pixels(*target);  // The threads have their own limit, and always ask for memory.
  const bool good = step(packet, {0, target, true, may_be_second_field, false, false, {}});
  packet.resize(size);
  if (!good) settle();
}

void Decoder::push() {
  if (!step(filler_, {})) settle();
}

/// After an error it is unknown whether the packet reached a thread and counts as a step. So this submits enough filler
/// packets that all earlier steps are done in either case. If that fails, all threads end, and references are lost.
void Decoder::settle() {
  if (behind_ == 0) return;
  std::size_t good = 0;
  for (std::size_t i = 0; i < 3 * (behind_ + 1) && good <= behind_; ++i) good = step(filler_, {}) ? good + 1 : 0;
  if (good <= behind_) avcodec_flush_buffers(context_.get());
  const std::lock_guard lock(mutex_);
  for (Step& one : steps_) one.done = true;
}

std::optional<Decoder::Result> Decoder::take() {
  const std::lock_guard lock(mutex_);
  while (!steps_.empty() && steps_.front().done) {
    Step step = std::move(steps_.front());
    steps_.erase(steps_.begin());
    if (!step.is_picture) continue;
    if (step.frame)
      taken_ = std::move(step.frame);
    else if (!step.may_be_second_field)
      taken_ = {};
    return Result{step.failed || !taken_ ? nullptr : taken_.get()};
  }
  return std::nullopt;
}

}  // namespace tenon::va
