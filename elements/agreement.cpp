// SPDX-License-Identifier: Apache-2.0
// Joins wishes, and says who is in whose way.
#include <tenon/elements/internal/agreement.hpp>

#include <variant>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/elements/internal/text.hpp>
#include <tenon/elements/places.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

[[noreturn]] void refuse(const std::string& maker, const std::vector<Wish>& wishes, std::size_t last,
                         const Refusal& refusal) {
  for (std::size_t i = 0; i < last; ++i) {
    const auto pair = wishes[i].wanted.join(wishes[last].wanted);
    if (const auto* reason = std::get_if<Refusal>(&pair))
      throw Error(Code::kFailedPrecondition, in_quotes(wishes[i].node) + " and " + in_quotes(wishes[last].node) +
                                                 " cannot share frames of " + in_quotes(maker) + ": " + reason->reason);
  }
  throw Error(Code::kFailedPrecondition, in_quotes(wishes[last].node) + " cannot share frames of " + in_quotes(maker) +
                                             " with the others: " + refusal.reason);
}

}  // namespace

Agreement agree(const std::string& maker, const std::vector<Wish>& wishes) {
  Agreement agreed;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    const auto joined = agreed.joined.join(wishes[i].wanted);
    if (const auto* refusal = std::get_if<Refusal>(&joined)) refuse(maker, wishes, i, *refusal);
    agreed.joined = std::get<Requirements>(joined);
    if (wishes[i].used_in || wishes[i].wanted.host_access || !takes_any_memory(wishes[i].wanted))
      agreed.readers.push_back(
          {wishes[i].used_in ? wishes[i].used_in : host_context(), wishes[i].wanted, Access::kRead});
  }
  return agreed;
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
