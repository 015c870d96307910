// SPDX-License-Identifier: Apache-2.0
// Surfaces for the conformance suite: made here, an application's, and imported over dma-bufs.
#include <atomic>
#include <string>

#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/vaapi/vaapi.hpp>

#include <tenon/core/router.hpp>
#include <tenon/tests/conformance/framework.hpp>

namespace vaapi_conformance {

using namespace tenon;

std::atomic<long> countdown{0};
std::atomic<bool> failed{false};

VAStatus fail_nth(const char*) {
  long left = countdown.load();
  while (left > 0 && !countdown.compare_exchange_weak(left, left - 1)) {
  }
  if (left != 1) return VA_STATUS_SUCCESS;
  failed = true;
  return VA_STATUS_ERROR_ALLOCATION_FAILED;
}

class VaapiUnderTest final : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "vaapi"; }
  /// One for the process: drivers keep what they set up for a display.
  Context make_context() override {
    static const Context the_one = [] {
      try {
        return vaapi::open();
      } catch (const Error& error) {
        return Context();
      }
    }();
    if (!the_one) throw Error(Code::kUnavailable, "no VA-API driver: run under `tenon va-env`");
    return the_one;
  }
  std::vector<std::string> variants() const override { return {"allocated", "wrapped", "imported"}; }

  /// Rows of a grey picture, at the driver's pitch.
  Tensor make_tensor(const Context& context, std::string_view variant, const TensorInfo& wanted,
                     std::size_t offset) override {
    TensorInfo info = wanted;
    const std::size_t rank = info.shape.size();
    const std::size_t bytes = checked_size_bytes(info.type, info.shape).value();
    const std::size_t rows = rank > 1 ? info.shape[0] : 1;
    if (rank == 0 || bytes == 0 || !wanted.strides.empty() || (rows > 1 && offset != 0)) return {};
    const std::size_t width = offset + bytes / rows;
    if (width > 4096 || rows > 4096) return {};
    const Frame frame =
        make_frame(context, variant, {kGray8, static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(rows)});
    const Tensor& plane = frame.plane(0);
    if (rank > 1) {
      info.strides = packed_strides(info.type, info.shape);
      info.strides[0] = plane.byte_strides()[0];
    }
    return Tensor(info, plane.memory(), plane.offset() + offset, plane.lease()).through(plane.view());
  }

  Frame make_frame(const Context& context, std::string_view variant, const FrameInfo& info) override {
    const auto& display = *context.as<vaapi::SurfaceContext>()->display();
    const vaapi::FormatMapping* mapping = vaapi::find_mapping(info.format);
    if (!mapping || !display.has_format(mapping->va)) return {};
    if (variant == "allocated") return vaapi::allocate(context, info);
    if (variant == "imported") {
      Requirements wanted;
      wanted.pitch_alignment = 64;
      wanted.size_bytes = Frame::size_bytes_for(info, wanted);
      const Ref<Memory> memory = dmabuf::context()->allocate(wanted);
      return Router().map(Frame::over(info, memory, wanted), context, Access::kRead);
    }
    VASurfaceID id = VA_INVALID_SURFACE;
    VASurfaceAttrib format{};
    format.type = VASurfaceAttribPixelFormat;
    format.flags = VA_SURFACE_ATTRIB_SETTABLE;
    format.value.type = VAGenericValueTypeInteger;
    format.value.value.i = static_cast<int>(mapping->va);
    vaapi::native::check(
        vaapi::native::call("vaCreateSurfaces", vaCreateSurfaces, display.handle(), unsigned{mapping->rt_format},
                            info.width_px, info.height_px, &id, 1u, &format, 1u),
        "vaCreateSurfaces", "a test's surface");
    return vaapi::adopt(context, id);
  }

  bool fail_native_call(std::size_t n) override {
    failed = false;
    countdown = static_cast<long>(n);
    vaapi::native::fault = n ? &fail_nth : nullptr;
    return true;
  }
  bool native_call_failed() const override { return failed; }

  std::vector<conformance::Exclusion> exclusions() const override {
    return {{"format:rgb", "VA-API has no packed RGB of 24 bits"},
            {"format:rgbp", "no planar RGB in the software driver"},
            {"NativeFailure", "calls for the state of a surface may fail once: tests/va fails each call"}};
  }
};

/// What video processing yields: pictures that were processed to the size and format that they had.
class ProcessedUnderTest final : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "vaapi_processed"; }
  Context make_context() override {
    static const vaapi::Processor the_one(surfaces_.make_context(), {kNv12, 64, 48});
    static const Context place = the_one.place();
    return place;
  }
  /// Each from a Processor of its own, as sizes differ, and seen from the one place.
  Tensor make_tensor(const Context& context, std::string_view, const TensorInfo& wanted, std::size_t offset) override {
    const Tensor made = surfaces_.make_tensor(surfaces_.make_context(), "allocated", wanted, offset);
    if (!made) return {};
    const vaapi::detail::SurfacePart part = vaapi::detail::part_of(made);
    const FrameInfo grey{kGray8, part.state->width_px, part.state->height_px};
    const Tensor plane = processed(grey).plane(0);
    const View& view =
        plane.memory()->add_view(std::make_unique<View>(context, context->kind(), Access::kReadWrite, nullptr));
    return Tensor(made.info(), plane.memory(), made.offset(), plane.lease()).through(&view);
  }
  Frame make_frame(const Context&, std::string_view, const FrameInfo& info) override {
    const auto& display = *surfaces_.make_context().as<vaapi::SurfaceContext>()->display();
    const vaapi::FormatMapping* mapping = vaapi::find_mapping(info.format);
    return mapping && display.has_format(mapping->va) ? processed(info) : Frame();
  }
  std::vector<conformance::Exclusion> exclusions() const override {
    std::vector<conformance::Exclusion> all = surfaces_.exclusions();
    all.push_back(
        {"BooksMapsHitsAndCopiedBytes", "the way back is the surface's own, so there is no view to find again"});
    return all;
  }

 private:
  Frame processed(const FrameInfo& info) {
    const Context va = surfaces_.make_context();
    const vaapi::Processor same(va, info, 2);
    Router router;
    router.add(va);
    return router.map(vaapi::allocate(va, info), same.place(), Access::kRead);
  }
  VaapiUnderTest surfaces_;
};

[[maybe_unused]] const bool registered =
    conformance::add(std::make_unique<VaapiUnderTest>()) && conformance::add(std::make_unique<ProcessedUnderTest>());

}  // namespace vaapi_conformance
