// SPDX-License-Identifier: Apache-2.0
// How axes move between two layouts: the basis of layout conversions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/graph/dimension.hpp>
#include <tenon/graph/layout.hpp>
#include <tenon/graph/partial_shape.hpp>

namespace tenon {
inline namespace v1 {

/// All throw kInvalidArgument if the two layouts do not fit each other or the shape; messages name both.
struct TENON_API LayoutAxes {
  /// Layout of a tensor whose axis i was axis order[i]. @errors also for an order that is not a permutation.
  static Layout permuted(const Layout& layout, const std::vector<std::uint64_t>& order);
  /// The order for a Transpose from `from` to `to`; empty if nothing moves or one layout is empty.
  static std::vector<std::int64_t> order(const Layout& from, const PartialShape& shape, const Layout& to);
  /// Shape and layout of `from` without the axes that `to` lacks, for tensors with fewer axes.
  static std::pair<PartialShape, Layout> without_missing(const Layout& from, const PartialShape& shape,
                                                         const Layout& to);
  /// Layout of a tensor of layout `from` with the axes that only `to` has added in front, and their number.
  static std::pair<Layout, std::size_t> with_missing(const Layout& from, const Layout& to);
  /// Whether a tensor of this shape may have this layout.
  static bool fits(const Layout& layout, const PartialShape& shape);

 private:
  static Layout fixed(const Layout& layout, const Rank& rank);
};

}  // namespace v1
}  // namespace tenon
