// SPDX-License-Identifier: Apache-2.0
// Where frames come from, for elements that ask.
#pragma once

#include <cstdint>
#include <string>

#include <tenon/elements/internal/lane.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace detail {

/// Whether an element that gets frames of the node wants to know where they come from.
bool origin_is_wanted(const Node& source, std::uint32_t stream);
/// Whether branches of the stream meet again behind the node.
bool branches_meet_behind(const Node& source, std::uint32_t stream);
/// Adds the source, the number and the time of the frame to its metadata.
void add_origin(Message& frame, const std::string& source, std::uint64_t number);

}  // namespace detail
}  // namespace elements
}  // namespace v1
}  // namespace tenon
