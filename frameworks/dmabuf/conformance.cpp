// SPDX-License-Identifier: Apache-2.0
// Dma-bufs for the conformance suite: from every allocator on this machine, and imported ones.
#include <atomic>

#include <tenon/frameworks/dmabuf/dmabuf.hpp>

#include <tenon/frameworks/dmabuf/testing/vgem.hpp>
#include <tenon/tests/conformance/framework.hpp>

namespace dmabuf_conformance {

using namespace tenon;

std::atomic<long> countdown{0};
std::atomic<bool> failed{false};

/// Makes the n-th call fail. Not the end of an access: a lease ends it in its destructor, which cannot throw
/// (dmabuf_test.cpp covers that).
int fail_nth(const char* call) {
  if (std::string_view(call).find("SYNC end") != std::string_view::npos) return 0;
  long left = countdown.load();
  while (left > 0 && !countdown.compare_exchange_weak(left, left - 1)) {
  }
  if (left != 1) return 0;
  failed = true;
  return EIO;
}

class DmabufUnderTest final : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "dmabuf"; }
  Context make_context() override { return dmabuf::context(); }

  /// The allocators found here (heaps, udmabuf, the stand-in); a vgem buffer if that driver is loaded; an imported
  /// descriptor; a buffer mapped at allocation.
  std::vector<std::string> variants() const override {
    std::vector<std::string> names;
    for (const dmabuf::Allocator& allocator : allocators_) names.push_back(identifier(allocator));
    if (dmabuf::vgem::open_card()) names.emplace_back("vgem");
    names.emplace_back("imported");
    names.emplace_back("mapped");
    return names;
  }

  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    const std::size_t size = std::max<std::size_t>(wanted.size_bytes, 1);
    if (variant == "mapped") {
      Requirements mapped = wanted;
      mapped.host_access = true;
      return {context->allocate(mapped), {}};
    }
    if (variant == "vgem") return {dmabuf::import(dmabuf::vgem::allocate(size).fd, size), {}};
    if (variant == "imported") {
      const Ref<Memory> whole = context->allocate(wanted);
      return {dmabuf::import(dmabuf::UniqueFd::duplicate(whole->borrow_fd()), size), {}};
    }
    for (const dmabuf::Allocator& allocator : allocators_) {
      if (identifier(allocator) == variant) return {dmabuf::allocate(allocator, size), {}};
    }
    throw Error(Code::kUnavailable, "dmabuf: " + std::string(variant) + " is gone");
  }

  bool fail_native_call(std::size_t n) override {
    failed = false;
    countdown = static_cast<long>(n);
    dmabuf::native::fault = n ? &fail_nth : nullptr;
    return true;
  }
  bool native_call_failed() const override { return failed; }

 private:
  const std::vector<dmabuf::Allocator> allocators_ = dmabuf::allocators();

  static std::string identifier(const dmabuf::Allocator& allocator) {
    std::string name = allocator.name();
    for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return name;
  }
};

[[maybe_unused]] const bool registered = conformance::add(std::make_unique<DmabufUnderTest>());

}  // namespace dmabuf_conformance
