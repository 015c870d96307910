// SPDX-License-Identifier: Apache-2.0
// What a plan consists of: buffers, and launches of kernels over places in them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/program/library.hpp>
#include <tenon/engine/plan/places.hpp>

namespace tenon::inline v1::gpu_device {

/// One argument of a kernel: memory and where in it, which are two arguments to OpenCL, or a number.
struct Argument {
  engine::Place place;            ///< None: `number` is the argument.
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
  std::vector<engine::Operand> operands;                   ///< For planning memory.
};

struct PlanPort {
  std::string name;
  ElementType type = ElementType::kUndefined;
  Shape shape;
  bool takes_pitch = false;  ///< All who read it take rows at any distance.
  std::size_t size_bytes() const { return checked_size_bytes(type, shape).value_or(0); }
};

struct PlanVariable {
  std::string id;
  ElementType type = ElementType::kUndefined;
  Shape shape;
  Tensor initial;  ///< Empty: zeros.
  bool is_assigned = false;
  std::size_t size_bytes() const { return checked_size_bytes(type, shape).value_or(0); }
};

/// A constant in the device's memory; it keeps the bytes that it was made of, by which others find it.
struct ConstantBuffer {
  Tensor bytes;
  client::Handle<cl_mem> buffer;
};

/// Immutable once made; shared by requests.
struct Plan {
  std::vector<PlanPort> inputs, outputs;
  std::vector<PlanVariable> variables;
  std::vector<engine::Buffer> buffers;  ///< All of them roots.
  std::vector<Launch> launches;
  std::vector<std::shared_ptr<const Program>> programs;            ///< Of each launch.
  std::vector<std::shared_ptr<const ConstantBuffer>> constants;    ///< Of each buffer; null for those that are none.
  std::vector<std::pair<std::string, std::string>> optimized_out;  ///< Nodes that no kernel computes: name and type.
  std::size_t arena_bytes = 0;
};

}  // namespace tenon::inline v1::gpu_device
