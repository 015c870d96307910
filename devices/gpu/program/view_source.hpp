// SPDX-License-Identifier: Apache-2.0
// Elements that lie in no plain memory: what kernels read by a macro.
#pragma once

#include <cstddef>
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
  /// If not 0: the macro NAME_IN(r, i) is defined, too: element i of row r, rows of so many elements counted from the first.
  virtual std::size_t row() const { return 0; }
  /// Whether it stands for rows in memory, which attention reads where they lie. The macros NAME_LOAD8(i, to) and NAME_LOAD16(i) are
  /// defined then, too: 8 or 16 neighbours of a row from a multiple of these on, if the row's length is such a multiple.
  virtual bool has_rows() const { return false; }
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
/// Pictures [n, h, w, 3], of whose pixels all colours are had at once.
class PixelSource : public ViewSource {
 public:
  /// Gives a kernel the macro NAME(n, y, x), a float3.
  virtual void define_pixels(Kernel& kernel, const std::string& name) const = 0;
  std::size_t height() const { return height_; }
  std::size_t width() const { return width_; }

 protected:
  PixelSource(std::size_t height, std::size_t width, std::vector<std::pair<std::string, std::string>> nodes)
      : ViewSource(std::move(nodes)), height_(height), width_(width) {}

 private:
  std::size_t height_, width_;
};

using ViewSourceRef = std::shared_ptr<const ViewSource>;

}  // namespace tenon::inline v1::gpu_device
