// SPDX-License-Identifier: Apache-2.0
// Plans of a compiled graph, created from its blob.
#include <tenon/drivers/npu/compiler/program.hpp>

#include <map>

#include <tenon/core/error.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::npu::compiler {
namespace {

constexpr std::size_t kKeptVariants = 8;

bool has_unknown_rounds(const Model& model) {
  bool found = false;
  for_each_node(model, [&](const std::shared_ptr<Node>& node) {
    const auto* loop = as_type<op::util::SubGraphOp>(node.get());
    found |= loop && loop->get_num_iterations() < 0;
  });
  return found;
}

}  // namespace

Program::Program(const Tensor& bytes) : blob_(read_native_blob(bytes)), estimated_(blob_.timing.inference()) {
  is_static_ = blob_.payload.kind == engine::Blob::Kind::kPrepared;
  input_count_ = blob_.payload.prepared.model->inputs().size();
  output_count_ = blob_.payload.prepared.model->outputs().size();
  rounds_depend_on_data_ =
      has_unknown_rounds(*blob_.payload.prepared.model) || (initialisers() && has_unknown_rounds(*initialisers()));
}

void Program::load() {
  const std::lock_guard lock(mutex_);
  if (is_loaded_) return;
  if (is_static_) {
    auto variant = std::make_shared<ProgramVariant>();
    for (const auto& input : blob_.payload.prepared.model->inputs()) variant->input_shapes.push_back(input.get_shape());
    variant->plan = engine::restore_plan(blob_.payload.prepared, settings().engine_options());
    variants_.push_front(std::move(variant));
  }
  is_loaded_ = true;
}

bool Program::is_loaded() const {
  const std::lock_guard lock(mutex_);
  return is_loaded_;
}

void Program::unload() {
  const std::lock_guard lock(mutex_);
  variants_.clear();
  is_loaded_ = false;
}

std::shared_ptr<const ProgramVariant> Program::variant_for(const std::vector<Shape>& shapes) {
  load();
  const std::lock_guard lock(mutex_);
  if (is_static_ && !variants_.empty()) return variants_.front();
  for (auto it = variants_.begin(); it != variants_.end(); ++it) {
    if ((*it)->input_shapes != shapes) continue;
    variants_.splice(variants_.begin(), variants_, it);
    return variants_.front();
  }
  variants_.push_front(make_variant(shapes));
  if (variants_.size() > kKeptVariants) variants_.pop_back();
  return variants_.front();
}

std::shared_ptr<const ProgramVariant> Program::make_variant(const std::vector<Shape>& shapes) const {
  if (is_static_) throw Error(Code::kFailedPrecondition, "NPU: the graph was evicted during this call");
  auto variant = std::make_shared<ProgramVariant>();
  variant->input_shapes = shapes;
  const auto reshaped = blob_.payload.prepared.model->clone();
  std::map<std::size_t, PartialShape> by_index;
  for (std::size_t i = 0; i < shapes.size(); ++i) by_index[i] = PartialShape(shapes[i]);
  reshaped->reshape(by_index);
  if (compiler::is_static(*reshaped))
    variant->plan = engine::Plan::compile(reshaped, settings().engine_options());
  else
    variant->model = reshaped;
  return variant;
}

std::size_t Program::constant_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  // Constants of a prepared plan are in the blob.
  for (const auto& variant : variants_)
    if (variant->plan && !is_static_) bytes += variant->plan->constant_bytes();
  return bytes;
}

}  // namespace tenon::npu::compiler
