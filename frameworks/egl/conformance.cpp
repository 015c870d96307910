// SPDX-License-Identifier: Apache-2.0
// EGL for the conformance suite: textures of bytes, for tensors of any shape, and pictures in their own formats.
#include <tenon/core/deferred.hpp>
#include <tenon/frameworks/egl/client.hpp>
#include <tenon/frameworks/egl/contexts.hpp>

#include <tenon/tests/conformance/framework.hpp>
#include <tenon/tests/conformance/users_objects.hpp>

namespace egl_conformance {

using namespace tenon;

/// What programs have that Tenon's memory lies over.
auto& users() {
  static auto& all = *new conformance::UsersObjects<egl::client::Probe, Tensor>;
  return all;
}

class EglUnderTest final : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "egl"; }
  Context make_context() override {
    static const Context* context = new Context(egl::make_context());
    return *context;
  }
  std::vector<std::string> variants() const override { return {"bytes", "pictures", "wrapped"}; }

  Tensor make_tensor(const Context& context, std::string_view variant, const TensorInfo& info,
                     std::size_t offset) override {
    if (variant == "bytes") return FrameworkUnderTest::make_tensor(context, variant, info, offset);
    if (!info.strides.empty() || offset != 0) return {};
    return picture(context, variant, info.type, info.shape);
  }
  Frame make_frame(const Context& context, std::string_view variant, const FrameInfo& info) override {
    if (variant == "bytes") return FrameworkUnderTest::make_frame(context, variant, info);
    std::vector<Tensor> planes;
    for (std::size_t p = 0; p < format_info(info.format).plane_count; ++p) {
      planes.push_back(picture(context, variant, format_info(info.format).sample, plane_shape(info, p)));
      if (!planes.back()) return {};
    }
    return Frame(info, std::move(planes));
  }
  std::vector<conformance::Exclusion> exclusions() const override {
    std::vector<conformance::Exclusion> excluded;
    if (egl::contexts().empty()) return excluded;  // make_context() says why nothing runs.
    const auto& context = *egl::contexts().front().as<egl::EglContext>();
    for (PixelFormat format : {kNv12, kP010, kI420, kGray8, kYuy2, kRgb24, kBgra, kRgbPlanar})
      for (std::size_t p = 0; p < format_info(format).plane_count; ++p)
        if (context.refusal(format_info(format).sample, plane_shape({format, 64, 48}, p))) {
          excluded.push_back({"format:" + std::string(format_info(format).name),
                              "OpenGL ES has no texture for one of its planes that can be read back"});
          break;
        }
    return excluded;
  }

  std::size_t live_objects() const override { return egl::client::Probe::handles.load(); }
  void drop_idle() override {
    drain_deferred(default_deadline());
    users().drop_idle();
  }
  bool fail_native_call(std::size_t n) override {
    egl::client::Probe::failed.store(false);
    egl::client::Probe::countdown.store(static_cast<long>(n));
    return true;
  }
  bool native_call_failed() const override { return egl::client::Probe::failed.load(); }

 private:
  /// Empty where there is no such texture.
  static Tensor picture(const Context& context, std::string_view variant, ElementType type, const Shape& shape) {
    if (context.as<egl::EglContext>()->refusal(type, shape)) return {};
    const Tensor own = egl::allocate(context, type, shape);
    if (variant != "wrapped") return own;
    const Tensor as = egl::wrap(context, egl::texture(own));
    users().keep(own, 1, as.memory());
    return as.shape() == shape ? as : as.reshaped(shape);
  }
};

[[maybe_unused]] const bool registered = conformance::add(std::make_unique<EglUnderTest>());

}  // namespace egl_conformance
