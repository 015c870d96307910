// SPDX-License-Identifier: Apache-2.0
// Steps become nodes, joined as values flow through the plan's memory.
#include <tenon/engine/plan/flow.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include <tenon/graph/model.hpp>
#include <tenon/planning/executed_plan.hpp>

namespace tenon::inline v1::engine {
namespace {

using exec_model_info::ExecutedModel;
using exec_model_info::StepNotes;
using exec_model_info::StepOutput;
using planning::ByteRange;

std::vector<std::string> names_of(const std::vector<std::pair<std::string, std::string>>& nodes) {
  std::vector<std::string> names;
  for (const auto& [name, type] : nodes) names.push_back(name);
  return names;
}

/// How an operand lies.
struct Content {
  struct {
    ElementType type = ElementType::kU8;
    Shape shape;
    std::string layout;  ///< See exec_model_info::OUTPUT_LAYOUTS.
  } as;
  std::size_t bytes = 0;
};

Content content_of(const md& desc) {
  const auto dims = desc.get_dims();
  return {{element_type(desc), Shape(dims.begin(), dims.end()), layout_name(desc, dims.size())}, desc.get_size()};
}
Content content_of(ElementType type, const Shape& shape) {
  return {{type, shape, exec_model_info::packed_layout(shape.size())}, checked_size_bytes(type, shape).value_or(0)};
}
Content content_of(const Made& made) {
  if (made.desc.get_ndims() == 0) return content_of(made.type, made.shape);
  return {{element_type(made.desc), made.shape, layout_name(made.desc, made.shape.size())}, made.desc.get_size()};
}

/// Whether the primitive adds its result to what lies there.
bool adds_in_place(const PrimitiveStep& step) {
  const const_dnnl_primitive_desc_t description = step.primitive.get_primitive_desc();
  const_dnnl_primitive_attr_t attributes = nullptr;
  const_dnnl_post_ops_t post_ops = nullptr;
  if (dnnl_primitive_desc_get_attr(description, &attributes) != dnnl_success ||
      dnnl_primitive_attr_get_post_ops(attributes, &post_ops) != dnnl_success)
    return false;
  for (int i = 0; i < dnnl_post_ops_len(post_ops); ++i)
    if (dnnl_post_ops_get_kind(post_ops, i) == dnnl_sum) return true;
  return false;
}

std::optional<std::uint64_t> multiply_adds(const PrimitiveStep& step) {
  const auto argument = [&](int which) -> const md* {
    for (const auto& [found, desc] : step.arguments)
      if (found == which) return &desc;
    return nullptr;
  };
  const auto count = [](const md& desc) {
    std::uint64_t elements = 1;
    for (const auto extent : desc.get_dims()) elements *= static_cast<std::uint64_t>(extent);
    return elements;
  };
  const md *from = argument(DNNL_ARG_SRC), *weights = argument(DNNL_ARG_WEIGHTS), *to = argument(DNNL_ARG_DST);
  if (!from || !weights || !to || count(*from) == 0 || count(*to) == 0) return std::nullopt;
  // Each weight of a convolution meets each position of its output; in a transposed one, each position of its input.
  switch (step.primitive.get_kind()) {
    case dnnl::primitive::kind::convolution:
      return count(*to) / static_cast<std::uint64_t>(to->get_dims()[1]) * count(*weights);
    case dnnl::primitive::kind::deconvolution:
      return count(*from) / static_cast<std::uint64_t>(from->get_dims()[1]) * count(*weights);
    case dnnl::primitive::kind::matmul:
    case dnnl::primitive::kind::inner_product:
      return count(*to) * static_cast<std::uint64_t>(from->get_dims().back());
    default:
      return std::nullopt;
  }
}

class Flow {
 public:
  Flow(ExecutedModel& model, const PlanImpl& plan, const OutputVector& inputs)
      : model_(model),
        plan_(plan),
        plan_inputs_(inputs),
        values_(model, plan.buffers.size()),
        reads_(plan.buffers.size()),
        names_(plan.steps.size()),
        inputs_(plan.steps.size()) {
    std::unordered_map<std::string, const Node*> nodes;
    for (const auto& node : plan.model->get_ordered_ops()) nodes[node->get_friendly_name()] = node.get();
    for (const Made& made : plan.made) made_[{made.place.buffer, made.place.offset}].push_back(&made);
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const Step& step = *plan.steps[i];
      names_[i] = {step.info.fused.begin(), step.info.fused.end()};
      names_[i].insert(step.info.node_name);
      for (const std::string& name : names_[i])
        if (const auto node = nodes.find(name); node != nodes.end())
          for (const auto& source : node->second->input_values())
            inputs_[i].emplace(source.get_node(), source.get_index());
      if (const auto* primitive = dynamic_cast<const PrimitiveStep*>(&step))
        for (std::size_t k = 0; k < step.operands.size(); ++k)
          described_.emplace(key(step.operands[k].place), &primitive->arguments[k].second);
    }
    for (std::size_t i = 0; i < plan.steps.size(); ++i)
      for (std::size_t k = 0; k < plan.steps[i]->operands.size(); ++k) {
        const Operand& operand = plan.steps[i]->operands[k];
        if (!operand.place || operand.written) continue;
        const BufferSlice root = plan.root(operand.place);
        reads_[root.buffer].emplace_back(i, extent(root, content(i, k).bytes));
      }
  }

  OutputVector run(std::span<const std::chrono::nanoseconds> times) {
    for (std::size_t i = 0; i < plan_.steps.size(); ++i)
      add_step(i, i < times.size() ? std::optional(times[i]) : std::nullopt);
    for (const auto& [name, type] : plan_.optimized_out) model_.add_optimized_out(name);
    OutputVector results;
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) results.push_back(result(i));
    return results;
  }

 private:
  using Key = std::pair<BufferId, std::size_t>;
  static Key key(BufferSlice place) { return {place.buffer, place.offset}; }
  static ByteRange extent(BufferSlice root, std::size_t bytes) { return {root.offset, root.offset + bytes}; }

  /// Whether a node that the step computes reads the value.
  bool is_read_by(const Made& made, std::size_t step) const {
    return inputs_[step].count({made.node.get(), made.output}) > 0;
  }
  /// The value at that place which the step reads: views of a value share its place.
  const Made* read_value(std::size_t step, BufferSlice place) const {
    const auto found = made_.find(key(place));
    if (found == made_.end()) return nullptr;
    const Made *latest = nullptr, *meant = nullptr;
    for (const Made* made : found->second) {
      if (made->step >= static_cast<std::ptrdiff_t>(step)) continue;
      latest = made;
      if (is_read_by(*made, step)) meant = made;
    }
    return meant ? meant : latest;
  }
  const Made* written_value(std::size_t step, BufferSlice place) const {
    const auto found = made_.find(key(place));
    if (found == made_.end()) return nullptr;
    const Made* first = nullptr;
    for (const Made* made : found->second) {
      if (made->step != static_cast<std::ptrdiff_t>(step)) continue;
      if (names_[step].count(made->node->get_friendly_name())) return made;
      if (!first) first = made;
    }
    return first;
  }

  std::size_t bytes_to_end(BufferSlice place) const {
    const std::size_t bytes = plan_.buffers[place.buffer].size_bytes;
    return bytes - std::min(bytes, place.offset);
  }

  Content content(std::size_t index, std::size_t k) const {
    const Step& step = *plan_.steps[index];
    const Operand& operand = step.operands[k];
    const Made* const made = operand.written ? written_value(index, operand.place) : read_value(index, operand.place);
    if (const auto* primitive = dynamic_cast<const PrimitiveStep*>(&step)) {
      Content own = content_of(primitive->arguments[k].second);
      // A product of many axes is folded to one of two, say; the node's own shape is what people know.
      if (made && element_count(made->shape) == element_count(own.as.shape)) own.as = content_of(*made).as;
      own.as.type = element_type(primitive->arguments[k].second);
      return own;
    }
    if (const auto* reference = dynamic_cast<const ReferenceStep*>(&step))
      return content_of(reference->tensors[k].first, reference->tensors[k].second);
    if (const auto* tensors = dynamic_cast<const TensorStep*>(&step))
      return content_of(tensors->tensors[k].first, tensors->tensors[k].second);
    if (made) return content_of(*made);
    const BufferSlice root = plan_.root(operand.place);
    const Buffer& buffer = plan_.buffers[root.buffer];
    if (buffer.kind == BufferKind::kOutput && root.offset == 0) {
      const Port& port = plan_.outputs[buffer.index];
      return content_of(port.type, port.shape);
    }
    if (const auto found = described_.find(key(operand.place)); found != described_.end())
      return content_of(*found->second);
    return content_of(ElementType::kU8, Shape{bytes_to_end(operand.place)});
  }

  /// The values that lie in these bytes, before the steps that are added later.
  void add_sources(OutputVector& sources, BufferSlice root, const ByteRange& wanted) {
    if (values_.add_sources(sources, root.buffer, wanted)) return;
    const auto add = [&](const Output<Node>& source) {
      if (std::find(sources.begin(), sources.end(), source) == sources.end()) sources.push_back(source);
    };
    const Buffer& buffer = plan_.buffers[root.buffer];
    if (buffer.kind == BufferKind::kInput) add(plan_inputs_[buffer.index]);
    // A byte says whether a variable has a value; the third of its buffers is written first.
    if (buffer.kind == BufferKind::kState && buffer.index < plan_.variables.size()) {
      const Variable& variable = plan_.variables[buffer.index];
      add(values_.state(buffer.index, variable.id, variable.type, variable.shape));
    }
  }

  bool is_read_after(std::size_t step, BufferId buffer, const ByteRange& extent) const {
    return std::any_of(reads_[buffer].begin(), reads_[buffer].end(),
                       [&](const auto& read) { return read.first > step && read.second.overlaps(extent); });
  }

  /// Bytes of what the step writes that lie there already: parts of a join that their makers wrote in place.
  std::vector<ByteRange> kept_in(std::size_t index, BufferId buffer, const ByteRange& written) const {
    std::vector<ByteRange> kept;
    const Step& step = *plan_.steps[index];
    for (std::size_t k = 0; k < step.operands.size(); ++k) {
      const Operand& operand = step.operands[k];
      if (!operand.place || operand.written) continue;
      const BufferSlice root = plan_.root(operand.place);
      const ByteRange read = extent(root, content(index, k).bytes);
      const bool is_part = root.buffer == buffer && written.begin <= read.begin && read.end <= written.end &&
                           read.end - read.begin < written.end - written.begin;
      // Joined with itself, it is copied to the other places.
      if (is_part && std::none_of(kept.begin(), kept.end(), [&](const ByteRange& one) { return one.overlaps(read); }))
        kept.push_back(read);
    }
    return kept;
  }

  void add_reads(std::size_t index, StepNotes& notes, OutputVector& sources) {
    const Step& step = *plan_.steps[index];
    for (std::size_t k = 0; k < step.operands.size(); ++k) {
      const Operand& operand = step.operands[k];
      if (!operand.place || operand.written) continue;
      const BufferSlice root = plan_.root(operand.place);
      if (plan_.buffers[root.buffer].kind == BufferKind::kConstant) {
        const auto* primitive = dynamic_cast<const PrimitiveStep*>(&step);
        notes.weight_bytes += primitive ? primitive->arguments[k].second.get_size() : bytes_to_end(operand.place);
        continue;
      }
      const Content read = content(index, k);
      if (sources.empty() && notes.bytes_read == 0) notes.precision = element::Type(read.as.type);
      add_sources(sources, root, extent(root, read.bytes));
      notes.bytes_read += read.bytes;
    }
  }

  void add_step(std::size_t index, std::optional<std::chrono::nanoseconds> time) {
    const Step& step = *plan_.steps[index];
    const auto* primitive = dynamic_cast<const PrimitiveStep*>(&step);
    StepNotes notes = notes_of(step.info);
    // A copy to a part's result: the given model's results are nodes of their own.
    if (step.info.node_type == "Result") notes.originals.clear();
    notes.time = time;
    notes.precision = element::Type(ElementType::kU8);
    OutputVector sources;
    add_reads(index, notes, sources);
    const bool has_read = notes.bytes_read > 0, adds = primitive && adds_in_place(*primitive);
    struct Write {
      BufferId buffer;
      ByteRange range;
      std::size_t port;
    };
    std::vector<Write> writes;
    std::vector<StepOutput> outputs;
    for (std::size_t k = 0; k < step.operands.size(); ++k) {
      const Operand& operand = step.operands[k];
      if (!operand.place || !operand.written) continue;
      const Content written = content(index, k);
      const BufferSlice root = plan_.root(operand.place);
      const ByteRange where = extent(root, written.bytes);
      const Buffer& buffer = plan_.buffers[root.buffer];
      const bool is_output = buffer.kind != BufferKind::kArena || written_value(index, operand.place) ||
                             is_read_after(index, root.buffer, where);
      if (!is_output) continue;
      // Behind what lies in a cache already.
      const bool appends = buffer.kind == BufferKind::kInput;
      if (adds || appends) add_sources(sources, root, where);
      if (adds) notes.bytes_read += written.bytes;
      notes.bytes_written += appends ? std::min(written.bytes, notes.bytes_read) : written.bytes;
      std::vector<ByteRange> changed{where};
      for (const ByteRange& kept : kept_in(index, root.buffer, where)) {
        planning::subtract(changed, kept);
        notes.bytes_read -= kept.end - kept.begin;
        notes.bytes_written -= kept.end - kept.begin;
      }
      for (const ByteRange& range : changed) writes.push_back({root.buffer, range, outputs.size()});
      if (!has_read && outputs.empty()) notes.precision = element::Type(written.as.type);
      outputs.push_back({written.as.type, PartialShape(written.as.shape), written.as.layout});
    }
    if (primitive) notes.multiply_adds = multiply_adds(*primitive);
    const auto node = model_.add_step(notes, sources, outputs);
    for (const Write& write : writes) values_.write(write.buffer, write.range, node->output(write.port));
  }

  Output<Node> result(std::size_t index) {
    const auto growth = std::find_if(plan_.growths.begin(), plan_.growths.end(),
                                     [&](const Growth& one) { return one.result == index; });
    const bool grows = growth != plan_.growths.end();
    const BufferKind kind = grows ? BufferKind::kInput : BufferKind::kOutput;
    const std::size_t number = grows ? growth->parameter : index;
    const Port& port = plan_.outputs[index];
    OutputVector sources;
    // The node that joins several.
    std::string name = port.name, type = "Concat";
    for (BufferId id = 0; id < plan_.buffers.size(); ++id) {
      const Buffer& buffer = plan_.buffers[id];
      if (buffer.kind != kind || buffer.index != number || buffer.parent != kNoBuffer) continue;
      add_sources(sources, {id, 0}, {0, buffer.size_bytes});
      for (const Made& made : plan_.made) {
        if (plan_.root(made.place) != BufferSlice{id, 0} || content_of(made).bytes != buffer.size_bytes) continue;
        name = made.node->get_friendly_name();
        type = made.node->get_type_name();
        break;
      }
    }
    return values_.result(sources, type, name, port.name, planning::packed_output(port.type, PartialShape(port.shape)));
  }

  ExecutedModel& model_;
  const PlanImpl& plan_;
  const OutputVector& plan_inputs_;
  planning::ExecutedPlan values_;
  std::map<Key, std::vector<const Made*>> made_;
  std::map<Key, const md*> described_;
  std::vector<std::vector<std::pair<std::size_t, ByteRange>>> reads_;  ///< For each root buffer: step and bytes.
  std::vector<std::set<std::string>> names_;  ///< For each step, the names of the nodes that it computes.
  std::vector<std::set<std::pair<const Node*, std::size_t>>> inputs_;  ///< Outputs that these nodes read.
};

}  // namespace

std::string layout_name(const md& desc, std::size_t rank) {
  if (desc.get_ndims() == 0 || desc.get_format_kind() != dnnl::memory::format_kind::blocked)
    return desc.get_ndims() == 0 ? exec_model_info::packed_layout(rank) : "undef";
  const auto dims = desc.get_dims(), strides = desc.get_strides(), blocks = desc.get_inner_blks(),
             axes = desc.get_inner_idxs();
  // Extents of one make many names true for one order of elements.
  if (blocks.empty() && is_packed(desc, Shape(dims.begin(), dims.end()))) return exec_model_info::packed_layout(rank);
  std::string text;
  for (const std::size_t axis : planning::axes_by_stride(strides)) {
    const bool is_split = std::find(axes.begin(), axes.end(), static_cast<dnnl_dim_t>(axis)) != axes.end();
    text += static_cast<char>((is_split ? 'A' : 'a') + axis);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) text += std::to_string(blocks[i]) + static_cast<char>('a' + axes[i]);
  return text;
}

StepNotes notes_of(const StepInfo& step) {
  return {step.node_type, step.node_name, step.kernel, names_of(step.originals), names_of(step.folded)};
}

OutputVector add_steps(ExecutedModel& model, const PlanImpl& plan, const OutputVector& inputs,
                       std::span<const std::chrono::nanoseconds> times) {
  return Flow(model, plan, inputs).run(times);
}

}  // namespace tenon::inline v1::engine
