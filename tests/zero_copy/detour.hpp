// SPDX-License-Identifier: Apache-2.0
// The deliberate copy: a context that shares with nobody, so that every way through it must be seen by all witnesses.
#pragma once

#include <tenon/core/edge.hpp>
#include <tenon/core/host.hpp>

namespace zero_copy {

inline constexpr tenon::MemoryKind kDetour{"test.detour"};

class DetourMemory final : public tenon::Memory {
 public:
  DetourMemory(tenon::Context context, tenon::Ref<tenon::HostMemory> bytes)
      : Memory(std::move(context), kDetour, {bytes->size_bytes(), bytes->host(), false, tenon::FdKind::kNone, 0, {}}),
        bytes_(std::move(bytes)) {}
  ~DetourMemory() override { drop_views(); }

 private:
  tenon::Ref<tenon::HostMemory> bytes_;
};

class CpuToDetour final : public tenon::Edge {
 public:
  std::string_view name() const override { return "cpu->test.detour"; }
  tenon::MemoryKind from() const override { return tenon::kCpuMemory; }
  tenon::MemoryKind to() const override { return kDetour; }
  tenon::Step step(const tenon::Description& from, const tenon::Context& to, tenon::Access) const override {
    tenon::Reached reached{from, true, 100, 1};
    reached.result.context = to;
    reached.result.kind = kDetour;
    return reached;
  }
  tenon::Tensor map(const tenon::Tensor& source, const tenon::Context& to, const tenon::MapOptions&) const override {
    tenon::Tensor bytes(source.element_type(), source.shape());
    source.copy_to(bytes);
    auto memory = tenon::make_ref<DetourMemory>(
        to, tenon::Ref<tenon::HostMemory>(dynamic_cast<tenon::HostMemory*>(bytes.memory().get())));
    return tenon::Tensor({source.element_type(), source.shape(), {}}, memory);
  }
};

class DetourToCpu final : public tenon::Edge {
 public:
  std::string_view name() const override { return "test.detour->cpu"; }
  tenon::MemoryKind from() const override { return kDetour; }
  tenon::MemoryKind to() const override { return tenon::kCpuMemory; }
  tenon::Step step(const tenon::Description& from, const tenon::Context& to, tenon::Access) const override {
    tenon::Reached reached{from, false, 100, 0};
    reached.result.context = to;
    reached.result.kind = tenon::kCpuMemory;
    return reached;
  }
  tenon::Tensor map(const tenon::Tensor& source, const tenon::Context& to,
                    const tenon::MapOptions& options) const override {
    if (const tenon::View* view = source.memory()->find_view(*to, tenon::kCpuMemory, options.access))
      return source.through(view);
    auto view =
        std::make_unique<tenon::View>(to, tenon::kCpuMemory, tenon::Access::kReadWrite, source.memory()->host());
    return source.through(&source.memory()->add_view(std::move(view)));
  }
};

class DetourContext final : public tenon::ContextImpl {
 public:
  std::string_view name() const override { return "detour"; }
  tenon::MemoryKind kind() const override { return kDetour; }
  std::span<const tenon::Edge* const> edges() const override {
    static const CpuToDetour in;
    static const DetourToCpu out;
    static const tenon::Edge* const all[] = {&in, &out};
    return all;
  }
};

inline tenon::Context detour_context() { return tenon::Context(tenon::make_ref<DetourContext>()); }

}  // namespace zero_copy
