// SPDX-License-Identifier: Apache-2.0
// The element-wise nodes of a chain as post-ops of its anchor's kernel (convolution, matrix product...).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/engine/lower/build/activation.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/plan/descriptions.hpp>
#include <tenon/engine/plan/plan.hpp>
#include <tenon/engine/plan/planning.hpp>
#include <tenon/engine/plan/shared_primitives.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

/// The post-ops of a chain: described first, and given their places once a kernel was found.
class PostOps {
 public:
  /// @param begin  Index of the first node that the caller has not handled in another way (as its bias).
  PostOps(PlanBuilder& builder, const Chain& chain, std::size_t begin)
      : builder_(builder), chain_(chain), begin_(begin) {}

  /// Describes the post-ops for a result of `shape` in layout `desc`. If the kernel works on other dims than the
  /// graph's (a folded matrix product), `dims` are those; the element order is the same. @return false: cannot be
  /// expressed.
  bool describe(const Shape& shape, const md& desc, dnnl::primitive_attr& attributes);
  /// The numbers that the result is rounded to if its layout has 8 bits, as the chain's last node says.
  std::optional<Quantization> quantization() const;
  /// Place of the result: that of the summed tensor if there is one, else a fresh one; defines the value of the last
  /// node. Adds the reorders that operands need, so call it before the kernel's own step is added.
  BufferSlice define_result(const md& desc);
  /// Adds the arguments of binary post-ops.
  void add_arguments(PrimitiveStep& step);
  /// What describe() asked for, for the kernel's key.
  const KernelKey& words() const { return words_; }
  /// "+relu+sum", for the kernel's name.
  const std::string& name() const { return name_; }

 private:
  struct Binary {
    int argument;
    Value* value;
    md desc;        ///< In the kernel's dims.
    md value_desc;  ///< In the value's own dims.
    BufferSlice place;
  };
  bool may_sum(Value& other, std::size_t at);
  PlanBuilder& builder_;
  const Chain& chain_;
  std::size_t begin_;
  std::vector<Binary> binaries_;
  KernelKey words_;
  Value* sum_ = nullptr;
  std::string name_;
};

/// Whether the node is a batch normalization per channel of axis 1, with all parameters constant.
bool is_batch_norm(PlanBuilder& builder, const std::shared_ptr<Node>& node);
/// The operand of `node` that is not `previous`'s output.
std::size_t other_operand(const std::shared_ptr<Node>& node, const std::shared_ptr<Node>& previous);
/// The values that a constant operand of `node` (the one that is not `previous`) has along axis `axis` of `shape`, if
/// it varies along that axis alone or not at all. @return nothing if there is no such operand.
std::optional<std::vector<float>> axis_constant(PlanBuilder& builder, const std::shared_ptr<Node>& node,
                                                const std::shared_ptr<Node>& previous, const Shape& shape,
                                                std::size_t axis);
/// The same as a flat tensor; empty if there is none.
Tensor axis_tensor(PlanBuilder& builder, const std::shared_ptr<Node>& node, const std::shared_ptr<Node>& previous,
                   const Shape& shape, std::size_t axis);
/// The same if the node is an Add: a bias.
Tensor bias_of(PlanBuilder& builder, const std::shared_ptr<Node>& node, const std::shared_ptr<Node>& previous,
               const Shape& shape, std::size_t axis);

/// y = scale * x + shift per channel: the leading nodes of a chain that a convolution can absorb into its weights, or only
/// those that add.
struct ChannelAffine {
  std::vector<float> scale, shift;
  bool has_scale = false, has_shift = false;
  std::size_t end = 1;  ///< First node that is not part of it.
};
ChannelAffine channel_affine(PlanBuilder& builder, const Chain& chain, const Shape& shape, bool with_scales = true);

}  // namespace tenon::inline v1::engine
