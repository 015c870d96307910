// SPDX-License-Identifier: Apache-2.0
// Element-wise functions that are cheap enough to compute again for every reader.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tenon/core/shape.hpp>
#include <tenon/devices/gpu/program/expression.hpp>
#include <tenon/devices/gpu/program/view_source.hpp>

namespace tenon::inline v1::gpu_device {

/// A tree, each element where a reader wants it: a resize reads pixels that are converted and normalised.
class TreeSource final : public ViewSource {
 public:
  /// @param shape  Of the loads, all of them.
  TreeSource(ExpressionRef root, Shape shape, std::vector<std::pair<std::string, std::string>> nodes)
      : ViewSource(std::move(nodes)), root_(std::move(root)), shape_(std::move(shape)) {}
  /// Few functions of pictures in bytes, and of short lists.
  static bool is_cheap(const Expression& root);
  void define(Kernel& kernel, const std::string& name) const override;
  /// What it makes reals of bytes of, and nothing else; null for any other tree.
  const View* converted() const;

 private:
  ExpressionRef root_;
  Shape shape_;
};

}  // namespace tenon::inline v1::gpu_device
