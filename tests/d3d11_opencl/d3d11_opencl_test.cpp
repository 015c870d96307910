// SPDX-License-Identifier: Apache-2.0
// Direct3D 11 and OpenCL, which share nothing without cl_khr_d3d11_sharing: the router goes by the host and books it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <tenon/core/host.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/frameworks/d3d11/contexts.hpp>
#include <tenon/frameworks/opencl/opencl.hpp>
#include <tenon/frameworks/opencl/testing/opencl.hpp>

namespace d3d11_opencl_test {

using namespace tenon;
using ::testing::HasSubstr;

class D3D11OpenCl : public opencl::OpenclFixture {
 protected:
  void SetUp() override {
    opencl::OpenclFixture::SetUp();
    if (IsSkipped()) return;
    try {
      device_ = d3d11::make_device();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    buffers = d3d11::wrap(device_.get());
    textures = d3d11::textures(buffers);
    for (const Context& known : {host_context(), buffers, textures}) router.add(known);
  }
  static std::vector<std::uint8_t> read(const Tensor& tensor) {
    std::vector<std::uint8_t> bytes(tensor.size_bytes());
    tensor.context()->read(tensor, std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }
  /// A packed copy of `tensor` in OpenCL's memory, to each byte of which the OpenCL device has added 1.
  Tensor plus_one(const Tensor& tensor) {
    Requirements wanted;
    wanted.size_bytes = tensor.size_bytes();
    Tensor made({tensor.element_type(), tensor.shape(), {}}, context->allocate(wanted));
    const std::vector<std::uint8_t> bytes = read(tensor);
    context->write(made, std::as_bytes(std::span(bytes)));
    opencl::wrote(made, add_one(opencl::buffer(made), made.offset(), made.size_bytes()));
    return made;
  }

 private:
  d3d11::Com<ID3D11Device> device_;

 protected:
  Context buffers, textures;
};

TEST_F(D3D11OpenCl, BuffersGoThroughAKernelAndBack) {
  constexpr std::size_t kBytes = 4096 + 16;
  Requirements wanted;
  wanted.size_bytes = kBytes;
  const Tensor source({element::u8, {kBytes}, {}}, buffers->allocate(wanted));
  std::vector<std::uint8_t> bytes(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7);
  buffers->write(source, std::as_bytes(std::span(bytes)));

  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  options.policy = ZeroCopy::kAllow;
  const Tensor there = router.map(source, context, options);
  EXPECT_EQ(read(there), bytes);
  const Tensor back = router.map(plus_one(there), buffers, options);
  for (auto& byte : bytes) ++byte;
  EXPECT_EQ(read(back), bytes);
  EXPECT_GE(ledger.total().copied + ledger.total().transferred, 2 * kBytes) << "no copy goes unbooked";

  options.policy = ZeroCopy::kRequire;
  EXPECT_THAT(error_of([&] { router.map(source, context, options); }, Code::kFailedPrecondition),
              HasSubstr("d3d11.buffer->cpu"));
  options.policy = ZeroCopy::kAllow;
  options.access = Access::kReadWrite;
  EXPECT_THAT(error_of([&] { router.map(source, context, options); }, Code::kFailedPrecondition),
              HasSubstr("writes would not reach the source"));
}

TEST_F(D3D11OpenCl, PicturesGoThroughAKernelAndBack) {
  const FrameInfo info{kBgra, 33, 17};
  const Frame source = d3d11::allocate_frame(textures, info);
  std::vector<std::uint8_t> pixels(source.plane(0).size_bytes());
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 5 + 3);
  textures->write(source.plane(0), std::as_bytes(std::span(pixels)));

  const Frame there = router.map(source, context, Access::kRead);
  EXPECT_EQ(there.info().format, kBgra);
  const Frame back = router.map(Frame(info, {plus_one(there.plane(0))}), textures, Access::kRead);
  for (auto& byte : pixels) ++byte;
  EXPECT_EQ(read(back.plane(0)), pixels);
  EXPECT_NE(d3d11::texture(back.plane(0)).texture, d3d11::texture(source.plane(0)).texture);
}

TEST_F(D3D11OpenCl, SharingIsRefusedByTheNameOfTheExtension) {
  std::string reason;
  EXPECT_FALSE(opencl::shares(context, opencl::PictureApi::kD3d11, &reason));
  EXPECT_THAT(reason, HasSubstr("cl_khr_d3d11_sharing"));
}

}  // namespace d3d11_opencl_test
