// SPDX-License-Identifier: Apache-2.0
// Fake contexts and edges, and a router that knows them.
#pragma once

#include <tenon/core/host.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/proof.hpp>
#include <tenon/core/router.hpp>
#include <tenon/core/view_count.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

namespace tenon_test {

using namespace tenon;
using ::testing::HasSubstr;

/// A context whose memory is host memory under another kind's name.
class FakeContext final : public ContextImpl {
 public:
  FakeContext(MemoryKind kind, Requirements wanted = {}) : kind_(kind), wanted_(wanted) {}
  std::string_view name() const override { return kind_.name(); }
  MemoryKind kind() const override { return kind_; }
  Requirements requirements() const override { return wanted_; }
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override {
    if (wanted.fd != FdKind::kNone) return Refusal{"it has no descriptors"};
    return Offer{std::max<std::size_t>(wanted.alignment, 64), FdKind::kNone, 0, true};
  }
  Ref<Memory> allocate(const Requirements& wanted) override;

 private:
  MemoryKind kind_;
  Requirements wanted_;
};

class FakeMemory final : public Memory {
 public:
  FakeMemory(Context context, Ref<HostMemory> block)
      : Memory(context, context->kind(), {block->size_bytes(), block->host(), false, FdKind::kNone, 0, {}}),
        block_(block) {}

 private:
  Ref<HostMemory> block_;
};

inline Ref<Memory> FakeContext::allocate(const Requirements& wanted) {
  return make_ref<FakeMemory>(Context(Ref<ContextImpl>(this)),
                              HostMemory::allocate(wanted.size_bytes, wanted.alignment));
}

/// An edge that shares, copies, lies (claims to share but copies) or refuses.
class FakeEdge final : public Edge {
 public:
  enum class Behaviour { kShares, kCopies, kLies, kLiesAtOffsets, kLiesLater, kRefuses, kSharesLarge };
  FakeEdge(MemoryKind from, MemoryKind to, Behaviour behaviour, double cost_ns = 10)
      : from_(from),
        to_(to),
        behaviour_(behaviour),
        cost_ns_(cost_ns),
        name_(std::string(from.name()) + "->" + std::string(to.name())) {}
  std::string_view name() const override { return name_; }
  MemoryKind from() const override { return from_; }
  MemoryKind to() const override { return to_; }
  Step step(const Description& from, const Context& to, Access) const override {
    if (behaviour_ == Behaviour::kRefuses) return Refusal{"the driver lacks cl_khr_example"};
    if (behaviour_ == Behaviour::kSharesLarge && from.memory_bytes < 2000) return Refusal{"the memory is small"};
    Reached reached{from, behaviour_ == Behaviour::kCopies, cost_ns_, behaviour_ == Behaviour::kCopies ? 0.1 : 0};
    reached.result.context = to;
    reached.result.kind = to_;
    return reached;
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    ++maps;
    const bool lies = behaviour_ == Behaviour::kLies ||
                      (behaviour_ == Behaviour::kLiesAtOffsets && source.offset() != 0) ||
                      (behaviour_ == Behaviour::kLiesLater &&
                       memories_.insert(source.memory()->identity().low).second && memories_.size() > 1);
    if (behaviour_ == Behaviour::kCopies || lies) {
      Requirements wanted;
      wanted.size_bytes = source.size_bytes();
      Tensor copy(TensorInfo{source.element_type(), source.shape(), {}}, to->allocate(wanted));
      source.copy_to(copy);
      return copy;
    }
    const View* view = source.memory()->find_view(*to, to_, options.access);
    if (!view) {
      auto made = std::make_unique<View>(to, to_, Access::kReadWrite, source.memory()->host());
      // Not standing for kLiesAtOffsets: then the router calls the edge for each region.
      if (behaviour_ != Behaviour::kLiesAtOffsets) made->set_standing(id());
      view = &source.memory()->add_view(std::move(made));
    }
    return source.through(view);
  }
  mutable std::atomic<int> maps{0};

 private:
  mutable std::set<std::uint64_t> memories_;
  MemoryKind from_, to_;
  Behaviour behaviour_;
  double cost_ns_;
  std::string name_;
};

inline constexpr MemoryKind kA{"a"}, kB{"b"}, kC{"c"};
using Behaviour = FakeEdge::Behaviour;

struct RouterTest : ::testing::Test {
  Context cpu = host_context();
  Context a{make_ref<FakeContext>(kA)}, b{make_ref<FakeContext>(kB)}, c{make_ref<FakeContext>(kC)};
  std::deque<FakeEdge> edges;
  Router router;
  Tensor source{element::u8, {1000}};

  FakeEdge& edge(MemoryKind from, MemoryKind to, Behaviour behaviour, double cost = 10) {
    edges.emplace_back(from, to, behaviour, cost);
    const Edge* pointer = &edges.back();
    router.add(std::span(&pointer, 1));
    return edges.back();
  }
  void SetUp() override {
    for (const Context& context : {cpu, a, b, c}) router.add(context);
  }
};

}  // namespace tenon_test
