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

[[noreturn]] void refuse(const std::string& maker, const std::vector<NodeRequirements>& nodes, std::size_t last,
                         const Refusal& refusal) {
  for (std::size_t i = 0; i < last; ++i) {
    const auto pair = nodes[i].wanted.join(nodes[last].wanted);
    if (const auto* reason = std::get_if<Refusal>(&pair))
      throw Error(Code::kFailedPrecondition, in_quotes(nodes[i].node) + " and " + in_quotes(nodes[last].node) +
                                                 " cannot share frames of " + in_quotes(maker) + ": " + reason->reason);
  }
  throw Error(Code::kFailedPrecondition, in_quotes(nodes[last].node) + " cannot share frames of " + in_quotes(maker) +
                                             " with the others: " + refusal.reason);
}

}  // namespace

Negotiation negotiate(const std::string& maker, const std::vector<NodeRequirements>& nodes) {
  Negotiation negotiated;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto joined = negotiated.joined.join(nodes[i].wanted);
    if (const auto* refusal = std::get_if<Refusal>(&joined)) refuse(maker, nodes, i, *refusal);
    negotiated.joined = std::get<Requirements>(joined);
    if (!nodes[i].used_in && !nodes[i].wanted.host_access && takes_any_memory(nodes[i].wanted)) continue;
    negotiated.readers.push_back(
        {nodes[i].used_in ? nodes[i].used_in : host_context(), nodes[i].wanted, Access::kRead});
    negotiated.names.push_back(nodes[i].node);
  }
  return negotiated;
}

std::string not_shared(const std::string& maker, const std::vector<std::string>& readers, const NoMemory& error) {
  std::string nodes;
  for (const std::size_t index : error.readers())
    if (index < readers.size()) nodes += (nodes.empty() ? "" : " and ") + in_quotes(readers[index]);
  const bool are_several = error.readers().size() != 1;
  if (nodes.empty()) nodes = "the nodes that it feeds";
  return nodes + (are_several ? " cannot share" : " cannot use") + " frames of " + in_quotes(maker) + ": " +
         error.what();
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
