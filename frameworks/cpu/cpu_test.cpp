// SPDX-License-Identifier: Apache-2.0
// Wrapping and adopting host memory.
#include <tenon/frameworks/cpu/cpu.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include <tenon/tests/support/error_of.hpp>

namespace cpu_test {

using namespace tenon;
using ::testing::HasSubstr;

TEST(CpuWrap, SharesTheCallersBytes) {
  std::vector<float> data(12, 1.0f);
  const Tensor tensor = cpu::wrap(data.data(), {element::f32, {3, 4}, {}});
  EXPECT_EQ(tensor.context(), host_context());
  EXPECT_EQ(tensor.kind(), kCpuMemory);
  EXPECT_EQ(tensor.data(), data.data());
  EXPECT_TRUE(tensor.is_writable());
  tensor.data<float>()[11] = 7;
  EXPECT_EQ(data[11], 7);
}

TEST(CpuWrap, OfConstDataIsReadOnly) {
  const std::uint8_t data[4] = {1, 2, 3, 4};
  EXPECT_FALSE(cpu::wrap(data, {element::u8, {4}, {}}).is_writable());
}

TEST(CpuWrap, RefusesWhatMakesNoSense) {
  std::byte data[16];
  EXPECT_THAT(error_of([&] {
                cpu::wrap(static_cast<void*>(nullptr), {element::u8, {4}, {}});
              }).what(),
              HasSubstr("null"));
  EXPECT_THAT(error_of([&] { cpu::wrap(data, {element::u8, {4, 4}, {4}}); }).what(), HasSubstr("one per axis"));
  EXPECT_EQ(error_of([&] { cpu::wrap(data, {element::u8, {4, 4}, {-4, 1}}); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] {
              cpu::wrap(data, {element::f64, {std::size_t{1} << 40, std::size_t{1} << 40}, {}});
            }).code(),
            Code::kInvalidArgument);
  EXPECT_NO_THROW(cpu::wrap(static_cast<void*>(nullptr), {element::u8, {0, 4}, {}}));
}

TEST(CpuAdopt, ReleasesOnceWhenTheLastTensorGoes) {
  std::vector<std::uint8_t> data(64);
  int released = 0;
  {
    Tensor part;
    {
      const Tensor whole = cpu::adopt(data.data(), {element::u8, {8, 8}, {}}, [&] { ++released; });
      part = whole.slice({1, 1}, {2, 2});
    }
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(CpuAdopt, ReleasesOnceWhenConstructionFails) {
  std::byte data[16];
  int released = 0;
  EXPECT_EQ(error_of([&] {
              cpu::adopt(data, {element::u8, {4, 4}, {-4, 1}}, [&] { ++released; });
            }).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(error_of([&] {
              cpu::adopt(nullptr, {element::u8, {4}, {}}, [&] { ++released; });
            }).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(released, 2);
  EXPECT_EQ(error_of([&] {
              cpu::adopt(data, {element::u4, {4}, {1}}, [&] { ++released; });
            }).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(released, 3)
      << "refused after the memory object was made: its destructor and the guard must not both release";
}

TEST(CpuAdopt, ReleasesOnTheThreadThatDropsIt) {
  std::byte data[16];
  std::thread::id released;
  Tensor tensor = cpu::adopt(data, {element::u8, {16}, {}}, [&] { released = std::this_thread::get_id(); });
  std::thread dropper([&] { tensor = {}; });
  const std::thread::id expected = dropper.get_id();
  dropper.join();
  EXPECT_EQ(released, expected);
}

TEST(CpuWrapFrame, KeepsPlanesWithTheirPitchesAndReleasesOnceForAll) {
  std::vector<std::uint8_t> luma(48 * 80), chroma(24 * 96);
  int released = 0;
  Tensor uv;
  {
    const cpu::PlaneData planes[] = {{luma.data(), 80}, {chroma.data(), 96}};
    const Frame frame = cpu::wrap_frame({kNv12, 64, 48}, planes, [&] { ++released; });
    EXPECT_EQ(frame.plane(0).data(), luma.data());
    EXPECT_EQ(frame.plane(0).byte_strides(), (ByteStrides{80, 1}));
    EXPECT_EQ(frame.plane(1).shape(), (Shape{24, 32, 2}));
    EXPECT_EQ(frame.plane(1).byte_strides(), (ByteStrides{96, 2, 1}));
    uv = frame.plane(1);
  }
  EXPECT_EQ(uv.data(), chroma.data());
  EXPECT_EQ(released, 0) << "a plane is still there";
  uv = {};
  EXPECT_EQ(released, 1);
}

TEST(CpuWrapFrame, RefusesShortPitchesAndWrongPlaneCountsAndReleasesOnce) {
  std::vector<std::uint8_t> bytes(64 * 48 * 2);
  int released = 0;
  const cpu::PlaneData one[] = {{bytes.data(), 64}};
  EXPECT_THAT(error_of([&] {
                cpu::wrap_frame({kNv12, 64, 48}, one, [&] { ++released; });
              }).what(),
              HasSubstr("expected 2"));
  EXPECT_EQ(released, 1);
  const cpu::PlaneData narrow[] = {{bytes.data(), 64}, {bytes.data(), 63}};
  EXPECT_THAT(error_of([&] {
                cpu::wrap_frame({kNv12, 64, 48}, narrow, [&] { ++released; });
              }).what(),
              HasSubstr("pitch of 63"));
  EXPECT_EQ(released, 2) << "the first plane was made already";
}

}  // namespace cpu_test
