// SPDX-License-Identifier: Apache-2.0
// Host memory through DLPack, for the conformance suite: imported from a counting producer, and exported and imported
// again.
#include <atomic>
#include <new>

#include <tenon/frameworks/dlpack/dlpack.hpp>

#include <tenon/tests/conformance/framework.hpp>

namespace dlpack_conformance {

using namespace tenon;

std::atomic<std::size_t> live{0};

/// A producer: one struct, its extents and its data, freed by the deleter.
struct Produced {
  dlpack::abi::DLManagedTensorVersioned managed{};
  std::int64_t shape = 0, stride = 1;
  void* data = nullptr;
};

class DlpackUnderTest final : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "dlpack"; }
  Context make_context() override { return host_context(); }
  std::vector<std::string> variants() const override { return {"imported", "imported_read_only", "round_trip"}; }

  conformance::Allocation make_memory(const Context&, std::string_view variant, const Requirements& wanted) override {
    if (variant == "round_trip") {
      const Tensor tensor(element::u8, {wanted.size_bytes});
      return {dlpack::import_tensor(dlpack::export_tensor(tensor)).memory(), {}};
    }
    auto* made = new Produced;
    made->shape = static_cast<std::int64_t>(wanted.size_bytes);
    made->data = ::operator new(wanted.size_bytes + 64, std::align_val_t(64));
    made->managed.version = {1, 2};
    made->managed.manager_ctx = made;
    made->managed.flags = variant == "imported_read_only" ? dlpack::abi::kFlagReadOnly : 0;
    made->managed.deleter = [](dlpack::abi::DLManagedTensorVersioned* self) {
      auto* produced = static_cast<Produced*>(self->manager_ctx);
      ::operator delete(produced->data, std::align_val_t(64));
      delete produced;
      --live;
    };
    made->managed.dl_tensor = {
        made->data, {dlpack::abi::kDLCPU, 0}, 1, {dlpack::abi::kDLUInt, 8, 1}, &made->shape, &made->stride, 0};
    ++live;
    return {dlpack::import_tensor(&made->managed).memory(), {}};
  }

  std::size_t live_objects() const override { return live; }
  std::vector<conformance::Exclusion> exclusions() const override {
    return {{"NativeFailure",
             "DLPack is a struct without functions; dlpack_test.cpp feeds every malformed struct instead"}};
  }
};

[[maybe_unused]] const bool registered = conformance::add(std::make_unique<DlpackUnderTest>());

}  // namespace dlpack_conformance
