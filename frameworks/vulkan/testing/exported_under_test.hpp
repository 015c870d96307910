// SPDX-License-Identifier: Apache-2.0
// Vulkan's memory beside another API's of the same device, for the conformance suite of the bridges: memory that both can use.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tenon/core/deferred.hpp>
#include <tenon/frameworks/vulkan/client.hpp>
#include <tenon/tests/conformance/framework.hpp>

namespace tenon::vulkan_testing {

/// @param name  A literal. @param edges  The bridge's.
class ExportedUnderTest final : public conformance::FrameworkUnderTest {
 public:
  ExportedUnderTest(std::string_view name, std::span<const Edge* const> edges) : name_(name), edges_(edges) {}
  std::string_view name() const override { return name_; }
  Context make_context() override {
    static const Context* context = new Context(vulkan::make_context());
    Requirements wanted;
    wanted.size_bytes = 1;
    wanted.fd = FdKind::kVulkanFd;
    if (const auto offer = (*context)->offer(wanted); std::holds_alternative<Refusal>(offer))
      throw Error(Code::kUnavailable, "vulkan: " + std::get<Refusal>(offer).reason);
    return *context;
  }
  std::span<const Edge* const> edges() const override { return edges_; }
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

 private:
  std::string_view name_;
  std::span<const Edge* const> edges_;
};

}  // namespace tenon::vulkan_testing
