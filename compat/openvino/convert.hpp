// SPDX-License-Identifier: Apache-2.0
// The same values in ov and in Tenon, and exceptions on their way from one to the other.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <openvino/core/any.hpp>
#include <openvino/core/coordinate.hpp>
#include <openvino/core/extension.hpp>
#include <openvino/core/layout.hpp>
#include <openvino/core/model.hpp>
#include <openvino/core/node.hpp>
#include <openvino/core/partial_shape.hpp>
#include <openvino/runtime/remote_context.hpp>
#include <openvino/runtime/tensor.hpp>

#include <tenon/core/any.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/layout.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/partial_shape.hpp>
#include <tenon/runtime/remote_context.hpp>

namespace ov {
namespace detail {
element::Type from(tenon::ElementType type);
}

/// Members that stand for an object of Tenon's.
class ITensor {
 public:
  explicit ITensor(tenon::Tensor&& from, std::shared_ptr<void> held = {});
  /// The tensor that a call makes, in its place: moving one costs more than the rest of a short call.
  template <typename Make, typename = decltype(std::declval<Make&>()())>
  explicit ITensor(Make&& make) : tensor(make()), type(detail::from(tensor.element_type())) {}
  ~ITensor() { delete shape_.load(); }
  ITensor(const ITensor&) = delete;
  ITensor& operator=(const ITensor&) = delete;
  /// References to shape() stay valid, and follow.
  void set(tenon::Tensor from);
  const Shape& shape() const;
  std::shared_ptr<void> owner;  ///< Released after the tensor.
  tenon::Tensor tensor;
  element::Type type;
  std::optional<tenon::Tensor> region;   ///< The whole of a view whose rows lie apart, once it is smaller.
  unsigned changes = 0;                  ///< Calls of set_shape: a request that has the tensor takes the new shape.
  std::shared_ptr<Allocator> allocator;  ///< The program's, which gives more memory where a new shape needs it.
  bool read_only = false;

 private:
  mutable std::atomic<Shape*> shape_{nullptr};  ///< Made when it is asked for: most tensors only pass through.
};
class IRemoteContext {
 public:
  tenon::RemoteContext context;
};
struct Layout::Impl {
  tenon::Layout layout;
};
struct descriptor::Tensor::Impl {
  std::shared_ptr<tenon::descriptor::Tensor> tensor;
  element::Type type;
  PartialShape partial_shape;
  Shape shape;
  std::string any_name;
  RTMap rt_info;
  bool rt_read = false;
  /// Bounds of values: what a program said, and what was found out.
  ov::Tensor lower, upper, found_lower, found_upper;
};
struct Node::Impl {
  explicit Impl(std::shared_ptr<tenon::Node> from) : node(std::move(from)) {}
  ~Impl();
  /// From now on it stands for another node, which gets the name and what the program wrote.
  void change(std::shared_ptr<tenon::Node> to);
  std::shared_ptr<tenon::Node> node;
  Node* wrapper = nullptr;
  /// The row of a node that was made without inputs: it becomes whole when types and shapes are inferred.
  const tenon::Operation* unfinished = nullptr;
  /// What feeds the node, so that pointers to it are valid as long as the node, as in OpenVINO.
  mutable std::vector<std::shared_ptr<Node>> kept;
  mutable std::vector<std::shared_ptr<descriptor::Tensor>> tensors;
  RTMap rt_info;
  bool rt_read = false;
  NodeVector control_dependencies;
  std::vector<Node*> control_dependents;
  std::map<std::size_t, RTMap> inputs_rt_info;
};
struct Model::Impl {
  std::shared_ptr<tenon::Model> model;
  ParameterVector parameters;
  ResultVector results;
  SinkVector sinks;
  op::util::VariableVector added_variables, variables;
  Model::topological_sort_t sorter;
  RTMap rt_info;
  bool rt_read = false;
};

namespace detail {

/// Throws the exception of ov that stands for the current one.
[[noreturn]] void rethrow();
std::exception_ptr translated(const std::exception_ptr& error);
/// Calls Tenon, and throws its errors as exceptions of ov.
template <typename F>
decltype(auto) guarded(F&& call) {
  try {
    return call();
  } catch (...) {
    rethrow();
  }
}

tenon::ElementType to(const element::Type& type);
element::Type from(tenon::ElementType type);
inline tenon::Shape to(const Shape& shape) { return tenon::Shape(shape.begin(), shape.end()); }
inline tenon::Shape to(const Coordinate& at) { return tenon::Shape(at.begin(), at.end()); }
inline Shape from(const tenon::Shape& shape) { return Shape(shape.begin(), shape.end()); }
tenon::Dimension to(const Dimension& dimension);
Dimension from(const tenon::Dimension& dimension);
tenon::PartialShape to(const PartialShape& shape);
PartialShape from(const tenon::PartialShape& shape);
inline const tenon::Layout& to(const Layout& layout) { return layout.impl().layout; }
Layout from(tenon::Layout layout);

/// @errors Exception: empty.
const tenon::Tensor& to(const Tensor& tensor);
Tensor from(tenon::Tensor&& tensor);
template <typename Make>
std::shared_ptr<ITensor> in_place(Make&& make) {
  return std::make_shared<ITensor>(std::forward<Make>(make));
}
inline Tensor from(const tenon::Tensor& tensor) { return from(tenon::Tensor(tensor)); }
tenon::Any to(const Any& value);
tenon::AnyMap to(const AnyMap& values);
Any from(const tenon::Any& value);
AnyMap from(const tenon::AnyMap& values);

/// The one wrapper of a node.
std::shared_ptr<Node> from(const std::shared_ptr<tenon::Node>& node);
inline Output<Node> from(const tenon::Output<tenon::Node>& port) {
  return {from(port.get_node_shared_ptr()), port.get_index()};
}
Output<const Node> from(const tenon::Output<const tenon::Node>& port);
tenon::Output<tenon::Node> to(const Output<Node>& port);
tenon::Output<const tenon::Node> to(const Output<const Node>& port);
tenon::OutputVector to(const OutputVector& ports);
/// The private half of a new node's class.
std::shared_ptr<Node::Impl> made(std::shared_ptr<tenon::Node> node, const OutputVector& inputs = {});
/// An object of the class of the node's operation; of Node itself where ov has none.
std::shared_ptr<Node> typed(const std::shared_ptr<Node::Impl>& impl);
std::shared_ptr<Model> from(std::shared_ptr<tenon::Model> model);
/// The model, with what the program wrote to its rt_info. @errors Exception: null.
const std::shared_ptr<tenon::Model>& model_of(const std::shared_ptr<const Model>& model);
/// Writes what the program wrote to the rt_info of a model and its nodes.
void store_rt_info(const Model& model);
/// Reads a model's lists and rt_info again, after Tenon changed it.
void read_again(const Model& model);

/// Refuses extensions. @errors NotImplemented, always.
[[noreturn]] void refuse_extension(const std::shared_ptr<Extension>& extension);
[[noreturn]] void refuse_extension(const std::filesystem::path& library);

/// One lock for what is made on first use: wrappers, cached shapes.
std::recursive_mutex& wrappers_mutex();

}  // namespace detail
}  // namespace ov
