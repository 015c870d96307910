// SPDX-License-Identifier: Apache-2.0
// Vulkan and CUDA on one device, for the conformance suite: memory that both can use.
#include <tenon/bridges/vulkan_cuda/vulkan_cuda.hpp>
#include <tenon/core/deferred.hpp>
#include <tenon/frameworks/vulkan/client.hpp>

#include <tenon/tests/conformance/framework.hpp>

namespace vulkan_cuda_conformance {

using namespace tenon;

class VulkanCudaUnderTest final : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "vulkan_for_cuda"; }
  Context make_context() override {
    static const Context* context = new Context(vulkan::make_context());
    Requirements wanted;
    wanted.size_bytes = 1;
    wanted.fd = FdKind::kVulkanFd;
    if (const auto offer = (*context)->offer(wanted); std::holds_alternative<Refusal>(offer))
      throw Error(Code::kUnavailable, "vulkan: " + std::get<Refusal>(offer).reason);
    return *context;
  }
  std::span<const Edge* const> edges() const override { return vulkan_cuda::edges(); }
  std::vector<std::string> variants() const override { return {"exported", "plain"}; }
  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    auto& buffers = *context.as<vulkan::BufferContext>();
    if (variant == "exported") return {buffers.allocate_exported(wanted, FdKind::kVulkanFd), {}};
    return {buffers.allocate(wanted, vulkan::MemoryType::kDevice), {}};
  }
  std::size_t live_objects() const override { return vulkan::client::Probe::handles.load(); }
  void drop_idle() override {
    drain_deferred(default_deadline());
    try {
      make_context().as<vulkan::BufferContext>()->native().drop_idle();
    } catch (const Error&) {  // There is none: make_context() said why.
    }
  }
  bool fail_native_call(std::size_t n) override {
    vulkan::client::Probe::failed.store(false);
    vulkan::client::Probe::countdown.store(static_cast<long>(n));
    return true;
  }
  bool native_call_failed() const override { return vulkan::client::Probe::failed.load(); }
};

[[maybe_unused]] const bool registered = conformance::add(std::make_unique<VulkanCudaUnderTest>());

}  // namespace vulkan_cuda_conformance
