// SPDX-License-Identifier: Apache-2.0
// libavcodec with slice threads at most: frame threads would return from a call before its picture is decoded.
#include <tenon/drivers/vaapi/codec/decoder.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>

#include <tenon/core/error.hpp>

namespace tenon::va {
namespace {

/// TENON_VA_THREADS, else the machine's, at most four: more gain nothing within one picture.
int thread_count() {
  static const int count = [] {
    const int machine = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 4);
    const char* text = std::getenv("TENON_VA_THREADS");
    int wanted = 0;
    if (!text || std::from_chars(text, text + std::strlen(text), wanted).ec != std::errc()) return machine;
    return std::clamp(wanted, 1, 64);
  }();
  return count;
}

}  // namespace

bool Decoder::exists(const char* name) noexcept { return avcodec_find_decoder_by_name(name) != nullptr; }

Decoder::Decoder(const char* name) : current_(av_frame_alloc()), shown_(av_frame_alloc()), packet_(av_packet_alloc()) {
  const AVCodec* codec = avcodec_find_decoder_by_name(name);
  if (!codec) throw Error(Code::kUnavailable, std::string("libavcodec has no decoder ") + name);
  context_.reset(avcodec_alloc_context3(codec));
  if (!context_ || !current_ || !shown_ || !packet_) throw std::bad_alloc();
  gives_frames_only_ = codec->wrapper_name != nullptr;
  context_->opaque = this;
  context_->get_buffer2 = get_buffer;
  context_->thread_type = FF_THREAD_SLICE;
  context_->thread_count = thread_count();
  context_->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT | AV_CODEC_FLAG_LOW_DELAY;
  context_->flags2 |= AV_CODEC_FLAG2_SHOW_ALL;
  context_->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
  if (const int error = avcodec_open2(context_.get(), codec, nullptr); error < 0)
    throw Error(Code::kUnavailable, std::string("the decoder ") + name + " cannot be opened", "avcodec_open2", error);
}

int Decoder::get_buffer(AVCodecContext* context, AVFrame* frame, int flags) {
  auto* self = static_cast<Decoder*>(context->opaque);
  const int result = avcodec_default_get_buffer2(context, frame, flags);
  if (result < 0) return result;
  av_frame_unref(self->current_.get());
  return av_frame_ref(self->current_.get(), frame);
}

int Decoder::receive_all() {
  int result = 0;
  while (result >= 0) {
    result = avcodec_receive_frame(context_.get(), shown_.get());
    if (result >= 0 && gives_frames_only_) {
      av_frame_unref(current_.get());
      av_frame_move_ref(current_.get(), shown_.get());
    }
    av_frame_unref(shown_.get());
  }
  return result == AVERROR(EAGAIN) ? 0 : result;
}

const AVFrame* Decoder::decode(Bytes& packet) {
  const std::size_t size = packet.size();
  if (gives_frames_only_) av_frame_unref(current_.get());
  packet.resize(size + AV_INPUT_BUFFER_PADDING_SIZE);
  packet_->data = packet.data();  // Without an AVBufferRef: copied by the decoder if it keeps it.
  packet_->size = static_cast<int>(size);
  const int sent = avcodec_send_packet(context_.get(), packet_.get());
  const int received = receive_all();
  packet_->data = nullptr;
  packet_->size = 0;
  packet.resize(size);
  return sent < 0 || received < 0 || !current_->data[0] ? nullptr : current_.get();
}

}  // namespace tenon::va
