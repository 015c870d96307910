// SPDX-License-Identifier: Apache-2.0
// Which native objects the maps of one memory share: images of its regions, buffers on the way back, and what is booked.
#include <algorithm>
#include <cstring>

#include <tenon/core/host.hpp>

#include <tenon/frameworks/opencl/opencl.hpp>
#include <tenon/frameworks/opencl/testing/opencl.hpp>

namespace tenon::opencl {
namespace {

using ::testing::Each;

Tensor allocated_in(const Context& context, const Shape& shape) {
  Requirements wanted;
  wanted.size_bytes = checked_size_bytes(element::u8, shape).value();
  return Tensor({element::u8, shape, {}}, context->allocate(wanted));
}
Tensor aligned_host(std::size_t size, std::uint8_t value) {
  Tensor made({element::u8, {size}, {}}, HostMemory::allocate(size, 4096));
  std::memset(made.data(), value, size);
  return made;
}

class ImageViews : public OpenclFixture {
 protected:
  static constexpr std::size_t kRows = 64, kWidth = 1024;
  void SetUp() override {
    OpenclFixture::SetUp();
    if (!context) return;
    if (device(context).max_width == 0 || !device(context).image_from_buffer)
      GTEST_SKIP() << device(context).name << " makes no images over buffers";
    pictures = images(context);
    bytes = allocated_in(context, {kRows, kWidth});
    std::vector<std::byte> rows(kRows * kWidth);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::byte>(i / kWidth);
    context->write(bytes, rows);
  }
  void TearDown() override {
    bytes = {};
    pictures = {};
    OpenclFixture::TearDown();
  }
  Tensor rows(std::size_t begin, std::size_t end) { return bytes.slice({begin, 0}, {end, kWidth}); }
  std::uint8_t first_pixel(const Tensor& picture) {
    std::uint8_t pixel = 0;
    const std::size_t origin[3] = {}, region[3] = {1, 1, 1};
    EXPECT_EQ(clEnqueueReadImage(queue(context), image(picture), CL_TRUE, &origin[0], &region[0], 0, 0, &pixel, 0,
                                 nullptr, nullptr),
              CL_SUCCESS);
    return pixel;
  }
  Context pictures;
  Tensor bytes;
};

TEST_F(ImageViews, OfManyRegionsAreBounded) {
  const std::size_t before = detail::Probe::handles.load();
  for (std::size_t begin = 0; begin < kRows; ++begin) {
    for (std::size_t end = begin + 1; end <= kRows; ++end)
      ASSERT_EQ(router.map(rows(begin, end), pictures).shape()[0], end - begin);
  }
  EXPECT_LE(detail::Probe::handles.load() - before, 20u) << "of 2080 images";
  EXPECT_LE(bytes.memory()->view_count(), 2u) << "other maps of this memory walk past them";
}

TEST_F(ImageViews, InUseStayWhenOthersTakeTheirPlace) {
  std::vector<Tensor> kept;
  for (std::size_t begin = 0; begin < kRows; ++begin) kept.push_back(router.map(rows(begin, kRows), pictures));
  for (std::size_t begin = 0; begin < kRows; ++begin) {
    EXPECT_EQ(first_pixel(kept[begin]), begin);
    EXPECT_EQ(kept[begin].memory(), bytes.memory());
  }
  const Tensor last = kept.back();
  kept.clear();
  bytes = {};
  EXPECT_EQ(first_pixel(last), kRows - 1) << "it keeps the memory";
}

TEST_F(ImageViews, UsedLatelyAreFoundAgain) {
  const cl_mem often = image(router.map(rows(0, 8), pictures));
  for (std::size_t begin = 1; begin < 50; ++begin) {
    router.map(rows(begin, begin + 1), pictures);
    ASSERT_EQ(image(router.map(rows(0, 8), pictures)), often);
  }
}

TEST_F(ImageViews, KeepTheLeaseOfWhatTheyShow) {
  struct Counting final : LeaseState {
    explicit Counting(int& gone) : gone_(&gone) {}
    ~Counting() override { ++*gone_; }
    bool writable() const override { return false; }
    int* gone_;
  };
  int gone = 0;
  Tensor seen = router.map(bytes.with_lease(Lease(new Counting(gone))), pictures);
  EXPECT_FALSE(seen.is_writable());
  EXPECT_EQ(gone, 0);
  seen = {};
  EXPECT_EQ(gone, 1);
}

class RoundTrips : public OpenclFixture {
 protected:
  /// Another queue of the same cl_context.
  static Context another(const Context& of) { return wrap(handle(of), nullptr, coherency(of)); }
};

TEST_F(RoundTrips, OverTheHostEndInTheBufferThatOwnsTheBytes) {
  for (const auto wished : {coherency(context), Coherency::kMapped}) {
    const Context first = make_context(device(context).id, wished), second = another(first);
    Router way;
    way.add(first);
    way.add(second);
    const Tensor home = allocated_in(first, {8192});
    first->write(home, std::vector<std::byte>(8192, std::byte{1}));
    Tensor host = way.map(home, host_context(), Access::kReadWrite);
    if (host.memory() != home.memory()) continue;  // A copy: nothing overlaps.
    std::memset(host.data(), 2, 8192);
    const Tensor back = way.map(host, first, Access::kReadWrite);
    const Tensor there = way.map(host, second, Access::kReadWrite);
    if (back.memory() != home.memory()) continue;
    EXPECT_EQ(buffer(back), buffer(home));
    EXPECT_EQ(buffer(there), buffer(home));
    host = {};  // Ends the host's turn, where there are turns.
    EXPECT_THAT(bytes_of(back), Each(2));
    EXPECT_THAT(bytes_of(there), Each(2));
  }
}

TEST_F(RoundTrips, HostMemoryThatOneQueueBorrowsIsLentToTheNextOne) {
  const Context first = make_context(device(context).id, Coherency::kMapped), second = another(first);
  Router way;
  way.add(first);
  way.add(second);
  const Tensor host = aligned_host(8192, 1);
  {
    const Tensor lent = way.map(host, first, Access::kReadWrite);
    const Tensor passed = way.map(lent, second, Access::kReadWrite);
    EXPECT_EQ(buffer(passed), buffer(lent));
    second->write(passed, std::vector<std::byte>(8192, std::byte{2}));
  }
  host.memory()->wait_for(Access::kReadWrite, default_deadline());
  EXPECT_EQ(host.data<std::uint8_t>()[8191], 2);
  {
    const Tensor lent = way.map(host, second, Access::kReadWrite);
    EXPECT_TRUE(lent.lease()) << "the device works on it without a turn";
    second->write(lent, std::vector<std::byte>(8192, std::byte{3}));
  }
  host.memory()->wait_for(Access::kReadWrite, default_deadline());
  EXPECT_EQ(host.data<std::uint8_t>()[8191], 3);
}

TEST_F(RoundTrips, ViewsOfOtherClassesAreNotTakenForLoans) {
  const Context mapped = make_context(device(context).id, Coherency::kMapped);
  const Tensor host = aligned_host(8192, 1), home = allocated_in(mapped, {8192});
  // As another edge might leave them: the same kind in the same context.
  cl_int status = CL_SUCCESS;
  host.memory()->add_view(std::make_unique<BufferView>(
      mapped, Access::kReadWrite, nullptr, mapped.as<FacetContext>()->native_ref(),
      detail::Handle<cl_mem>(clCreateBuffer(handle(mapped), CL_MEM_USE_HOST_PTR, 8192, host.data(), &status))));
  ASSERT_EQ(status, CL_SUCCESS);
  std::vector<std::byte> elsewhere(8192, std::byte{7});
  home.memory()->add_view(std::make_unique<View>(host_context(), kCpuMemory, Access::kReadWrite, elsewhere.data()));
  MapOptions options;
  EXPECT_FALSE(detail::cpu_to_buffer.map(host, mapped, options).lease());
  EXPECT_EQ(detail::buffer_to_cpu.map(home, host_context(), options).data(), elsewhere.data());
}

}  // namespace
}  // namespace tenon::opencl
