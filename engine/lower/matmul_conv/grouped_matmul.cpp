// SPDX-License-Identifier: Apache-2.0
// GroupedMatMul: consecutive rows by a matrix for each group of them, as in a mixture of experts. How many rows a group has is known only
// when the step runs: one step computes all groups, and products of real matrices are oneDNN's, which learns the number of rows then.

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <tenon/engine/lower/build/table.hpp>
#include <tenon/engine/lower/matmul_conv/weight_only.hpp>

namespace tenon::inline v1::engine {
namespace {

/// What a group's matrix is read from, and what that needs.
struct FewBits {
  kernels::WeightOnly problem;  ///< The problem of one row and one group.
  bool has_zero_points = false;
  float zero_point = 0;
  std::size_t groups_per_matrix() const { return problem.columns * problem.groups(); }
  std::size_t matrix_bytes() const { return problem.columns * problem.row_bytes(); }
};

/// Operands, in this order; those behind kScratchpad are there with weights of few bits only.
enum Operand : std::size_t { kRows, kEnds, kMatrices, kResult, kScratchpad, kScales, kScratch, kExpanded, kZeroPoints };

class GroupedStep final : public Step {
 public:
  std::unique_ptr<StepState> make_state() const override;

  dnnl::engine engine;
  std::shared_ptr<const MadeKernel> product;  ///< Null if weights of few bits are never expanded.
  std::string node;
  std::size_t rows = 0, groups = 0, columns = 0, depth = 0;
  ElementType type = ElementType::kF32;  ///< The type of the left side, and of the matrices unless they have few bits.
  bool are_ends_wide = false;
  std::optional<FewBits> few_bits;

  md left(std::int64_t count) const { return side(count, depth, type); }
  md result(std::int64_t count) const { return side(count, columns, ElementType::kF32); }
  md right() const {
    const auto k = static_cast<std::int64_t>(depth), n = static_cast<std::int64_t>(columns);
    return md({k, n}, data_type(type), dnnl::memory::dims{1, k});
  }
  /// The problem of a group of `count` rows, if the kernel for weights of few bits computes it.
  std::optional<kernels::WeightOnly> unexpanded(std::size_t count) const {
    if (!few_bits) return std::nullopt;
    kernels::WeightOnly problem = few_bits->problem;
    problem.rows = count;
    if (product && count > most_weight_only_rows(problem, false)) return std::nullopt;
    return problem;
  }

 private:
  static md side(std::int64_t count, std::size_t width, ElementType type) {
    const auto extent = static_cast<std::int64_t>(width);
    return md({count, extent}, data_type(type), dnnl::memory::dims{extent, 1});
  }
};

class GroupedState final : public StepState {
 public:
  explicit GroupedState(const GroupedStep& step) : step_(step) {
    if (!step.product) return;
    right_ = dnnl::memory(step.right(), step.engine, nullptr);
    scratchpad_ = dnnl::memory(step.product->descs.front(), step.engine, nullptr);
  }
  void rebind(std::span<void* const> pointers) override {
    pointers_.assign(pointers.begin(), pointers.end());
    if (scratchpad_) scratchpad_.set_data_handle(pointers_[kScratchpad]);
  }

  void run(const dnnl::stream& stream) override {
    auto* const result = static_cast<float*>(pointers_[kResult]);
    std::size_t begin = 0;
    for (std::size_t group = 0; group < step_.groups; ++group) {
      const std::size_t end = end_of(group, begin);
      if (end > begin) multiply(stream, group, begin, end - begin);
      begin = end;
    }
    std::fill(result + begin * step_.columns, result + step_.rows * step_.columns, 0.0f);
  }

 private:
  std::size_t end_of(std::size_t group, std::size_t begin) const {
    const std::int64_t end = step_.are_ends_wide ? static_cast<const std::int64_t*>(pointers_[kEnds])[group]
                                                 : static_cast<const std::int32_t*>(pointers_[kEnds])[group];
    if (end < static_cast<std::int64_t>(begin) || end > static_cast<std::int64_t>(step_.rows))
      throw Error(Code::kInvalidArgument, "CPU: " + step_.node + ": group " + std::to_string(group) + " ends at row " +
                                              std::to_string(end) + ", expected " + std::to_string(begin) + " to " +
                                              std::to_string(step_.rows));
    return static_cast<std::size_t>(end);
  }

  void multiply(const dnnl::stream& stream, std::size_t group, std::size_t begin, std::size_t count) {
    auto* const rows = static_cast<char*>(pointers_[kRows]) + begin * step_.depth * size_bytes(step_.type);
    auto* const result = static_cast<float*>(pointers_[kResult]) + begin * step_.columns;
    auto* const matrices = static_cast<char*>(pointers_[kMatrices]);
    if (!step_.few_bits) {
      const std::size_t matrix = step_.columns * step_.depth * size_bytes(step_.type);
      return multiply_reals(stream, rows, matrices + group * matrix, result, count);
    }
    const FewBits& few = *step_.few_bits;
    const std::size_t first = group * few.groups_per_matrix();
    kernels::WeightOnlyMatrix matrix{matrices + group * few.matrix_bytes(),
                                     static_cast<const float*>(pointers_[kScales]) + first, nullptr, few.zero_point};
    if (few.has_zero_points) matrix.zero_points = static_cast<const float*>(pointers_[kZeroPoints]) + first;
    if (const auto problem = step_.unexpanded(count))
      return multiply_weight_only(*problem, matrix, reinterpret_cast<const float*>(rows),
                                  static_cast<float*>(pointers_[kScratch]), result);
    auto* const expanded = static_cast<float*>(pointers_[kExpanded]);
    expand_weight_only(few.problem, matrix, 0, step_.columns, expanded);
    multiply_reals(stream, rows, expanded, result, count);
  }

  void multiply_reals(const dnnl::stream& stream, void* rows, void* matrix, void* result, std::size_t count) {
    auto found = sides_.find(count);
    if (found == sides_.end()) {
      // Once for each number of rows: the only part of a run that allocates.
      const auto extent = static_cast<std::int64_t>(count);
      found = sides_
                  .emplace(count, std::pair(dnnl::memory(step_.left(extent), step_.engine, nullptr),
                                            dnnl::memory(step_.result(extent), step_.engine, nullptr)))
                  .first;
    }
    auto& [left, made] = found->second;
    left.set_data_handle(rows);
    right_.set_data_handle(matrix);
    made.set_data_handle(result);
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, left.get()},
                                         {DNNL_ARG_WEIGHTS, right_.get()},
                                         {DNNL_ARG_DST, made.get()},
                                         {DNNL_ARG_SCRATCHPAD, scratchpad_.get()}};
    const auto status = dnnl_primitive_execute(step_.product->primitive.get(), stream.get(), 4, arguments);
    if (status != dnnl_success) throw Error(Code::kInternal, "a CPU kernel failed", "dnnl_primitive_execute", status);
  }

  const GroupedStep& step_;
  std::vector<void*> pointers_;
  dnnl::memory right_, scratchpad_;
  std::map<std::size_t, std::pair<dnnl::memory, dnnl::memory>> sides_;  ///< By the number of rows.
};

std::unique_ptr<StepState> GroupedStep::make_state() const { return std::make_unique<GroupedState>(*this); }

/// Finds the product of the step's type. @return false: oneDNN has none, or only its scalar code.
bool find_product(PlanBuilder& builder, GroupedStep& step) {
  const md left = step.left(DNNL_RUNTIME_DIM_VAL), right = step.right(), result = step.result(DNNL_RUNTIME_DIM_VAL);
  KernelKey key{PlanBuilder::key_of(dnnl::primitive::kind::matmul)};
  for (const md* desc : {&left, &right, &result}) append(key, *desc);
  step.product = builder.kernel(key, [&]() -> MadeKernel {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::primitive_desc pd(builder.engine(), left, right, result, attributes, true);
    if (!pd) return {};
    return {dnnl::matmul(pd), pd.impl_info_str(), {pd.scratchpad_desc()}};
  });
  if (*step.product && !is_slow(step.product->name.c_str())) return true;
  step.product = nullptr;
  return false;
}

/// A step without operands yet.
std::unique_ptr<GroupedStep> step_of(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  auto step = std::make_unique<GroupedStep>();
  const Shape left = node->get_input_shape(0), right = node->get_input_shape(1);
  step->engine = builder.engine();
  step->node = node->describe();
  step->groups = right[0], step->columns = right[1], step->depth = right[2];
  step->rows = element_count(left) / step->depth;
  return step;
}

/// The result's operand, and the memory that the product works in.
void add_result(PlanBuilder& builder, const std::shared_ptr<Node>& node, GroupedStep& step) {
  step.operands.push_back({builder.define_plain(builder.value(node->output(0))), true});
  const std::size_t bytes = step.product ? step.product->descs.front().get_size() : 0;
  step.operands.push_back({builder.scratch(std::max<std::size_t>(bytes, 1)), true});
}

/// The rows' and the ends' operands. Without an input of ends all groups have equally many rows.
void add_rows_and_ends(PlanBuilder& builder, const std::shared_ptr<Node>& node, GroupedStep& step) {
  Value& left = builder.input(node, 0);
  step.operands.push_back({builder.in_layout(left, plain_desc(step.type, left.shape)), false});
  if (node->get_input_size() > 2) {
    Value& ends = builder.input(node, 2);
    step.are_ends_wide = ends.type == ElementType::kI64;
    step.operands.push_back({builder.plain(ends), false});
    return;
  }
  Tensor ends(ElementType::kI64, Shape{step.groups});
  for (std::size_t g = 0; g < step.groups; ++g)
    ends.data<std::int64_t>()[g] = static_cast<std::int64_t>((g + 1) * (step.rows / step.groups));
  step.are_ends_wide = true;
  step.operands.push_back({builder.constant_place(ends), false});
}

bool lower_grouped_matmul(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  if (!is_grouped_product(*node)) return false;
  auto step = step_of(builder, node);
  step->type = builder.compute_type();
  if (!find_product(builder, *step)) {
    if (step->type == ElementType::kF32) return false;
    step->type = ElementType::kF32;
    if (!find_product(builder, *step)) return false;
  }
  add_rows_and_ends(builder, node, *step);
  Value& right = builder.input(node, 1);
  step->operands.push_back({builder.in_layout(right, plain_desc(step->type, right.shape)), false});
  add_result(builder, node, *step);
  std::string name = step->product->name;
  builder.add_step(node, std::move(step), std::move(name));
  return true;
}

}  // namespace

void lower_grouped_weight_only(PlanBuilder& builder, const std::shared_ptr<Node>& node,
                               const WeightOnlyWeights& weights, kernels::WeightOnly problem) {
  auto step = step_of(builder, node);
  problem.columns = step->columns;
  step->few_bits = FewBits{problem, static_cast<bool>(weights.zero_points), weights.zero_point};
  find_product(builder, *step);
  std::size_t scratch_floats = 0;
  bool expands = false;
  for (std::size_t count = 1; count <= step->rows; ++count) {
    const auto own = step->unexpanded(count);
    expands |= !own;
    if (own) scratch_floats = std::max(scratch_floats, weight_only_scratch(*own));
  }
  add_rows_and_ends(builder, node, *step);
  step->operands.push_back({builder.constant_place(weights.numbers), false});
  add_result(builder, node, *step);
  step->operands.push_back({builder.constant_place(weights.scales), false});
  step->operands.push_back({builder.scratch(std::max<std::size_t>(scratch_floats, 1) * sizeof(float)), true});
  const std::size_t expanded = expands ? step->columns * step->depth : 1;
  step->operands.push_back({builder.scratch(expanded * sizeof(float)), true});
  if (weights.zero_points) step->operands.push_back({builder.constant_place(weights.zero_points), false});
  builder.add_step(node, std::move(step), problem.is_4_bit() ? "groups by 4-bit weights" : "groups by 8-bit weights");
}

bool is_grouped_product(const Node& node) {
  if (!is_op(&node, "GroupedMatMul") || node.get_input_element_type(0) != element::f32 ||
      node.get_input_element_type(1) != element::f32)
    return false;
  if (node.get_input_size() > 2 && node.get_input_element_type(2) != element::i32 &&
      node.get_input_element_type(2) != element::i64)
    return false;
  if (node.get_input_size() > 2 && element_count(node.get_input_shape(2)) != node.get_input_shape(1)[0]) return false;
  return element_count(node.get_input_shape(0)) > 0 && element_count(node.get_input_shape(1)) > 0;
}

void register_grouped_matmul(LoweringTable& table) { table["GroupedMatMul"] = {lower_grouped_matmul, false}; }

}  // namespace tenon::inline v1::engine
