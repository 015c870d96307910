// SPDX-License-Identifier: Apache-2.0
// The null framework for the conformance suite. In a copy, change: the variants, how objects are counted, how calls are
// made to fail.
#include <tenon/frameworks/null/null.hpp>

#include <tenon/tests/conformance/framework.hpp>

namespace null_conformance {

using namespace tenon;

class NullUnderTest final : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "null"; }
  Context make_context() override { return null::make_context(); }
  /// The first two take different ways to the CPU: shared and copied. The third was wrapped by its handle.
  std::vector<std::string> variants() const override { return {"host_visible", "private_block", "wrapped"}; }

  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    Requirements as = wanted;
    as.host_access = variant != "private_block";
    if (variant != "wrapped") return {context->allocate(as), {}};
    null::Block* block = nullptr;
    null::detail::check(null::native::null_create(wanted.size_bytes, nullptr, null::native::kHostVisible, &block),
                        "null_create", "a user's block");
    return {null::adopt(context, block, {element::u8, {wanted.size_bytes}, {}}).memory(), {}};
  }

  std::size_t live_objects() const override { return null::native::live_blocks(); }
  bool fail_native_call(std::size_t n) override {
    null::native::fail_call(n);
    return true;
  }
  bool native_call_failed() const override { return null::native::call_failed(); }
};

[[maybe_unused]] const bool registered = conformance::add(std::make_unique<NullUnderTest>());

}  // namespace null_conformance
