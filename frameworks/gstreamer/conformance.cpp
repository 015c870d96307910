// SPDX-License-Identifier: Apache-2.0
// GStreamer for the conformance suite: memory allocated by Tenon, and buffers from outside, whole and in pieces.
#include <tenon/frameworks/gstreamer/frame.hpp>
#include <tenon/frameworks/gstreamer/testing/lsan.hpp>

#include <atomic>

#include <tenon/tests/conformance/framework.hpp>

namespace gstreamer_conformance {

using namespace tenon;

std::atomic<std::size_t> live_buffers{0};

/// A buffer with `count` memories of `size` bytes each, whose end is counted.
gstreamer::BufferPtr counted_buffer(std::size_t size, std::size_t count) {
  gstreamer::start();
  gstreamer::BufferPtr buffer(gst_buffer_new());
  for (std::size_t i = 0; i < count; ++i) {
    GstAllocationParams params;
    gst_allocation_params_init(&params);
    params.align = 63;
    gst_buffer_append_memory(buffer.get(), gst_allocator_alloc(nullptr, size, &params));
  }
  ++live_buffers;
  gst_mini_object_weak_ref(
      GST_MINI_OBJECT_CAST(buffer.get()), [](gpointer, GstMiniObject*) { --live_buffers; }, nullptr);
  return buffer;
}

class GstUnderTest final : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "gstreamer"; }
  Context make_context() override { return gstreamer::context(); }
  std::vector<std::string> variants() const override { return {"allocated", "adopted", "wrapped", "planes"}; }

  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    if (variant == "allocated") return {context->allocate(wanted), {}};
    // One long grey row: buffers with caps are pictures, and the suite's tensors are bytes in them.
    const Frame frame =
        foreign(variant, {kGray8, static_cast<std::uint32_t>(std::max<std::size_t>(wanted.size_bytes, 1)), 1});
    return {frame.plane(0).memory(), frame.plane(0).lease()};
  }
  Frame make_frame(const Context& context, std::string_view variant, const FrameInfo& info) override {
    if (variant == "allocated") return FrameworkUnderTest::make_frame(context, variant, info);
    return foreign(variant, info);
  }
  std::size_t live_objects() const override { return live_buffers; }
  std::vector<conformance::Exclusion> exclusions() const override {
    return {{"NativeFailure", "GStreamer's calls answer FALSE without a code; frame_test.cpp makes them fail"}};
  }

 private:
  /// A picture as an element would pass it.
  static Frame foreign(std::string_view variant, const FrameInfo& info) {
    const gstreamer::CapsPtr caps = gstreamer::caps(info);
    gstreamer::VideoCaps known = gstreamer::video_caps(caps.get());
    known.info = info;
    const bool in_planes = variant == "planes";
    const std::size_t planes = format_info(info.format).plane_count;
    gstreamer::BufferPtr buffer = counted_buffer(known.size_bytes, in_planes ? planes : 1);
    if (in_planes) {
      std::array<gsize, 4> offset{};
      for (std::size_t p = 0; p < planes; ++p) offset[p] = p * known.size_bytes;
      gst_buffer_add_video_meta_full(buffer.get(), GST_VIDEO_FRAME_FLAG_NONE, gstreamer::find_mapping(info.format)->gst,
                                     info.width_px, info.height_px, static_cast<guint>(planes), offset.data(),
                                     known.stride.data());
    }
    if (variant == "wrapped") return gstreamer::wrap(buffer.get(), known);
    Frame frame = gstreamer::adopt(buffer.get(), known);
    static_cast<void>(buffer.release());  // The frame's now.
    return frame;
  }
};

[[maybe_unused]] const bool registered = conformance::add(std::make_unique<GstUnderTest>());

}  // namespace gstreamer_conformance
