// SPDX-License-Identifier: Apache-2.0
// Memory of PipeWire's buffers for the conformance suite: of this process, and as a peer's comes. It needs no daemon.
#include <atomic>
#include <cerrno>
#include <memory>
#include <string_view>

#include <tenon/frameworks/dmabuf/native.hpp>
#include <tenon/frameworks/pipewire/context.hpp>
#include <tenon/tests/conformance/framework.hpp>

namespace pipewire_conformance {

using namespace tenon;

std::atomic<long> countdown{0};
std::atomic<bool> failed{false};
int fail_nth(const char* call) {
  if (std::string_view(call).find("SYNC end") != std::string_view::npos) return 0;
  long left = countdown.load();
  while (left > 0 && !countdown.compare_exchange_weak(left, left - 1)) {
  }
  if (left != 1) return 0;
  failed = true;
  return EIO;
}

class PipeWireUnderTest final : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "pipewire"; }
  Context make_context() override { return pipewire::context(); }
  std::vector<std::string> variants() const override { return {"allocated", "received"}; }
  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    Ref<Memory> made = context->allocate(wanted);
    if (variant == "allocated") return {made, {}};
    return {
        pipewire::PipeWireMemory::import(context, pipewire::UniqueFd::duplicate(made->borrow_fd()), wanted.size_bytes),
        {}};
  }
  bool fail_native_call(std::size_t n) override {
    failed = false;
    countdown = static_cast<long>(n);
    dmabuf::native::fault = n ? &fail_nth : nullptr;
    return true;
  }
  bool native_call_failed() const override { return failed; }
};

[[maybe_unused]] const bool registered = conformance::add(std::make_unique<PipeWireUnderTest>());

}  // namespace pipewire_conformance
