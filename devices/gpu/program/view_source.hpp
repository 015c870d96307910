// SPDX-License-Identifier: Apache-2.0
// Elements that lie in no plain memory: what kernels read by a macro.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tenon::inline v1::gpu_device {

class Kernel;

/// What stands behind a view without plain memory: an input that lies in images, at a pitch or in several tensors, or
/// something cheap that each reader computes for itself, as a picture's colours. Immutable.
class ViewSource {
 public:
  virtual ~ViewSource() = default;
  /// Gives a kernel what it reads, and the macro NAME(i): element i of the whole, counted as if it were packed.
  virtual void define(Kernel& kernel, const std::string& name) const = 0;
  /// Whether copying it into plain memory moves an application's bytes, and computes nothing.
  virtual bool is_input() const { return false; }
  /// Names and types of the nodes that readers compute by it.
  const std::vector<std::pair<std::string, std::string>>& nodes() const { return nodes_; }

 protected:
  ViewSource() = default;
  explicit ViewSource(std::vector<std::pair<std::string, std::string>> nodes) : nodes_(std::move(nodes)) {}

 private:
  std::vector<std::pair<std::string, std::string>> nodes_;
};
using ViewSourceRef = std::shared_ptr<const ViewSource>;

}  // namespace tenon::inline v1::gpu_device
