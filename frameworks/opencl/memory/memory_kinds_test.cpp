// SPDX-License-Identifier: Apache-2.0
// Images, USM, SVM and memory used by turns: what is specific to them, and bad input.
#include <tenon/frameworks/opencl/access.hpp>
#include <tenon/frameworks/opencl/testing/opencl.hpp>

namespace tenon::opencl {
namespace memory_kinds_test {

using ::testing::Each;
using ::testing::HasSubstr;

using ImageTest = OpenclFixture;
using UsmTest = OpenclFixture;
using SvmTest = OpenclFixture;
using TurnsTest = OpenclFixture;

class Images : public OpenclFixture {
 protected:
  void SetUp() override {
    OpenclFixture::SetUp();
    if (!context) return;
    if (device(context).max_width == 0) GTEST_SKIP() << device(context).name << " has no images";
    pictures = images(context);
  }
  void TearDown() override {
    pictures = {};
    OpenclFixture::TearDown();
  }
  /// Read with the driver's own call, which packs rows.
  std::vector<std::uint8_t> pixels(cl_mem image, std::size_t width, std::size_t height, std::size_t pixel) {
    std::vector<std::uint8_t> out(width * height * pixel);
    const std::size_t origin[3] = {}, region[3] = {width, height, 1};
    EXPECT_EQ(clEnqueueReadImage(queue(context), image, CL_TRUE, &origin[0], &region[0], 0, 0, out.data(), 0, nullptr,
                                 nullptr),
              CL_SUCCESS);
    return out;
  }
  Context pictures;
};

TEST_F(Images, ImagesHoldThePixelsThatTheDriverReads) {
  if (pictures.as<ImageContext>()->refusal(element::u8, {6, 10, 4}, Samples::kNormalised))
    GTEST_SKIP() << "no RGBA images";
  const Tensor tensor = allocate_image(pictures, element::u8, {6, 10, 4});
  std::vector<std::byte> bytes(240);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  pictures->write(tensor, bytes);
  const std::vector<std::uint8_t> seen = pixels(image(tensor), 10, 6, 4);
  for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], i);
}

TEST_F(Images, WrapsTheUsersImageWithItsOwnShape) {
  if (pictures.as<ImageContext>()->refusal(element::u8, {6, 10, 4}, Samples::kNormalised))
    GTEST_SKIP() << "no RGBA images";
  const Tensor made = allocate_image(pictures, element::u8, {6, 10, 4});
  const cl_uint before = references(image(made));
  {
    const Tensor wrapped = wrap_image(pictures, image(made));
    EXPECT_EQ(wrapped.shape(), (Shape{6, 10, 4}));
    EXPECT_EQ(wrapped.element_type(), ElementType::kU8);
    EXPECT_EQ(references(image(made)), before + 1);
  }
  EXPECT_EQ(references(image(made)), before);
}

TEST_F(Images, RefusesFormatsWithTheReason) {
  const Error three = error_of([&] { allocate_image(pictures, element::u8, {4, 4, 3}); });
  EXPECT_EQ(three.code(), Code::kUnimplemented);
  EXPECT_THAT(three.what(), HasSubstr("3 channels"));
  EXPECT_EQ(error_of([&] { allocate_image(pictures, element::f64, {4, 4}); }).code(), Code::kUnimplemented);
  EXPECT_EQ(error_of([&] { allocate_image(pictures, element::u8, {4}); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { allocate_image(pictures, element::u8, {0, 4}); }).code(), Code::kUnimplemented);
  EXPECT_EQ(error_of([&] {
              allocate_image(pictures, element::u8, {1, device(context).max_width + 1});
            }).code(),
            Code::kUnimplemented);
  EXPECT_EQ(error_of([&] {
              allocate_image(context, element::u8, {4, 4});
            }).code(),
            Code::kInvalidArgument)
      << "the context of buffers";
}

TEST_F(Images, RefusesWhatIsNoImageOfThisContext) {
  EXPECT_EQ(error_of([&] { wrap_image(pictures, nullptr); }).code(), Code::kInvalidArgument);
  const auto bytes = user_buffer(64);
  EXPECT_EQ(error_of([&] { wrap_image(pictures, bytes); }).code(), Code::kInvalidArgument);
  const Tensor gray = allocate_image(pictures, element::u8, {4, 4});
  EXPECT_EQ(error_of([&] {
              opencl::wrap(context, image(gray), {element::u8, {16}, {}});
            }).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { wrap_image(images(make_context()), image(gray)); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { image(Tensor(element::u8, {4})); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { buffer(gray); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(images(context), pictures) << "one context of images for one of buffers";
}

TEST_F(Images, Nv12IsTwoPlanesOfImagesOrOfABuffer) {
  const FrameInfo info{kNv12, 64, 48};
  const Frame frame = allocate_frame(context, info);
  ASSERT_EQ(frame.plane_count(), 2u);
  const bool rg = !pictures.as<ImageContext>()->refusal(element::u8, {24, 32, 2}, Samples::kNormalised);
  EXPECT_EQ(frame.plane(0).kind(), rg ? kImageMemory : kBufferMemory);
  EXPECT_EQ(frame.plane(1).kind(), frame.plane(0).kind());
  for (std::size_t p = 0; p < 2; ++p) {
    const std::vector<std::byte> bytes(frame.plane(p).size_bytes(), static_cast<std::byte>(40 + p));
    frame.plane(p).context()->write(frame.plane(p), bytes);
  }
  EXPECT_THAT(bytes_of(frame.plane(0)), Each(40));
  EXPECT_THAT(bytes_of(frame.plane(1)), Each(41));
  if (rg) {
    EXPECT_THAT(pixels(image(frame.plane(1)), 32, 24, 2), Each(41));
  } else {
    const Error missing = error_of([&] { allocate_image_frame(pictures, info); });
    EXPECT_EQ(missing.code(), Code::kUnimplemented);
    EXPECT_THAT(missing.what(), HasSubstr("plane 1 of nv12"));
    EXPECT_NO_THROW(sub_buffer(frame.plane(1))) << "planes begin where sub-buffers may";
  }
}

TEST_F(Images, ImagesOverBuffersAreJudgedByExtensionAndPitch) {
  const Tensor bytes({element::u8, {16, 128}, {}}, context->allocate([] {
    Requirements wanted;
    wanted.size_bytes = 16 * 128;
    return wanted;
  }()));
  const auto judge = [&](const Tensor& tensor) {
    const Step step = detail::buffer_to_image().step(describe(tensor), pictures, Access::kRead);
    const auto* refusal = std::get_if<Refusal>(&step);
    return refusal ? refusal->reason : std::string();
  };
  if (!device(context).image_from_buffer) {
    EXPECT_THAT(judge(bytes), HasSubstr("cl_khr_image2d_from_buffer"));
    return;
  }
  EXPECT_EQ(judge(bytes), "");
  const Tensor odd({element::u8, {16, 100}, {100, 1}}, bytes.memory());
  EXPECT_THAT(judge(odd), HasSubstr("100 bytes apart"));
  const Tensor late({element::u8, {8, 128}, {128, 1}}, bytes.memory(), 8);
  EXPECT_THAT(judge(late), HasSubstr("begins at byte 8"));
  context->write(bytes, std::vector<std::byte>(16 * 128, std::byte{6}));
  const Tensor seen = router.map(bytes, pictures, Access::kReadWrite);
  EXPECT_THAT(pixels(image(seen), 128, 16, 1), Each(6));
  point(add_one(buffer(bytes), 0, 16 * 128)).wait();
  EXPECT_THAT(pixels(image(seen), 128, 16, 1), Each(7)) << "the image is a copy";
  const Tensor lower = router.map(bytes.slice({8, 0}, {16, 128}), pictures);
  EXPECT_NE(image(lower), image(seen)) << "another region is another image";
  EXPECT_EQ(image(router.map(bytes.slice({8, 0}, {16, 128}), pictures)), image(lower));
}

TEST_F(UsmTest, TellsWhatItIsGivenByAskingTheDriver) {
  if (!device(context).usm) GTEST_SKIP() << error_of([&] { usm(context); }).what();
  const Context memory = usm(context);
  const TensorInfo info{element::u8, {4096}, {}};
  const Tensor host = allocate_usm(memory, UsmType::kHost, info), own = allocate_usm(memory, UsmType::kDevice, info);
  EXPECT_TRUE(host.is_host_addressable());
  EXPECT_FALSE(own.is_host_addressable());
  const Tensor middle = wrap_usm(memory, static_cast<std::byte*>(usm_pointer(host)) + 1024, {element::u8, {3072}, {}});
  EXPECT_EQ(middle.data(), static_cast<std::byte*>(host.data()) + 1024);
  EXPECT_EQ(error_of([&] { wrap_usm(memory, static_cast<std::byte*>(usm_pointer(host)) + 1024, info); }).code(),
            Code::kOutOfRange);
  EXPECT_EQ(error_of([&] {
              adopt_usm(memory, static_cast<std::byte*>(usm_pointer(host)) + 1024, {element::u8, {8}, {}});
            }).code(),
            Code::kInvalidArgument);
  alignas(64) static std::byte plain[64];
  EXPECT_EQ(error_of([&] { wrap_usm(memory, plain, {element::u8, {64}, {}}); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { wrap_usm(memory, nullptr, info); }).code(), Code::kInvalidArgument);
  const Context foreign = usm(make_context());
  EXPECT_EQ(error_of([&] { wrap_usm(foreign, usm_pointer(host), info); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { wrap_usm(context, usm_pointer(host), info); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { usm_pointer(Tensor(element::u8, {4})); }).code(), Code::kInvalidArgument);
  Requirements descriptor;
  descriptor.size_bytes = 64;
  descriptor.fd = FdKind::kMemfd;
  EXPECT_EQ(error_of([&] { memory->allocate(descriptor); }).code(), Code::kUnimplemented);
}

TEST_F(UsmTest, AdoptedAllocationsAreFreedOnce) {
  if (!device(context).usm) GTEST_SKIP() << error_of([&] { usm(context); }).what();
  const Context memory = usm(context);
  const Ref<detail::UsmNative>& native = memory.as<UsmContext>()->usm();
  cl_int status = CL_SUCCESS;
  const auto make = [&] { return native->functions.host(handle(context), nullptr, 4096, 64, &status); };
  const auto type_of = [&](void* data) {
    return detail::usm_info<cl_unified_shared_memory_type_intel>(*native, data, CL_MEM_ALLOC_TYPE_INTEL);
  };
  void* const given = make();
  { const Tensor tensor = adopt_usm(memory, given, {element::u8, {4096}, {}}); }
  EXPECT_EQ(type_of(given), cl_uint{CL_MEM_TYPE_UNKNOWN_INTEL}) << "still allocated";
  void* const too_small = make();
  EXPECT_EQ(error_of([&] { adopt_usm(memory, too_small, {element::u8, {9999}, {}}); }).code(), Code::kOutOfRange);
  EXPECT_EQ(type_of(too_small), cl_uint{CL_MEM_TYPE_UNKNOWN_INTEL}) << "a failed adoption frees too";
}

TEST_F(UsmTest, KernelsWriteWhatTheHostReads) {
  if (!device(context).usm) GTEST_SKIP() << error_of([&] { usm(context); }).what();
  const Context memory = usm(context);
  clSetKernelArgMemPointerINTEL_fn set_pointer = nullptr;
  detail::load(set_pointer, device(context).platform, "clSetKernelArgMemPointerINTEL");
  for (UsmType type : {UsmType::kHost, UsmType::kShared, UsmType::kDevice}) {
    const Tensor tensor = allocate_usm(memory, type, {element::u8, {4096}, {}});
    memory->write(tensor, std::vector<std::byte>(4096, std::byte{20}));
    const Released<cl_kernel> kernel(add_kernel());
    ASSERT_EQ(set_pointer(kernel, 0, usm_pointer(tensor)), CL_SUCCESS);
    wrote(tensor, enqueue(kernel, 0, 4096));
    Ledger ledger;
    MapOptions options;
    options.ledger = &ledger;
    const Tensor host = router.map(tensor, host_context(), options);
    EXPECT_EQ(host.data<std::uint8_t>()[4095], 21);
    EXPECT_EQ(ledger.total().copied, type == UsmType::kDevice ? 4096u : 0u);
  }
}

TEST_F(SvmTest, KernelsWriteWhatTheHostReads) {
  if (!(device(context).svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER))
    GTEST_SKIP() << error_of([&] { svm(context); }).what();
  const Context memory = svm(context);
  for (SvmGrain grain : {SvmGrain::kCoarse, SvmGrain::kFine}) {
    if (grain == SvmGrain::kFine && !memory.as<SvmContext>()->has_fine_grained()) continue;
    const Tensor tensor = allocate_svm(memory, grain, {element::u8, {4096}, {}});
    EXPECT_EQ(tensor.is_host_addressable(), grain == SvmGrain::kFine);
    memory->write(tensor, std::vector<std::byte>(4096, std::byte{30}));
    const Released<cl_kernel> kernel(add_kernel());
    ASSERT_EQ(detail::newer_calls().set_svm_argument(kernel, 0, svm_pointer(tensor)), CL_SUCCESS);
    wrote(tensor, enqueue(kernel, 0, 4096));
    EXPECT_EQ(router.map(tensor, host_context()).data<std::uint8_t>()[4095], 31);
    const Tensor as_buffer = router.map(tensor, context, Access::kReadWrite);
    point(add_one(buffer(as_buffer), 0, 4096)).wait();
    EXPECT_THAT(bytes_of(tensor), Each(32)) << "the buffer over SVM is a copy";
  }
}

TEST_F(SvmTest, RefusesWhatItCannotBe) {
  if (!(device(context).svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER))
    GTEST_SKIP() << error_of([&] { svm(context); }).what();
  const Context memory = svm(context);
  EXPECT_EQ(error_of([&] {
              wrap_svm(memory, nullptr, SvmGrain::kCoarse, {element::u8, {4}, {}});
            }).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { svm_pointer(Tensor(element::u8, {4})); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] {
              allocate_svm(context, SvmGrain::kCoarse, {element::u8, {4}, {}});
            }).code(),
            Code::kInvalidArgument);
  Requirements wanted;
  wanted.size_bytes = 64;
  wanted.alignment = 4096;
  const Ref<Memory> aligned = memory->allocate(wanted);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(static_cast<SvmMemory&>(*aligned).data()) % 4096, 0u);
  wanted.alignment = 1 << 20;
  EXPECT_EQ(error_of([&] { memory->allocate(wanted); }).code(), Code::kUnimplemented);
}

TEST_F(TurnsTest, TheDeviceBorrowsHostMemoryAndGivesItBack) {
  const Context gpu = make_context(device(context).id, Coherency::kMapped);
  Router way;
  way.add(gpu);
  const Tensor source(element::u8, {4096});
  const std::size_t align = gpu.as<FacetContext>()->native().share_alignment;
  if (reinterpret_cast<std::uintptr_t>(source.data()) % align != 0) GTEST_SKIP() << "no memory of that alignment";
  std::memset(source.data(), 1, 4096);
  for (int round = 0; round < 3; ++round) {
    {
      const Tensor lent = way.map(source, gpu, Access::kReadWrite);
      EXPECT_FALSE(lent.is_host_addressable()) << "the host may not touch it meanwhile";
      const Tensor again = way.map(source, gpu, Access::kReadWrite);
      EXPECT_EQ(buffer(lent), buffer(again));
      std::vector<std::byte> bytes(4096);
      gpu->read(lent, bytes);
      EXPECT_EQ(bytes[17], static_cast<std::byte>(round + 1));
      bytes.assign(4096, static_cast<std::byte>(round + 2));
      gpu->write(lent, bytes);
    }
    EXPECT_TRUE(source.memory()->has_hazards()) << "giving back is a write to wait for";
    source.memory()->wait_for(Access::kReadWrite, default_deadline());
    EXPECT_EQ(source.data<std::uint8_t>()[4095], round + 2);
  }
}

TEST_F(TurnsTest, LeasesKeepThePoolsBufferWhileTheDeviceHasIt) {
  const Context gpu = make_context(device(context).id, Coherency::kMapped);
  Tensor buffer_tensor({element::u8, {4096}, {}}, gpu->allocate([] {
    Requirements wanted;
    wanted.size_bytes = 4096;
    return wanted;
  }()));
  gpu->write(buffer_tensor, std::vector<std::byte>(4096, std::byte{3}));
  Router way;
  way.add(gpu);
  Tensor host = way.map(buffer_tensor, host_context(), Access::kReadWrite);
  EXPECT_TRUE(host.lease());
  const Ref<Memory> memory = buffer_tensor.memory();
  buffer_tensor = {};
  EXPECT_EQ(host.data<std::uint8_t>()[0], 3);
  std::memset(host.data(), 4, 4096);
  host = {};  // Unmaps: the device's turn.
  EXPECT_TRUE(memory->has_hazards());
  EXPECT_THAT(bytes_of(Tensor({element::u8, {4096}, {}}, memory)), Each(4));
}

TEST_F(TurnsTest, WhatFailsAtTheEndOfATurnTravelsInTheHazards) {
  struct Failing final : detail::Turns {
    Failing() : Turns(0) {}
    void open(Deadline) override {}
    TimelinePoint close(const Memory&) override { throw Error(Code::kInternal, "x", "clEnqueueMapBuffer", -12); }
  } turns;
  const Tensor tensor(element::u8, {64});
  { const Lease lease = detail::TurnLease::enter(tensor.memory(), turns, {}, Access::kRead, default_deadline()); }
  EXPECT_EQ(error_of([&] { tensor.memory()->wait_for(Access::kRead, default_deadline()); }).native_code(), -12);
}

}  // namespace memory_kinds_test
}  // namespace tenon::opencl
