// SPDX-License-Identifier: Apache-2.0
// Memory that this program and the NPU's module both import into one ze_context. The module is loaded as an application
// loads it, with symbols of its own.
#include <sys/mman.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/devices/npu/public/level_zero.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/level_zero/client.hpp>
#include <tenon/frameworks/level_zero/level_zero.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/runtime/testing/reference_device.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon {
namespace imports_test {

using intel_npu::MemType;
using intel_npu::level_zero::ZeroContext;
using ::testing::HasSubstr;

constexpr std::size_t kCount = 1024, kPage = 4096;

class NpuImports : public ::testing::Test {
 protected:
  void SetUp() override {
    npu = std::make_unique<ZeroContext>(core);
    const auto native = static_cast<ze_context_handle_t>(npu->get());
    for (const level_zero::Device& found : level_zero::devices())
      if (found.is_npu() && !context) context = level_zero::wrap(native, found.handle);
    ASSERT_TRUE(context);
    if (!level_zero::device(context).imports_system_memory()) GTEST_SKIP() << "the driver imports no system memory";
    router.add(context);
    router.add(host_context());
    pages.reset(::mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    request = core.compile_model(testing::relu_model(PartialShape{1, kCount}), *npu, zero_copy(ZeroCopy::kRequire))
                  .create_infer_request();
  }
  /// A tensor over the pages from number `page` on, in a memory of its own.
  Tensor over(std::size_t page, std::size_t count = kCount) const {
    return Tensor(element::f32, {1, count}, floats() + page * kCount);
  }
  float* floats() const { return static_cast<float*>(pages.get()); }
  Tensor map(const Tensor& tensor) {
    MapOptions options;
    options.access = Access::kReadWrite;
    options.policy = ZeroCopy::kRequire;
    return router.map(tensor, context, options);
  }
  /// The driver's id of the allocation at the first page; 0: none.
  std::uint64_t allocation() const {
    ze_memory_allocation_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
    ze_device_handle_t device = nullptr;
    EXPECT_EQ(zeMemGetAllocProperties(level_zero::handle(context), pages.get(), &properties, &device),
              ZE_RESULT_SUCCESS);
    return properties.type == ZE_MEMORY_TYPE_UNKNOWN ? 0 : properties.id;
  }
  void expect_relu(float value) {
    floats()[7] = value;
    floats()[8] = -value;
    request.infer();
    EXPECT_EQ(request.get_tensor("y").data<float>()[7], value);
    EXPECT_EQ(request.get_tensor("y").data<float>()[8], 0);
  }
  /// Lets the request forget the pages.
  void unbind() { request.set_tensor("x", npu->create_l0_host_tensor(element::f32, {1, kCount})); }

  Core core;
  std::unique_ptr<ZeroContext> npu;
  Context context;
  Router router;
  std::unique_ptr<void, std::function<void(void*)>> pages{nullptr, [](void* at) { ::munmap(at, 4 * kPage); }};
  InferRequest request;
};

TEST_F(NpuImports, PagesThatTheProgramImportedAreTheNpusToo) {
  Tensor mapped = map(over(0, 4 * kCount));
  const std::uint64_t id = allocation();
  ASSERT_NE(id, 0u);
  request.set_tensor("x", over(0));
  expect_relu(3);
  EXPECT_EQ(allocation(), id) << "imported again";
  mapped = {};
  EXPECT_EQ(allocation(), id) << "the import went while the NPU uses it";
  expect_relu(4);
  unbind();
  EXPECT_EQ(allocation(), 0u) << "the import outlived its users";
}

TEST_F(NpuImports, PagesThatTheNpuImportedAreTheProgramsToo) {
  request.set_tensor("x", over(0));
  const std::uint64_t id = allocation();
  ASSERT_NE(id, 0u);
  Tensor mapped = map(over(0));
  EXPECT_EQ(level_zero::usm_pointer(mapped), floats());
  EXPECT_EQ(level_zero::allocation_id(mapped), id) << "imported again";
  unbind();
  EXPECT_EQ(allocation(), id);
  floats()[1] = 17;
  float seen[kCount];
  context->read(mapped, std::as_writable_bytes(std::span(seen)));
  EXPECT_EQ(seen[1], 17);
  mapped = {};
  EXPECT_EQ(allocation(), 0u) << "the import outlived its users";
}

TEST_F(NpuImports, PagesOfWhichTheOtherHasAPartAreRefusedClearly) {
  const Tensor mapped = map(over(0));
  EXPECT_THAT(error_of([&] { npu->create_tensor(element::f32, {2 * kCount}, floats(), MemType::CPU_VA); },
                       Code::kInvalidArgument),
              HasSubstr("some belong to an import of 4096 bytes"));
  const auto remote = npu->create_tensor(element::f32, {kCount}, floats() + kCount, MemType::CPU_VA);
  EXPECT_THAT(error_of([&] { map(over(0, 2 * kCount)); }, Code::kInvalidArgument), HasSubstr("Can not import"));
}

TEST_F(NpuImports, BothMayComeAndGoAtOnce) {
  std::atomic<int> failures{0};
  const auto repeat = [&](const auto& use) {
    return std::thread([&failures, use] {
      for (int i = 0; i < 300; ++i) {
        try {
          use();
        } catch (const Error& error) {
          if (failures++ == 0) ADD_FAILURE() << error.what();
        }
      }
    });
  };
  std::thread program = repeat([&] { EXPECT_EQ(level_zero::usm_pointer(map(over(1))), floats() + kCount); });
  std::thread npus = repeat([&] {
    EXPECT_EQ(npu->create_tensor(element::f32, {kCount}, floats() + kCount, MemType::CPU_VA).get(), floats() + kCount);
  });
  program.join();
  npus.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(allocation(), 0u);
}

TEST_F(NpuImports, ADescriptorIsImportedOnceForBoth) {
  if (!context.as<level_zero::UsmContext>()->native().imports_memfd) GTEST_SKIP() << "the driver takes no memfd";
  router.add(dmabuf::context());
  for (const bool program_first : {true, false}) {
    const Tensor tensor({element::f32, {1, kCount}, {}},
                        dmabuf::allocate({dmabuf::Allocator::Kind::kStandIn, {}}, kPage));
    Tensor mapped;
    if (program_first) mapped = map(tensor);
    request.set_tensor("x", tensor);
    const void* const imported =
        level_zero::client::find_usm_view(*tensor.memory(), level_zero::handle(context), Access::kReadWrite)->data();
    if (!program_first) mapped = map(tensor);
    EXPECT_EQ(level_zero::usm_pointer(mapped), imported) << "imported twice";
    dmabuf::CpuAccess(tensor, Access::kWrite).tensor().data<float>()[3] = 5;
    request.infer();
    EXPECT_EQ(request.get_tensor("y").data<float>()[3], 5);
    unbind();
  }
}

}  // namespace imports_test
}  // namespace tenon
