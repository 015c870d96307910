// SPDX-License-Identifier: Apache-2.0
// CUDA for the conformance suite, on the driver's first two devices.
#include <tenon/core/deferred.hpp>
#include <tenon/frameworks/cuda/client.hpp>
#include <tenon/frameworks/cuda/contexts.hpp>

#include <tenon/tests/conformance/framework.hpp>
#include <tenon/tests/conformance/users_objects.hpp>

namespace cuda_conformance {

using namespace tenon;

/// One context for all entries whose memory is to pass between them.
const Context& main_context() {
  static const Context* context = new Context(cuda::make_context());
  return *context;
}

/// What programs have that Tenon's memory lies over.
auto& users() {
  static auto& all = *new conformance::UsersObjects<cuda::client::Probe, Ref<Memory>>;
  return all;
}

class CudaUnderTest : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "cuda"; }
  Context make_context() override { return main_context(); }
  /// Each type; with a descriptor; a user's.
  std::vector<std::string> variants() const override {
    std::vector<std::string> names{"device", "pinned", "wrapped"};
    if (cuda::contexts().empty()) return names;  // make_context() says why nothing runs.
    if (cuda::device(main_context()).managed) names.emplace_back("managed");
    if (cuda::device(main_context()).exports_fd) names.emplace_back("exported");
    return names;
  }

  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    auto& cuda = *context.as<cuda::CudaContext>();
    const auto type = variant == "pinned"    ? cuda::MemoryType::kHost
                      : variant == "managed" ? cuda::MemoryType::kManaged
                                             : cuda::MemoryType::kDevice;
    if (variant == "exported") return {cuda.allocate_exported(wanted), {}};
    if (variant != "wrapped") return {cuda.allocate(wanted, type), {}};
    const Ref<Memory> own = cuda.allocate(wanted, type);
    const auto data = static_cast<cuda::CudaMemory&>(*own).data();
    const Ref<Memory> wrapped = cuda::wrap(context, data, {element::u8, {wanted.size_bytes}, {}}).memory();
    users().keep(own, 1, wrapped);
    return {wrapped, {}};
  }

  std::size_t live_objects() const override { return cuda::client::Probe::handles.load(); }
  void drop_idle() override {
    users().drop_idle();
    drain_deferred(default_deadline());  // What waits for an event gives it back.
    if (!cuda::contexts().empty()) make_context().as<cuda::CudaContext>()->native().drop_idle();
  }
  bool fail_native_call(std::size_t n) override {
    cuda::client::Probe::failed.store(false);
    cuda::client::Probe::countdown.store(static_cast<long>(n));
    return true;
  }
  bool native_call_failed() const override { return cuda::client::Probe::failed.load(); }
};

/// Another context over the same CUcontext, with the same memory.
class SameUnderTest final : public CudaUnderTest {
 public:
  std::string_view name() const override { return "cuda_same"; }
  Context make_context() override {
    static const Context* context = new Context(cuda::wrap(cuda::handle(main_context())));
    return *context;
  }
  std::vector<std::string> variants() const override { return {"device"}; }
};

/// The second device: memory passes over the host.
class OtherUnderTest final : public CudaUnderTest {
 public:
  std::string_view name() const override { return "cuda_other"; }
  Context make_context() override {
    if (cuda::contexts().size() < 2) {
      main_context();  // Says why, where there is none at all.
      throw Error(Code::kUnavailable, "cuda: the driver has one device");
    }
    static const Context* context = new Context(cuda::make_context(1));
    return *context;
  }
  void drop_idle() override {
    if (cuda::contexts().size() > 1) CudaUnderTest::drop_idle();
  }
  std::vector<std::string> variants() const override { return {"device"}; }
};

[[maybe_unused]] const bool registered = conformance::add(std::make_unique<CudaUnderTest>()) &&
                                         conformance::add(std::make_unique<SameUnderTest>()) &&
                                         conformance::add(std::make_unique<OtherUnderTest>());

}  // namespace cuda_conformance
