// SPDX-License-Identifier: Apache-2.0
// Joins axes, and writes the texts of indices.
#include <tenon/devices/gpu/program/indexing.hpp>

#include <numeric>

namespace tenon::inline v1::gpu_device {

std::size_t Walk::count() const {
  std::size_t count = 1;
  for (const std::int64_t extent : extents) count *= static_cast<std::size_t>(extent);
  return count;
}

Walk collapse(const Shape& shape, const std::vector<const View*>& views, const std::vector<std::size_t>& axes) {
  Walk walk;
  walk.strides.resize(views.size());
  for (const std::size_t axis : axes) {
    const auto extent = static_cast<std::int64_t>(shape[axis]);
    if (extent == 1) continue;
    const std::size_t last = walk.extents.size() - 1;
    bool joins = !walk.extents.empty();
    for (std::size_t i = 0; joins && i < views.size(); ++i)
      joins = walk.strides[i][last] == views[i]->strides[axis] * extent;
    if (joins) {
      walk.extents[last] *= extent;
      for (std::size_t i = 0; i < views.size(); ++i) walk.strides[i][last] = views[i]->strides[axis];
      continue;
    }
    walk.extents.push_back(extent);
    for (std::size_t i = 0; i < views.size(); ++i) walk.strides[i].push_back(views[i]->strides[axis]);
  }
  return walk;
}

Walk collapse(const Shape& shape, const std::vector<const View*>& views) {
  std::vector<std::size_t> all(shape.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return collapse(shape, views, all);
}

Coordinates take_apart(Kernel& kernel, const Walk& walk, const std::string& prefix, const std::string& linear) {
  Coordinates result;
  result.names.resize(walk.extents.size());
  std::string rest = linear;
  for (std::size_t axis = walk.extents.size(); axis-- > 0;) {
    const std::string name = prefix + std::to_string(axis);
    result.names[axis] = name;
    if (axis == 0) {
      result.lines += "const int " + name + " = " + rest + "; ";
      break;
    }
    const std::string extent = prefix + "E" + std::to_string(axis), left = prefix + "r" + std::to_string(axis);
    kernel.number(extent, walk.extents[axis]);
    result.lines +=
        "const int " + name + " = " + rest + " % " + extent + ", " + left + " = " + rest + " / " + extent + "; ";
    rest = left;
  }
  return result;
}

std::vector<std::string> coordinate_texts(Kernel& kernel, const Walk& walk, const std::string& prefix,
                                          const std::string& linear) {
  std::vector<std::string> texts(walk.extents.size());
  std::int64_t inner = 1;
  for (std::size_t axis = walk.extents.size(); axis-- > 0;) {
    std::string text = linear;
    if (inner != 1) {
      const std::string name = prefix + "P" + std::to_string(axis);
      kernel.number(name, inner);
      text += " / " + name;
    }
    if (axis > 0) {
      const std::string name = prefix + "E" + std::to_string(axis);
      kernel.number(name, walk.extents[axis]);
      text += " % " + name;
    }
    texts[axis] = "(" + text + ")";
    inner *= walk.extents[axis];
  }
  return texts;
}

std::string index_text(Kernel& kernel, const std::string& name, const Extents& strides,
                       const std::vector<std::string>& coordinates) {
  std::string text;
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    if (strides[axis] == 0) continue;
    if (!text.empty()) text += " + ";
    text += coordinates[axis];
    if (strides[axis] == 1) continue;
    const std::string stride = name + "_S" + std::to_string(axis);
    kernel.number(stride, strides[axis]);
    text += " * " + stride;
  }
  return text.empty() ? "0" : text;
}

}  // namespace tenon::inline v1::gpu_device
