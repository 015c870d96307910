// SPDX-License-Identifier: Apache-2.0
// Direct3D 11 for the conformance suite: buffers as tensors and frames, textures as frames. What is alive is counted by the device itself:
// each of its objects holds a reference of it.
#include <algorithm>
#include <string>

#include <tenon/core/deferred.hpp>
#include <tenon/frameworks/d3d11/contexts.hpp>

#include <tenon/tests/conformance/framework.hpp>

namespace d3d11_conformance {

using namespace tenon;

/// The device of all contexts of the suite. @errors kUnavailable: none here
ID3D11Device* the_device() {
  static ID3D11Device* const device = [] {
    auto made = d3d11::make_device();
    made->AddRef();  // Outlives static destructors.
    return made.get();
  }();
  return device;
}

class D3D11UnderTest : public conformance::FrameworkUnderTest {
 public:
  std::size_t live_objects() const override {
    the_device()->AddRef();
    return the_device()->Release();
  }
  bool fail_native_call(std::size_t n) override {
    d3d11::native::fail_call(n);
    return true;
  }
  bool native_call_failed() const override { return d3d11::native::call_failed(); }
  void drop_idle() override {
    drain_deferred(default_deadline());
    context_.as<d3d11::D3D11Context>()->device_ref()->drop_staging();
  }

 protected:
  /// One for the suite: contexts of one device are alike.
  Context context_;
};

class Buffers final : public D3D11UnderTest {
 public:
  std::string_view name() const override { return "d3d11"; }
  Context make_context() override {
    if (!context_) context_ = d3d11::wrap(the_device());
    return context_;
  }
  std::vector<std::string> variants() const override { return {"allocated", "adopted"}; }
  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    if (variant == "allocated") return {context->allocate(wanted), {}};
    D3D11_BUFFER_DESC made{};
    made.ByteWidth = static_cast<UINT>((std::max<std::size_t>(wanted.size_bytes, 1) + 15) / 16 * 16);
    made.Usage = D3D11_USAGE_DEFAULT;
    made.BindFlags = D3D11_BIND_SHADER_RESOURCE;
    d3d11::Com<ID3D11Buffer> buffer;
    d3d11::native::call("CreateBuffer", "a user's buffer", the_device(),
                        [&] { return the_device()->CreateBuffer(&made, nullptr, buffer.out()); });
    return {d3d11::BufferMemory::over(context, std::move(buffer)), {}};
  }
};

class Textures final : public D3D11UnderTest {
 public:
  std::string_view name() const override { return "d3d11_textures"; }
  Context make_context() override {
    if (!context_) context_ = d3d11::textures(d3d11::wrap(the_device()));
    return context_;
  }
  Tensor make_tensor(const Context&, std::string_view, const TensorInfo&, std::size_t) override { return {}; }
  Frame make_frame(const Context& context, std::string_view, const FrameInfo& info) override {
    return has(info.format) ? d3d11::allocate_frame(context, info) : Frame();
  }
  std::vector<conformance::Exclusion> exclusions() const override {
    std::vector<conformance::Exclusion> excluded{
        {"NativeFailure",
         "the test fails calls for tensors, and textures are frames; d3d11_test fails each call for a frame"}};
    for (PixelFormat format : {kNv12, kP010, kI420, kGray8, kYuy2, kRgb24, kBgra, kRgbPlanar})
      if (!has(format))
        excluded.push_back(
            {"format:" + std::string(format_info(format).name), "this device of Direct3D 11 has no such textures"});
    return excluded;
  }

 private:
  static bool has(PixelFormat format) {
    try {
      UINT support = 0;
      const auto* known = d3d11::find_texture_format(format);
      return known && SUCCEEDED(the_device()->CheckFormatSupport(known->dxgi, &support)) &&
             (support & D3D11_FORMAT_SUPPORT_TEXTURE2D);
    } catch (const Error&) {
      return false;  // No device: make_context() says so.
    }
  }
};

[[maybe_unused]] const bool registered =
    conformance::add(std::make_unique<Buffers>()) && conformance::add(std::make_unique<Textures>());

}  // namespace d3d11_conformance
