// SPDX-License-Identifier: Apache-2.0
// Which native objects the maps of one memory share: images of its regions, buffers on the way back, and what is booked.
#include <algorithm>
#include <cstring>

#include <tenon/core/frame.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/ledger.hpp>

#include <tenon/frameworks/opencl/opencl.hpp>
#include <tenon/frameworks/opencl/testing/opencl.hpp>

namespace tenon::opencl {
namespace views_test {

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

TEST_F(ImageViews, AreBookedAsFoundWhenTheyWereThere) {
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  for (std::size_t begin = 0; begin < 4; ++begin) router.map(rows(begin, kRows), pictures, options);
  EXPECT_EQ(ledger.total().maps, 4u);
  EXPECT_EQ(ledger.total().view_hits, 0u) << "each is an image of its own";
  router.map(rows(2, kRows), pictures, options);
  EXPECT_EQ(ledger.total().view_hits, 1u);
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

class Batches : public OpenclFixture {};

TEST_F(Batches, AreMappedFrameByFrame) {
  const FrameInfo info{kNv12, 64, 48};
  Requirements layout;
  layout.pitch_alignment = 64;
  // Two frames, one after the other in one memory, as cameras and decoders of batches lay them out.
  const std::size_t size = Frame::size_bytes_for(info, layout);
  const auto memory = HostMemory::allocate(2 * size, 4096);
  std::vector<Frame> frames;
  for (std::size_t i = 0; i < 2; ++i) {
    PlanePlace places[] = {{memory, i * size, 64}, {memory, i * size + 64 * 48, 64}};
    frames.emplace_back(info, places);
    for (const Tensor& plane : frames.back().planes())
      std::memset(plane.data(), static_cast<int>(i + 1), plane.size_bytes());
  }
  router.add(host_context());
  const Frame mapped = router.map(Frame(frames), context);
  ASSERT_EQ(mapped.batch().size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    for (const Tensor& plane : mapped.batch()[i].planes()) {
      EXPECT_EQ(plane.context(), context);
      EXPECT_THAT(bytes_of(plane), Each(i + 1));
    }
  }
  const Frame back = router.map(mapped, host_context());
  ASSERT_EQ(back.batch().size(), 2u);
  EXPECT_THAT(bytes_of(back.batch()[1].plane(1)), Each(2));
}

class RoundTrips : public OpenclFixture {
 protected:
  /// Another queue of the same cl_context.
  static Context another(const Context& of) { return wrap(handle(of), nullptr, coherency(of)); }
};

TEST_F(RoundTrips, OverTheHostEndInTheBufferThatOwnsTheBytes) {
  for (const auto wished : {coherency(context), Coherency::kMapped}) {
    if (wished == Coherency::kCopied) continue;  // Nothing is shared.
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

TEST_F(RoundTrips, HostMemoryIsOneBufferForAllContextsOfAClContext) {
  for (const auto wished : {coherency(context), Coherency::kMapped}) {
    if (wished == Coherency::kCopied) continue;  // Nothing is shared.
    const Context first = make_context(device(context).id, wished), second = another(first);
    const Context apart = make_context(device(context).id, wished);
    Router way;
    for (const Context& known : {first, second, apart}) way.add(known);
    const Tensor host = aligned_host(8192, 1);
    cl_mem lent = nullptr;
    {
      const Tensor mapped = way.map(host, first, Access::kReadWrite);
      if (mapped.memory() != host.memory()) continue;  // A copy.
      lent = buffer(mapped);
    }
    host.memory()->wait_for(Access::kReadWrite, default_deadline());
    for (int round = 0; round < 2; ++round) {
      const Tensor mapped = way.map(host, second, Access::kReadWrite);
      EXPECT_EQ(buffer(mapped), lent) << "two buffers over the same bytes";
      EXPECT_THAT(bytes_of(mapped), Each(1 + round));
      second->write(mapped, std::vector<std::byte>(8192, std::byte(2 + round)));
    }
    host.memory()->wait_for(Access::kReadWrite, default_deadline());
    EXPECT_EQ(host.data<std::uint8_t>()[8191], 3);
    EXPECT_NE(buffer(way.map(host, apart, Access::kReadWrite)), lent) << "a buffer belongs to one cl_context";
  }
}

TEST_F(RoundTrips, ViewsOfOtherClassesAreNotTakenForLoans) {
  const Context mapped = make_context(device(context).id, Coherency::kMapped);
  const Tensor host = aligned_host(8192, 1), home = allocated_in(mapped, {8192});
  // As another edge might leave them: the same kind in the same context.
  cl_int status = CL_SUCCESS;
  host.memory()->add_view(std::make_unique<BufferView>(
      mapped, Access::kReadWrite, nullptr,
      detail::Handle<cl_mem>(clCreateBuffer(handle(mapped), CL_MEM_USE_HOST_PTR, 8192, host.data(), &status))));
  ASSERT_EQ(status, CL_SUCCESS);
  std::vector<std::byte> elsewhere(8192, std::byte{7});
  home.memory()->add_view(std::make_unique<View>(host_context(), kCpuMemory, Access::kReadWrite, elsewhere.data()));
  MapOptions options;
  EXPECT_FALSE(detail::cpu_to_buffer().map(host, mapped, options).lease());
  EXPECT_EQ(detail::buffer_to_cpu().map(home, host_context(), options).data(), elsewhere.data());
}

class Booking : public OpenclFixture {
 protected:
  /// Bytes 0, 1, 2...
  static Tensor counting(const Shape& shape) {
    Tensor made(element::u8, shape);
    for (std::size_t i = 0; i < made.size_bytes(); ++i) made.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
    return made;
  }
  Tensor mapped(const Tensor& source, const Context& to) {
    Router way;
    way.add(context);
    way.add(to);
    ledger.reset();
    MapOptions options;
    options.ledger = &ledger;
    return way.map(source, to, options);
  }
  static void expect_same(const Tensor& got, const Tensor& wanted) {
    Tensor packed;
    wanted.copy_to(packed);
    ASSERT_EQ(got.size_bytes(), packed.size_bytes());
    EXPECT_EQ(std::memcmp(got.data(), packed.data(), packed.size_bytes()), 0);
  }
  Ledger ledger;
};

TEST_F(Booking, OfImagesCountsEachMove) {
  if (device(context).max_width == 0) GTEST_SKIP() << device(context).name << " has no images";
  const Context pictures = images(context);
  const Tensor host = counting({12, 40, 4});
  const Tensor cut = host.slice({2, 8, 0}, {10, 24, 4});
  const Tensor image = mapped(cut, pictures);
  EXPECT_EQ(ledger.total().copied, 512u) << "the rows lie apart, and go to the image as they lie";
  expect_same(mapped(image, host_context()), cut);
  EXPECT_EQ(ledger.total().copied, 512u);
  const Tensor corner = image.slice({1, 3, 0}, {5, 9, 4});
  expect_same(mapped(corner, host_context()), cut.slice({1, 3, 0}, {5, 9, 4}));
  EXPECT_EQ(ledger.total().copied, 96u);
  const Tensor two = image.slice({1, 3, 1}, {5, 9, 3});
  expect_same(mapped(two, host_context()), cut.slice({1, 3, 1}, {5, 9, 3}));
  EXPECT_EQ(ledger.total().copied, 48u + 4 * 64) << "parts of pixels: whole rows are fetched first";
  const Tensor channels = host.slice({0, 0, 1}, {12, 40, 2});
  expect_same(mapped(mapped(channels, pictures), host_context()), channels);
  mapped(channels, pictures);
  EXPECT_EQ(ledger.total().copied, 2u * 480) << "they are packed first";
}

TEST_F(Booking, OfCoarseSvmCountsOneMove) {
  if (!(device(context).svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) GTEST_SKIP() << "no SVM";
  const Context shared = svm(context);
  const Tensor cut = counting({12, 40}).slice({1, 3}, {11, 35});
  const Tensor there = mapped(cut, shared);
  EXPECT_EQ(ledger.total().copied, there.memory() == cut.memory() ? 0u : 320u) << "shared where any pointer is SVM";
  Tensor packed;
  cut.copy_to(packed);
  const std::vector<std::uint8_t> got = bytes_of(there);
  EXPECT_TRUE(std::equal(got.begin(), got.end(), packed.data<std::uint8_t>()));
}

}  // namespace views_test
}  // namespace tenon::opencl
