// SPDX-License-Identifier: Apache-2.0
// Whole chains, found by the router and made by hand: FFmpeg, a VA surface, its dma-buf, and memory of a device.
#include <algorithm>
#include <string>
#include <vector>

#include <tenon/core/host.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/level_zero/contexts.hpp>
#include <tenon/frameworks/level_zero/level_zero.hpp>
#include <tenon/frameworks/opencl/contexts.hpp>
#include <tenon/frameworks/opencl/opencl.hpp>

#include <tenon/tests/va/decoded.hpp>
#include <tenon/tests/va/va_fixture.hpp>

namespace tenon::va_test {
namespace va_chain_test {

/// FFmpeg -> VAAPI -> DMA -> `device`, without a copy: the same pixels, and the same memory.
void expect_shared(const Context& device) {
  const Frame surface = decoded();
  EXPECT_EQ(surface.plane(0).kind(), vaapi::kVaapiMemory);
  EXPECT_TRUE(!expects_dmabufs() || surface.plane(0).memory()->fd_kind() == FdKind::kDmabuf);
  Router router;
  for (const Context& known : {context(), dmabuf::context(), host_context(), device}) router.add(known);
  Ledger ledger;
  MapOptions options;
  options.policy = ZeroCopy::kRequire;
  options.ledger = &ledger;
  const Frame found = router.map(surface, device, options);
  const Frame descriptors = router.map(surface, dmabuf::context(), options);  // The same by hand, hop by hop.
  const Frame by_hand = router.map(descriptors, device, options);
  for (std::size_t p = 0; p < surface.plane_count(); ++p) {
    EXPECT_EQ(found.plane(p).context(), device);
    EXPECT_EQ(read(found.plane(p)), read(surface.plane(p))) << "plane " << p;
    EXPECT_EQ(read(by_hand.plane(p)), read(surface.plane(p))) << "plane " << p;
    EXPECT_EQ(found.plane(p).memory(), surface.plane(p).memory());
  }
  EXPECT_EQ(ledger.total().copied, 0u) << ledger.report();
  // A later picture in the surface is seen through what was mapped.
  paint(surface, 31);
  expect_painted(descriptors, 31);
  expect_painted(found, 31);
}

TEST(VaChain, FfmpegVaapiDmaOpenclBuffer) {
  std::size_t tried = 0;
  for (const Context& each : opencl::contexts()) {
    if (each->kind() != opencl::kBufferMemory || opencl::coherency(each) != opencl::Coherency::kStanding) continue;
    SCOPED_TRACE(each->name());
    expect_shared(each);
    ++tried;
  }
  if (tried == 0 && expects_dmabufs()) FAIL() << "no OpenCL device that works in the host's memory";
  if (tried == 0) GTEST_SKIP() << "no OpenCL device that works in the host's memory";
}

TEST(VaChain, FfmpegVaapiDmaUsm) {
  const std::vector<Context> all = level_zero::contexts();
  if (all.empty() && expects_dmabufs()) FAIL() << "no Level Zero driver";
  if (all.empty()) GTEST_SKIP() << "no Level Zero driver";
  for (const Context& each : all) {
    SCOPED_TRACE(each->name());
    expect_shared(each);
  }
}

}  // namespace va_chain_test
}  // namespace tenon::va_test
