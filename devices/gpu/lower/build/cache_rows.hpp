// SPDX-License-Identifier: Apache-2.0
// Operations of this device's own, which models do not have: rows of keys and values in fewer bits.
#pragma once

#include <cstddef>

#include <tenon/core/element_type.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::gpu_device {

/// What a cache of f32 in `type` is to the graph: kF16, or, for kU8, kI32. Four neighbours of a row share a word then, and two words
/// behind them are the bits of a scale and of a least number in f32: x is least + scale * number. A row with a number that
/// is not finite is NaN. A row is what lies along the last axis: what one head keeps of one position.
inline ElementType lying_type(ElementType type) { return type == ElementType::kU8 ? ElementType::kI32 : type; }
/// The words of such a row.
inline std::size_t row_words(std::size_t columns) { return (columns + 3) / 4 + 2; }

/// f32 as a cache of that type lies. @param type  kF16 or kU8. @param columns  The length of a row.
Output<Node> narrowed(const Output<Node>& rows, ElementType type, std::size_t columns);
/// The f32 that such rows stand for.
Output<Node> widened(const Output<Node>& lying, std::size_t columns);
/// What widened() was given, if a node is its; an empty output else.
Output<Node> lying_of(const Output<Node>& rows);

/// The rt_info of a parameter or result whose memory is always the device's own, so that it begins at a whole line.
inline constexpr const char* kOwnMemory = "tenon_own_memory";
/// That of both ports of a state that grows: along which axis. Where one plan has both, they lie in one memory with room for more along it
/// (planning::room_for() of the result's extent), and the plan writes new rows only; where it has no such parameter, the result lies so.
inline constexpr const char* kGrows = "tenon_grows";
/// That of a parameter whose integers are such rows: no numbers that may decide a shape.
inline constexpr const char* kRowBits = "tenon_row_bits";

}  // namespace tenon::inline v1::gpu_device
