// SPDX-License-Identifier: Apache-2.0
// SYCL and OpenCL over one cl_context, for the conformance suite: USM of each, seen by the other.
#include <tenon/bridges/sycl_opencl/sycl_opencl.hpp>
#include <tenon/core/deferred.hpp>
#include <tenon/frameworks/opencl/client.hpp>
#include <tenon/frameworks/sycl/client.hpp>

#include <tenon/tests/conformance/framework.hpp>

namespace sycl_opencl_conformance {

using namespace tenon;

/// OpenCL's USM, over whose cl_context SYCL works, too.
const Context& opencl_side() {
  static const Context* context = new Context(opencl::usm(opencl::make_context()));
  return *context;
}

class SyclOverOpenclUnderTest final : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "sycl_over_opencl"; }
  Context make_context() override {
    static const Context* context = new Context(sycl_opencl::make_context(opencl_side()));
    return *context;
  }
  std::span<const Edge* const> edges() const override { return sycl_opencl::edges(); }
  std::vector<std::string> variants() const override { return {"host", "device"}; }
  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    const auto type = variant == "host" ? tenon::sycl::UsmType::kHost : tenon::sycl::UsmType::kDevice;
    return {context.as<tenon::sycl::UsmContext>()->allocate(wanted, type), {}};
  }
  std::size_t live_objects() const override { return tenon::sycl::client::Probe::handles.load(); }
  void drop_idle() override { drain_deferred(default_deadline()); }
  bool fail_native_call(std::size_t n) override {
    tenon::sycl::client::Probe::failed.store(false);
    tenon::sycl::client::Probe::countdown.store(static_cast<long>(n));
    return true;
  }
  bool native_call_failed() const override { return tenon::sycl::client::Probe::failed.load(); }
};

class OpenclUnderSyclUnderTest final : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "opencl_under_sycl"; }
  Context make_context() override { return opencl_side(); }
  std::vector<std::string> variants() const override { return {"host", "device"}; }
  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    const auto type = variant == "host" ? opencl::UsmType::kHost : opencl::UsmType::kDevice;
    return {context.as<opencl::UsmContext>()->allocate(wanted, type), {}};
  }
  std::size_t live_objects() const override { return opencl::client::Probe::handles.load(); }
  bool fail_native_call(std::size_t n) override {
    opencl::client::Probe::failed.store(false);
    opencl::client::Probe::countdown.store(static_cast<long>(n));
    return true;
  }
  bool native_call_failed() const override { return opencl::client::Probe::failed.load(); }
};

[[maybe_unused]] const bool registered = conformance::add(std::make_unique<SyclOverOpenclUnderTest>()) &&
                                         conformance::add(std::make_unique<OpenclUnderSyclUnderTest>());

}  // namespace sycl_opencl_conformance
