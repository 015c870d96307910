// SPDX-License-Identifier: Apache-2.0
// Negotiation of memory: joins what the consumers of an element's frames require, or names the two that exclude each other.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/router.hpp>
#include <tenon/elements/places.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// The requirements of one node on the frames.
struct NodeRequirements {
  std::string node;
  Requirements wanted;
  Context used_in;  ///< Where the node uses frames; null: on the host, or not at all.
};

/// The result for all nodes.
struct Negotiation {
  Requirements joined;
  std::vector<Party> readers;      ///< One for each node that said where it uses frames, or that has requirements.
  std::vector<std::string> names;  ///< The nodes' names, in the order of `readers`.
};

/// Joins the requirements of the nodes. @param maker  The name of the node that makes the frames.
/// @errors kFailedPrecondition: two nodes exclude each other; the message names their nodes.
Negotiation negotiate(const std::string& maker, const std::vector<NodeRequirements>& nodes);

/// A message that says which nodes cannot share memory, and why.
/// @param readers  Names of the readers that the maker was given, which `error` counts by index.
std::string not_shared(const std::string& maker, const std::vector<std::string>& readers, const NoMemory& error);

}  // namespace elements
}  // namespace v1
}  // namespace tenon
