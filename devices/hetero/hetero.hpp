// SPDX-License-Identifier: Apache-2.0
// HETERO: one model over several devices. Assigns nodes to devices, partitions the model, and runs the parts in order
// on shared tensors.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/partial_shape.hpp>
#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/device/device_host.hpp>
#include <tenon/runtime/device/property_table.hpp>

namespace tenon::inline v1::hetero {

inline constexpr const char* kName = "HETERO";

/// A tensor used outside the part that computes it, or an input or state.
using ValueId = std::size_t;
inline constexpr ValueId kNoValue = ~ValueId{0};

/// Nodes that run on one device without another device in between.
struct Part {
  std::string device;
  std::shared_ptr<Model> model;
  std::vector<ValueId> inputs, outputs;  ///< For its parameters and results, in order.
};

/// A variable: a value passed from one inference to the next. The parts see a plain input and a plain output.
struct Variable {
  std::string id;
  element::Type type;
  PartialShape shape;
  ValueId before = kNoValue, after = kNoValue;
};

struct Partition {
  std::vector<Part> parts;  ///< Each after the parts that it reads from.
  std::size_t value_count = 0;
  std::vector<ValueId> inputs, outputs;  ///< Inputs and outputs of the whole model.
  std::map<ValueId, Tensor> constants;   ///< Known values that no part computes.
  std::vector<Variable> variables;
  std::shared_ptr<Model> initialiser;    ///< Computes initial values of the variables that have an expression...
  std::vector<std::size_t> initialised;  ///< ...with these indices.
};

/// Node to device, by address.
using Assignment = std::map<const Node*, std::string>;

/// Assigns each node to the first device that supports it; rt_info "affinity" on a node takes precedence.
/// @errors kUnimplemented with all unsupported nodes (not thrown if `partial`).
Assignment assign(const DeviceHost& host, const std::shared_ptr<const Model>& model,
                  const std::vector<std::string>& devices, const AnyMap& properties, bool partial);

/// Cuts a model into parts at changes of device only; parts have no cyclic dependencies and share the
/// model's constants' memory.
Partition cut(const Model& model, const Assignment& assignment);

class CompiledModel final : public CompiledModelImpl, public std::enable_shared_from_this<CompiledModel> {
 public:
  struct Compiled {
    tenon::CompiledModel model;
    std::shared_ptr<CompiledModelImpl> impl;
  };
  /// @param described  null for imported models.
  CompiledModel(Ports ports, std::string name, Partition partition, std::vector<Compiled> parts,
                std::shared_ptr<const Model> described);

  std::unique_ptr<InferRequestImpl> create_request() override;
  std::size_t stream_count() const override { return streams_; }
  std::optional<Refusal> refuses_input(std::size_t index, const Tensor& tensor) const override;
  Requirements requirements() const override;
  Any get_property(const std::string& name) const override { return table_.get(name); }
  /// The model, with each node's device as rt_info "affinity".
  std::shared_ptr<const Model> runtime_model() const override;
  /// @errors kUnimplemented: a member cannot export.
  void export_model(std::ostream& stream) const override;

  const Partition& partition() const { return partition_; }
  const std::vector<Compiled>& parts() const { return parts_; }

 private:
  std::string name_;
  Partition partition_;
  std::vector<Compiled> parts_;
  std::shared_ptr<const Model> described_;
  std::size_t streams_ = 1;
  PropertyTable table_{"compiled model of HETERO"};
};

/// The data that export_model() wrote; blobs are in the order of the partition's parts, whose models are null. @errors
/// kDataLoss: truncated or damaged; kInvalidArgument: not such a blob.
struct Imported {
  Ports ports;
  std::string name;
  Partition partition;
  std::vector<std::string> blobs;
};
Imported read_blob(const Tensor& bytes);

}  // namespace tenon::inline v1::hetero
