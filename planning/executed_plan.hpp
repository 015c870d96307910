// SPDX-License-Identifier: Apache-2.0
// The steps of a plan as nodes of an executed model, joined as values flow through the plan's memory. For reports.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/graph/executed_model.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/partial_shape.hpp>
#include <tenon/planning/buffer_slices.hpp>

namespace tenon::inline v1::planning {

/// Bytes [begin, end) of a buffer.
struct ByteRange {
  std::size_t begin = 0, end = 0;
  bool overlaps(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};

/// Leaves the parts of `all` that lie outside of `taken`.
void subtract(std::vector<ByteRange>& all, const ByteRange& taken);

/// An output that lies row-major; its layout is "undef" where the rank is open.
exec_model_info::StepOutput packed_output(ElementType type, const PartialShape& shape);

/// The axes as they follow each other in memory, the one with the largest stride first.
template <typename Strides>
std::vector<std::size_t> axes_by_stride(const Strides& strides) {
  std::vector<std::size_t> axes(strides.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::stable_sort(axes.begin(), axes.end(), [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
  return axes;
}

/// The values of one plan, by the bytes where they lie, while its steps become nodes in the order of execution.
class ExecutedPlan {
 public:
  /// @param model  Gets the nodes; outlives this. @param buffers  How many the plan has; values lie in root buffers.
  ExecutedPlan(exec_model_info::ExecutedModel& model, std::size_t buffers) : model_(model), writes_(buffers) {}

  /// A step has written the value there. @param is_dense  It wrote each of these bytes.
  void write(BufferId buffer, const ByteRange& range, const Output<Node>& value, bool is_dense = true);
  /// Adds the values that lie in these bytes, each once, the oldest first. @return whether steps wrote all the bytes.
  bool add_sources(OutputVector& sources, BufferId buffer, const ByteRange& wanted) const;
  /// What the variable with that number holds before the run: a node of type ReadValue.
  Output<Node> state(std::size_t index, const std::string& id, ElementType type, const Shape& shape);
  /// The value of a result in which these values lie: a constant if there are none; if there are several, they are
  /// joined in place.
  /// @param type, name  Describe the node that joins them. @param port  The result's.
  Output<Node> result(const OutputVector& sources, const std::string& type, const std::string& name,
                      const std::string& port, const exec_model_info::StepOutput& as);

 private:
  struct Write {
    ByteRange range;
    Output<Node> value;
    bool is_dense = true;
  };

  exec_model_info::ExecutedModel& model_;
  std::vector<std::vector<Write>> writes_;  ///< For each buffer, in the order of the steps.
  std::map<std::size_t, Output<Node>> states_;
};

}  // namespace tenon::inline v1::planning
