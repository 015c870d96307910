// SPDX-License-Identifier: Apache-2.0
// Alias tests: tell whether a route truly shares memory on this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/router.hpp>

namespace tenon {
inline namespace v1 {

enum class Proof : std::uint8_t { kProved, kClaimed, kCopies, kRefused };
/// "proved", "claimed", "copies", "refused", as printed by matrix and reports.
TENON_API std::string_view name(Proof proof);

/// Result between two contexts, with the median cost of a first and of a repeated map, ns.
struct ProofResult {
  Proof proof = Proof::kRefused;
  std::string reason;  ///< Reason of a refusal, claim or copy; empty when proved.
  double first_ns = 0;
  double repeat_ns = 0;
  std::vector<std::string> edges;  ///< Names of the hops taken.
};

/// Allocates `size_bytes` in `from`, maps them to `to`, writes a pattern through one side and reads it through the
/// other: in both directions where access allows, over the whole buffer, for regions at odd offsets, when mapped again, and for memory
/// allocated after the first was freed. Sharing
/// that passes is proved. Sharing that an API claims but that cannot be tested (no allocation, no host access) is
/// claimed. Sharing that fails the test counts as a copy, whatever its API says. Never throws for a refusal; a native
/// failure becomes kRefused with its text.
/// If no tensor can be mapped, a grey image over the same bytes is mapped instead.
/// @param allocate  Makes the memory in `from`; empty: from->allocate(). If `to` needs a descriptor to share
/// (to->requirements().fd), it is called with that first, and without on kUnimplemented or kUnavailable; likewise with
/// whole pages first.
TENON_API ProofResult prove(const Router& router, const Context& from, const Context& to,
                            std::size_t size_bytes = 1 << 20,
                            const std::function<Ref<Memory>(const Requirements&)>& allocate = {});

}  // namespace v1
}  // namespace tenon
