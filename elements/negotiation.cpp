// SPDX-License-Identifier: Apache-2.0
// Joins the requirements of several nodes, and names the nodes whose requirements exclude each other.
#include <tenon/elements/internal/negotiation.hpp>

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

Negotiation agree(const std::string& maker, const std::vector<Wish>& wishes) {
  Negotiation agreed;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    const auto joined = agreed.joined.join(wishes[i].wanted);
    if (const auto* refusal = std::get_if<Refusal>(&joined)) refuse(maker, wishes, i, *refusal);
    agreed.joined = std::get<Requirements>(joined);
    if (!wishes[i].used_in && !wishes[i].wanted.host_access && takes_any_memory(wishes[i].wanted)) continue;
    agreed.readers.push_back({wishes[i].used_in ? wishes[i].used_in : host_context(), wishes[i].wanted, Access::kRead});
    agreed.names.push_back(wishes[i].node);
  }
  return agreed;
}

std::string not_shared(const std::string& maker, const std::vector<std::string>& readers, const NoMemory& error) {
  std::string nodes;
  for (const std::size_t index : error.readers())
    if (index < readers.size()) nodes += (nodes.empty() ? "" : " and ") + in_quotes(readers[index]);
  const bool are_several = error.readers().size() != 1;
  if (nodes.empty()) nodes = "the nodes that it feeds";
  return nodes + (are_several ? " cannot share" : " cannot use") + " frames of " + in_quotes(maker) + ": " + error.what();
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
