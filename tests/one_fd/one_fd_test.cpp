// SPDX-License-Identifier: Apache-2.0
// One descriptor, three APIs: an OpenCL kernel writes the memory behind it, the NPU infers on it, and an OpenCV UMat
// reads the result behind another. The ledgers, and witnesses independent of them, show that every byte is used in
// place. On a dma-buf if the kernel has them (./dev test-vm), else on a memfd.
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include <opencv2/core/ocl.hpp>

#include <tenon/bridges/opencv_opencl/opencv_opencl.hpp>
#include <tenon/core/router.hpp>
#include <tenon/devices/npu/public/level_zero.hpp>
#include <tenon/frameworks/dmabuf/contexts.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>
#include <tenon/frameworks/opencl/contexts.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/tests/support/named_driver.hpp>
#include <tenon/tests/support/opencl_installed.hpp>
#include <tenon/tests/zero_copy/witness.hpp>

namespace one_fd_test {

using namespace tenon;
namespace npu = intel_npu::level_zero;
using ::zero_copy::CopyWatch;
using ::zero_copy::PageTrap;

constexpr std::size_t kRows = 256, kColumns = 1024;
const Shape kShape{kRows, kColumns};
constexpr std::size_t kBytes = kRows * kColumns * sizeof(float);

/// Integers below 251, which every floating-point type can hold.
float written(std::size_t i, unsigned round) { return static_cast<float>((i * 7 + 13 * round) % 251); }
/// The same in OpenCL C.
const char* const kKernel =
    "kernel void fill(global float* x, ulong first, uint round) {\n"
    "  const ulong i = get_global_id(0);\n"
    "  x[first + i] = (float)((i * 7 + 13 * round) % 251);\n"
    "}\n";
float inferred(float x) { return std::max(x - 100.f, 0.f); }

/// y = relu(x - 100)
std::shared_ptr<Model> model_of_the_test() {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(kShape));
  x->output(0).set_names({"x"});
  auto hundred = op::v0::Constant::create(element::f32, Shape{1, 1}, std::vector<float>{100});
  auto less = std::make_shared<op::v1::Subtract>(x->output(0), hundred->output(0));
  auto y = std::make_shared<op::v0::Relu>(less->output(0));
  y->output(0).set_names({"y"});
  return std::make_shared<Model>(ResultVector{std::make_shared<op::v0::Result>(y->output(0))}, ParameterVector{x},
                                 "one_fd");
}

/// The kernel's own view of a descriptor, independent of our libraries.
class Witness {
 public:
  explicit Witness(int fd) {
    data_ = static_cast<float*>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    if (data_ == MAP_FAILED) throw std::runtime_error("the descriptor cannot be mapped");
  }
  ~Witness() { ::munmap(data_, kBytes); }
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  float* data() { return data_; }
  float& operator[](std::size_t i) { return data_[i]; }

 private:
  float* data_;
};

class OneFd : public ::testing::Test {
 protected:
  void SetUp() override {
    if (opencl::contexts().empty()) {
      ASSERT_FALSE(opencl_is_installed()) << "a driver of OpenCL is installed, and gives no device";
      GTEST_SKIP() << "no OpenCL device is here";
    }
    try {
      context.emplace(core);
    } catch (const std::exception& error) {
      if (driver_is_named()) FAIL() << error.what();
      GTEST_SKIP() << "no NPU is here: " << error.what();
    }
    device = opencl::contexts().front();
    umats = opencv_opencl::make_context(device);
    router.add(host_context());
    router.add(dmabuf::context());
    router.add(device);
    router.add(umats);
    in_place.access = Access::kReadWrite;
    in_place.policy = ZeroCopy::kRequire;
    in_place.ledger = &ledger;
    input = shared_tensor();
    output = shared_tensor();
    build_kernel();
    compiled = core.compile_model(model_of_the_test(), *context, tenon::zero_copy(ZeroCopy::kRequire));
    request = compiled.create_infer_request();
    // The descriptors are passed to the NPU as an application would pass them.
    remote_input = context->create_tensor(element::f32, kShape, fd_of(input));
    remote_output = context->create_tensor(element::f32, kShape, fd_of(output));
    request.set_tensor("x", remote_input);
    request.set_tensor("y", remote_output);
  }
  void TearDown() override {
    if (kernel) clReleaseKernel(kernel);
    if (program) clReleaseProgram(program);
  }

  static Tensor shared_tensor() {
    Requirements wanted;
    wanted.size_bytes = kBytes;
    return Tensor(TensorInfo{element::f32, kShape, {}}, dmabuf::context()->allocate(wanted));
  }
  static int fd_of(const Tensor& tensor) { return tensor.memory()->borrow_fd(); }

  void build_kernel() {
    program =
        clCreateProgramWithSource(opencl::handle(device), 1, const_cast<const char**>(&kKernel), nullptr, nullptr);
    ASSERT_EQ(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
    cl_int status = CL_SUCCESS;
    kernel = clCreateKernel(program, "fill", &status);
    ASSERT_EQ(status, CL_SUCCESS);
    // PoCL compiles when a kernel first runs, which in an emulated machine takes longer than any deadline of ours.
    const cl_mem scratch = clCreateBuffer(opencl::handle(device), CL_MEM_READ_WRITE, kBytes, nullptr, nullptr);
    const cl_ulong first = 0;
    const cl_uint round = 0;
    enqueue(scratch, first, round, {}, nullptr);
    clFinish(opencl::queue(device));
    clReleaseMemObject(scratch);
  }
  void enqueue(cl_mem memory, cl_ulong first, cl_uint round, const opencl::WaitList& before, cl_event* event) {
    clSetKernelArg(kernel, 0, sizeof memory, &memory);
    clSetKernelArg(kernel, 1, sizeof first, &first);
    clSetKernelArg(kernel, 2, sizeof round, &round);
    const std::size_t items = kRows * kColumns;
    ASSERT_EQ(clEnqueueNDRangeKernel(opencl::queue(device), kernel, 1, nullptr, &items, nullptr, before.size(),
                                     before.data(), event),
              CL_SUCCESS);
  }
  /// The application's kernel, over the mapped tensor; done when this returns.
  void opencl_writes(const Tensor& mapped, unsigned round) {
    cl_event event = nullptr;
    enqueue(opencl::buffer(mapped), mapped.offset() / sizeof(float), round, opencl::wait_list(mapped, Access::kWrite),
            &event);
    ASSERT_NE(event, nullptr);
    opencl::wrote(mapped, event);
    clReleaseEvent(event);
    mapped.memory()->wait_for(Access::kRead, default_deadline());
  }
  /// The largest difference between what OpenCV sees and the expected values.
  double opencv_differs(const Tensor& mapped, unsigned round) {
    const cv::ocl::OpenCLExecutionContextScope scope(opencv_opencl::execution(umats));
    cv::Mat expected(static_cast<int>(kRows), static_cast<int>(kColumns), CV_32F);
    for (std::size_t i = 0; i < kRows * kColumns; ++i)
      reinterpret_cast<float*>(expected.data)[i] = inferred(written(i, round));
    cv::UMat wanted;
    expected.copyTo(wanted);
    return cv::norm(opencv_opencl::umat(mapped, Access::kRead), wanted, cv::NORM_INF);
  }

  Core core;
  Ledger ledger;
  Router router;
  MapOptions in_place;
  std::optional<npu::ZeroContext> context;
  Context device, umats;
  Tensor input, output;
  CompiledModel compiled;
  InferRequest request;
  npu::ZeroBufferTensor remote_input, remote_output;
  cl_program program = nullptr;
  cl_kernel kernel = nullptr;
};

TEST_F(OneFd, AnOpenClKernelWritesTheNpuInfersAndAUMatReadsWithoutACopy) {
  const std::uint64_t before = Ledger::process().total().copied + Ledger::process().total().transferred;
  for (unsigned round = 1; round <= 3; ++round) {
    {
      const Tensor mapped = router.map(input, device, in_place);
      opencl_writes(mapped, round);
    }
    request.infer();
    const Tensor mapped = router.map(output, umats, in_place);
    EXPECT_EQ(opencv_differs(mapped, round), 0) << "round " << round;
  }
  EXPECT_EQ(ledger.total().copied, 0u) << ledger.report();
  EXPECT_EQ(ledger.total().transferred, 0u) << ledger.report();
  EXPECT_EQ(request.ledger().total().copied, 0u) << request.ledger().report();
  EXPECT_EQ(core.ledger().total().copied, 0u) << core.ledger().report();
  EXPECT_EQ(Ledger::process().total().copied + Ledger::process().total().transferred, before);
  std::printf("proved on %s: 0 bytes copied\n", input.memory()->fd_kind() == FdKind::kDmabuf ? "dma-bufs" : "memfds");
}

TEST_F(OneFd, AllSeeTheSameMemory) {
  Witness in(fd_of(input)), out(fd_of(output));
  // Written after set_tensor(), since a copy made there would not have it.
  for (std::size_t i = 0; i < kRows * kColumns; ++i) in[i] = written(i, 9);
  request.infer();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kRows * kColumns; ++i) wrong += out[i] != inferred(written(i, 9));
  EXPECT_EQ(wrong, 0u) << "of the results are not behind the descriptor";
  // The NPU's address is in a mapping of that memory, and so are OpenCL's and OpenCV's.
  auto* device_input = static_cast<float*>(remote_input.get());
  in[5] = -3;
  EXPECT_EQ(device_input[5], -3);
  {
    const Tensor mapped = router.map(input, device, in_place);
    opencl_writes(mapped, 4);
    EXPECT_EQ(in[5], written(5, 4));
    EXPECT_EQ(device_input[kRows * kColumns - 1], written(kRows * kColumns - 1, 4));
  }
  {
    const Tensor mapped = router.map(output, umats, in_place);
    const cv::ocl::OpenCLExecutionContextScope scope(opencv_opencl::execution(umats));
    cv::UMat picture = opencv_opencl::umat(mapped);
    picture.setTo(77);
    cv::ocl::Queue::getDefault().finish();  // Its kernel, too, is compiled first.
    opencv_opencl::wrote(mapped);
    mapped.memory()->wait_for(Access::kRead, default_deadline());
    EXPECT_EQ(out[11], 77);
    EXPECT_EQ(static_cast<float*>(remote_output.get())[11], 77);
  }
  EXPECT_EQ(ledger.total().copied, 0u) << ledger.report();
}

TEST_F(OneFd, TheNpuReadsTheInputItselfAndNobodyCopies) {
  if (!CopyWatch::preloaded()) GTEST_SKIP() << "the copy watch is not preloaded; run this test by ctest";
  const Tensor opencl_input = router.map(input, device, in_place), umat_output = router.map(output, umats, in_place);
  opencl_writes(opencl_input, 1);
  request.infer();  // Does now what is done only once.
  Witness in(fd_of(input)), out(fd_of(output));
  CopyWatch watch;
  for (void* data : {remote_input.get(), remote_output.get()}) watch.watch(data, kBytes);
  const auto watch_opencl = [&](const Tensor& tensor) {
    void* host = nullptr;
    ASSERT_EQ(clGetMemObjectInfo(opencl::buffer(tensor), CL_MEM_HOST_PTR, sizeof host, &host, nullptr), CL_SUCCESS);
    if (host) watch.watch(host, kBytes);
  };
  watch_opencl(opencl_input);
  watch_opencl(router.map(output, device, in_place));
  PageTrap trap;
  opencl_writes(opencl_input, 2);
  trap.arm(remote_input.get(), kBytes);
  request.infer();
  const auto touches = trap.touches();
  trap.release();
  EXPECT_EQ(watch.large_copies(), 0u) << watch.bytes() << " bytes by " << watch.last_caller();
  EXPECT_EQ(watch.bytes_into(), 0u) << "written elsewhere first, by " << watch.last_caller_into();
  std::set<std::uintptr_t> pages;
  for (const PageTrap::Touch& touch : touches) {
    pages.insert(touch.page);
    EXPECT_FALSE(touch.write);
    // The driver, or code that its kernels generated at run time, which belongs to no file.
    EXPECT_THAT(PageTrap::module_of(touch.code), ::testing::AnyOf("libze_tenon_npu.so", "unknown", "libdnnl.so.3"));
  }
  EXPECT_EQ(pages.size(), kBytes / PageTrap::page()) << "not all of the input was read where it lies";
  EXPECT_EQ(opencv_differs(umat_output, 2), 0);
  // Check that the witness can see a copy.
  std::vector<float> target(kRows * kColumns);
  std::memcpy(target.data(), remote_input.get(), kBytes);
  EXPECT_GT(watch.large_copies(), 0u);
  EXPECT_EQ(target[3], written(3, 2));
  watch.reset();
  std::memcpy(remote_output.get(), target.data(), kBytes);
  EXPECT_EQ(watch.bytes_into(), kBytes);
}

TEST_F(OneFd, DescriptorsMayBeClosedAndTensorsOutliveThem) {
  const int copy = ::fcntl(fd_of(input), F_DUPFD_CLOEXEC, 3);
  npu::ZeroBufferTensor own = context->create_tensor(element::f32, kShape, copy);
  ::close(copy);
  Witness in(fd_of(input)), out(fd_of(output));
  for (std::size_t i = 0; i < kRows * kColumns; ++i) in[i] = 101;
  request.set_tensor("x", own);
  request.infer();
  EXPECT_EQ(out[0], 1);
}

TEST_F(OneFd, WhatIsNoMemoryOrTooSmallIsRefused) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_THROW(context->create_tensor(element::f32, kShape, ends[0]), Error);
  EXPECT_THROW(context->create_tensor(element::f32, kShape, 9999), Error);
  EXPECT_THROW(context->create_tensor(element::f32, Shape{kRows + 1, kColumns}, fd_of(input)), Error);
  ::close(ends[0]);
  ::close(ends[1]);
  request.infer();  // No trace of it may remain.
}

}  // namespace one_fd_test
