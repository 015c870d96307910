// SPDX-License-Identifier: Apache-2.0
// Every edge, from every framework and variant of its source kind to every framework of its target kind, and what tests of one need.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/ledger.hpp>
#include <tenon/core/router.hpp>

#include <tenon/tests/conformance/suite.hpp>

namespace tenon::conformance {

struct EdgeCase {
  const Edge* edge;
  FrameworkUnderTest* from;
  std::string variant;
  FrameworkUnderTest* to;
};

inline void PrintTo(const EdgeCase& param, std::ostream* out) {
  *out << param.edge->name() << " from " << param.from->name() << '/' << param.variant;
}

/// A tensor as the framework makes it. Host memory that happens to begin at a page would be taken by edges that refuse
/// such memory otherwise: then another one is made while the first is held. Memory that always does stays so.
inline Tensor usual_tensor(FrameworkUnderTest& framework, const Context& context, const std::string& variant,
                           const TensorInfo& info) {
  constexpr std::size_t kPage = 4096;
  Tensor made = framework.make_tensor(context, variant, info);
  std::vector<Tensor> by_chance;
  while (made && describe(made).alignment >= kPage && by_chance.size() < 4) {
    by_chance.push_back(std::move(made));
    made = framework.make_tensor(context, variant, info);
  }
  return made;
}

/// Empty where it cannot be made: then the edge's tests say why. Here, before the tests, an error would end the process.
inline Tensor sample_of(FrameworkUnderTest& framework, const Context& context, const std::string& variant) {
  try {
    return usual_tensor(framework, context, variant, {element::f32, {64, 64}, {}});
  } catch (const Error&) {
    return {};
  }
}

/// Every edge with every source and target that fits it: those that can take a plain tensor, and those that refuse it.
struct EdgeCases {
  std::vector<EdgeCase> open, refused;
};
inline const EdgeCases& edge_cases() {
  static const EdgeCases found = [] {
    struct Known {
      FrameworkUnderTest* framework;
      Context context;
      bool is_target;  ///< False if another framework has the same context: DLPack's is the host's.
    };
    std::vector<Known> known;
    std::map<std::string, const Edge*> edges;
    for (const auto& framework : all()) {
      try {
        const Context context = framework->make_context();
        const bool first =
            std::none_of(known.begin(), known.end(), [&](const Known& other) { return other.context == context; });
        known.push_back({framework.get(), context, first});
        for (const auto& some : {context->edges(), std::as_const(*framework).edges()})
          for (const Edge* edge : some) edges.emplace(edge->name(), edge);
      } catch (const Error&) {
        // Unavailable here: MemoryTest reports it.
      }
    }
    EdgeCases cases;
    for (const auto& [name, edge] : edges) {
      for (const Known& from : known) {
        for (const Known& to : known) {
          if (!(from.context->kind() == edge->from()) || !(to.context->kind() == edge->to()) || !to.is_target) continue;
          for (const std::string& variant : from.framework->variants()) {
            const Context source = from.framework->make_context();
            const Tensor sample = sample_of(*from.framework, source, variant);
            const bool refused = sample && std::holds_alternative<Refusal>(edge->step(
                                               describe(sample), to.framework->make_context(), Access::kRead));
            (refused ? cases.refused : cases.open).push_back({edge, from.framework, variant, to.framework});
          }
        }
      }
    }
    return cases;
  }();
  return found;
}

class EdgeFixture : public ::testing::TestWithParam<EdgeCase> {
 protected:
  void SetUp() override {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name(),
                      test = name.substr(0, name.find('/'));
    for (const FrameworkUnderTest* framework : {&from, &to}) {
      // Calls on the other side can still be made to fail.
      if (const std::string reason = excluded(*framework, test); !reason.empty() && test != "NativeFailure")
        GTEST_SKIP() << reason;
    }
    source_context = from.make_context();
    target = to.make_context();
    options.ledger = &ledger;
    options.access = Access::kRead;
    make({element::u8, {16}, {}});
    edge.id();
  }
  void TearDown() override {
    from.fail_native_call(0);
    to.fail_native_call(0);
  }

  Tensor make(const TensorInfo& info) { return usual_tensor(from, source_context, variant, info); }
  Tensor make() { return make({element::f32, {64, 64}, {}}); }

  /// A router that knows only this edge, so that its behaviour is this edge's.
  std::unique_ptr<Router> router() {
    auto made = std::make_unique<Router>();
    const Edge* pointer = &edge;
    made->add(std::span(&pointer, 1));
    return made;
  }
  Step judge(const Tensor& tensor, Access access = Access::kRead) {
    return edge.step(describe(tensor), target, access);
  }
  /// The step for an ordinary tensor; skips the tests of contents if the edge refuses it.
  std::optional<Reached> ordinary(Access access = Access::kRead) {
    const Tensor tensor = make();
    if (!tensor) return std::nullopt;
    const Step step = judge(tensor, access);
    if (const auto* reached = std::get_if<Reached>(&step)) return *reached;
    return std::nullopt;
  }
  LedgerEntry booked() {
    for (const LedgerEntry& entry : ledger.snapshot()) {
      if (entry.edge == edge.id()) return entry;
    }
    return {};
  }

  const Edge& edge = *GetParam().edge;
  FrameworkUnderTest& from = *GetParam().from;
  FrameworkUnderTest& to = *GetParam().to;
  const std::string variant = GetParam().variant;
  Context source_context, target;
  Ledger ledger;
  MapOptions options;
};

inline std::string case_name(const ::testing::TestParamInfo<EdgeCase>& info) {
  std::string name(info.param.edge->name());
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name + "_from_" + std::string(info.param.from->name()) + "_" + info.param.variant + "_to_" +
         std::string(info.param.to->name());
}

}  // namespace tenon::conformance
