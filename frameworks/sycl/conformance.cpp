// SPDX-License-Identifier: Apache-2.0
// SYCL for the conformance suite, on the first device with USM that its runtime finds.
#include <tenon/core/deferred.hpp>
#include <tenon/frameworks/sycl/client.hpp>
#include <tenon/frameworks/sycl/sycl.hpp>
#include <tenon/tests/conformance/framework.hpp>

namespace sycl_conformance {

using namespace tenon;

/// One context for all entries whose memory is to pass between them.
const Context& main_context() {
  static const Context* context = new Context(tenon::sycl::make_context());
  return *context;
}

class SyclUnderTest : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "sycl"; }
  Context make_context() override { return main_context(); }
  std::vector<std::string> variants() const override { return {"host", "device", "shared", "wrapped"}; }

  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    auto& usm = *context.as<tenon::sycl::UsmContext>();
    const auto type = variant == "device"   ? tenon::sycl::UsmType::kDevice
                      : variant == "shared" ? tenon::sycl::UsmType::kShared
                                            : tenon::sycl::UsmType::kHost;
    if (variant != "wrapped") return {usm.allocate(wanted, type), {}};
    // Stands for a program that never frees it; not counted as Tenon's objects.
    static auto& kept = *new std::vector<Ref<Memory>>;
    kept.push_back(usm.allocate(wanted, type));
    tenon::sycl::client::Probe::handles.fetch_sub(1);
    return {tenon::sycl::wrap(context, static_cast<tenon::sycl::UsmMemory&>(*kept.back()).data(),
                              {element::u8, {wanted.size_bytes}, {}})
                .memory(),
            {}};
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

/// Another context over the same sycl::context, with the same memory.
class SameUnderTest final : public SyclUnderTest {
 public:
  std::string_view name() const override { return "sycl_same"; }
  Context make_context() override {
    static const Context* context = new Context(tenon::sycl::wrap(tenon::sycl::queue(main_context())));
    return *context;
  }
  std::vector<std::string> variants() const override { return {"host"}; }
};

[[maybe_unused]] const bool registered =
    conformance::add(std::make_unique<SyclUnderTest>()) && conformance::add(std::make_unique<SameUnderTest>());

}  // namespace sycl_conformance
