// SPDX-License-Identifier: Apache-2.0
// A GstBuffer as a frame.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gst/video/video.h>

#include <tenon/frameworks/gstreamer/gstreamer.hpp>

#include "dlstreamer/base/frame.h"
#include "dlstreamer/gst/dictionary.h"
#include "dlstreamer/gst/tensor.h"
#include "dlstreamer/gst/utils.h"

namespace dlstreamer {

/// A picture, or a tensor for each memory of the buffer. While something is mapped of it, the buffer has another reference, and
/// GStreamer refuses to map its memory for writing.
class GSTFrame : public BaseFrame {
 public:
  /// @param take_ownership  The caller's reference becomes this frame's. @errors std::runtime_error: null; tensors and memories
  /// that do not match.
  GSTFrame(GstBuffer* buffer, const FrameInfo& info, bool take_ownership = false, ContextPtr context = nullptr)
      : BaseFrame(info.media_type, info.format, MemoryType::GST),
        _buffer(std::make_shared<Kept>(buffer, take_ownership)) {
    if (info.media_type == MediaType::Image && !info.tensors.empty()) {
      _video_info = detail::gst_video_info_of(info);
      init(std::move(context));
      return;
    }
    if (info.tensors.size() != gst_buffer_n_memory(buffer))
      throw std::runtime_error("GSTFrame: " + std::to_string(info.tensors.size()) + " tensors for a buffer of " +
                               std::to_string(gst_buffer_n_memory(buffer)) + " memories");
    for (guint i = 0; i < gst_buffer_n_memory(buffer); ++i)
      _tensors.push_back(std::make_shared<GSTTensor>(info.tensors[i], gst_buffer_get_memory(buffer, i), true, context));
  }
  /// @param roi  Only this part of the picture.
  GSTFrame(GstBuffer* buffer, const GstVideoInfo* video_info, GstVideoRegionOfInterestMeta* roi = nullptr,
           bool take_ownership = false, ContextPtr context = nullptr)
      : BaseFrame(MediaType::Image, static_cast<Format>(gst_format_to_video_format(GST_VIDEO_INFO_FORMAT(video_info))),
                  MemoryType::GST),
        _buffer(std::make_shared<Kept>(buffer, take_ownership)),
        _video_info(*video_info) {
    if (roi) {
      _part =
          Part{static_cast<int>(roi->x), static_cast<int>(roi->y), static_cast<int>(roi->w), static_cast<int>(roi->h)};
      add_detection(roi);
      for (GList* each = roi->params; each; each = each->next)
        if (auto* parameter = static_cast<GstStructure*>(each->data);
            !gst_structure_has_name(parameter, DetectionMetadata::name))
          _metadata.add(std::make_shared<GSTDictionary>(parameter));
    }
    init(std::move(context));
  }
  /// A new buffer of the memories of GSTTensors.
  GSTFrame(MediaType media_type, Format format, TensorVector tensors, bool /*take_ownership*/ = true)
      : BaseFrame(media_type, format, tensors), _buffer(std::make_shared<Kept>(gst_buffer_new(), true)) {
    for (const TensorPtr& tensor : tensors)
      gst_buffer_append_memory(_buffer->get(), gst_memory_ref(ptr_cast<GSTTensor>(tensor)->gst_memory()));
  }

  GstBuffer* gst_buffer() const { return _buffer->get(); }
  operator GstBuffer*() const { return gst_buffer(); }
  const GstVideoInfo* video_info() const { return &_video_info; }
  /// A frame for each region of interest in the buffer's metas; none for a region itself.
  std::vector<FramePtr> regions() const override {
    std::vector<FramePtr> all = _regions;
    const ContextPtr context = _tensors.empty() ? nullptr : _tensors.front()->context();
    if (!_part.width)
      for_each_roi([&](GstVideoRegionOfInterestMeta* roi) {
        all.push_back(std::make_shared<GSTFrame>(gst_buffer(), &_video_info, roi, false, context));
      });
    return all;
  }
  const tenon::Frame* native_frame() const override { return _native && !_part.width ? &_native->get() : nullptr; }

 private:
  struct Part {
    int x = 0, y = 0, width = 0, height = 0;
  };
  /// The buffer, and its reference where that was given; a frame of Tenon's takes it over when it is first mapped.
  class Kept {
   public:
    Kept(GstBuffer* buffer, bool owns) : _buffer(buffer), _owned(owns ? buffer : nullptr) {
      if (!buffer) throw std::runtime_error("GSTFrame: the GstBuffer is null");
    }
    GstBuffer* get() const { return _buffer; }
    tenon::Frame wrap(const tenon::gstreamer::VideoCaps& caps) {
      if (!_owned) return tenon::gstreamer::wrap(_buffer, caps);
      tenon::Frame frame = tenon::gstreamer::adopt(_buffer, caps);
      _owned.release();
      return frame;
    }

   private:
    GstBuffer* _buffer;
    tenon::gstreamer::BufferPtr _owned;
  };
  class Plane final : public GSTTensor {
   public:
    Plane(detail::LazyFramePtr frame, const Part& part, const TensorInfo& info, GstMemory* memory, ContextPtr context,
          int plane)
        : GSTTensor(info, memory, false, std::move(context), plane), _frame(std::move(frame)) {
      if (!part.width) return;
      set_handle(tensor::key::offset_x, part.x);
      set_handle(tensor::key::offset_y, part.y);
    }

   protected:
    tenon::Tensor make_native() const override {
      const tenon::Tensor whole = detail::tensors_of(_frame->get()).at(static_cast<size_t>(plane_index()));
      if (whole.shape().size() != 3) return whole;
      const tenon::Shape begin{static_cast<size_t>(offset_y()), static_cast<size_t>(offset_x()), 0};
      return whole.slice(begin, {begin[0] + _info.shape[0], begin[1] + _info.shape[1], whole.shape()[2]});
    }

   private:
    detail::LazyFramePtr _frame;
  };

  template <typename Body>
  void for_each_roi(Body body) const {
    gpointer state = nullptr;
    while (GstMeta* meta =
               gst_buffer_iterate_meta_filtered(gst_buffer(), &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
      body(reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta));
  }
  /// The region in this frame's metadata: a write there is one to the meta.
  void add_detection(GstVideoRegionOfInterestMeta* roi) {
    _metadata.add(
        std::make_shared<GSTROIDictionary>(roi, _video_info.width, _video_info.height,
                                           gst_video_region_of_interest_meta_get_param(roi, DetectionMetadata::name)));
  }
  void init(ContextPtr context) {
    if (!_part.width) for_each_roi([this](GstVideoRegionOfInterestMeta* each) { add_detection(each); });
    _native = std::make_shared<detail::LazyFrame>(
        [buffer = _buffer, caps = tenon::gstreamer::video_caps(_video_info)] { return buffer->wrap(caps); });
    const FrameInfo info = gst_video_info_to_frame_info(&_video_info);
    const size_t rows = info.tensors.front().shape[0], columns = info.tensors.front().shape[1];
    for (size_t i = 0; i < info.tensors.size(); ++i) {
      TensorInfo plane = info.tensors[i];
      Part part = _part;
      if (_part.width) {  // Chroma's planes are smaller by whole factors.
        if (plane.shape.size() != 3 || plane.shape[2] > 4)
          throw std::runtime_error("GSTFrame: a region of planar RGB; convert it to packed RGB");
        const int down = static_cast<int>(rows / plane.shape[0]), across = static_cast<int>(columns / plane.shape[1]);
        part = {_part.x / across, _part.y / down, _part.width / across, _part.height / down};
        plane.shape[0] = static_cast<size_t>(part.height);
        plane.shape[1] = static_cast<size_t>(part.width);
      }
      const guint memories = gst_buffer_n_memory(_buffer->get());
      GstMemory* memory =
          memories ? gst_buffer_peek_memory(_buffer->get(), memories == info.tensors.size() ? static_cast<guint>(i) : 0)
                   : nullptr;
      _tensors.push_back(std::make_shared<Plane>(_native, part, plane, memory, context, static_cast<int>(i)));
    }
  }

  std::shared_ptr<Kept> _buffer;
  GstVideoInfo _video_info{};
  Part _part;
  detail::LazyFramePtr _native;
};
using GstFramePtr = std::shared_ptr<GSTFrame>;

}  // namespace dlstreamer
