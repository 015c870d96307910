// SPDX-License-Identifier: Apache-2.0
// FFmpeg for the conformance suite: AVBuffers that Tenon allocated, and AVFrames that came from outside.
#include <tenon/frameworks/ffmpeg/frame.hpp>

#include <dlfcn.h>

#include <tenon/tests/conformance/framework.hpp>

namespace {

using namespace tenon;

std::atomic<std::size_t> live_buffers{0};
std::atomic<std::size_t> fail_in{0};
std::atomic<bool> failed{false};

/// Counts down to the call that is to fail.
bool fails_now() {
  std::size_t left = fail_in.load();
  while (left != 0 && !fail_in.compare_exchange_weak(left, left - 1)) {
  }
  if (left != 1) return false;
  failed = true;
  return true;
}

template <typename Function>
Function* next_of(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

struct CountedFree {
  void (*free)(void*, std::uint8_t*);
  void* opaque;
  static void run(void* self, std::uint8_t* data) {
    auto* counted = static_cast<CountedFree*>(self);
    counted->free(counted->opaque, data);
    delete counted;
    --live_buffers;
  }
};

}  // namespace

// These stand before libavutil's: the program's own definition of a function is found first.
extern "C" AVBufferRef* av_buffer_create(std::uint8_t* data, std::size_t size, void (*free)(void*, std::uint8_t*),
                                         void* opaque, int flags) {
  static auto* const real = next_of<decltype(av_buffer_create)>("av_buffer_create");
  if (fails_now()) return nullptr;
  if (!free) return real(data, size, free, opaque, flags);  // FFmpeg's own, by av_malloc.
  auto* counted = new CountedFree{free, opaque};
  AVBufferRef* buffer = real(data, size, &CountedFree::run, counted, flags);
  if (buffer)
    ++live_buffers;
  else
    delete counted;
  return buffer;
}

extern "C" int av_frame_ref(AVFrame* target, const AVFrame* source) {
  static auto* const real = next_of<decltype(av_frame_ref)>("av_frame_ref");
  return fails_now() ? AVERROR(ENOMEM) : real(target, source);
}

extern "C" AVFrame* av_frame_alloc(void) {
  static auto* const real = next_of<decltype(av_frame_alloc)>("av_frame_alloc");
  return fails_now() ? nullptr : real();
}

namespace {

class FfmpegUnderTest final : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "ffmpeg"; }
  Context make_context() override { return ffmpeg::context(); }
  std::vector<std::string> variants() const override { return {"allocated", "avframe", "avframe_read_only"}; }

  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    if (variant == "allocated") return {context->allocate(wanted), {}};
    // One long grey row: AVFrames are pictures, the tensors of the suite are bytes in them.
    const Frame frame =
        foreign(variant, {kGray8, static_cast<std::uint32_t>(std::max<std::size_t>(wanted.size_bytes, 1)), 1});
    return {frame.plane(0).memory(), frame.plane(0).lease()};
  }

  Frame make_frame(const Context& context, std::string_view variant, const FrameInfo& info) override {
    if (variant == "allocated") return FrameworkUnderTest::make_frame(context, variant, info);
    const ffmpeg::FormatMapping* mapping = ffmpeg::find_mapping(info.format);
    // YV12, RGBP and BGRP become AVFrames by another order of planes and come back as I420 and GBRP.
    if (!mapping || !(ffmpeg::find_mapping(mapping->av)->format == info.format)) return {};
    return foreign(variant, info);
  }

  std::size_t live_objects() const override { return live_buffers; }
  bool fail_native_call(std::size_t n) override {
    failed = false;
    fail_in = n;
    return true;
  }
  bool native_call_failed() const override { return failed; }

  std::vector<conformance::Exclusion> exclusions() const override {
    return {{"format:yv12", "FFmpeg has no format of that plane order: its AVFrames are I420"},
            {"format:rgbp", "FFmpeg's planar RGB is GBRP only"},
            {"format:bgrp", "FFmpeg's planar RGB is GBRP only"}};
  }

 private:
  /// A picture as another library would hand it over.
  static Frame foreign(std::string_view variant, const FrameInfo& info) {
    const ffmpeg::FramePtr frame = ffmpeg::detail::new_frame();
    frame->format = ffmpeg::find_mapping(info.format)->av;
    frame->width = static_cast<int>(info.width_px);
    frame->height = static_cast<int>(info.height_px);
    const auto format = static_cast<AVPixelFormat>(frame->format);
    const auto size = static_cast<std::size_t>(av_image_get_buffer_size(format, frame->width, frame->height, 64));
    auto* bytes = static_cast<std::uint8_t*>(::operator new(size, std::align_val_t(64)));
    const auto release = [](void*, std::uint8_t* data) { ::operator delete(data, std::align_val_t(64)); };
    frame->buf[0] =
        av_buffer_create(bytes, size, release, nullptr, variant == "avframe_read_only" ? AV_BUFFER_FLAG_READONLY : 0);
    if (!frame->buf[0]) {
      release(nullptr, bytes);
      throw ffmpeg::detail::make_error(AVERROR(ENOMEM), "a test's frame", "av_buffer_create");
    }
    av_image_fill_arrays(frame->data, frame->linesize, bytes, format, frame->width, frame->height, 64);
    return ffmpeg::wrap(frame.get());
  }
};

[[maybe_unused]] const bool registered = conformance::add(std::make_unique<FfmpegUnderTest>());

}  // namespace
