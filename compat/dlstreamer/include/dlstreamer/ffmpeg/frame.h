// SPDX-License-Identifier: Apache-2.0
// AVFrames as a frame.
#pragma once

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>

#include "dlstreamer/base/frame.h"
#include "dlstreamer/ffmpeg/utils.h"

namespace dlstreamer {

/// One AVFrame, or several as a batch, which are mapped one by one.
class FFmpegFrame : public BaseFrame {
 public:
  FFmpegFrame() : BaseFrame(MediaType::Image, 0, MemoryType::FFmpeg) {}
  /// @param take_ownership  The AVFrame is freed with this; else it has to be kept, and what is mapped takes references.
  FFmpegFrame(AVFrame* frame, bool take_ownership = false, ContextPtr context = nullptr)
      : FFmpegFrame(frame, take_ownership, avframe_to_info(frame), std::move(context)) {}
  FFmpegFrame(AVFrame* frame, bool take_ownership, const FrameInfo& info, ContextPtr context = nullptr)
      : FFmpegFrame(std::vector<AVFrame*>{frame}, take_ownership, info, std::move(context)) {}
  FFmpegFrame(const std::vector<AVFrame*>& batched_frames, bool take_ownership = false, ContextPtr context = nullptr)
      : FFmpegFrame(batched_frames, take_ownership,
                    avframe_to_info(batched_frames.empty() ? nullptr : batched_frames.front()), std::move(context)) {}
  /// @errors std::runtime_error: a batch has several.
  AVFrame* avframe() const {
    if (_frames.size() != 1)
      throw std::runtime_error("FFmpegFrame::avframe: a batch of " + std::to_string(_frames.size()) +
                               " frames; use avframes()");
    return _frames.front();
  }
  const std::vector<AVFrame*>& avframes() const { return _frames; }
  const tenon::Frame* native_frame() const override {
    avframe();
    return &_native->get();
  }

 private:
  FFmpegFrame(const std::vector<AVFrame*>& frames, bool take_ownership, const FrameInfo& info,
              const ContextPtr& context)
      : BaseFrame(MediaType::Image, info.format, MemoryType::FFmpeg), _frames(frames) {
    std::vector<std::shared_ptr<AVFrame>> kept;
    for (AVFrame* frame : frames)
      kept.emplace_back(frame, [take_ownership](AVFrame* last) {
        if (take_ownership) av_frame_free(&last);
      });
    _native = std::make_shared<detail::LazyFrame>([kept] { return tenon::ffmpeg::wrap(kept.front().get()); });
    for (size_t plane = 0; plane < info.tensors.size(); ++plane)
      _tensors.push_back(std::make_shared<Plane>(_native, plane, info.tensors[plane], context));
  }

  class Plane final : public BaseTensor {
   public:
    Plane(detail::LazyFramePtr frame, size_t plane, const TensorInfo& info, ContextPtr context)
        : BaseTensor(MemoryType::FFmpeg, info, tensor::key::plane_index, std::move(context)),
          _frame(std::move(frame)),
          _plane(plane) {
      set_handle(tensor::key::plane_index, static_cast<handle_t>(plane));
    }
    /// @errors std::runtime_error: the frame lies in a device.
    void* data() const override { return native().data(); }

   protected:
    tenon::Tensor make_native() const override { return detail::tensors_of(_frame->get()).at(_plane); }

   private:
    detail::LazyFramePtr _frame;
    size_t _plane;
  };

  std::vector<AVFrame*> _frames;
  detail::LazyFramePtr _native;
};
using FFmpegFramePtr = std::shared_ptr<FFmpegFrame>;

}  // namespace dlstreamer
