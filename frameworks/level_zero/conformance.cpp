// SPDX-License-Identifier: Apache-2.0
// Level Zero for the conformance suite, on the loader's first device: ZE_ENABLE_ALT_DRIVERS selects it.
#include <tenon/frameworks/level_zero/contexts.hpp>

#include <tenon/tests/conformance/framework.hpp>
#include <tenon/tests/conformance/users_objects.hpp>

namespace level_zero_conformance {

using namespace tenon;

/// One context for all entries whose memory is to pass between them.
const Context& main_context() {
  static const Context* context = new Context(level_zero::make_context());
  return *context;
}

/// What programs have that Tenon's memory lies over.
auto& users() {
  static auto& all = *new conformance::UsersObjects<level_zero::detail::Probe, Ref<Memory>>;
  return all;
}

class LevelZeroUnderTest : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "level_zero"; }
  Context make_context() override { return main_context(); }
  /// Each type; made to be exported; a user's, from its middle; an imported dma-buf or stand-in.
  std::vector<std::string> variants() const override {
    std::vector<std::string> names{"host", "device", "shared", "wrapped"};
    if (exports()) names.emplace_back("exported");
    return names;
  }

  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    auto& usm = *context.as<level_zero::UsmContext>();
    const auto type = variant == "device"   ? level_zero::UsmType::kDevice
                      : variant == "shared" ? level_zero::UsmType::kShared
                                            : level_zero::UsmType::kHost;
    Requirements as = wanted;
    if (variant == "exported") as.fd = FdKind::kMemfd;
    if (variant != "wrapped") return {usm.allocate(as, type), {}};
    const Ref<Memory> own = usm.allocate(wanted, type);
    void* const data = static_cast<level_zero::UsmMemory&>(*own).data();
    const Ref<Memory> wrapped = level_zero::wrap(context, data, {element::u8, {wanted.size_bytes}, {}}).memory();
    users().keep(own, 1, wrapped);
    return {wrapped, {}};
  }

  std::size_t live_objects() const override { return level_zero::detail::Probe::handles.load(); }
  void drop_idle() override {
    users().drop_idle();
    if (!level_zero::contexts().empty()) make_context().as<level_zero::UsmContext>()->native().drop_idle();
  }
  bool fail_native_call(std::size_t n) override {
    level_zero::detail::Probe::failed.store(false);
    level_zero::detail::Probe::countdown.store(static_cast<long>(n));
    return true;
  }
  bool native_call_failed() const override { return level_zero::detail::Probe::failed.load(); }

 private:
  static bool exports() {
    if (level_zero::contexts().empty()) return false;  // make_context() says why nothing runs.
    const auto& native = main_context().as<level_zero::UsmContext>()->native();
    return native.device.exports_dmabuf() || (native.device.exports_opaque() && native.imports_memfd);
  }
};

/// Another context over the same ze_context, with the same memory.
class SameUnderTest final : public LevelZeroUnderTest {
 public:
  std::string_view name() const override { return "level_zero_same"; }
  Context make_context() override {
    static const Context* context =
        new Context(level_zero::wrap(level_zero::handle(main_context()), level_zero::device(main_context()).handle));
    return *context;
  }
  std::vector<std::string> variants() const override { return {"host"}; }
};

/// A separate ze_context on the same device, whose device memory is declared not host-addressable, as on discrete GPUs:
/// the device copies.
class DiscreteUnderTest final : public LevelZeroUnderTest {
 public:
  std::string_view name() const override { return "level_zero_discrete"; }
  Context make_context() override {
    static const Context* context = new Context(level_zero::make_context(level_zero::device(main_context()), false));
    return *context;
  }
  std::vector<std::string> variants() const override { return {"device"}; }
};

[[maybe_unused]] const bool registered = conformance::add(std::make_unique<LevelZeroUnderTest>()) &&
                                         conformance::add(std::make_unique<SameUnderTest>()) &&
                                         conformance::add(std::make_unique<DiscreteUnderTest>());

}  // namespace level_zero_conformance
