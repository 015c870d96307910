// SPDX-License-Identifier: Apache-2.0
// A kernel with its arguments, as a plan has it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/program/expression.hpp>
#include <tenon/devices/gpu/program/library.hpp>
#include <tenon/planning/buffer_slices.hpp>

namespace tenon::inline v1::gpu_device {

/// One argument of a kernel: memory and where in it, which are two arguments to OpenCL, or a number.
struct Argument {
  planning::BufferSlice place;    ///< None: `number` is the argument.
  std::size_t element_bytes = 1;  ///< The place's offset is given to the kernel in elements.
  std::int32_t number = 0;
  /// One argument only: how far the rows at `place` are apart, in elements; `number` unless a tensor is bound.
  bool is_pitch = false;
};

/// One kernel over a range of work-items.
struct Launch {
  std::shared_ptr<const KernelText> kernel;
  std::vector<Argument> arguments;
  std::array<std::size_t, 3> global{1, 1, 1};
  std::array<std::size_t, 3> local{0, 0, 0};  ///< 0: the driver chooses.
  std::uint32_t dimensions = 1;
  std::string node_name, node_type;                        ///< The node that it computes, for profiles.
  std::vector<std::pair<std::string, std::string>> fused;  ///< Others that it computes, too: name and type.
  std::vector<planning::Operand> operands;                 ///< For planning memory.
  std::vector<View> views;  ///< How each operand lies; kUndefined: the kernel's own memory. For reports.
  std::optional<std::uint64_t> multiply_adds;  ///< How many a product or convolution has; for reports.
  /// The same with the same arguments, by a kernel that needs more local memory than OpenCL lends a group; null: as this one.
  std::shared_ptr<const Launch> for_twin;
  std::size_t local_bytes = 0;  ///< That memory.
};

/// What the device's twin runs for a launch.
inline const Launch& of_twin(const Launch& launch) { return launch.for_twin ? *launch.for_twin : launch; }

}  // namespace tenon::inline v1::gpu_device
