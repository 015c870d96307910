// SPDX-License-Identifier: Apache-2.0
// OpenVINO's typed NPU remote tensors (level_zero.hpp of its wheel) on the software NPU. Nothing of Tenon is linked:
// this is the code of an OpenVINO user.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <openvino/op/parameter.hpp>
#include <openvino/op/relu.hpp>
#include <openvino/op/result.hpp>
#include <openvino/runtime/intel_npu/level_zero/level_zero.hpp>

namespace remote_client_test {

using ov::intel_npu::FileDescriptor;
using ov::intel_npu::MemType;
using ov::intel_npu::TensorType;
using ov::intel_npu::level_zero::ZeroBufferTensor;
using ov::intel_npu::level_zero::ZeroContext;

constexpr std::size_t kPage = 4096;
const ov::Shape kShape{1, 2 * kPage};
constexpr std::size_t kCount = 2 * kPage, kBytes = kCount * sizeof(float);

std::shared_ptr<ov::Model> relu_model() {
  auto x = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, kShape);
  x->output(0).set_names({"x"});
  auto y = std::make_shared<ov::op::v0::Relu>(x);
  y->output(0).set_names({"y"});
  return std::make_shared<ov::Model>(ov::ResultVector{std::make_shared<ov::op::v0::Result>(y)}, ov::ParameterVector{x},
                                     "relu");
}

/// Memory behind a descriptor, also mapped in the process.
class Shared {
 public:
  explicit Shared(std::size_t size = kBytes) : fd_(memfd_create("npu_client", MFD_CLOEXEC)), size_(size) {
    if (fd_ < 0 || ftruncate(fd_, static_cast<off_t>(size)) != 0) throw std::runtime_error("no memfd");
    map_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (map_ == MAP_FAILED) throw std::runtime_error("no mapping");
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() {
    munmap(map_, size_);
    close_fd();
  }
  void close_fd() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  int fd() const { return fd_; }
  float* data() const { return static_cast<float*>(map_); }

 private:
  int fd_;
  std::size_t size_;
  void* map_ = nullptr;
};

void fill(float* values, float first) {
  for (std::size_t i = 0; i < kCount; ++i) values[i] = first + static_cast<float>(i % 100) - 50.f;
}

void expect_relu(const float* y, float first) {
  for (std::size_t i = 0; i < kCount; ++i)
    ASSERT_EQ(y[i], std::max(0.f, first + static_cast<float>(i % 100) - 50.f)) << "at " << i;
}

class NpuRemote : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    core_ = new ov::Core;
    model_ = new ov::CompiledModel(core_->compile_model(relu_model(), "NPU"));
    context_ = new ZeroContext(*core_);
  }
  static void TearDownTestSuite() {
    delete context_;
    delete model_;
    delete core_;
  }
  static ov::Core& core() { return *core_; }
  static ov::CompiledModel& model() { return *model_; }
  static ZeroContext& context() { return *context_; }

 private:
  static ov::Core* core_;
  static ov::CompiledModel* model_;
  static ZeroContext* context_;
};
ov::Core* NpuRemote::core_ = nullptr;
ov::CompiledModel* NpuRemote::model_ = nullptr;
ZeroContext* NpuRemote::context_ = nullptr;

TEST_F(NpuRemote, ContextOfCoreAndOfModelAreOne) {
  ASSERT_NE(context().get(), nullptr);
  auto of_model = model().get_context().as<ZeroContext>();
  auto created = core().create_context("NPU", {}).as<ZeroContext>();
  EXPECT_EQ(context().get(), of_model.get());
  EXPECT_EQ(context().get(), created.get());
  EXPECT_EQ(context().get_device_name(), "NPU");
}

TEST_F(NpuRemote, LevelZeroHostTensorsAreTheMemoryThatIsComputedOn) {
  auto x = context().create_l0_host_tensor(ov::element::f32, kShape, TensorType::INPUT);
  auto y = context().create_l0_host_tensor(ov::element::f32, kShape, TensorType::OUTPUT);
  auto request = model().create_infer_request();
  request.set_tensor("x", x);
  request.set_tensor("y", y);
  for (const float first : {0.f, 25.f}) {
    fill(static_cast<float*>(x.get()), first);
    request.infer();
    expect_relu(static_cast<const float*>(y.get()), first);
  }
}

TEST_F(NpuRemote, DescriptorsAreComputedOnWhereTheyLie) {
  Shared in, out;
  auto x = context().create_tensor(ov::element::f32, kShape, in.fd());
  auto y = context().create_tensor(ov::element::f32, kShape, out.fd());
  in.close_fd();  // The import has its own reference.
  out.close_fd();
  auto request = model().create_infer_request();
  request.set_tensor("x", x);
  request.set_tensor("y", y);
  for (const float first : {0.f, -30.f, 45.f}) {
    fill(in.data(), first);
    request.infer();
    expect_relu(out.data(), first);
  }
}

TEST_F(NpuRemote, OneDescriptorIsOutputAndThenInput) {
  Shared memory;
  auto tensor = context().create_tensor(ov::element::f32, kShape, memory.fd());
  auto first = model().create_infer_request(), second = model().create_infer_request();
  first.set_tensor("y", tensor);
  second.set_tensor("x", tensor);
  fill(first.get_tensor("x").data<float>(), 10.f);
  first.infer();
  second.infer();
  expect_relu(memory.data(), 10.f);
  expect_relu(second.get_tensor("y").data<float>(), 10.f);
}

TEST_F(NpuRemote, DescriptorsThatAreNoMemoryOrTooSmallAreRefused) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_THROW(context().create_tensor(ov::element::f32, kShape, ends[0]), ov::Exception);
  close(ends[0]);
  close(ends[1]);
  EXPECT_THROW(context().create_tensor(ov::element::f32, kShape, 1 << 20), ov::Exception);
  Shared small(kPage);
  EXPECT_THROW(context().create_tensor(ov::element::f32, kShape, small.fd()), ov::Exception);
}

TEST_F(NpuRemote, AlignedUserMemoryIsImportedAndOtherIsRefused) {
  Shared region(kBytes + kPage);
  auto x = context().create_tensor(ov::element::f32, kShape, static_cast<void*>(region.data()), MemType::CPU_VA);
  EXPECT_EQ(x.get(), static_cast<void*>(region.data()));
  auto request = model().create_infer_request();
  request.set_tensor("x", x);
  fill(region.data(), 7.f);
  request.infer();
  expect_relu(request.get_tensor("y").data<float>(), 7.f);
  Shared other(kBytes + kPage);
  EXPECT_THROW(
      context().create_tensor(ov::element::f32, kShape, static_cast<void*>(other.data() + 16), MemType::CPU_VA),
      ov::Exception);
}

TEST_F(NpuRemote, FilesAreInputs) {
  std::string name = (std::filesystem::temp_directory_path() / "npu_client_XXXXXX").string();
  const int fd = mkstemp(name.data());
  ASSERT_GE(fd, 0);
  std::vector<float> values(kCount);
  fill(values.data(), 3.f);
  const std::vector<char> head(kPage, '\0');
  ASSERT_EQ(write(fd, head.data(), head.size()), static_cast<ssize_t>(head.size()));
  ASSERT_EQ(write(fd, values.data(), kBytes), static_cast<ssize_t>(kBytes));
  close(fd);
  {
    auto x = context().create_tensor(ov::element::f32, kShape, FileDescriptor(name, kPage));
    auto request = model().create_infer_request();
    request.set_tensor("x", x);
    request.infer();
    expect_relu(request.get_tensor("y").data<float>(), 3.f);
    EXPECT_THROW(context().create_tensor(ov::element::f32, kShape, FileDescriptor(name, 1 << 20)), ov::Exception);
  }
  std::filesystem::remove(name);
}

TEST_F(NpuRemote, RegionsAreViews) {
  const ov::Shape twice{2, kCount};
  auto both = context().create_l0_host_tensor(ov::element::f32, twice);
  auto* values = static_cast<float*>(both.get());
  fill(values, 0.f);
  fill(values + kCount, 20.f);
  ov::RemoteTensor second(both, ov::Coordinate{1, 0}, ov::Coordinate{2, kCount});
  auto request = model().create_infer_request();
  request.set_tensor("x", second);
  request.infer();
  expect_relu(request.get_tensor("y").data<float>(), 20.f);
}

TEST_F(NpuRemote, CopiesGoBothWays) {
  auto remote = context().create_l0_host_tensor(ov::element::f32, kShape);
  ov::Tensor host(ov::element::f32, kShape), back(ov::element::f32, kShape);
  fill(host.data<float>(), 1.f);
  remote.copy_from(host);
  remote.copy_to(back);
  EXPECT_EQ(std::memcmp(host.data(), back.data(), kBytes), 0);
  auto other = context().create_l0_host_tensor(ov::element::f32, kShape);
  remote.copy_to(other);
  EXPECT_EQ(std::memcmp(host.data(), other.get(), kBytes), 0);
}

TEST_F(NpuRemote, ModelsAreCompiledAndImportedOnTheContext) {
  auto compiled = core().compile_model(relu_model(), context());
  std::stringstream blob;
  compiled.export_model(blob);
  auto imported = core().import_model(blob, context());
  for (ov::CompiledModel* each : {&compiled, &imported}) {
    auto request = each->create_infer_request();
    fill(request.get_tensor("x").data<float>(), 5.f);
    request.infer();
    expect_relu(request.get_tensor("y").data<float>(), 5.f);
  }
}

TEST_F(NpuRemote, TensorsOutliveContextAndCore) {
  Shared memory;
  ov::RemoteTensor tensor;
  {
    ov::Core own;
    tensor = ZeroContext(own).create_tensor(ov::element::f32, kShape, memory.fd());
  }
  ov::Tensor back(ov::element::f32, kShape);
  fill(memory.data(), 2.f);
  tensor.copy_to(back);
  EXPECT_EQ(std::memcmp(memory.data(), back.data(), kBytes), 0);
}

}  // namespace remote_client_test
