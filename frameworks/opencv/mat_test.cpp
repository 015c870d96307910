// SPDX-License-Identifier: Apache-2.0
// cv::Mat to tensor and back: the same bytes, regions, strides, lifetimes, and refusals. The conformance suite covers
// the rest.
#include <tenon/frameworks/opencv/opencv.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include <opencv2/core.hpp>

#include <tenon/core/proof.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/tests/support/asleep.hpp>

#include <tenon/tests/support/error_of.hpp>

namespace mat_test {

using namespace tenon;
using ::testing::HasSubstr;

/// A tensor of ascending bytes.
Tensor ascending(const TensorInfo& info) {
  const std::size_t bytes = checked_extent_bytes(info).value();
  const Ref<HostMemory> memory = HostMemory::allocate(bytes);
  std::iota(static_cast<unsigned char*>(memory->host()), static_cast<unsigned char*>(memory->host()) + bytes, 0);
  return Tensor(info, memory);
}

/// A tensor that sets `released` when it is freed.
Tensor watched_tensor(const TensorInfo& info, bool& released) {
  auto* bytes = new std::byte[checked_extent_bytes(info).value()]();
  return cpu::adopt(bytes, info, [bytes, &released] {
    delete[] bytes;
    released = true;
  });
}

TEST(OpenCvMat, LiesOverTheTensorsBytesWithItsStrides) {
  const Tensor tensor = ascending({element::u8, {5, 7, 3}, {32, 3, 1}});
  cv::Mat mat = opencv::mat(tensor);
  EXPECT_EQ(mat.data, tensor.data());
  EXPECT_EQ(mat.rows, 5);
  EXPECT_EQ(mat.cols, 7);
  EXPECT_EQ(mat.type(), CV_8UC3);
  EXPECT_EQ(mat.step[0], 32u);
  EXPECT_EQ(mat.at<cv::Vec3b>(2, 4)[1], 2 * 32 + 4 * 3 + 1);
  mat.at<cv::Vec3b>(4, 6)[2] = 200;
  EXPECT_EQ(static_cast<unsigned char*>(tensor.data())[4 * 32 + 6 * 3 + 2], 200) << "a write did not reach the tensor";
}

TEST(OpenCvMat, OfEveryDepthHasOpenCvsElementSize) {
  const std::pair<element::Type, int> depths[] = {
      {element::u8, CV_8U},   {element::i8, CV_8S},   {element::u16, CV_16U}, {element::i16, CV_16S},
      {element::i32, CV_32S}, {element::f32, CV_32F}, {element::f64, CV_64F}, {element::f16, CV_16F}};
  for (const auto& [type, depth] : depths) {
    const Tensor tensor(type, {2, 3});
    const cv::Mat mat = opencv::mat(tensor);
    EXPECT_EQ(mat.depth(), depth) << type.to_string();
    EXPECT_EQ(mat.elemSize(), type.size()) << type.to_string();
    EXPECT_EQ(opencv::wrap(mat).element_type(), type);
  }
}

TEST(OpenCvMat, TakesEveryRank) {
  EXPECT_EQ(opencv::mat(Tensor(element::f32, {})).size(), cv::Size(1, 1));
  EXPECT_EQ(opencv::mat(Tensor(element::f32, {9})).size(), cv::Size(1, 9));
  const Tensor strided = ascending({element::u8, {6}, {5}});
  EXPECT_EQ(opencv::mat(strided).at<uchar>(3, 0), 15) << "a strided vector";
  const Tensor tensor = ascending({element::u8, {2, 3, 4, 5}, {200, 64, 8, 1}});
  const cv::Mat mat = opencv::mat(tensor);
  ASSERT_EQ(mat.dims, 4);
  const int index[] = {1, 2, 3, 4};
  EXPECT_EQ(mat.at<uchar>(index), static_cast<unsigned char>(200 + 128 + 24 + 4));
  EXPECT_FALSE(mat.isContinuous());
  EXPECT_TRUE(opencv::mat(Tensor(element::f32, {2, 3, 4, 5})).isContinuous());
  // Padded pixels are not channels: three dimensions.
  EXPECT_EQ(opencv::mat(ascending({element::u8, {4, 5, 3}, {64, 4, 1}})).dims, 3);
  EXPECT_EQ(opencv::mat(Tensor(element::u8, {4, 5, 600})).dims, 3) << "more than CV_CN_MAX channels";
}

TEST(OpenCvMat, OfNothingIsEmptyAndOfOneRowMayHaveAnyStride) {
  const cv::Mat none = opencv::mat(Tensor(element::u8, {0, 4}));
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.cols, 4);
  const Tensor row = ascending({element::u8, {1, 8, 3}, {7, 3, 1}});  // No second row, so the 7 is unused.
  const cv::Mat mat = opencv::mat(row);
  EXPECT_GE(mat.step[0], 24u);
  EXPECT_EQ(cv::sum(mat)[2], 2 + 5 + 8 + 11 + 14 + 17 + 20 + 23);
}

TEST(OpenCvMat, RefusesWhatItCannotSayWithTheReason) {
  const auto refused = [](const Tensor& tensor) {
    const Error error = error_of([&] { opencv::mat(tensor); });
    EXPECT_EQ(error.code(), Code::kFailedPrecondition) << error.what();
    return std::string(error.what());
  };
  for (element::Type type : {element::i64, element::u32, element::u64, element::bf16, element::boolean, element::u4})
    EXPECT_THAT(refused(Tensor(type, {4, 4})), HasSubstr(type.to_string()));
  EXPECT_THAT(refused(ascending({element::u16, {4, 4}, {9, 2}})), HasSubstr("multiple"));
  EXPECT_THAT(refused(ascending({element::u8, {4, 4}, {1, 4}})), HasSubstr("innermost"));
  EXPECT_THAT(refused(ascending({element::u8, {4, 4, 1, 4}, {4, 16, 4, 1}})), HasSubstr("transposed"));
  EXPECT_THAT(refused(ascending({element::u8, {4, 4}, {0, 1}})), HasSubstr("overlapping")) << "a broadcast row";
  Shape deep(33, 1);
  EXPECT_THAT(refused(Tensor(element::u8, deep)), HasSubstr("dimensions"));
  unsigned char byte = 0;
  EXPECT_THAT(refused(cpu::wrap(&byte, {element::u8, {std::size_t{1} << 40}, {}})), HasSubstr("int"));
  EXPECT_EQ(error_of([] { opencv::mat(Tensor()); }).code(), Code::kInvalidArgument);
}

/// Host memory with tiled pixels, as a device's importer may return.
class TiledMemory final : public Memory {
 public:
  TiledMemory() : Memory(host_context(), kCpuMemory, properties()) {}

 private:
  static Properties properties() {
    static std::byte bytes[256];
    Properties tiled;
    tiled.size_bytes = sizeof bytes;
    tiled.host = bytes;
    tiled.modifier = 0x0100000000000001ull;
    return tiled;
  }
};

TEST(OpenCvMat, OfTiledPixelsIsRefused) {
  const Tensor tensor({element::u8, {16, 16}, {}}, make_ref<TiledMemory>());
  EXPECT_THAT(error_of([&] { opencv::mat(tensor); }).what(), HasSubstr("tiled"));
  Router router;
  router.add(opencv::context());
  EXPECT_THAT(router.explain(describe(tensor), opencv::context()), HasSubstr("tiled"));
}

TEST(OpenCvMat, OfReadOnlyBytesIsForReadersOnly) {
  const unsigned char bytes[16] = {1, 2, 3};
  const Tensor tensor = cpu::wrap(bytes, {element::u8, {4, 4}, {}});
  const Error error = error_of([&] { opencv::mat(tensor); });
  EXPECT_EQ(error.code(), Code::kPermissionDenied);
  EXPECT_THAT(error.what(), HasSubstr("Access::kRead"));
  const cv::Mat mat = opencv::mat(tensor, Access::kRead);
  EXPECT_EQ(mat.data, bytes);
  EXPECT_FALSE(opencv::wrap(mat).is_writable()) << "on the way back it became writable";
}

TEST(OpenCvMat, AndItsCopiesAndRegionsKeepTheBytes) {
  bool released = false;
  cv::Mat region, copy;
  {
    Tensor tensor = watched_tensor({element::u8, {8, 8}, {}}, released);
    cv::Mat mat = opencv::mat(tensor);
    tensor = {};
    copy = mat;
    region = mat(cv::Rect(2, 2, 3, 3));
  }
  EXPECT_FALSE(released);
  copy.release();
  region.at<uchar>(1, 1) = 7;
  EXPECT_EQ(region.u->refcount, 1);
  EXPECT_FALSE(released) << "the region does not keep its parent";
  std::thread([moved = std::move(region)]() mutable { moved.release(); }).join();
  EXPECT_TRUE(released);
}

TEST(OpenCvMat, KeepsThePoolBufferOut) {
  cpu::Pool pool(64, 1);
  cv::Mat mat = opencv::mat(pool.acquire_tensor({element::u8, {8, 8}, {}}));
  EXPECT_EQ(pool.idle(), 0u);
  EXPECT_FALSE(pool.try_acquire()) << "the buffer is handed out while a cv::Mat writes it";
  cv::UMat device = mat.getUMat(cv::ACCESS_READ);
  mat.release();
  EXPECT_EQ(pool.idle(), 0u) << "a UMat made of the Mat does not keep it";
  device.release();
  EXPECT_EQ(pool.idle(), 1u);
}

TEST(OpenCvMat, IsReplacedByOpenCvWithoutHarm) {
  bool released = false;
  cv::Mat mat = opencv::mat(watched_tensor({element::u8, {8, 8}, {}}, released));
  mat.create(8, 8, CV_8U);  // The same extents: OpenCV keeps the buffer.
  EXPECT_FALSE(released);
  mat.create(16, 16, CV_32F);  // Other extents: it releases the buffer and allocates its own.
  EXPECT_TRUE(released);
  mat.setTo(1);
  EXPECT_EQ(cv::sum(mat)[0], 256);
  EXPECT_EQ(opencv::wrap(mat).kind(), opencv::kMatMemory);
}

TEST(OpenCvMat, ReusesItsKeepersAcrossThreads) {
  // More than a thread keeps, made here and dropped there: nothing is leaked or freed twice.
  const Tensor tensor(element::u8, {4, 4});
  for (int round = 0; round < 3; ++round) {
    std::vector<cv::Mat> mats;
    for (int i = 0; i < 40; ++i) mats.push_back(opencv::mat(tensor));
    EXPECT_EQ(tensor.memory()->ref_count(), 41u);
    std::thread([moved = std::move(mats)]() mutable { moved.clear(); }).join();
    EXPECT_EQ(tensor.memory()->ref_count(), 1u);
  }
}

TEST(OpenCvMat, WaitsForTheLastWrite) {
  auto timeline = make_ref<HostTimeline>();
  const Tensor tensor(element::u8, {4, 4});
  const TimelinePoint point = timeline->next();
  tensor.memory()->hazards().wrote(point);
  opencv::MatOptions options;
  options.deadline = Clock::now() + std::chrono::milliseconds(5);
  EXPECT_EQ(error_of([&] { opencv::mat(tensor, options); }).code(), Code::kDeadlineExceeded);
  EXPECT_EQ(tensor.memory()->ref_count(), 1u) << "the failed call kept a reference";
  std::thread writer = tenon_test::once_this_thread_sleeps([&] {
    static_cast<unsigned char*>(tensor.data())[5] = 42;
    timeline->advance(point.value());
  });
  Ledger ledger;
  const cv::Mat mat = opencv::mat(tensor, {Access::kRead, &ledger, Deadline::max()});
  EXPECT_EQ(mat.at<uchar>(1, 1), 42);
  EXPECT_EQ(ledger.total().waits, 1u);
  writer.join();
}

TEST(OpenCvBorrowedMat, HoldsNothing) {
  const Tensor tensor(element::u8, {4, 4});
  const cv::Mat mat = opencv::borrowed_mat(tensor);
  EXPECT_EQ(mat.data, tensor.data());
  EXPECT_EQ(mat.u, nullptr);
  EXPECT_EQ(tensor.memory()->ref_count(), 1u);
}

TEST(OpenCvWrap, SharesTheMatsCount) {
  cv::Mat mat(6, 5, CV_16SC2);
  Tensor tensor = opencv::wrap(mat);
  EXPECT_EQ(mat.u->refcount, 2);
  EXPECT_EQ(tensor.shape(), (Shape{6, 5, 2}));
  EXPECT_EQ(tensor.byte_strides(), (ByteStrides{20, 4, 2}));
  EXPECT_EQ(tensor.data(), mat.data);
  EXPECT_EQ(tensor.memory()->identity(), MemoryIdentity{}) << "OpenCV recycles buffers: there is no identity";
  mat.at<cv::Vec2s>(3, 2)[1] = -7;
  mat.release();
  EXPECT_EQ(static_cast<std::int16_t*>(tensor.data())[3 * 10 + 2 * 2 + 1], -7);
}

TEST(OpenCvWrap, OfARegionKeepsTheParentAndItsStep) {
  Tensor tensor;
  const uchar* parent_data = nullptr;
  {
    cv::Mat parent(10, 12, CV_8UC3);
    parent.setTo(cv::Scalar(1, 2, 3));
    parent.at<cv::Vec3b>(4, 5) = {9, 8, 7};
    parent_data = parent.data;
    tensor = opencv::wrap(parent(cv::Rect(5, 4, 3, 2)));
  }
  EXPECT_EQ(tensor.shape(), (Shape{2, 3, 3}));
  EXPECT_EQ(tensor.byte_strides(), (ByteStrides{36, 3, 1}));
  EXPECT_EQ(tensor.offset(), 4u * 36 + 5 * 3);
  EXPECT_EQ(tensor.memory()->host(), parent_data);
  EXPECT_EQ(tensor.memory()->size_bytes(), 360u);
  EXPECT_EQ(static_cast<uchar*>(tensor.data())[0], 9);
  const cv::Mat back = opencv::mat(tensor);
  EXPECT_EQ(back.at<cv::Vec3b>(0, 0), cv::Vec3b(9, 8, 7));
  EXPECT_EQ(back.at<cv::Vec3b>(1, 2), cv::Vec3b(1, 2, 3));
}

TEST(OpenCvWrap, OfManyDimensionsAndUserData) {
  const int sizes[] = {2, 3, 4};
  cv::Mat deep(3, sizes, CV_32FC2);
  EXPECT_EQ(opencv::wrap(deep).shape(), (Shape{2, 3, 4, 2}));
  EXPECT_EQ(opencv::wrap(deep).byte_strides(), (ByteStrides{96, 32, 8, 4}));
  const cv::Range ranges[] = {{1, 2}, {1, 3}, {2, 4}};
  EXPECT_EQ(opencv::wrap(deep(ranges)).offset(), 96u + 32 + 16);
  unsigned char bytes[40] = {};
  const Tensor user = opencv::wrap(cv::Mat(4, 8, CV_8U, bytes, 10));
  EXPECT_EQ(user.data(), bytes);
  EXPECT_EQ(user.byte_strides(), (ByteStrides{10, 1}));
  EXPECT_FALSE(opencv::wrap(cv::Mat(4, 8, CV_8U, bytes, 10), cpu::Wrapped::kReadOnly).is_writable());
}

TEST(OpenCvWrap, OfATensorsMatIsTheTensorsMemory) {
  Tensor source({element::u8, {8, 16}, {}}, cpu::SharedMemory::allocate(4096), 256);
  const cv::Mat mat = opencv::mat(source);
  const Tensor back = opencv::wrap(mat(cv::Rect(3, 2, 4, 4)));
  EXPECT_EQ(back.memory(), source.memory()) << "identity and hazards were lost";
  EXPECT_EQ(back.offset(), 256u + 2 * 16 + 3);
  EXPECT_EQ(back.memory()->identity().kind, MemoryIdentity::Kind::kInode);
  Router router;
  router.add(opencv::context());
  const Tensor mapped = router.map(source, opencv::context());
  EXPECT_EQ(opencv::wrap(opencv::mat(mapped)).view(), mapped.view());
}

TEST(OpenCvAllocation, IsAsLargeAsAskedWhereverItBegins) {
  Requirements wanted;
  wanted.alignment = 4096;
  wanted.size_bytes = 8192;
  std::vector<Ref<Memory>> kept;  // So that they begin at different places.
  for (int i = 0; i < 8; ++i) {
    kept.push_back(opencv::context()->allocate(wanted));
    EXPECT_EQ(kept.back()->size_bytes(), 8192u) << "a consumer of whole pages cannot take it";
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(kept.back()->host()) % 4096, 0u);
  }
}

TEST(OpenCvWrap, RefusesBadMats) {
  EXPECT_EQ(error_of([] { opencv::wrap(cv::Mat()); }).code(), Code::kInvalidArgument);
  cv::Mat moved(4, 4, CV_8U);
  moved.data += 8;  // A careless program might do this: the last row now ends outside.
  const Error error = error_of([&] { opencv::wrap(moved); });
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
  EXPECT_THAT(error.what(), HasSubstr("8UC1 [4x4]"));
  cv::Mat gone(4, 4, CV_8U);
  gone.data = nullptr;
  EXPECT_EQ(error_of([&] { opencv::wrap(gone); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(opencv::wrap(cv::Mat(0, 5, CV_8U)).shape(), (Shape{0, 5}));
}

TEST(OpenCvRoute, IsProvedBothWays) {
  Router router;
  router.add(host_context());
  router.add(opencv::context());
  const ProofResult there = prove(router, host_context(), opencv::context());
  EXPECT_EQ(there.proof, Proof::kProved) << there.reason;
  const ProofResult back = prove(router, opencv::context(), host_context());
  EXPECT_EQ(back.proof, Proof::kProved) << back.reason;
}

TEST(OpenCvRoute, RefusesTypesWithoutDepthAndSaysSo) {
  Router router;
  router.add(opencv::context());
  const std::string text = router.explain(describe(Tensor(element::i64, {4})), opencv::context());
  EXPECT_THAT(text, HasSubstr("no way"));
  EXPECT_THAT(text, HasSubstr("i64"));
}

}  // namespace mat_test
