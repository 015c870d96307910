// SPDX-License-Identifier: Apache-2.0
// Buffers of V4L2 drivers for the conformance suite: of the kernel's vivid where it is loaded, else of a driver that is played.
#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>

#include <tenon/frameworks/v4l2/testing/fake_driver.hpp>
#include <tenon/frameworks/v4l2/testing/vivid.hpp>
#include <tenon/frameworks/v4l2/v4l2.hpp>
#include <tenon/tests/conformance/framework.hpp>

namespace v4l2_conformance {

using namespace tenon;

std::atomic<long> countdown{0};
std::atomic<bool> failed{false};

int fail_nth(const char*) {
  long left = countdown.load();
  while (left > 0 && !countdown.compare_exchange_weak(left, left - 1)) {
  }
  if (left != 1) return 0;
  failed = true;
  return EIO;
}

class V4l2UnderTest final : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "v4l2"; }
  Context make_context() override {
    if (!vivid_.empty()) return v4l2::context(vivid_.front());
    if (!played_) played_ = std::make_unique<v4l2::test::FakeDriver>();
    return v4l2::context("/dev/played");
  }
  /// A buffer for devices only, and one that the CPU has mapped.
  std::vector<std::string> variants() const override { return {"exported", "mapped"}; }

  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    Requirements buffer = wanted;
    buffer.host_access = variant == "mapped";
    return {context->allocate(buffer), {}};
  }

  /// The suite counts descriptors, and dmabuf's factory the mappings of buffers.
  std::size_t live_objects() const override { return played_ ? played_->open_nodes() : 0; }
  bool fail_native_call(std::size_t n) override {
    failed = false;
    countdown = static_cast<long>(n);
    v4l2::native::fault = n ? &fail_nth : nullptr;
    return true;
  }
  bool native_call_failed() const override { return failed; }

 private:
  const std::vector<std::string> vivid_ = v4l2::test::vivid_paths();
  std::unique_ptr<v4l2::test::FakeDriver> played_;
};

[[maybe_unused]] const bool registered = conformance::add(std::make_unique<V4l2UnderTest>());

}  // namespace v4l2_conformance
