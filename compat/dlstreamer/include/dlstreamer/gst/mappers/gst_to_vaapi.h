// SPDX-License-Identifier: Apache-2.0
// The surfaces in buffers of GStreamer's VA elements, in place; dma-bufs of others as surfaces.
#pragma once

#include <memory>

#include <tenon/bridges/gstreamer_vaapi/gstreamer_vaapi.hpp>

#include "dlstreamer/gst/context.h"
#include "dlstreamer/vaapi/context.h"

namespace dlstreamer {

class MemoryMapperGSTToVAAPI : public detail::NamedMapper<MemoryType::GST, MemoryType::VAAPI> {
 public:
  using NamedMapper::map;
  using NamedMapper::NamedMapper;

  /// @errors std::runtime_error: a frame that is no GSTFrame; those of gstreamer_vaapi::Surfaces.
  FramePtr map(FramePtr src, AccessMode mode) override {
    const auto frame = ptr_cast<GSTFrame>(src);
    GstBuffer* const buffer = frame->gst_buffer();
    const bool is_surface =
        gst_buffer_n_memory(buffer) && tenon::gstreamer::is_device_memory(gst_buffer_peek_memory(buffer, 0));
    if (!is_surface) return NamedMapper::map(src, mode);
    tenon::gstreamer_vaapi::Surfaces surfaces;
    const tenon::Frame native = surfaces.wrap(buffer, tenon::gstreamer::video_caps(*frame->video_info()));
    return mapped(std::make_shared<VAAPIFrame>(native, _output_context), src, mode);
  }
  detail::MapperMaker maker() const override {
    return [](const ContextPtr& input, const ContextPtr& output) {
      return std::make_shared<MemoryMapperGSTToVAAPI>(input, output);
    };
  }
};

namespace detail {
inline const bool kHasGstToVaapi = add_special_mapper<MemoryMapperGSTToVAAPI>(MemoryType::GST, MemoryType::VAAPI);
}  // namespace detail
}  // namespace dlstreamer
