// SPDX-License-Identifier: Apache-2.0
// cv::UMat over our buffers and back: one cl_mem, seen by OpenCV's kernels, by OpenCL's commands and by the host.
#include <tenon/bridges/opencv_opencl/contexts.hpp>
#include <tenon/bridges/opencv_opencl/opencv_opencl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>
#include <thread>

#include <tenon/core/proof.hpp>
#include <tenon/core/router.hpp>
#include <tenon/core/testing/allocation_count.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/opencl/contexts.hpp>
#include <tenon/frameworks/opencv/opencv.hpp>

#include <tenon/tests/support/error_of.hpp>

namespace umat_test {

using namespace tenon;
using ::testing::HasSubstr;

Requirements sized(std::size_t bytes) {
  Requirements wanted;
  wanted.size_bytes = bytes;
  return wanted;
}

class OpenCvUmat : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      buffers = opencl::make_context();
      umats = opencv_opencl::make_context(buffers);
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable) throw;
      GTEST_SKIP() << error.what();
    }
    for (const Context& context : {host_context(), opencv::context(), buffers, umats}) router.add(context);
    scope.emplace(opencv_opencl::execution(umats));
  }
  cl_uint references(cl_mem buffer) {
    return opencl::client::info<cl_uint>(clGetMemObjectInfo, "clGetMemObjectInfo", buffer, CL_MEM_REFERENCE_COUNT);
  }
  /// OpenCV releases what finished kernels used only at a later call.
  template <typename Condition>
  bool happens_as_opencv_goes_on(Condition condition) {
    cv::ocl::finish();
    for (int i = 0; i < 60000 && !condition(); ++i) {
      const cv::UMat next(16, 16, CV_8U);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return condition();
  }

  Context buffers, umats;
  Router router;
  std::optional<cv::ocl::OpenCLExecutionContextScope> scope;
};

TEST_F(OpenCvUmat, WorksOnTheClMemOfABuffer) {
  const Tensor tensor({element::u8, {16, 32, 3}, {}}, buffers->allocate(sized(4096)), 512);
  const Tensor mapped = router.map(tensor, umats, Access::kReadWrite);
  cv::UMat umat = opencv_opencl::umat(mapped);
  EXPECT_EQ(umat.type(), CV_8UC3);
  EXPECT_EQ(umat.size(), cv::Size(32, 16));
  EXPECT_EQ(umat.offset, 512u);
  EXPECT_EQ(umat.handle(cv::ACCESS_READ), opencl::buffer(tensor)) << "another cl_mem";
  umat.setTo(cv::Scalar(1, 2, 3));
  cv::add(umat, cv::Scalar(10, 20, 30), umat);
  EXPECT_TRUE(cv::ocl::useOpenCL());
  opencv_opencl::wrote(mapped);
  std::vector<std::byte> seen(tensor.size_bytes());
  buffers->read(tensor, seen);  // By commands of another queue.
  EXPECT_EQ(static_cast<int>(seen[0]), 11);
  EXPECT_EQ(static_cast<int>(seen[1]), 22);
  EXPECT_EQ(static_cast<int>(seen.back()), 33);
}

TEST_F(OpenCvUmat, KeepsRowsApartThatArePadded) {
  // OpenCV 4.6's convertFromBuffer ignores the step passed to it.
  const Tensor tensor({element::u8, {4, 10, 3}, {64, 3, 1}}, cpu::SharedMemory::allocate(4096), 128);
  auto* bytes = static_cast<unsigned char*>(tensor.memory()->host());
  std::memset(bytes, 9, 4096);
  cv::UMat umat = opencv_opencl::umat(router.map(tensor, umats, Access::kReadWrite));
  ASSERT_EQ(umat.step[0], 64u);
  EXPECT_FALSE(umat.isContinuous());
  umat.setTo(cv::Scalar(1, 2, 3));
  cv::ocl::finish();
  for (int y = 0; y < 4; ++y) {
    EXPECT_EQ(bytes[128 + 64 * y], 1);
    EXPECT_EQ(bytes[128 + 64 * y + 29], 3);
    EXPECT_EQ(bytes[128 + 64 * y + 30], 9) << "the padding of row " << y << " was written";
  }
  EXPECT_EQ(bytes[127], 9);
}

TEST_F(OpenCvUmat, OverHostMemoryIsThatMemory) {
  const Tensor tensor({element::f32, {8, 8}, {}}, cpu::SharedMemory::allocate(4096));
  Ledger ledger;
  MapOptions options;
  options.access = Access::kReadWrite;
  options.policy = ZeroCopy::kRequire;
  options.ledger = &ledger;
  const Tensor mapped = router.map(tensor, umats, options);
  EXPECT_EQ(mapped.memory(), tensor.memory());
  cv::UMat umat = opencv_opencl::umat(mapped);
  umat.setTo(2.5);
  cv::ocl::finish();
  EXPECT_EQ(static_cast<float*>(tensor.data())[63], 2.5f);
  static_cast<float*>(tensor.data())[0] = 7;
  {
    const cv::Mat host = umat.getMat(cv::ACCESS_READ);
    EXPECT_EQ(host.at<float>(0, 0), 7);
    EXPECT_EQ(host.data, tensor.data());
  }
  EXPECT_EQ(ledger.total().copied, 0u);
  EXPECT_EQ(ledger.total().maps, 2u) << "two hops";
}

TEST_F(OpenCvUmat, TakesManyDimensionsWhenPacked) {
  const Tensor tensor({element::f32, {2, 3, 4, 5}, {}}, buffers->allocate(sized(4096)), 64);
  const cv::UMat umat = opencv_opencl::umat(router.map(tensor, umats));
  ASSERT_EQ(umat.dims, 4);
  EXPECT_EQ(umat.size[3], 5);
  EXPECT_EQ(umat.type(), CV_32FC1);
  std::vector<float> values(120);
  std::iota(values.begin(), values.end(), 0.f);
  buffers->write(tensor, std::as_bytes(std::span(values)));
  cv::Mat host;
  umat.copyTo(host);
  const int index[] = {1, 2, 3, 4};
  EXPECT_EQ(host.at<float>(index), 119);
}

TEST_F(OpenCvUmat, KeepsMemoryAndLease) {
  Requirements wanted = sized(4096);
  wanted.fd = FdKind::kMemfd;
  cpu::Pool pool(wanted, 1);
  cv::UMat region;
  {
    cv::UMat umat = opencv_opencl::umat(router.map(pool.acquire_tensor({element::u8, {64, 64}, {}}), umats));
    region = umat(cv::Rect(8, 8, 16, 16));
  }
  EXPECT_EQ(pool.idle(), 0u) << "the buffer is handed out while a UMat uses it";
  region.setTo(5);
  region.release();
  EXPECT_TRUE(happens_as_opencv_goes_on([&] { return pool.idle() == 1; })) << "the buffer never came back";
  const Tensor again = pool.acquire_tensor({element::u8, {64, 64}, {}});
  EXPECT_EQ(static_cast<unsigned char*>(again.data())[8 * 64 + 8], 5);
  EXPECT_EQ(again.memory()->view_count(), 2u) << "the views of the first use were lost";
}

TEST_F(OpenCvUmat, WrappedIsTheUsersBuffer) {
  cv::UMat users(10, 20, CV_16UC2, cv::Scalar(3, 4));
  Tensor tensor = opencv_opencl::wrap(umats, users(cv::Rect(4, 2, 8, 6)));
  EXPECT_EQ(tensor.shape(), (Shape{6, 8, 2}));
  EXPECT_EQ(tensor.byte_strides(), (ByteStrides{80, 4, 2}));
  EXPECT_EQ(tensor.offset(), 2u * 80 + 16);
  const Tensor as_buffer = router.map(tensor, buffers, Access::kReadWrite);
  EXPECT_EQ(opencl::buffer(as_buffer), users.handle(cv::ACCESS_READ));
  EXPECT_EQ(as_buffer.memory()->identity().low, reinterpret_cast<std::uintptr_t>(opencl::buffer(as_buffer)));
  const std::vector<std::uint16_t> values(6 * 8 * 2, 77);
  buffers->write(as_buffer, std::as_bytes(std::span(values)));
  cv::Mat host;
  users.copyTo(host);
  EXPECT_EQ(host.at<cv::Vec2w>(2, 4), cv::Vec2w(77, 77)) << "OpenCV does not see what OpenCL wrote";
  EXPECT_EQ(host.at<cv::Vec2w>(2, 3), cv::Vec2w(3, 4));
  users.release();
  EXPECT_EQ(opencv_opencl::umat(tensor).size(), cv::Size(8, 6)) << "the tensor does not keep the buffer";
}

TEST_F(OpenCvUmat, OfATensorComesBackAsItsMemory) {
  const Tensor tensor({element::u8, {16, 64}, {}}, cpu::SharedMemory::allocate(4096), 256);
  const Tensor mapped = router.map(tensor, umats, Access::kReadWrite);
  const cv::UMat umat = opencv_opencl::umat(mapped);
  const Tensor back = opencv_opencl::wrap(umats, umat(cv::Rect(4, 2, 8, 8)));
  EXPECT_EQ(back.memory(), tensor.memory()) << "identity and hazards were lost";
  EXPECT_EQ(back.offset(), 256u + 2 * 64 + 4);
  EXPECT_EQ(back.view(), mapped.view());
}

TEST_F(OpenCvUmat, WaitsForTheCommandThatWritesAndIsWaitedFor) {
  const Tensor tensor({element::u8, {32, 32}, {}}, buffers->allocate(sized(1024)));
  cl_int status = CL_SUCCESS;
  const cl_event gate = clCreateUserEvent(opencl::handle(buffers), &status);
  const unsigned char value = 40;
  cl_event filled = nullptr;
  ASSERT_EQ(clEnqueueFillBuffer(opencl::queue(buffers), opencl::buffer(tensor), &value, 1, 0, 1024, 1, &gate, &filled),
            CL_SUCCESS);
  opencl::wrote(tensor, filled);
  const Tensor mapped = router.map(tensor, umats, Access::kRead);
  cv::UMat umat = opencv_opencl::umat(mapped, Access::kRead);  // Returns at once: the queue waits, not the host.
  cv::UMat sum;
  cv::add(umat, cv::Scalar(2), sum);
  EXPECT_NE(opencl::point(filled).state(), PointState::kReached) << "the host waited for a command that cannot run yet";
  clSetUserEventStatus(gate, CL_COMPLETE);
  cv::Mat host;
  sum.copyTo(host);
  EXPECT_EQ(host.at<uchar>(31, 31), 42) << "OpenCV did not wait for the command";
  cv::subtract(umat, cv::Scalar(1), umat);
  opencv_opencl::wrote(mapped);
  EXPECT_EQ(router.map(tensor, host_context()).memory(), tensor.memory());
  std::vector<std::byte> seen(1024);
  buffers->read(tensor, seen);
  EXPECT_EQ(static_cast<int>(seen[500]), 39);
  clReleaseEvent(filled);
  clReleaseEvent(gate);
}

TEST_F(OpenCvUmat, OfAForeignContextIsRefused) {
  const Context other = opencl::make_context();
  const Context other_umats = opencv_opencl::make_context(other);
  Router strict;
  for (const Context& context : {buffers, umats, other, other_umats}) strict.add(context);
  const Tensor tensor({element::u8, {64}, {}}, buffers->allocate(sized(64)));
  MapOptions options;
  options.policy = ZeroCopy::kRequire;
  const Error error = error_of([&] { strict.map(tensor, other_umats, options); });
  EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  EXPECT_THAT(error.what(), HasSubstr("another cl_context"));
  cv::UMat users(4, 4, CV_8U);
  const Error wrapped = error_of([&] { opencv_opencl::wrap(other_umats, users); });
  EXPECT_EQ(wrapped.code(), Code::kInvalidArgument);
  EXPECT_THAT(wrapped.what(), HasSubstr("another cl_context"));
}

TEST_F(OpenCvUmat, RefusesWhatIsNoUmat) {
  EXPECT_EQ(error_of([&] { opencv_opencl::wrap(umats, cv::UMat()); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { opencv_opencl::wrap(buffers, cv::UMat(4, 4, CV_8U)); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { opencv_opencl::umat(Tensor(element::u8, {4})); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { opencv_opencl::make_context(host_context()); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { opencv_opencl::make_context({}); }).code(), Code::kInvalidArgument);
  cv::UMat mapped(4, 4, CV_8U);
  const cv::Mat host = mapped.getMat(cv::ACCESS_READ);
  EXPECT_THAT(error_of([&] { opencv_opencl::wrap(umats, mapped); }).what(), HasSubstr("mapped"));
  const auto refusal = [&](const TensorInfo& info, std::size_t offset) {
    const Tensor tensor(info, buffers->allocate(sized(8192)), offset);
    return router.explain(describe(tensor), umats);
  };
  EXPECT_THAT(refusal({element::i64, {4}, {}}, 0), HasSubstr("i64"));
  EXPECT_THAT(refusal({element::f32, {4, 4}, {}}, 2), HasSubstr("begins at byte 2"));
  EXPECT_THAT(refusal({element::u8, {4, 4, 4, 4}, {512, 64, 8, 1}}, 0), HasSubstr("two dimensions"));
  EXPECT_THAT(refusal({element::u8, {0, 4}, {}}, 0), HasSubstr("no elements"));
  cv::ocl::setUseOpenCL(false);
  const cv::UMat on_host(4, 4, CV_8U);
  cv::ocl::setUseOpenCL(true);
  EXPECT_EQ(error_of([&] { opencv_opencl::wrap(umats, on_host); }).code(), Code::kFailedPrecondition);
}

TEST_F(OpenCvUmat, OfReadOnlyMemoryIsForReadersOnly) {
  alignas(4096) static const unsigned char bytes[4096] = {1, 2, 3};
  const Tensor tensor = cpu::wrap(bytes, {element::u8, {64, 64}, {}});
  EXPECT_EQ(error_of([&] { router.map(tensor, umats, Access::kReadWrite); }).code(), Code::kPermissionDenied);
  const Tensor mapped = router.map(tensor, umats);
  EXPECT_EQ(error_of([&] { opencv_opencl::umat(mapped); }).code(), Code::kPermissionDenied);
  cv::Mat host;
  opencv_opencl::umat(mapped, Access::kRead).copyTo(host);
  EXPECT_EQ(host.at<uchar>(0, 2), 3);
}

TEST_F(OpenCvUmat, LeavesNoReferenceBehind) {
  const Tensor tensor({element::u8, {16, 16}, {}}, buffers->allocate(sized(256)));
  const Tensor mapped = router.map(tensor, umats);
  const cl_mem buffer = opencl::buffer(tensor);
  const cl_uint before = references(buffer);
  const std::size_t alive = opencv_opencl::detail::Probe::alive;
  for (int i = 0; i < 10; ++i) {
    const cv::UMat umat = opencv_opencl::umat(mapped);
    opencv_opencl::wrap(umats, umat);
    opencl::client::Probe::countdown = 1 + i % 4;
    try {
      opencv_opencl::umat(mapped);
    } catch (const Error&) {
    }
    opencl::client::Probe::countdown = 0;
  }
  EXPECT_EQ(references(buffer), before);
  EXPECT_EQ(opencv_opencl::detail::Probe::alive, alive);
  EXPECT_EQ(tensor.memory()->ref_count(), 2u);
}

TEST_F(OpenCvUmat, IsProvedAgainstEveryNeighbour) {
  for (const auto& [from, to] :
       {std::pair{buffers, umats}, {umats, buffers}, {host_context(), umats}, {opencv::context(), umats}}) {
    const ProofResult proof = prove(router, from, to, 1 << 16);
    EXPECT_EQ(proof.proof, Proof::kProved) << from->name() << " to " << to->name() << ": " << proof.reason;
  }
}

TEST(OpenCvUmatContexts, AreOnePerDevice) {
  const auto& found = opencv_opencl::contexts();
  std::size_t devices = 0;
  for (const Context& context : opencl::contexts()) devices += context->kind() == opencl::kBufferMemory;
  EXPECT_EQ(found.size(), devices);
  for (const Context& context : found) EXPECT_THAT(std::string(context->name()), HasSubstr("opencv.umat:"));
}

/// OpenCV's queue is behind all the time, so each map notes a marker that is pending.
TEST_F(OpenCvUmat, MapsToBuffersWhileOpenCvIsBusyWithoutAllocations) {
  const FrameInfo info{kNv12, 64, 48};
  Requirements wanted;
  wanted.size_bytes = Frame::size_bytes_for(info, wanted);
  const Frame frame = router.map(Frame::over(info, buffers->allocate(wanted), wanted), umats, Access::kReadWrite);
  const auto queue = static_cast<cl_command_queue>(opencv_opencl::execution(umats).getQueue().ptr());
  for (int round = 0; round < 3; ++round) {
    cl_int status = CL_SUCCESS;
    const opencl::client::Handle<cl_event> gate(clCreateUserEvent(opencl::handle(buffers), &status));
    ASSERT_EQ(status, CL_SUCCESS);
    const cl_event waits_for[] = {gate.get()};
    ASSERT_EQ(clEnqueueBarrierWithWaitList(queue, 1, waits_for, nullptr), CL_SUCCESS);
    const std::size_t before = tenon_test::allocations_of_this_thread();
    for (int i = 0; i < 60; ++i) {
      const Frame mapped = router.map(frame, buffers);
      EXPECT_EQ(opencl::buffer(mapped.plane(0)), opencl::buffer(mapped.plane(1)));
    }
    if (round > 0) {
      EXPECT_EQ(tenon_test::allocations_of_this_thread() - before, 0u) << "round " << round;
    }
    clSetUserEventStatus(gate.get(), CL_COMPLETE);
    clFinish(queue);
    EXPECT_NO_THROW(router.map(frame, host_context()));
  }
}

}  // namespace umat_test
