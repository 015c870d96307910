// SPDX-License-Identifier: Apache-2.0
// Dma-bufs as buffers and images. CMake runs these behind the layer that external_test.cpp runs behind.
#include <tenon/frameworks/opencl/dmabuf_edges.hpp>
#include <tenon/frameworks/opencl/image_rows.hpp>
#include <tenon/frameworks/opencl/image_shelf.hpp>
#include <tenon/frameworks/opencl/testing/external.hpp>
#include <tenon/tests/support/asleep.hpp>

namespace tenon::opencl {
namespace dmabuf_edges_test {

using std::chrono::milliseconds;
using ::testing::Each;
using ::testing::HasSubstr;

/// Dma-bufs, or what stands in for them on this kernel.
class DmabufEdges : public ExternalTest {
 protected:
  void SetUp() override {
    ExternalTest::SetUp();
    if (!context || IsSkipped()) return;
    if (!has_memory()) GTEST_SKIP() << "no memfds on " << device(context).name;
    if (driver_is("elsewhere")) GTEST_SKIP() << "a driver that imports other memory: see ADriverThatLies";
    router.add(dmabuf::context());
  }
  static Tensor dmabuf_of(std::size_t size, std::uint8_t value) {
    Tensor made({element::u8, {size}, {}}, dmabuf::allocate(size));
    made.context()->write(made, std::vector<std::byte>(size, std::byte{value}));
    return made;
  }
  MapOptions booked(Access access = Access::kReadWrite) {
    ledger.reset();
    MapOptions options;
    options.access = access;
    options.ledger = &ledger;
    return options;
  }
  Ledger ledger;
};

TEST_F(DmabufEdges, ShareWithoutACopyOrAWait) {
  const Tensor home = dmabuf_of(kSize, 1);
  for (int round = 0; round < 3; ++round) {
    {
      const Tensor mapped = router.map(home, context, booked());
      EXPECT_EQ(mapped.kind(), kBufferMemory);
      EXPECT_EQ(ledger.total().copied + ledger.total().transferred + ledger.total().waits, 0u);
      add_one_to(mapped);
    }
    EXPECT_THAT(bytes_of(home), Each(2 + round)) << "round " << round;
  }
  const Tensor part = home.slice({100}, {200});
  add_one_to(router.map(part, context, booked()));
  EXPECT_EQ(bytes_of(home)[99], 4);
  EXPECT_EQ(bytes_of(home)[100], 5);
}

TEST_F(DmabufEdges, LeadBackWithoutACopy) {
  const Tensor home = dmabuf_of(kSize, 1);
  Tensor mapped = router.map(home, context, Access::kReadWrite);
  add_one_to(mapped);
  const Tensor back = router.map(mapped, dmabuf::context(), booked(Access::kRead));
  EXPECT_EQ(ledger.total().copied, 0u);
  EXPECT_EQ(back.memory(), home.memory());
  mapped = {};  // OpenCL's turn ends here, and not with `back`.
  EXPECT_THAT(bytes_of(back), Each(2));
}

TEST_F(DmabufEdges, AnImportedOneIsADmabufAgain) {
  const Foreign foreign;
  foreign.fill(1);
  const FdKind kind = imports(context, FdKind::kMemfd) ? FdKind::kMemfd : FdKind::kOpaqueFd;
  const Tensor tensor = import_fd(context, foreign.fd.get(), kind, kSize, bytes());
  MapOptions options = booked(Access::kRead);
  if (kind == FdKind::kMemfd) {
    give_back(tensor);
    EXPECT_THAT(bytes_of(router.map(tensor, dmabuf::context(), options)), Each(1));
    EXPECT_EQ(ledger.total().copied, 0u);
    return;
  }
  EXPECT_THAT(router.explain(describe(tensor), dmabuf::context(), Access::kRead),
              HasSubstr("OpenCL exports no memory as a dma-buf"));
}

TEST_F(DmabufEdges, MakeOneBufferForAllContextsOfAClContext) {
  const Tensor home = dmabuf_of(kSize, 1);
  const Context second = wrap(handle(context), nullptr), apart = make_context(device(context).id);
  router.add(second);
  router.add(apart);
  {
    const Tensor first = router.map(home, context, Access::kReadWrite);
    const Tensor other = router.map(home, second, Access::kReadWrite);
    EXPECT_EQ(buffer(first), buffer(other)) << "two buffers over the same bytes";
    add_one_to(first);
    EXPECT_THAT(bytes_of(other), Each(2));
  }
  EXPECT_NE(buffer(router.map(home, apart, Access::kRead)), buffer(router.map(home, context, Access::kRead)));
}

TEST_F(DmabufEdges, EndWithTheLastUser) {
  const Tensor home = dmabuf_of(kSize, 1);
  Tensor first = router.map(home, context, Access::kReadWrite), second = router.map(home, context, Access::kRead);
  first = {};
  EXPECT_THAT(bytes_of(second), Each(1)) << "still OpenCL's";
  add_one_to(second);
  const auto gate = user_event();
  reads(second, gate);
  second = {};  // Given back when the reader is done.
  std::thread opener = tenon_test::once_this_thread_sleeps([&] { clSetUserEventStatus(gate, CL_COMPLETE); });
  const Tensor host = router.map(home, host_context(), booked(Access::kReadWrite));
  EXPECT_EQ(host.data<std::uint8_t>()[kSize - 1], 2);
  opener.join();
}

TEST_F(DmabufEdges, RefuseTilesAndOtherPeoplesDescriptors) {
  const Tensor linear = dmabuf_of(kSize, 1);
  const Tensor tiled({element::u8, {kSize}, {}}, dmabuf::import(dmabuf::export_fd(linear), 0, 0x0100000000000002));
  EXPECT_THAT(router.explain(describe(tiled), context, Access::kRead), HasSubstr("its pixels are tiled"));
  Description other = describe(dmabuf_of(kSize, 1));
  other.fd = FdKind::kCudaFd;
  DeviceIdentity maker;
  maker.set(kPciAddress, PciAddress{0, 7, 0, 0});
  other.exporter = std::make_shared<const DeviceIdentity>(maker);
  const Step step = detail::dmabuf_to_buffer().step(other, context, Access::kRead);
  ASSERT_TRUE(std::holds_alternative<Refusal>(step));
  EXPECT_THAT(std::get<Refusal>(step).reason, HasSubstr("only the device that made a descriptor of kind CUDA fd"));
}

/// In one hop where the driver says so, each use a turn of OpenCL's.
TEST_F(DmabufEdges, AreImagesInOneHop) {
  const Context pictures = images(context);
  router.add(pictures);
  constexpr std::size_t kPitch = 128, kRows = 32;
  const Tensor home = dmabuf_of(kPitch * kRows, 7);
  const Tensor all = home.reshaped({kRows, kPitch}), picture = all.slice({0, 0}, {kRows, kPitch / 2});
  const auto names = [&](const Tensor& tensor) {
    std::string found;
    for (const Hop& hop : router.plan(describe(tensor), pictures, Access::kRead)->hops())
      found += std::string(hop.edge->name()) + ";";
    return found;
  };
  if (device(context).linear_image_imports.empty()) {
    // The layer's images lie over the host's memory, which other platforms than PoCL copy: their driver is not believed.
    EXPECT_FALSE(driver_is("pictures") && device(context).platform_name.find("Portable Computing") == 0);
    EXPECT_THAT(router.explain(describe(picture), pictures, Access::kRead),
                HasSubstr("does not say that images over imported memory have plain rows"));
    return;
  }
  EXPECT_EQ(names(picture), "dmabuf->opencl.image;");
  EXPECT_EQ(names(all.slice({1, 0}, {kRows, kPitch / 2})).find("dmabuf->opencl.image"), std::string::npos)
      << "it begins within the memory";
  const std::size_t descriptors = open_descriptors();
  for (std::uint8_t round = 0; round < 3; ++round) {
    const Tensor mapped = router.map(picture, pictures, booked());
    EXPECT_EQ(mapped.kind(), kImageMemory);
    EXPECT_EQ(mapped.memory(), home.memory());
    EXPECT_THAT(bytes_of(mapped), Each(7 + round));
    pictures->write(mapped, std::vector<std::byte>(mapped.size_bytes(), std::byte(8 + round)));
    const Tensor back = router.map(mapped, dmabuf::context(), booked(Access::kRead));
    EXPECT_EQ(back.memory(), home.memory());
    EXPECT_EQ(ledger.total().copied, 0u);
  }
  EXPECT_THAT(bytes_of(picture), Each(10));
  EXPECT_EQ(bytes_of(home)[kPitch / 2], 7) << "beside the picture";
  EXPECT_EQ(open_descriptors(), descriptors + (driver_is("holds") ? 1 : 0)) << "one image, made once";
}

/// An image over the imported buffer is in the buffer's turn, an imported image in one of its own: neither serves for the other.
TEST_F(DmabufEdges, KeepImportedImagesApartFromThoseOverBuffers) {
  using Shelf = detail::ImageShelf;
  if (device(context).linear_image_imports.empty()) GTEST_SKIP() << "no images over imported memory";
  const Context pictures = images(context);
  router.add(pictures);
  const Tensor picture = dmabuf_of(128 * 32, 7).reshaped({32, 128});
  const Tensor mapped = router.map(picture, pictures, Access::kRead);
  const detail::RowsOfImage rows = detail::rows_of_image(picture);
  const auto kept = [&](Shelf::Of of) {
    return Shelf::of(*picture.memory(), pictures, of).find(rows.layout, rows.format);
  };
  ASSERT_TRUE(kept(Shelf::Of::kImport));
  EXPECT_EQ(kept(Shelf::Of::kImport)->image(), image(mapped));
  EXPECT_FALSE(kept(Shelf::Of::kBuffer));
}

TEST_F(DmabufEdges, ReachImagesOverTheBuffer) {
  if (!device(context).image_from_buffer) GTEST_SKIP() << device(context).name << " makes no images over buffers";
  const Context pictures = images(context);
  router.add(pictures);
  const std::size_t pitch = 64 * std::max<std::size_t>(device(context).image_pitch_alignment, 1);
  const Tensor home = dmabuf_of(pitch * 32, 7);
  const Tensor picture = home.reshaped({32, pitch}).slice({0, 0}, {32, pitch / 2});
  {
    const Tensor mapped = router.map(picture, pictures, booked());
    EXPECT_EQ(mapped.kind(), kImageMemory);
    EXPECT_EQ(ledger.total().copied, 0u);
    EXPECT_THAT(bytes_of(mapped), Each(7));
    pictures->write(mapped, std::vector<std::byte>(mapped.size_bytes(), std::byte{9}));
    const Tensor back = router.map(mapped, dmabuf::context(), booked(Access::kRead));
    EXPECT_EQ(back.memory(), home.memory());
    EXPECT_EQ(ledger.total().copied, 0u);
  }
  EXPECT_THAT(bytes_of(picture), Each(9));
  EXPECT_EQ(bytes_of(home)[pitch / 2], 7) << "beside the picture";
}

TEST_F(DmabufEdges, QueuesWaitForTheFencesOfDrivers) {
  dmabuf::vgem::Buffer exported;
  try {
    exported = dmabuf::vgem::allocate(1 << 16);
  } catch (const Error&) {
    GTEST_SKIP() << "no vgem: ./dev test-vm has it";
  }
  const Tensor home({element::u8, {std::size_t{1} << 16}, {}}, dmabuf::import(UniqueFd::duplicate(exported.fd.get())));
  home.context()->write(home, std::vector<std::byte>(1 << 16, std::byte{3}));
  const std::uint32_t fence = dmabuf::vgem::begin_write(exported);
  MapOptions options = booked(Access::kRead);
  options.deadline = Clock::now() + milliseconds(100);
  const Tensor mapped = router.map(home, context, options);
  EXPECT_EQ(ledger.total().waits, 0u) << "the host has waited for a fence";
  std::thread device = tenon_test::once_this_thread_sleeps(
      [&] { EXPECT_TRUE(dmabuf::vgem::end_write(exported, fence)); }, milliseconds(50));
  const auto start = Clock::now();
  EXPECT_THAT(bytes_of(mapped), Each(3));
  EXPECT_GE(Clock::now() - start, milliseconds(30));
  device.join();
}

}  // namespace dmabuf_edges_test
}  // namespace tenon::opencl
