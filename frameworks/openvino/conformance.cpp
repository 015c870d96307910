// SPDX-License-Identifier: Apache-2.0
// OpenVINO's host tensors for the conformance suite: allocated here, made by a user with a counting allocator, and made
// over a const pointer.
#include <tenon/frameworks/openvino/openvino.hpp>

#include <tenon/frameworks/openvino/testing/failing_calls.hpp>
#include <tenon/tests/conformance/framework.hpp>

namespace openvino_conformance {

using namespace tenon;

std::atomic<std::size_t> live{0};

struct CountingAllocator {
  void* allocate(std::size_t bytes, std::size_t) {
    void* data = ::operator new(bytes, std::align_val_t(64));
    ++live;
    return data;
  }
  void deallocate(void* data, std::size_t, std::size_t) noexcept {
    ::operator delete(data, std::align_val_t(64));
    --live;
  }
  bool is_equal(const CountingAllocator&) const { return true; }
};

class OpenVinoUnderTest final : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "openvino"; }
  Context make_context() override { return openvino::context(); }
  std::vector<std::string> variants() const override { return {"allocated", "wrapped", "region"}; }

  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    if (variant == "allocated") return {context->allocate(wanted), {}};
    try {
      if (variant == "wrapped") {
        const ov::Tensor native(ov::element::u8, ov::Shape{wanted.size_bytes}, CountingAllocator());
        return {openvino::wrap(native).memory(), {}};
      }
      // A region that begins after the first row, so that its address and size are not the allocation's.
      const ov::Tensor whole(ov::element::u8, ov::Shape{3, (wanted.size_bytes + 63) / 64 * 64}, CountingAllocator());
      const ov::Tensor region(whole, {1, 0}, {2, whole.get_shape()[1]});
      return {openvino::wrap(region).memory(), {}};
    } catch (...) {
      openvino::detail::raise("ov::Tensor", "a user's tensor");
    }
  }

  std::size_t live_objects() const override { return live; }
  bool fail_native_call(std::size_t n) override {
    tenon::testing::openvino_call_failed = false;
    tenon::testing::fail_openvino_call = n;
    return true;
  }
  bool native_call_failed() const override { return tenon::testing::openvino_call_failed; }
};

[[maybe_unused]] const bool registered = conformance::add(std::make_unique<OpenVinoUnderTest>());

}  // namespace openvino_conformance
