// SPDX-License-Identifier: Apache-2.0
// Surfaces of VA-API as remote tensors: by the memory behind them, and by the platform's sharing. There is no driver of VA-API here: a
// libva of the tests' own plays it, over dma-bufs or the memfds that stand in for them; CMake runs these behind the OpenCL layers, too.
#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <limits>
#include <thread>

#include <tenon/core/fd.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/devices/gpu/public/va.hpp>
#include <tenon/devices/gpu/remote/va_library.hpp>
#include <tenon/devices/gpu/testing/fake_va.hpp>
#include <tenon/devices/gpu/testing/pictures.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/opencl/opencl.hpp>
#include <tenon/tests/support/fail_each_call.hpp>
#if __has_include(<va/va_drmcommon.h>)
#include <va/va.h>
#include <va/va_drmcommon.h>
#endif

namespace tenon::gpu_testing {
namespace remote_surfaces_test {

using intel_gpu::ocl::VAContext;
using intel_gpu::ocl::VASurfaceTensor;
using ::testing::AllOf;
using ::testing::HasSubstr;

#ifdef VA_EXPORT_SURFACE_SEPARATE_LAYERS
using gpu_device::va_abi::SurfaceDescriptor;
static_assert(sizeof(SurfaceDescriptor) == sizeof(VADRMPRIMESurfaceDescriptor) &&
              offsetof(SurfaceDescriptor, layers) == offsetof(VADRMPRIMESurfaceDescriptor, layers) &&
              sizeof(SurfaceDescriptor::Layer) == sizeof(VADRMPRIMESurfaceDescriptor::layers[0]));
static_assert(gpu_device::va_abi::kDrmPrime2 == VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2 &&
              gpu_device::va_abi::kSeparateLayers == VA_EXPORT_SURFACE_SEPARATE_LAYERS &&
              gpu_device::va_abi::kReadWrite == VA_EXPORT_SURFACE_READ_WRITE &&
              gpu_device::va_abi::kUnimplemented == VA_STATUS_ERROR_UNIMPLEMENTED &&
              gpu_device::va_abi::kTimedOut == VA_STATUS_ERROR_TIMEDOUT);
#endif

std::size_t open_descriptors() {
  using Iterator = std::filesystem::directory_iterator;
  return static_cast<std::size_t>(std::distance(Iterator("/proc/self/fd"), Iterator()));
}

/// Surfaces of NV12 (or P010), larger than the picture, as decoders make them: rows of 64 bytes more, chroma behind luma.
struct Decoder {
  static constexpr std::size_t kWide = kWidth + 8, kHigh = kHeight + 12, kPitch = 128, kSize = 16384;
  FakeDisplay display;
  const dmabuf::Allocator best = dmabuf::allocators().front();  // Dma-bufs, or memfds in their place.
  Ref<Memory> memory[2] = {dmabuf::allocate(best, kSize), dmabuf::allocate(best, kSize)};
  std::uint64_t modifier = 0;
  int sync_status = 0, syncs = 0;
  std::uint32_t luma = fourcc('R', '8', ' ', ' '), chroma = fourcc('G', 'R', '8', '8'), pitch = kPitch;

  Decoder() {
    display.surface_count = 2;
    display.sync = [](FakeDisplay* of, unsigned surface, std::uint64_t timeout_ns) {
      Decoder& self = of_display(of);
      EXPECT_LT(timeout_ns, std::uint64_t{3'600'000'000'000}) << "a wait without a deadline";
      ++self.syncs;
      return surface < 2 ? self.sync_status : 6;
    };
    display.export_handle = [](FakeDisplay* of, unsigned surface, std::uint32_t type, std::uint32_t flags, void* out) {
      const Decoder& self = of_display(of);
      EXPECT_EQ(type, gpu_device::va_abi::kDrmPrime2);
      EXPECT_EQ(flags, gpu_device::va_abi::kReadWrite | gpu_device::va_abi::kSeparateLayers);
      auto& found = *static_cast<gpu_device::va_abi::SurfaceDescriptor*>(out);
      found = {fourcc('N', 'V', '1', '2'), kWide, kHigh, 1, {}, 2, {}};
      found.objects[0] = {UniqueFd::duplicate(self.memory[surface]->borrow_fd()).release(), kSize, self.modifier};
      found.layers[0] = {self.luma, 1, {0}, {256}, {self.pitch}};
      found.layers[1] = {self.chroma, 1, {0}, {256 + kPitch * kHigh}, {self.pitch}};
      return 0;
    };
  }
  static Decoder& of_display(FakeDisplay* display) { return *reinterpret_cast<Decoder*>(display); }

  /// A picture's planes, [1, h, w, 1] and [1, h/2, w/2, 2].
  void decode(unsigned surface, const Tensor& y, const Tensor& uv) const {
    auto* const bytes = static_cast<std::uint8_t*>(
        ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, memory[surface]->borrow_fd(), 0));
    std::size_t offset = 256;
    for (const Tensor& plane : {y, uv}) {
      const std::size_t rows = plane.shape()[1], row = plane.size_bytes() / rows;
      for (std::size_t i = 0; i < rows; ++i)
        std::memcpy(bytes + offset + i * kPitch, plane.data<std::uint8_t>() + i * row, row);
      offset += kPitch * kHigh;
    }
    ::munmap(bytes, kSize);
  }
};
static_assert(offsetof(Decoder, display) == 0);

class Surfaces : public Pictures {
 protected:
  void SetUp() override {
    void* const library = ::dlopen("libva.so.2", RTLD_NOW);
    if (!library || !::dlsym(library, "tenon_fake_va")) GTEST_SKIP() << "libva.so.2 is not the tests' own here";
    Pictures::SetUp();
  }
  /// False behind the layer that shares surfaces: then these are images.
  bool is_by_memory(VAContext& context) {
    return !opencl::wrap(static_cast<cl_context>(context), nullptr)
                .as<opencl::FacetContext>()
                ->native()
                .device.has("cl_intel_va_api_media_sharing");
  }
  Decoder decoder;
};

TEST_F(Surfaces, PlanesAreReadInPlaceAtTheirPitch) {
  VAContext context(core, &decoder.display);
  EXPECT_EQ(context.get_params().at("CONTEXT_TYPE").as<std::string>(), "VA_SHARED");
  EXPECT_EQ(static_cast<void*>(context), static_cast<void*>(&decoder.display));
  EXPECT_EQ(static_cast<RemoteContext&>(context).as<ClContext>().get(), static_cast<cl_context>(context));
  EXPECT_THAT(error_of([&] { VAContext(core, &decoder.display, 1); }, Code::kUnimplemented), HasSubstr("TILE_ID"));
  if (!is_by_memory(context)) GTEST_SKIP() << "the platform shares them";
  const auto model = with_preprocessing({});
  auto compiled = core.compile_model(model, context);
  auto request = compiled.create_infer_request();
  const std::size_t before = open_descriptors();
  for (unsigned round = 0; round < 3; ++round) {
    const std::vector<Tensor> planes = random_planes(compiled, 20 + round);
    decoder.decode(round % 2, planes[0], planes[1]);
    auto [y, uv] = context.create_tensor_nv12(kHeight, kWidth, round % 2);
    EXPECT_EQ(static_cast<std::uint32_t>(uv), round % 2);
    EXPECT_EQ(uv.plane(), 1u);
    EXPECT_EQ(y.get_params().at("SHARED_MEM_TYPE").as<std::string>(), "VA_SURFACE");
    EXPECT_EQ(y.get_params().at("VA_DEVICE").as<void*>(), static_cast<void*>(&decoder.display));
    EXPECT_EQ(uv.shape(), (Shape{1, kHeight / 2, kWidth / 2, 2}));
    request.set_input_tensor(0, y);
    request.set_input_tensor(1, uv);
    EXPECT_LE(largest_step(infer_in(context, request), judged(model, {{planes[0]}, {planes[1]}})), 1);
    Tensor copy;
    uv.copy_to(copy);
    EXPECT_EQ(std::memcmp(copy.data(), planes[1].data(), copy.size_bytes()), 0);
  }
  EXPECT_EQ(decoder.syncs, 6) << "each plane is waited for when its tensor is made";
  EXPECT_EQ(request.ledger().total().copied + request.ledger().total().transferred, 0u);
  request = {};
  drain_deferred(default_deadline());
  // Drivers let go of finished commands a moment later.
  for (int i = 0; i < 6000 && open_descriptors() != before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(Surfaces, BatchesOfThemAreReadWhereTheyLie) {
  VAContext context(core, &decoder.display);
  if (!is_by_memory(context)) GTEST_SKIP() << "the platform shares them";
  Picture picture;
  picture.batch = 2;
  const auto model = with_preprocessing(picture);
  auto compiled = core.compile_model(model, context);
  auto request = compiled.create_infer_request();
  std::vector<std::vector<Tensor>> given(2);
  std::vector<Tensor> y, uv;
  for (unsigned surface = 0; surface < 2; ++surface) {
    std::mt19937 random(surface + 5);
    for (std::size_t plane = 0; plane < 2; ++plane) {
      Tensor& one = given[plane].emplace_back(
          element::u8, plane ? Shape{1, kHeight / 2, kWidth / 2, 2} : Shape{1, kHeight, kWidth, 1});
      std::generate_n(one.data<std::uint8_t>(), one.size_bytes(), [&] { return static_cast<std::uint8_t>(random()); });
    }
    decoder.decode(surface, given[0][surface], given[1][surface]);
    auto pair = context.create_tensor_nv12(kHeight, kWidth, surface);
    y.push_back(pair.first);
    uv.push_back(pair.second);
  }
  request.set_input_tensors(0, y);
  request.set_input_tensors(1, uv);
  EXPECT_LE(largest_step(infer_in(context, request), judged(model, given)), 1);
  EXPECT_EQ(request.ledger().total().copied + request.ledger().total().transferred, 0u);
}

TEST_F(Surfaces, OfSixteenBitsAreThose) {
  VAContext context(core, &decoder.display);
  if (!is_by_memory(context)) GTEST_SKIP() << "the platform shares them";
  decoder.luma = fourcc('R', '1', '6', ' ');
  decoder.chroma = fourcc('G', 'R', '3', '2');
  const RemoteTensor y = static_cast<RemoteContext&>(context).create_tensor(
      element::u16, Shape{1, kHeight, kWidth, 1},
      {{"SHARED_MEM_TYPE", "VA_SURFACE"}, {"DEV_OBJECT_HANDLE", 0u}, {"VA_PLANE", 0u}});
  EXPECT_EQ(y.byte_strides()[1], static_cast<std::ptrdiff_t>(Decoder::kPitch));
  EXPECT_EQ(y.byte_strides()[2], 2);
}

/// No failure of a call keeps a descriptor, a handle or a surface.
TEST_F(Surfaces, EveryCallOfAnInferenceOnThemMayFail) {
  using Probe = opencl::client::Probe;
  VAContext context(core, &decoder.display);
  const auto model = with_preprocessing({});
  auto compiled = core.compile_model(model, context);
  const std::vector<Tensor> planes = random_planes(compiled, 31);
  decoder.decode(0, planes[0], planes[1]);
  if (!is_by_memory(context)) GTEST_SKIP() << "images of numbers, not of what was decoded";
  const auto wanted = judged(model, {{planes[0]}, {planes[1]}});
  std::size_t before = std::numeric_limits<std::size_t>::max();
  testing::fail_each_call<Probe>(
      "CL_OUT_OF_RESOURCES",
      [&] {
        EXPECT_LE(open_descriptors(), before) << "a failure keeps a descriptor";
        auto request = compiled.create_infer_request();
        auto [y, uv] = context.create_tensor_nv12(kHeight, kWidth, 0u);
        request.set_input_tensor(0, y);
        request.set_input_tensor(1, uv);
        return infer_in(context, request);
      },
      [&](const auto& values) {
        ASSERT_LE(largest_step(values, wanted), 1);
        before = std::min(before, open_descriptors());
      });
}

TEST_F(Surfaces, WhatIsWrongWithThemIsSaid) {
  const auto message = [](auto&& body) { return std::string(error_of(body).what()); };
  EXPECT_THAT(message([&] { VAContext(core, nullptr); }), HasSubstr("user handle is nullptr"));
  VAContext context(core, &decoder.display);
  if (!is_by_memory(context)) GTEST_SKIP() << "the platform shares them";
  const std::size_t before = open_descriptors();
  const auto plane = [&](const Shape& shape, unsigned surface, unsigned plane, element::Type type = element::u8) {
    return message([&] { context.create_tensor(type, shape, surface, plane); });
  };
  const Shape luma{1, kHeight, kWidth, 1};
  EXPECT_THAT(plane(luma, 7, 0), AllOf(HasSubstr("surface 7"), HasSubstr("invalid VASurfaceID")));
  EXPECT_THAT(plane(luma, 0, 2), HasSubstr("no plane 2; it has 2"));
  EXPECT_THAT(plane(luma, 0, 1), HasSubstr("2 samples a pixel of u8"));
  EXPECT_THAT(plane(luma, 0, 0, element::u16), HasSubstr("1 samples a pixel of u8"));
  EXPECT_THAT(plane(Shape{2, kHeight, kWidth, 1}, 0, 0), HasSubstr("surfaces of their own"));
  EXPECT_THAT(plane(Shape{1, Decoder::kHigh + 1, kWidth, 1}, 0, 0), AllOf(HasSubstr("32x32"), HasSubstr("too small")));
  decoder.pitch = 8;
  EXPECT_THAT(plane(luma, 0, 0), HasSubstr("at a pitch of 8"));
  decoder.pitch = 1 << 20;
  EXPECT_THAT(plane(luma, 0, 0), HasSubstr("of 16384"));
  decoder.pitch = Decoder::kPitch;
  decoder.modifier = 0x0100000000000002;
  EXPECT_THAT(plane(luma, 0, 0), AllOf(HasSubstr("tiled"), HasSubstr("vaGetImage")));
  decoder.modifier = 0;
  decoder.luma = fourcc('Y', 'U', 'Y', 'V');
  EXPECT_THAT(plane(luma, 0, 0), HasSubstr("DRM format"));
  decoder.luma = fourcc('R', '8', ' ', ' ');
  decoder.sync_status = 0x26;
  const Error late = error_of([&] { context.create_tensor(element::u8, luma, 0u, 0); });
  EXPECT_EQ(late.code(), Code::kDeadlineExceeded);
  EXPECT_EQ(late.native_api(), "vaSyncSurface2");
  EXPECT_EQ(late.native_code(), 0x26);
  decoder.sync_status = 0;
  auto tensor = context.create_tensor(element::u8, luma, 0u, 0);
  EXPECT_THAT(message([&] { tensor.set_shape(Shape{1, 2, 2, 1}); }), HasSubstr("on top of a VA surface"));
  EXPECT_THAT(message([&] { tensor.as<ClImage2DTensor>(); }), HasSubstr("MEM_HANDLE"));
  EXPECT_THAT(message([&] { tensor.get(); }), HasSubstr("MEM_HANDLE"));
  tensor = {};
  EXPECT_EQ(open_descriptors(), before) << "a refusal keeps a descriptor";
  // A context of OpenCL's has no display.
  EXPECT_THAT(message([&] {
                static_cast<RemoteContext&&>(ClContext(core))
                    .create_tensor(element::u8, luma, {{"SHARED_MEM_TYPE", "VA_SURFACE"}, {"DEV_OBJECT_HANDLE", 0u}});
              }),
              HasSubstr("Shared context is required"));
}

/// Direct3D's objects exist on Windows, and Level Zero's contexts belong to the NPU device.
TEST_F(Gpu, MemoryOfOtherSystemsIsRefusedByName) {
  RemoteContext context = core.get_default_context("GPU");
  const auto words = [](const auto& call) { return std::string(error_of(call).what()); };
  const auto tensor = [&](const char* type) {
    return words([&] { context.create_tensor(element::u8, Shape{1, 8}, {{"SHARED_MEM_TYPE", type}}); });
  };
  EXPECT_THAT(tensor("DX_BUFFER"), AllOf(HasSubstr("DX_BUFFER"), HasSubstr("Windows only")));
  EXPECT_THAT(words([&] {
                core.create_context("GPU", {{"CONTEXT_TYPE", "ZE"}});
              }),
              AllOf(HasSubstr("ZE"), HasSubstr("VA_SHARED")));
}

/// Behind the layer whose platform shares surfaces: images of 64x32 pixels that hold their number and one.
TEST_F(Surfaces, AreImagesWhereThePlatformSharesThem) {
  VAContext context(core, &decoder.display);
  if (is_by_memory(context)) GTEST_SKIP() << "the platform does not share them";
  auto x = std::make_shared<op::v0::Parameter>(element::u8, PartialShape{1, 32, 64, 1});
  x->output(0).set_names({"x"});
  auto values = make_node("Convert", 0, {x}, {{"destination_type", element::f32}}, "values");
  auto sum = make_node("Add", 1, {values, op::v0::Constant::create(element::f32, Shape{}, {0.5})}, {}, "sum");
  const auto model = std::make_shared<Model>(OutputVector{sum}, ParameterVector{x}, "surface");
  auto request = core.compile_model(model, context).create_infer_request();
  for (unsigned surface = 0; surface < 2; ++surface) {
    VASurfaceTensor y = context.create_tensor(element::u8, Shape{1, 32, 64, 1}, surface, 0);
    EXPECT_EQ(y.get_params().at("SHARED_MEM_TYPE").as<std::string>(), "VA_SURFACE");
    EXPECT_EQ(static_cast<std::uint32_t>(y), surface);
    const ClImage2DTensor image = y.as<ClImage2DTensor>();
    EXPECT_EQ(y.get(), image.get());
    EXPECT_NE(static_cast<cl_mem>(y), nullptr);
    request.set_input_tensor(y);
    const std::vector<float> found = infer_in(context, request);
    EXPECT_EQ(found, std::vector<float>(64 * 32, static_cast<float>(surface) + 1.5f));
  }
  EXPECT_EQ(request.ledger().total().copied + request.ledger().total().transferred, 0u);
  EXPECT_THAT(error_of([&] {
                context.create_tensor(element::u8, Shape{1, 32, 64, 1}, 9u, 0);
              }).what(),
              HasSubstr("SURFACE"));
}

}  // namespace remote_surfaces_test
}  // namespace tenon::gpu_testing
