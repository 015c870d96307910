// SPDX-License-Identifier: Apache-2.0
// SYCL for the conformance suite, on the first device with USM that its runtime finds.
#include <tenon/core/deferred.hpp>
#include <tenon/frameworks/sycl/client.hpp>
#include <tenon/frameworks/sycl/sycl.hpp>
#include <tenon/tests/conformance/framework.hpp>
#include <tenon/tests/conformance/users_objects.hpp>

namespace sycl_conformance {

using namespace tenon;

/// One context for all entries whose memory is to pass between them.
const Context& main_context() {
  static const Context* context = new Context(tenon::sycl::make_context());
  return *context;
}

/// What programs have that Tenon's memory lies over.
auto& users() {
  static auto& all = *new conformance::UsersObjects<tenon::sycl::client::Probe, Ref<Memory>>;
  return all;
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
    const Ref<Memory> own = usm.allocate(wanted, type);
    const Ref<Memory> wrapped = tenon::sycl::wrap(context, static_cast<tenon::sycl::UsmMemory&>(*own).data(),
                                                  {element::u8, {wanted.size_bytes}, {}})
                                    .memory();
    users().keep(own, 1, wrapped);
    return {wrapped, {}};
  }
  std::size_t live_objects() const override { return tenon::sycl::client::Probe::handles.load(); }
  void drop_idle() override {
    drain_deferred(default_deadline());
    users().drop_idle();
  }
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
