// SPDX-License-Identifier: Apache-2.0
// The functions that each module exports to the test.
#pragma once

#include <tenon/core/context.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/tensor.hpp>

namespace dlopen_state {

inline constexpr tenon::MemoryKind kStateKind{"state"};

/// A framework class that every module compiles for itself, as those that link a framework do.
class StateContext final : public tenon::ContextImpl {
 public:
  explicit StateContext(const char* owner) : owner_(owner) {}
  std::string_view name() const override { return owner_; }
  tenon::MemoryKind kind() const override { return kStateKind; }
  const char* owner() const { return owner_; }

 private:
  const char* owner_;
};

/// For process_wide().
struct Shared {};

struct Module {
  const char* name;
  tenon::Ledger* (*process_ledger)();
  tenon::EdgeId (*edge_id)(const char* name);
  tenon::Context (*host)();
  tenon::Context (*make_context)();
  /// The owner of a StateContext that another module made; null if the cast fails.
  const char* (*owner_of)(const tenon::Context& context);
  void (*throw_error)();
  /// Whether a tenon::Error thrown by `body` was caught as one, with its code.
  bool (*catches)(void (*body)());
  tenon::Tensor (*make_tensor)(std::uint8_t value);
  std::uint64_t (*fresh_context_id)();
  Shared* (*shared)();
};

}  // namespace dlopen_state

extern "C" TENON_API const dlopen_state::Module* tenon_state_module();
