// SPDX-License-Identifier: Apache-2.0
// Element-wise functions that are cheap enough to compute again for every reader, and joins of them.
#pragma once

#include <cstddef>
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
  using Nodes = std::vector<std::pair<std::string, std::string>>;
  /// @param shape  The shape that all loads of the tree have.
  TreeSource(ExpressionRef root, Shape shape, std::vector<std::pair<std::string, std::string>> nodes)
      : ViewSource(std::move(nodes)), root_(std::move(root)), shape_(std::move(shape)) {}
  /// Few functions of pictures in bytes, and of short lists.
  static bool is_cheap(const Expression& root);
  void define(Kernel& kernel, const std::string& name) const override;
  /// What it makes reals of bytes of, and nothing else; null for any other tree.
  const View* converted() const;
  /// The view whose elements it is, as they are, in another shape; null for any other tree.
  const View* reshaped() const { return root_->view(); }

 private:
  ExpressionRef root_;
  Shape shape_;
};

/// Trees side by side along an axis, of which each reader computes the one that it needs: the halves that a rotation swaps.
class JoinedSource final : public ViewSource {
 public:
  struct Part {
    ExpressionRef root;
    Shape shape;
  };
  JoinedSource(std::vector<Part> parts, std::size_t axis, std::vector<std::pair<std::string, std::string>> nodes)
      : ViewSource(std::move(nodes)), parts_(std::move(parts)), axis_(axis) {}
  void define(Kernel& kernel, const std::string& name) const override;

 private:
  std::vector<Part> parts_;
  std::size_t axis_;
};

}  // namespace tenon::inline v1::gpu_device
