// SPDX-License-Identifier: Apache-2.0
// Values while lowering: buffers, the layouts that a value lies in, the moves between them, and steps over them.
#include <algorithm>
#include <cstring>

#include <tenon/core/error.hpp>
#include <tenon/core/mapped_file.hpp>
#include <tenon/engine/kernels/attention/kv_cache_quant.hpp>
#include <tenon/engine/lower/build/affine.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/lower/build/step_info.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/passes/original_names.hpp>
#include <tenon/planning/same_value.hpp>

namespace tenon::inline v1::engine {

PlanBuilder::PlanBuilder(PlanImpl& plan) : plan_(plan) {
  // The block that oneDNN's convolutions use on this instruction set.
  const auto isa = dnnl::get_effective_cpu_isa();
  using dnnl::cpu_isa;
  if (!plan.options.blocked_layouts) return;
  channel_block_ = isa >= cpu_isa::avx512_core ? 16 : isa >= cpu_isa::avx2 ? 8 : 0;
  images_ = plan.options.images;
  // Measured with oneDNN 3.2 over the zoo: 1.06 of the speed of blocks in f32 and bf16 with AVX-512, 0.93 to 0.84 for
  // large convolutions with AVX2.
  if (images_ == Options::Images::kAuto)
    images_ = isa >= cpu_isa::avx512_core ? Options::Images::kChannelsLast : Options::Images::kBlocks;
}

void PlanBuilder::add_values(const NodeVector& order) {
  for (const auto& node : order) {
    ids_[node.get()] = static_cast<planning::ValueId>(values_.size());
    for (std::size_t i = 0; i < node->get_output_size(); ++i) {
      Value value;
      value.type = node->get_output_element_type(i);
      value.shape = node->get_output_shape(i);
      value.remaining_uses = static_cast<int>(node->count_output_readers(i));
      if (const auto* constant = as_type<op::v0::Constant>(node.get()))
        value.constant = constant->get_tensor();
      else if (const auto known = node->get_output_tensor(i).value())
        value.constant = *known;
      buffer_liveness_.set_read(static_cast<planning::ValueId>(values_.size()), value.remaining_uses > 0);
      values_.push_back(std::move(value));
      outputs_.emplace_back(node, i);
    }
  }
}

void PlanBuilder::add_variables() {
  const std::size_t variables = plan_.variables.size();
  for (std::size_t i = 0; i < 3 * variables; ++i) {
    const Variable& variable = plan_.variables[i % variables];
    const std::size_t bytes = i / variables == 1 ? 1 : *checked_size_bytes(variable.type, variable.shape);
    states_.push_back(add_buffer(BufferKind::kState, bytes, static_cast<std::uint32_t>(i)));
  }
}

BufferSlice PlanBuilder::add_port(BufferKind kind, std::size_t size_bytes, std::size_t index) {
  return {add_buffer(kind, size_bytes, static_cast<std::uint32_t>(index)), 0};
}

planning::ValueId PlanBuilder::id_of(const Output<Node>& output) const {
  return ids_.at(output.get_node()) + static_cast<planning::ValueId>(output.get_index());
}
Value& PlanBuilder::value(const Output<Node>& output) { return values_[id_of(output)]; }

Tensor PlanBuilder::constant_input(const std::shared_ptr<Node>& node, std::size_t index) {
  if (index >= node->get_input_size()) return {};
  return input(node, index).constant;
}

bool PlanBuilder::constant_ints(const std::shared_ptr<Node>& node, std::size_t index,
                                std::vector<std::int64_t>& values) {
  const Tensor tensor = constant_input(node, index);
  if (!tensor || !tensor.is_contiguous()) return false;
  const auto read = [&]<typename T>(const T* data) { values.assign(data, data + tensor.element_count()); };
  switch (tensor.element_type()) {
    case ElementType::kI64:
      read(tensor.data<std::int64_t>());
      return true;
    case ElementType::kI32:
      read(tensor.data<std::int32_t>());
      return true;
    case ElementType::kU64:
      read(tensor.data<std::uint64_t>());
      return true;
    case ElementType::kU32:
      read(tensor.data<std::uint32_t>());
      return true;
    case ElementType::kI16:
      read(tensor.data<std::int16_t>());
      return true;
    case ElementType::kU16:
      read(tensor.data<std::uint16_t>());
      return true;
    case ElementType::kI8:
      read(tensor.data<std::int8_t>());
      return true;
    case ElementType::kU8:
      read(tensor.data<std::uint8_t>());
      return true;
    default:
      return false;
  }
}

BufferId PlanBuilder::add_buffer(BufferKind kind, std::size_t size_bytes, std::uint32_t index) {
  Buffer buffer;
  buffer.kind = kind;
  buffer.size_bytes = size_bytes;
  buffer.index = index;
  plan_.buffers.push_back(std::move(buffer));
  if (!given_answers_) buffer_liveness_.add_buffer(kind != BufferKind::kArena);
  return static_cast<BufferId>(plan_.buffers.size() - 1);
}

BufferSlice PlanBuilder::constant_place(const Tensor& tensor) {
  const void* key = tensor.element_count() ? tensor.data() : nullptr;
  // It is wanted as it is: lowering is done once more if it has no memory.
  for (const Tensor& stand_in : plan_.stand_ins)
    if (key && stand_in.data() == key) static_cast<void>(*static_cast<const volatile char*>(key));
  // Those of units that come later are not there yet when nodes are lowered again.
  if (const auto found = constants_.find(key);
      key && found != constants_.end() && found->second < plan_.buffers.size()) {
    if (found->second < unit_begin_) shared_constants_.insert(found->second);
    return {found->second, 0};
  }
  const BufferId id = add_buffer(BufferKind::kConstant, tensor.size_bytes());
  Tensor packed = tensor;
  if (!tensor.is_contiguous()) {
    packed = Tensor(tensor.element_type(), tensor.shape());
    copy_strided(tensor.element_type(), tensor.shape(), tensor.data(), tensor.byte_strides(), packed.data(),
                 packed.byte_strides());
  }
  plan_.buffers[id].constant = packed;
  if (key) constants_[key] = id;
  if (!plan_.shared || !plan_.shared->constants.holds(packed.data())) plan_.own_constant_bytes += packed.size_bytes();
  return {id, 0};
}

Tensor PlanBuilder::derived(const Tensor& constant, const std::string& how, const std::function<Tensor()>& make) {
  if (!plan_.shared || !plan_.shared->constants.holds(constant.data())) return make();
  return plan_.shared->constants.derive(constant.data(), how, [&] {
    Tensor made = make();
    drop_pages(constant);
    return made;
  });
}

BufferSlice PlanBuilder::packed_constant(const Tensor& tensor, const md& view, const md& desc) {
  if (view == desc) return constant_place(tensor);
  const auto pack = [&] {
    Tensor made(ElementType::kU8, Shape{std::max<std::size_t>(desc.get_size(), 1)});
    dnnl::stream stream(engine());
    const Tensor real = plan_.shared ? plan_.shared->constants.real(tensor) : tensor;
    dnnl::memory from(view, engine(), real.data()), to(desc, engine(), made.data());
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
    drop_pages(real);  // Weights of a mapped file would lie in memory twice.
    return made;
  };
  Tensor packed;
  if (plan_.store && plan_.store->holds(tensor.data())) {
    packed = plan_.store->find(tensor.data(), view, desc);
  } else if (plan_.shared && plan_.shared->constants.holds(tensor.data())) {
    packed = plan_.shared->constants.find_or_pack(tensor.data(), view, desc, pack);
  } else {
    packed = pack();
    plan_.own_constant_bytes += packed.size_bytes();
  }
  plan_.packed.push_back({tensor.data(), view, desc, packed});
  const BufferId id = add_buffer(BufferKind::kConstant, packed.size_bytes());
  plan_.buffers[id].constant = packed;
  return {id, 0};
}

const Value::Variant& PlanBuilder::native(Value& value) {
  if (value.variants.empty() && value.narrow) expand(value);
  if (value.variants.empty()) {
    if (!value.constant) throw Error(Code::kInternal, "CPU engine: a value is read before it is made");
    const BufferSlice place = constant_place(value.constant);
    add_variant(value, {place, plain_desc(value.type, value.shape), true, true});
  }
  return value.variants.front();
}

void PlanBuilder::expand(Value& value) {
  const NarrowCache& narrow = *value.narrow;
  const BufferSlice to{add_buffer(BufferKind::kArena, *checked_size_bytes(value.type, value.shape)), 0};
  const kernels::KvCacheQuant rows{narrow.format.type, value.shape.back(), narrow.format.group};
  auto step = std::make_unique<KernelStep>();
  step->info.node_name = outputs_[id_of(value)].first->get_friendly_name() + "/expand";
  step->info.node_type = "Reorder";
  step->info.kernel = "expand cache";
  step->operands = {{narrow.place, false}, {to, true}};
  step->kernel = [rows, shape = value.shape, strides = narrow.strides,
                  offset = narrow.scales_offset](std::span<void* const> p) {
    const auto* numbers = static_cast<const std::byte*>(p[0]);
    const auto* scales = reinterpret_cast<const float*>(numbers + offset);
    auto* made = static_cast<float*>(p[1]);
    const std::size_t count = element_count(shape) / std::max<std::size_t>(rows.length, 1);
    for (std::size_t row = 0; row < count; ++row, made += rows.length) {
      std::size_t at = 0, left = row;
      for (std::size_t axis = shape.size() - 1; axis-- > 0; left /= shape[axis])
        at += left % shape[axis] * strides[axis];
      kernels::widen_rows(rows, numbers + at * size_bytes(rows.type), scales + at / rows.length * rows.groups() * 2, 1,
                          made);
    }
  };
  plan_.steps.push_back(std::move(step));
  add_variant(value, {to, plain_desc(value.type, value.shape), true, true});
  note_moved(value);
}

BufferSlice PlanBuilder::plain(Value& value) {
  native(value);
  for (const auto& variant : value.variants)
    if (variant.plain) return variant.place;
  return in_layout(value, plain_desc(value.type, value.shape));
}

Value::Variant PlanBuilder::packed(Value& value) {
  const Value::Variant from = native(value);
  for (const auto& variant : value.variants)
    if (variant.packed && variant.desc.get_data_type() == from.desc.get_data_type()) return variant;
  in_layout(value, plain_desc(element_type(from.desc), value.shape));
  return value.variants.back();
}

BufferSlice PlanBuilder::in_layout(Value& value, const md& desc) {
  const Value::Variant from = native(value);
  const bool wants_plain = is_plain(desc, value.shape, value.type);
  for (const auto& variant : value.variants) {
    if (variant.desc == desc || (wants_plain && variant.plain)) return variant.place;
  }
  if (value.constant && from.plain) {
    const BufferSlice place = packed_constant(value.constant, from.desc, desc);
    add_variant(value, {place, desc, wants_plain, is_packed(desc, value.shape)});
    return place;
  }
  const BufferSlice place{add_buffer(BufferKind::kArena, desc.get_size()), 0};
  add_reorder(*outputs_[id_of(value)].first, value, from, place, desc, value.quantization);
  add_variant(value, {place, desc, wants_plain, is_packed(desc, value.shape)});
  note_moved(value);
  return place;
}

void PlanBuilder::note_moved(const Value& value) {
  const auto id = id_of(value);
  const Value::Variant& variant = value.variants.back();
  plan_.made.push_back({outputs_[id].first, outputs_[id].second, value.type, value.shape, variant.place, variant.desc,
                        static_cast<std::ptrdiff_t>(plan_.steps.size()) - 1, value.quantization, true});
}

void PlanBuilder::add_move(const Node& node, BufferSlice from, const md& from_desc, BufferSlice to, const md& to_desc) {
  KernelKey key{key_of(dnnl::primitive::kind::reorder)};
  append(key, from_desc);
  append(key, to_desc);
  const auto made = kernel(key, [&]() -> MadeKernel {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::reorder::primitive_desc reorder(engine(), from_desc, engine(), to_desc, attributes);
    return {dnnl::reorder(reorder), reorder.impl_info_str(), {reorder.scratchpad_desc()}};
  });
  auto step = std::make_unique<PrimitiveStep>();
  step->engine = engine();
  step->primitive = made->primitive;
  step->info.node_name = node.get_friendly_name() + "/reorder";
  step->info.node_type = "Reorder";
  step->info.kernel = made->name;
  add_argument(*step, DNNL_ARG_FROM, from, from_desc);
  add_argument(*step, DNNL_ARG_TO, to, to_desc, true);
  add_scratchpad(*step, made->descs[0]);
  plan_.steps.push_back(std::move(step));
}

BufferSlice PlanBuilder::moved(const Node& node, BufferSlice from, const md& from_desc, const md& desc) {
  if (from_desc == desc) return from;
  const BufferSlice to = scratch(desc.get_size());
  add_move(node, from, from_desc, to, desc);
  return to;
}

void PlanBuilder::add_affine(const Node& node, const kernels::Affine& what, BufferSlice from, BufferSlice to,
                             std::size_t count) {
  auto step = std::make_unique<KernelStep>();
  step->info.node_name = node.get_friendly_name() + "/reorder";
  step->info.node_type = "Reorder";
  step->info.kernel = "affine:" + std::string(name(what.from)) + "-" + std::string(name(what.to));
  step->operands = {{from, false}, {to, true}};
  step->kernel = [what, count](std::span<void* const> p) { kernels::affine(what, p[0], p[1], count); };
  plan_.steps.push_back(std::move(step));
}

void PlanBuilder::add_reorder(const Node& node, const Value& source, const Value::Variant& from, BufferSlice to,
                              const md& desc, const std::optional<Quantization>& quantization) {
  const bool reads_8_bit = source.quantization && is_8_bit(element_type(from.desc)),
             writes_8_bit = quantization && is_8_bit(element_type(desc));
  if ((!reads_8_bit && !writes_8_bit) || (reads_8_bit && writes_8_bit && *source.quantization == *quantization))
    return add_move(node, from.place, from.desc, to, desc);
  // oneDNN 3.2's reorders with zero points give wrong numbers for some extents: a kernel of ours converts the numbers
  // before or after they move, on the side where they lie without gaps.
  const kernels::Affine what = affine_of(reads_8_bit ? source.quantization : std::nullopt, element_type(from.desc),
                                         writes_8_bit ? quantization : std::nullopt, element_type(desc));
  const std::size_t count = element_count(source.shape);
  const md changed = retyped(from.desc, what.to), moved = retyped(desc, what.from);
  const bool change_first = is_dense(from.desc) && changed.get_ndims(),
             move_first = is_dense(desc) && moved.get_ndims();
  if (change_first && changed == desc) return add_affine(node, what, from.place, to, count);
  if (move_first && (reads_8_bit || !change_first)) {
    const BufferSlice middle = scratch(moved.get_size());
    add_move(node, from.place, from.desc, middle, moved);
    return add_affine(node, what, middle, to, count);
  }
  if (change_first) {
    const BufferSlice middle = scratch(changed.get_size());
    add_affine(node, what, from.place, middle, count);
    return add_move(node, middle, changed, to, desc);
  }
  const md plain_from = plain_desc(what.from, source.shape), plain_to = plain_desc(what.to, source.shape);
  const BufferSlice packed = scratch(plain_from.get_size()), middle = scratch(plain_to.get_size());
  add_move(node, from.place, from.desc, packed, plain_from);
  add_affine(node, what, packed, middle, count);
  add_move(node, middle, plain_to, to, desc);
}

bool PlanBuilder::lower_reorder(const std::shared_ptr<Node>& node, Value& source, Value& made, const md& desc) {
  const Value::Variant from = native(source);
  if (from.desc.get_ndims() == 0) return false;
  const BufferSlice to{add_buffer(BufferKind::kArena, desc.get_size()), 0};
  add_reorder(*node, source, from, to, desc, made.quantization);
  StepInfo& info = plan_.steps.back()->info;
  info = step_info(*node, std::move(info.kernel));
  define_view(made, desc, to);
  return true;
}

Value::Variant PlanBuilder::real(Value& value) {
  const Value::Variant from = native(value);
  if (!value.quantization || !is_8_bit(element_type(from.desc))) return from;
  for (const auto& variant : value.variants)
    if (!is_8_bit(element_type(variant.desc))) return variant;
  // In the same layout, but as real numbers; f32 where no product reads them, as result_type() says.
  const bool is_narrow = is_before_product(outputs_[id_of(value)].first.get());
  in_layout(value, retyped(from.desc, is_narrow ? compute_type() : ElementType::kF32));
  return value.variants.back();
}

BufferSlice PlanBuilder::define(Value& value, const md& desc) {
  if (desc.get_ndims() == 0) return define_plain(value);
  const BufferSlice place{add_buffer(BufferKind::kArena, desc.get_size()), 0};
  define_at(value, desc, place);
  return place;
}

BufferSlice PlanBuilder::define_plain(Value& value) {
  const BufferSlice place{add_buffer(BufferKind::kArena, *checked_size_bytes(value.type, value.shape)), 0};
  define_at(value, plain_desc(value.type, value.shape), place);
  return place;
}

void PlanBuilder::define_at(Value& value, const md& desc, BufferSlice place, bool by_next_step) {
  const bool undescribed = desc.get_ndims() == 0;
  const bool packed = undescribed || is_packed(desc, value.shape);
  add_variant(value, {place, desc, packed && (undescribed || element_type(desc) == value.type), packed});
  const auto id = id_of(value);
  const auto step = static_cast<std::ptrdiff_t>(plan_.steps.size()) - (by_next_step ? 0 : 1);
  plan_.made.push_back(
      {outputs_[id].first, outputs_[id].second, value.type, value.shape, place, desc, step, value.quantization});
}

md PlanBuilder::blocked_desc(const Shape& shape, ElementType type) const {
  using tag = dnnl::memory::format_tag;
  if (channel_block_ == 0 || shape.size() < 3 || shape.size() > 5) return {};
  const bool wide = channel_block_ == 16;
  const tag tags[] = {wide ? tag::nCw16c : tag::nCw8c, wide ? tag::nChw16c : tag::nChw8c,
                      wide ? tag::nCdhw16c : tag::nCdhw8c};
  return md(to_dims(shape), data_type(type), tags[shape.size() - 3]);
}

md PlanBuilder::image_desc(const Shape& shape, ElementType type, ChannelLayout layout) const {
  switch (layout) {
    case ChannelLayout::kBlocked:
      return blocked_desc(shape, type);
    case ChannelLayout::kChannelsLast:
      return channels_last(type, shape);
    case ChannelLayout::kPlain:
      break;
  }
  return plain_desc(type, shape);
}

BufferSlice PlanBuilder::scratch(std::size_t size_bytes) { return {add_buffer(BufferKind::kArena, size_bytes), 0}; }

namespace {
std::size_t size_of(const Value& value, const Value::Variant& variant) {
  return variant.desc.get_ndims() ? variant.desc.get_size() : *checked_size_bytes(value.type, value.shape);
}
}  // namespace

void PlanBuilder::add_variant(Value& value, Value::Variant variant) {
  variant.unit = unit_;
  if (!given_answers_) buffer_liveness_.add_extent(id_of(value), variant.place, size_of(value, variant));
  value.variants.push_back(std::move(variant));
}

void PlanBuilder::change_uses(Value& value, int change) {
  if (given_answers_) return;
  value.remaining_uses += change;
  buffer_liveness_.set_read(id_of(value), value.remaining_uses > 0);
}

std::vector<planning::Read> PlanBuilder::reads_of(const Value& value) const {
  std::vector<planning::Read> reads;
  for (const auto& variant : value.variants) reads.push_back({variant.place, size_of(value, variant)});
  return reads;
}

bool PlanBuilder::may_overwrite(const planning::Read& over, const std::vector<planning::Read>& others) {
  if (!options().fuse || plan_.buffers[over.place.buffer].kind != BufferKind::kArena) return false;
  if (!given_answers_) {
    const planning::BufferLiveness::Answer answer = buffer_liveness_.may_overwrite(over, others);
    if (answers_) answers_->push_back({over.place.buffer, answer});
    return answer.allowed;
  }
  if (next_answer_ == given_answers_->size() || (*given_answers_)[next_answer_].buffer != over.place.buffer) {
    differs_ = true;
    return false;
  }
  const planning::BufferLiveness::Answer& given = (*given_answers_)[next_answer_++].answer;
  differs_ |= given.depends_on_extents;
  // The later readers of the memory are the same for all shapes; extents of what the step itself reads may have changed.
  return given.allowed && std::all_of(others.begin(), others.end(), [&](const planning::Read& other) {
           return other.place.buffer != over.place.buffer ||
                  (other.in_step && other.place == over.place && other.size_bytes == over.size_bytes);
         });
}

void PlanBuilder::begin_unit(std::uint32_t unit, std::vector<Overwrite>* answers) {
  unit_ = unit;
  unit_begin_ = plan_.buffers.size();
  answers_ = answers;
  given_answers_ = nullptr;
  is_precise_ = false;
}

void PlanBuilder::begin_again(std::uint32_t unit, const std::vector<Overwrite>& answers) {
  begin_unit(unit, nullptr);
  given_answers_ = &answers;
  next_answer_ = 0;
  differs_ = false;
}

void PlanBuilder::renew(Value& value, const Output<Node>& output) {
  value.type = output.get_element_type();
  value.shape = output.get_shape();
  const auto known = output.get_tensor().value();
  // The same memory if the value is the same: it may lie in a buffer of its own.
  if (!known || !value.constant || !planning::is_same_value(*known, value.constant))
    value.constant = known ? *known : Tensor();
  value.is_dropped = false;
}

void PlanBuilder::forget_constants(std::size_t begin, std::size_t end) {
  std::erase_if(constants_, [&](const auto& entry) { return entry.second >= begin && entry.second < end; });
}

BufferSlice PlanBuilder::define_over(Value& value, const md& desc, const planning::Read& over,
                                     const std::vector<planning::Read>& others) {
  if (!may_overwrite(over, others)) return define(value, desc);
  define_at(value, desc, over.place);
  return over.place;
}

void PlanBuilder::may_share(BufferSlice a, BufferSlice b) {
  if (!given_answers_) buffer_liveness_.may_share(a.buffer, b.buffer);
}

void PlanBuilder::request_part(BufferSlice part, std::size_t size_bytes, BufferSlice whole, std::size_t step) {
  may_share(part, whole);
  requests_.push_back({part, size_bytes, whole, step});
}

// -- Steps

void PlanBuilder::add_argument(PrimitiveStep& step, int argument, BufferSlice place, const md& desc, bool written) {
  step.arguments.emplace_back(argument, desc);
  step.operands.push_back({place, written});
}

void PlanBuilder::add_scratchpad(PrimitiveStep& step, const md& scratchpad) {
  if (scratchpad.get_size() > 0)
    add_argument(step, DNNL_ARG_SCRATCHPAD, scratch(scratchpad.get_size()), scratchpad, true);
}

PrimitiveStep& PlanBuilder::add_primitive(const std::shared_ptr<Node>& node, const dnnl::primitive& primitive,
                                          std::string kernel) {
  auto step = std::make_unique<PrimitiveStep>();
  step->engine = engine();
  step->primitive = primitive;
  step->info = step_info(*node, std::move(kernel));
  PrimitiveStep& added = *step;
  plan_.steps.push_back(std::move(step));
  return added;
}

void PlanBuilder::add_step(const std::shared_ptr<Node>& node, std::unique_ptr<Step> step, std::string kernel) {
  step->info = step_info(*node, std::move(kernel));
  plan_.steps.push_back(std::move(step));
}

KernelStep& PlanBuilder::add_kernel(const std::shared_ptr<Node>& node, std::string kernel,
                                    const std::vector<BufferSlice>& read, const std::vector<BufferSlice>& written,
                                    KernelStep::Kernel function) {
  auto step = std::make_unique<KernelStep>();
  step->info = step_info(*node, std::move(kernel));
  for (BufferSlice place : read) step->operands.push_back({place, false});
  for (BufferSlice place : written) step->operands.push_back({place, true});
  step->kernel = std::move(function);
  KernelStep& added = *step;
  plan_.steps.push_back(std::move(step));
  return added;
}

void PlanBuilder::note_fused(const Chain& chain) {
  StepInfo& info = plan_.steps.back()->info;
  info = step_info(*chain.anchor(), std::move(info.kernel));
  for (std::size_t i = 1; i < chain.nodes.size(); ++i) {
    add_fused(info, *chain.nodes[i]);
    note_optimized_out(chain.nodes[i]);
  }
}

void PlanBuilder::note_joined(const Chain& chain) {
  StepInfo& info = plan_.steps.back()->info;
  info = step_info(*chain.last(), std::move(info.kernel));
  for (std::size_t i = 0; i + 1 < chain.nodes.size(); ++i) {
    add_fused(info, *chain.nodes[i]);
    note_optimized_out(chain.nodes[i]);
  }
}

void PlanBuilder::note_optimized_out(const std::shared_ptr<Node>& node) {
  plan_.optimized_out.emplace_back(node->get_friendly_name(), node->get_type_name());
  // Views take what passes replaced by them along.
  for (const pass::OriginalNode& original : pass::original_nodes(*node))
    plan_.optimized_out.emplace_back(original.name, original.type);
}

void PlanBuilder::lower_reference(const std::shared_ptr<Node>& node) {
  if (!node->operation().evaluate) {
    throw Error(Code::kUnimplemented, "CPU: " + node->describe() + " has no kernel for these types and shapes");
  }
  auto step = std::make_unique<ReferenceStep>();
  step->info = step_info(*node, "reference");
  step->info.is_reference = true;
  step->node = node;
  step->input_count = node->get_input_size();
  for (std::size_t i = 0; i < node->get_input_size(); ++i) {
    Value& source = input(node, i);
    step->operands.push_back({plain(source), false});
    step->tensors.emplace_back(source.type, source.shape);
  }
  for (std::size_t i = 0; i < node->get_output_size(); ++i) {
    Value& made = value(node->output(i));
    step->operands.push_back({define_plain(made), true});
    step->tensors.emplace_back(made.type, made.shape);
  }
  plan_.steps.push_back(std::move(step));
}

}  // namespace tenon::inline v1::engine
