// SPDX-License-Identifier: Apache-2.0
// Direct3D 11 and NT handles on the GPU device: contexts of an ID3D11Device, tensors over buffers, textures and sections, and what is refused.
// The calls are those of OpenVINO's document on remote tensors.
#include <tenon/devices/gpu/testing/gpu.hpp>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <tenon/core/host.hpp>
#include <tenon/devices/gpu/public/dx.hpp>
#include <tenon/frameworks/d3d11/d3d11.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::gpu_testing {
namespace direct3d_test {

using d3d11::Com;
using intel_gpu::ocl::ClContext;
using intel_gpu::ocl::D3DBufferTensor;
using intel_gpu::ocl::D3DContext;
using intel_gpu::ocl::D3DSurface2DTensor;
using ::testing::HasSubstr;

ULONG references_of(IUnknown* object) {
  object->AddRef();
  return object->Release();
}

/// y = x + 0.5 of pictures [1, 8, 12, 1] of bytes.
std::shared_ptr<Model> picture_model(const Shape& shape) {
  auto x = std::make_shared<op::v0::Parameter>(element::u8, PartialShape(shape));
  x->output(0).set_names({"x"});
  auto values = make_node("Convert", 0, {x}, {{"destination_type", element::f32}}, "values");
  auto sum = make_node("Add", 1, {values, op::v0::Constant::create(element::f32, Shape{}, {0.5})}, {}, "sum");
  sum->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{sum}, ParameterVector{x}, "picture");
}

class Direct3D : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    if (IsSkipped()) return;
    try {
      device = d3d11::make_device();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  Com<ID3D11Buffer> new_buffer(UINT bytes) {
    D3D11_BUFFER_DESC wanted{};
    wanted.ByteWidth = bytes;
    wanted.BindFlags = D3D11_BIND_SHADER_RESOURCE;
    Com<ID3D11Buffer> made;
    EXPECT_EQ(device->CreateBuffer(&wanted, nullptr, made.out()), S_OK);
    return made;
  }
  Com<ID3D11Texture2D> new_texture(DXGI_FORMAT format, UINT width, UINT height) {
    D3D11_TEXTURE2D_DESC wanted{};
    wanted.Width = width;
    wanted.Height = height;
    wanted.MipLevels = wanted.ArraySize = wanted.SampleDesc.Count = 1;
    wanted.Format = format;
    wanted.BindFlags = D3D11_BIND_SHADER_RESOURCE;
    Com<ID3D11Texture2D> made;
    EXPECT_EQ(device->CreateTexture2D(&wanted, nullptr, made.out()), S_OK);
    return made;
  }
  /// As the application's own commands leave it.
  void fill(ID3D11Buffer* buffer, float first) {
    std::vector<float> values(kCount);
    for (std::size_t i = 0; i < kCount; ++i) values[i] = first + static_cast<float>(i);
    Com<ID3D11DeviceContext> immediate;
    device->GetImmediateContext(immediate.out());
    immediate->UpdateSubresource(buffer, 0, nullptr, values.data(), 0, 0);
  }
  void fill(ID3D11Texture2D* texture, UINT width, UINT height, std::uint8_t first) {
    std::vector<std::uint8_t> pixels(std::size_t{width} * height);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(first + i);
    Com<ID3D11DeviceContext> immediate;
    device->GetImmediateContext(immediate.out());
    immediate->UpdateSubresource(texture, 0, nullptr, pixels.data(), width, 0);
  }
  Com<ID3D11Device> device;
};

TEST_F(Direct3D, ContextsAreMadeOfADevice) {
  const ULONG before = references_of(device.get());
  {
    D3DContext context(core, device.get());
    EXPECT_EQ(static_cast<ID3D11Device*>(context), device.get());
    EXPECT_NE(context.get(), nullptr) << "it is one of OpenCL's as well";
    EXPECT_EQ(context.get_params().at("CONTEXT_TYPE").as<std::string>(), "VA_SHARED");
    EXPECT_EQ(static_cast<ID3D11Device*>(core.compile_model(line_model(), context).get_context().as<D3DContext>()),
              device.get());
  }
  EXPECT_EQ(references_of(device.get()), before);
  EXPECT_THAT(error_of([&] { D3DContext(core, nullptr); }, Code::kInvalidArgument),
              HasSubstr("user handle is nullptr"));
  EXPECT_THAT(error_of([&] { D3DContext(core, device.get(), 1); }, Code::kUnimplemented), HasSubstr("TILE_ID 1"));
  EXPECT_THAT(error_of([&] { core.get_default_context("GPU").as<D3DContext>(); }, Code::kInvalidArgument),
              HasSubstr("VA_DEVICE"));
}

TEST_F(Direct3D, BuffersAreInputsWhoseCopiesAreBooked) {
  const Com<ID3D11Buffer> buffer = new_buffer(kCount * sizeof(float));
  const ULONG device_before = references_of(device.get());
  {
    D3DContext context(core, device.get());
    auto model = core.compile_model(line_model(), context);
    auto request = model.create_infer_request();
    auto gpu_context = model.get_context().as<D3DContext>();
    const D3DBufferTensor tensor = gpu_context.create_tensor(element::f32, Shape{kCount}, buffer.get());
    EXPECT_EQ(static_cast<ID3D11Buffer*>(tensor), buffer.get());
    EXPECT_EQ(references_of(buffer.get()), 2u);
    EXPECT_THAT(error_of([&] { tensor.get(); }, Code::kInvalidArgument), HasSubstr("MEM_HANDLE"));
    request.set_tensor("x", tensor);
    for (const float first : {5.0f, -700.0f}) {
      fill(buffer.get(), first);
      request.infer();
      const Tensor y = request.get_tensor("y");
      for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(y.data<float>()[i], 2 * (first + static_cast<float>(i)) + 1);
    }
    EXPECT_GE(request.ledger().total().copied, 2 * kCount * sizeof(float)) << "no copy goes unbooked";
  }
  drain_deferred(default_deadline());
  EXPECT_EQ(references_of(buffer.get()), 1u);
  EXPECT_EQ(references_of(device.get()), device_before);
}

TEST_F(Direct3D, CopiesAreRefusedWhereNoneIsAllowed) {
  const Com<ID3D11Buffer> buffer = new_buffer(kCount * sizeof(float));
  D3DContext context(core, device.get());
  const D3DBufferTensor tensor = context.create_tensor(element::f32, Shape{kCount}, buffer.get());
  auto strict = core.compile_model(line_model(), context, zero_copy(ZeroCopy::kRequire)).create_infer_request();
  EXPECT_THAT(error_of([&] { strict.set_tensor("x", tensor); }, Code::kFailedPrecondition),
              HasSubstr("d3d11.buffer->cpu"));
  // What is written would not reach the buffer.
  auto request = core.compile_model(line_model(), context).create_infer_request();
  EXPECT_THAT(error_of([&] { request.set_tensor("y", tensor); }, Code::kFailedPrecondition), HasSubstr("d3d11.buffer"));
  EXPECT_EQ(answer(request, 3).at(kCount - 1), 7) << "the request is what it was";
}

TEST_F(Direct3D, BuffersAreCopiedToTheHostAndBack) {
  const Com<ID3D11Buffer> buffer = new_buffer(kCount * sizeof(float));
  D3DContext context(core, device.get());
  D3DBufferTensor tensor = context.create_tensor(element::f32, Shape{kCount}, buffer.get());
  Tensor given(element::f32, Shape{kCount}), got;
  for (std::size_t i = 0; i < kCount; ++i) given.data<float>()[i] = static_cast<float>(3 * i);
  tensor.copy_from(given);
  tensor.copy_to(got);
  EXPECT_EQ(std::memcmp(got.data(), given.data(), given.size_bytes()), 0);
  EXPECT_THAT(error_of([&] { static_cast<Tensor&>(tensor).set_shape({kCount / 2}); }, Code::kInvalidArgument),
              HasSubstr("Cannot call set_shape"));
}

TEST_F(Direct3D, TexturesAreInputs) {
  constexpr UINT kWidth = 12, kHeight = 8;
  const Com<ID3D11Texture2D> texture = new_texture(DXGI_FORMAT_R8_UNORM, kWidth, kHeight);
  D3DContext context(core, device.get());
  // The whole picture, and its upper left part.
  for (const Shape& shape : {Shape{1, kHeight, kWidth, 1}, Shape{1, kHeight - 2, kWidth - 5, 1}}) {
    auto request = core.compile_model(picture_model(shape), context).create_infer_request();
    const D3DSurface2DTensor tensor = context.create_tensor(element::u8, shape, texture.get());
    EXPECT_EQ(static_cast<ID3D11Texture2D*>(tensor), texture.get());
    EXPECT_EQ(tensor.plane(), 0u);
    request.set_tensor("x", tensor);
    for (const std::uint8_t first : {std::uint8_t{3}, std::uint8_t{100}}) {
      fill(texture.get(), kWidth, kHeight, first);
      request.infer();
      const float* const y = request.get_tensor("y").data<float>();
      for (std::size_t row = 0; row < shape[1]; ++row)
        for (std::size_t column = 0; column < shape[2]; ++column)
          ASSERT_EQ(y[row * shape[2] + column], static_cast<float>(first + row * kWidth + column) + 0.5f);
    }
  }
  drain_deferred(default_deadline());
  EXPECT_EQ(references_of(texture.get()), 1u);
}

TEST_F(Direct3D, PlanesOfNv12AreTwoInputs) {
  UINT support = 0;
  if (FAILED(device->CheckFormatSupport(DXGI_FORMAT_NV12, &support)) || !(support & D3D11_FORMAT_SUPPORT_TEXTURE2D))
    GTEST_SKIP() << "this Direct3D has no textures of NV12";
  const Com<ID3D11Texture2D> texture = new_texture(DXGI_FORMAT_NV12, 12, 8);
  D3DContext context(core, device.get());
  const auto planes = context.create_tensor_nv12(8, 12, texture.get());
  EXPECT_EQ(planes.first.get_shape(), (Shape{1, 8, 12, 1}));
  EXPECT_EQ(planes.second.get_shape(), (Shape{1, 4, 6, 2}));
  EXPECT_EQ(planes.second.plane(), 1u);
  Tensor luma(element::u8, Shape{1, 8, 12, 1}), got;
  for (std::size_t i = 0; i < luma.size_bytes(); ++i) luma.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(2 * i);
  RemoteTensor y = planes.first;
  y.copy_from(luma);
  y.copy_to(got);
  EXPECT_EQ(std::memcmp(got.data(), luma.data(), luma.size_bytes()), 0);
  auto request = core.compile_model(picture_model({1, 8, 12, 1}), context).create_infer_request();
  request.set_tensor("x", planes.first);
  request.infer();
  EXPECT_EQ(request.get_tensor("y").data<float>()[5], 10.5f);
}

TEST_F(Direct3D, WhatDoesNotFitIsRefusedByName) {
  const Com<ID3D11Buffer> buffer = new_buffer(64);
  const Com<ID3D11Texture2D> texture = new_texture(DXGI_FORMAT_R8_UNORM, 12, 8);
  const Com<ID3D11Device> other = d3d11::make_device();
  D3DContext context(core, device.get()), foreign(core, other.get());
  const auto refused = [&](Code code, const std::function<void()>& call) { return std::string(error_of(call, code)); };
  const auto over = [](D3DContext& in, const Shape& shape, ID3D11Buffer* object) {
    return [&in, shape, object] { in.create_tensor(element::f32, shape, object); };
  };
  const auto picture = [&](element::Type type, const Shape& shape, ID3D11Texture2D* object, std::uint32_t plane = 0) {
    return [&context, type, shape, object, plane] { context.create_tensor(type, shape, object, plane); };
  };
  EXPECT_THAT(refused(Code::kInvalidArgument, over(context, {4}, nullptr)), HasSubstr("DEV_OBJECT_HANDLE"));
  EXPECT_THAT(refused(Code::kInvalidArgument, over(foreign, {4}, buffer.get())), HasSubstr("another device"));
  EXPECT_THAT(refused(Code::kOutOfRange, over(context, {17}, buffer.get())), HasSubstr("has 64 bytes"));
  EXPECT_THAT(refused(Code::kInvalidArgument, picture(element::u8, {1, 8, 12, 1}, nullptr)),
              HasSubstr("DEV_OBJECT_HANDLE"));
  EXPECT_THAT(refused(Code::kOutOfRange, picture(element::u8, {1, 8, 13, 1}, texture.get())), HasSubstr("12x8"));
  EXPECT_THAT(refused(Code::kOutOfRange, picture(element::u8, {1, 4, 6, 2}, texture.get(), 1)), HasSubstr("plane 1"));
  EXPECT_THAT(refused(Code::kInvalidArgument, picture(element::u8, {1, 8, 4, 3}, texture.get())), HasSubstr("12x8"));
  EXPECT_THAT(refused(Code::kInvalidArgument, picture(element::f32, {8, 12}, texture.get())), HasSubstr("f32"));
  EXPECT_THAT(refused(Code::kInvalidArgument, picture(element::u8, {2, 8, 12, 1}, texture.get())), HasSubstr("batch"));
  EXPECT_THAT(
      refused(Code::kInvalidArgument,
              [&] {
                core.get_default_context("GPU").create_tensor(
                    element::f32, Shape{4},
                    {{"SHARED_MEM_TYPE", "DX_BUFFER"}, {"DEV_OBJECT_HANDLE", static_cast<void*>(buffer.get())}});
              }),
      HasSubstr("Shared context is required"));
  EXPECT_EQ(references_of(buffer.get()), 1u);
  EXPECT_EQ(references_of(texture.get()), 1u);
}

/// The application's cl_context, its queue, and a kernel before and behind the inference.
TEST_F(Gpu, ContextsOfOpenclsHandlesWorkOnItsBuffers) {
  for (const bool is_of_queue : {false, true}) {
    ClContext context = is_of_queue ? ClContext(core, app.queue) : ClContext(core, app.context);
    EXPECT_EQ(context.get(), app.context);
    auto request = core.compile_model(line_model(), context, zero_copy(ZeroCopy::kRequire)).create_infer_request();
    const cl_mem x = app.buffer(kCount * sizeof(float)), y = app.buffer(kCount * sizeof(float));
    request.set_tensor("x", context.create_tensor(element::f32, Shape{kCount}, x));
    request.set_tensor("y", context.create_tensor(element::f32, Shape{kCount}, y));
    const float begin = 5;
    app.run("fill", {x}, &begin);
    if (!is_of_queue) clFinish(app.queue);
    request.start_async();
    if (!is_of_queue) request.wait();
    app.run("twice", {y, x});
    const std::vector<float> values = app.read(x);
    request.wait();
    for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(values[i], 2 * (2 * (5 + static_cast<float>(i)) + 1));
    EXPECT_EQ(request.ledger().total().copied, 0u);
    clReleaseMemObject(x), clReleaseMemObject(y);
  }
}

TEST_F(Gpu, SectionsBehindNtHandlesAreUsedInPlace) {
  ClContext context(core);
  const auto shared = [&](int number) {
    return context.create_tensor(element::f32, Shape{kCount}, intel_gpu::SharedBufferHandle{number});
  };
  const Ref<SharedMemory> memory = SharedMemory::allocate(kCount * sizeof(float)), page = SharedMemory::allocate(4);
  auto* const values = static_cast<float*>(memory->host());
  EXPECT_THAT(error_of([&] { shared(-1); }, Code::kInvalidArgument), HasSubstr("must be a valid NT handle"));
  EXPECT_THAT(error_of([&] { shared(0x7ffffffc); }, Code::kInvalidArgument), HasSubstr("not open"));
  const UniqueHandle event(::CreateEventW(nullptr, TRUE, FALSE, nullptr));
  if (opencl::coherency(opencl::make_context(app.device)) != opencl::Coherency::kStanding) {
    EXPECT_THAT(error_of([&] { shared(memory->borrow_fd()); }, Code::kUnimplemented),
                HasSubstr("cl_khr_external_memory_win32"));
    return;
  }
  EXPECT_THAT(error_of([&] { shared(UniqueHandle::number_of(event.get())); }, Code::kInvalidArgument),
              HasSubstr("no section"));
  EXPECT_THAT(error_of(
                  [&] {
                    context.create_tensor(element::f32, Shape{100 * kCount},
                                          intel_gpu::SharedBufferHandle{page->borrow_fd()});
                  },
                  Code::kOutOfRange),
              HasSubstr("are needed"));
  auto request = core.compile_model(line_model(), context, zero_copy(ZeroCopy::kRequire)).create_infer_request();
  {
    const RemoteTensor tensor = shared(memory->borrow_fd());
    EXPECT_EQ(tensor.get_params().at("SHARED_MEM_TYPE").as<std::string>(), "BUFFER_FROM_HANDLE");
    request.set_tensor("x", tensor);
  }
  for (const float first : {5.0f, 11.0f}) {
    for (std::size_t i = 0; i < kCount; ++i) values[i] = first + static_cast<float>(i);
    request.infer();
    for (std::size_t i = 0; i < kCount; ++i)
      ASSERT_EQ(request.get_tensor("y").data<float>()[i], 2 * (first + static_cast<float>(i)) + 1);
  }
  EXPECT_EQ(request.ledger().total().copied, 0u);
}

}  // namespace direct3d_test
}  // namespace tenon::gpu_testing
