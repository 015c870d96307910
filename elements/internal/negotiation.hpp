// SPDX-License-Identifier: Apache-2.0
// What those want who use the frames of one element, and whether they can agree.
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

struct Wish {
  std::string node;
  Requirements wanted;
  Context used_in;  ///< Null: on the host, or nowhere.
};

struct Negotiation {
  Requirements joined;
  std::vector<Party> readers;      ///< Who said where they use frames.
  std::vector<std::string> names;  ///< Of their nodes.
};

/// @param maker  The node that makes the frames. @errors kFailedPrecondition: two wishes that exclude each other, named.
Negotiation agree(const std::string& maker, const std::vector<Wish>& wishes);

/// Which nodes cannot share memory, and why. @param readers  Names of those that the maker was told.
std::string not_shared(const std::string& maker, const std::vector<std::string>& readers, const NoMemory& error);

}  // namespace elements
}  // namespace v1
}  // namespace tenon
