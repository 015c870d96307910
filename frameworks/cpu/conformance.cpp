// SPDX-License-Identifier: Apache-2.0
// Host memory for the conformance suite: owned, borrowed, read-only, adopted, pooled and shareable.
#include <atomic>
#include <map>
#include <memory>
#include <new>

#include <tenon/core/adopt_bytes.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>

#include <tenon/tests/conformance/framework.hpp>

namespace cpu_conformance {

using namespace tenon;

class CpuUnderTest final : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "cpu"; }
  Context make_context() override { return cpu::context(); }
  std::vector<std::string> variants() const override {
    return {"owned", "borrowed", "read_only", "adopted", "pooled", "memfd"};
  }

  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    const std::size_t size = wanted.size_bytes + 64;
    if (variant == "owned") return {context->allocate(wanted), {}};
    if (variant == "borrowed") return {HostMemory::borrow(arena(size), size), {}};
    if (variant == "read_only") return {HostMemory::borrow(arena(size), size, true), {}};
    if (variant == "adopted") {
      void* const data = ::operator new(size, std::align_val_t(64));
      ++live_;
      return {adopt_bytes(data, size, false,
                          [this, data] {
                            ::operator delete(data, std::align_val_t(64));
                            --live_;
                          }),
              {}};
    }
    if (variant == "memfd") return {cpu::SharedMemory::allocate(size), {}};
    std::unique_ptr<cpu::Pool>& pool = pools_[size];
    if (!pool) pool = std::make_unique<cpu::Pool>(size, 64);
    cpu::PooledBuffer buffer = pool->acquire();
    return {std::move(buffer.memory), std::move(buffer.lease)};
  }

  /// Adopted buffers not yet released, and pooled ones not yet returned.
  std::size_t live_objects() const override {
    std::size_t out = live_;
    for (const auto& [size, pool] : pools_) out += pool->size() - pool->idle();
    return out;
  }
  void drop_idle() override {
    std::erase_if(pools_, [](const auto& entry) { return entry.second->idle() == entry.second->size(); });
  }
  std::vector<conformance::Exclusion> exclusions() const override {
    return {{"NativeFailure",
             "host memory calls nothing of a library; shared_memory_test.cpp exhausts descriptors and address space "
             "instead"}};
  }

 private:
  /// Borrowed memory must outlive its tensors, so each call makes a new piece and all are kept until the end.
  void* arena(std::size_t size) {
    arena_.emplace_back(std::make_unique<std::byte[]>(size + 64));
    const auto address = reinterpret_cast<std::uintptr_t>(arena_.back().get());
    return reinterpret_cast<void*>((address + 63) / 64 * 64);
  }

  std::atomic<std::size_t> live_{0};
  std::map<std::size_t, std::unique_ptr<cpu::Pool>> pools_;
  std::vector<std::unique_ptr<std::byte[]>> arena_;
};

[[maybe_unused]] const bool registered = conformance::add(std::make_unique<CpuUnderTest>());

}  // namespace cpu_conformance
