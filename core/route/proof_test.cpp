// SPDX-License-Identifier: Apache-2.0
// The alias test over fake contexts: edges that share or only claim to, images, and memory with small alignment.
#include <tenon/core/host_edge.hpp>
#include <tenon/core/proof.hpp>
#include <tenon/core/router.hpp>

#include <tenon/core/testing/router_fixture.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

namespace proof_test {

using namespace tenon_test;
using ProofTest = RouterTest;

TEST_F(ProofTest, TellsSharingFromLying) {
  edge(kCpuMemory, kA, Behaviour::kShares);
  edge(kCpuMemory, kB, Behaviour::kLies);
  edge(kCpuMemory, kC, Behaviour::kCopies);
  EXPECT_EQ(prove(router, cpu, a).proof, Proof::kProved);
  const ProofResult lie = prove(router, cpu, b);
  EXPECT_EQ(lie.proof, Proof::kCopies);
  EXPECT_THAT(lie.reason, HasSubstr("did not reach"));
  EXPECT_EQ(prove(router, cpu, c).proof, Proof::kCopies);
  EXPECT_EQ(prove(router, a, c).proof, Proof::kRefused);
}

TEST_F(ProofTest, MapsAPictureWhereTensorsAreRefused) {
  class Pictures final : public Edge {
   public:
    explicit Pictures(bool copies) : copies_(copies) {}
    std::string_view name() const override { return "pictures"; }
    MemoryKind from() const override { return kCpuMemory; }
    MemoryKind to() const override { return kA; }
    Step step(const Description&, const Context&, Access) const override { return Refusal{"map a whole frame"}; }
    FrameStep step_frame(const FrameDescription& from, const Context& to, Access) const override {
      ReachedFrame reached{from, false, 5};
      reached.result.planes[0].context = to;
      reached.result.planes[0].kind = kA;
      return reached;
    }
    bool takes_single_planes() const override { return false; }
    Tensor map(const Tensor&, const Context&, const MapOptions&) const override { throw Error(Code::kInternal, "no"); }
    Frame map_frame(const Frame& source, const Context& to, const MapOptions& options) const override {
      Tensor plane = source.plane(0);
      if (copies_) plane = Tensor(plane.element_type(), plane.shape());  // Claims to share, but copies.
      Tensor mapped = host_view(plane, to, kA, options.access, nullptr);
      return source.with_planes(std::span(&mapped, 1));
    }

   private:
    bool copies_;
  };
  const Pictures honest(false), liar(true);
  const Edge* known = &honest;
  router.add(std::span(&known, 1));
  const ProofResult proof = prove(router, cpu, a);
  EXPECT_EQ(proof.proof, Proof::kProved) << proof.reason;
  EXPECT_EQ(proof.edges, std::vector<std::string>{"pictures"});
  Router other;
  other.add(cpu);
  other.add(a);
  known = &liar;
  other.add(std::span(&known, 1));
  EXPECT_EQ(prove(other, cpu, a).proof, Proof::kCopies);
  EXPECT_THAT(prove(router, cpu, a, 1000).reason, HasSubstr("map a whole frame")) << "no rows of 1024 bytes";
}

TEST_F(ProofTest, AsksForNoMoreThanTheSourceAligns) {
  edge(kCpuMemory, kA, Behaviour::kShares);
  std::vector<std::size_t> asked;
  const ProofResult proof = prove(router, cpu, a, 1 << 16, [&](const Requirements& wanted) -> Ref<Memory> {
    asked.push_back(wanted.alignment);
    if (wanted.alignment > 256) throw Error(Code::kUnimplemented, "aligned to 256 bytes");
    return host_context()->allocate(wanted);
  });
  EXPECT_EQ(proof.proof, Proof::kProved) << proof.reason;
  EXPECT_EQ(asked.front(), 4096u);
  EXPECT_EQ(asked.back(), 1u);
}

TEST_F(ProofTest, TriesOddPlacesAndMemoryThatComesAfter) {
  edge(kCpuMemory, kA, Behaviour::kLiesAtOffsets);
  edge(kCpuMemory, kB, Behaviour::kLiesLater);
  for (const Context& target : {a, b}) {
    const ProofResult lie = prove(router, cpu, target);
    EXPECT_EQ(lie.proof, Proof::kCopies) << target->name();
    EXPECT_THAT(lie.reason, HasSubstr("did not reach"));
  }
}

}  // namespace proof_test
