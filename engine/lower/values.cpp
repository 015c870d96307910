// SPDX-License-Identifier: Apache-2.0
// Values while lowering: buffers, the layouts that a value lies in, and the moves between them.
#include <algorithm>
#include <cstring>

#include <tenon/core/error.hpp>
#include <tenon/devices/cpu/engine/lowering.hpp>
#include <tenon/devices/cpu/engine/quantization.hpp>

namespace tenon::inline v1::engine {

ValueId Lowering::id_of(const Output<Node>& output) const {
  return ids_.at(output.get_node()) + static_cast<ValueId>(output.get_index());
}
Value& Lowering::value(const Output<Node>& output) { return values_[id_of(output)]; }

Tensor Lowering::constant_input(const std::shared_ptr<Node>& node, std::size_t index) {
  if (index >= node->get_input_size()) return {};
  return input(node, index).constant;
}

bool Lowering::constant_ints(const std::shared_ptr<Node>& node, std::size_t index, std::vector<std::int64_t>& values) {
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

BufferId Lowering::add_buffer(BufferKind kind, std::size_t size_bytes, std::uint32_t index) {
  Buffer buffer;
  buffer.kind = kind;
  buffer.size_bytes = size_bytes;
  buffer.index = index;
  plan_.buffers.push_back(std::move(buffer));
  tenants_.emplace_back().is_foreign = kind != BufferKind::kArena;
  group_.push_back(static_cast<BufferId>(group_.size()));
  return static_cast<BufferId>(plan_.buffers.size() - 1);
}

BufferId Lowering::group(BufferId buffer) {
  while (group_[buffer] != buffer) buffer = group_[buffer] = group_[group_[buffer]];
  return buffer;
}

Place Lowering::constant_place(const Tensor& tensor) {
  const void* key = tensor.element_count() ? tensor.data() : nullptr;
  if (const auto found = constants_.find(key); key && found != constants_.end()) return {found->second, 0};
  const BufferId id = add_buffer(BufferKind::kConstant, tensor.size_bytes());
  Tensor packed = tensor;
  if (!tensor.is_contiguous()) {
    packed = Tensor(tensor.element_type(), tensor.shape());
    copy_strided(tensor.element_type(), tensor.shape(), tensor.data(), tensor.byte_strides(), packed.data(),
                 packed.byte_strides());
  }
  plan_.buffers[id].constant = packed;
  if (key) constants_[key] = id;
  return {id, 0};
}

Place Lowering::packed_constant(const Tensor& tensor, const md& view, const md& desc) {
  if (view == desc) return constant_place(tensor);
  Tensor packed;
  if (plan_.store && plan_.store->holds(tensor.data())) {
    packed = plan_.store->find(tensor.data(), view, desc);
  } else {
    packed = Tensor(ElementType::kU8, Shape{std::max<std::size_t>(desc.get_size(), 1)});
    dnnl::stream stream(engine());
    dnnl::memory from(view, engine(), tensor.data()), to(desc, engine(), packed.data());
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
  }
  plan_.packed.push_back({tensor.data(), view, desc, packed});
  const BufferId id = add_buffer(BufferKind::kConstant, packed.size_bytes());
  plan_.buffers[id].constant = packed;
  return {id, 0};
}

const Value::Variant& Lowering::native(Value& value) {
  if (value.variants.empty()) {
    if (!value.constant) throw Error(Code::kInternal, "CPU engine: a value is read before it is made");
    const Place place = constant_place(value.constant);
    add_variant(value, {place, plain_desc(value.type, value.shape), true, true});
  }
  return value.variants.front();
}

Place Lowering::plain(Value& value) {
  native(value);
  for (const auto& variant : value.variants)
    if (variant.plain) return variant.place;
  return in_layout(value, plain_desc(value.type, value.shape));
}

Value::Variant Lowering::packed(Value& value) {
  const Value::Variant from = native(value);
  for (const auto& variant : value.variants)
    if (variant.packed && variant.desc.get_data_type() == from.desc.get_data_type()) return variant;
  in_layout(value, plain_desc(element_type(from.desc), value.shape));
  return value.variants.back();
}

Place Lowering::in_layout(Value& value, const md& desc) {
  const Value::Variant from = native(value);
  const bool wants_plain = is_plain(desc, value.shape, value.type);
  for (const auto& variant : value.variants) {
    if (variant.desc == desc || (wants_plain && variant.plain)) return variant.place;
  }
  if (value.constant && from.plain) {
    const Place place = packed_constant(value.constant, from.desc, desc);
    add_variant(value, {place, desc, wants_plain, is_packed(desc, value.shape)});
    return place;
  }
  const Place place{add_buffer(BufferKind::kArena, desc.get_size()), 0};
  add_reorder(value, from, place, desc, value.quantization);
  plan_.steps.back()->info.node_name =
      outputs_[static_cast<std::size_t>(&value - values_.data())].first->get_friendly_name() + "/reorder";
  add_variant(value, {place, desc, wants_plain, is_packed(desc, value.shape)});
  return place;
}

void Lowering::add_move(Place from, const md& from_desc, Place to, const md& to_desc) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::reorder::primitive_desc reorder(engine(), from_desc, engine(), to_desc, attributes);
  auto step = std::make_unique<PrimitiveStep>();
  step->engine = engine();
  step->primitive = dnnl::reorder(reorder);
  step->info.node_type = "Reorder";
  step->info.kernel = reorder.impl_info_str();
  add_argument(*step, DNNL_ARG_FROM, from, from_desc);
  add_argument(*step, DNNL_ARG_TO, to, to_desc, true);
  add_scratchpad(*step, reorder.scratchpad_desc());
  plan_.steps.push_back(std::move(step));
}

void Lowering::add_affine(const kernels::Affine& what, Place from, Place to, std::size_t count) {
  auto step = std::make_unique<KernelStep>();
  step->info.node_type = "Reorder";
  step->info.kernel = "affine:" + std::string(name(what.from)) + "-" + std::string(name(what.to));
  step->operands = {{from, false}, {to, true}};
  step->kernel = [what, count](std::span<void* const> p) { kernels::affine(what, p[0], p[1], count); };
  plan_.steps.push_back(std::move(step));
}

void Lowering::add_reorder(const Value& source, const Value::Variant& from, Place to, const md& desc,
                           const std::optional<Quantization>& quantization) {
  const bool reads_8_bit = source.quantization && is_8_bit(element_type(from.desc)),
             writes_8_bit = quantization && is_8_bit(element_type(desc));
  if ((!reads_8_bit && !writes_8_bit) || (reads_8_bit && writes_8_bit && *source.quantization == *quantization))
    return add_move(from.place, from.desc, to, desc);
  // oneDNN 3.2's reorders with zero points give wrong numbers for some extents: numbers change by a kernel of ours,
  // where they lie without gaps, before or after they move.
  const kernels::Affine what = affine_of(reads_8_bit ? source.quantization : std::nullopt, element_type(from.desc),
                                         writes_8_bit ? quantization : std::nullopt, element_type(desc));
  const std::size_t count = element_count(source.shape);
  const md changed = retyped(from.desc, what.to), moved = retyped(desc, what.from);
  const bool change_first = is_dense(from.desc) && changed.get_ndims(),
             move_first = is_dense(desc) && moved.get_ndims();
  if (change_first && changed == desc) return add_affine(what, from.place, to, count);
  if (move_first && (reads_8_bit || !change_first)) {
    const Place middle = scratch(moved.get_size());
    add_move(from.place, from.desc, middle, moved);
    return add_affine(what, middle, to, count);
  }
  if (change_first) {
    const Place middle = scratch(changed.get_size());
    add_affine(what, from.place, middle, count);
    return add_move(middle, changed, to, desc);
  }
  const md plain_from = plain_desc(what.from, source.shape), plain_to = plain_desc(what.to, source.shape);
  const Place packed = scratch(plain_from.get_size()), middle = scratch(plain_to.get_size());
  add_move(from.place, from.desc, packed, plain_from);
  add_affine(what, packed, middle, count);
  add_move(middle, plain_to, to, desc);
}

bool Lowering::lower_reorder(const std::shared_ptr<Node>& node, Value& source, Value& made, const md& desc) {
  const Value::Variant from = native(source);
  if (from.desc.get_ndims() == 0) return false;
  const Place to{add_buffer(BufferKind::kArena, desc.get_size()), 0};
  add_reorder(source, from, to, desc, made.quantization);
  StepInfo& info = plan_.steps.back()->info;
  info.node_name = node->get_friendly_name();
  info.node_type = node->get_type_name();
  define_view(made, desc, to);
  return true;
}

Value::Variant Lowering::real(Value& value) {
  const Value::Variant from = native(value);
  if (!value.quantization || !is_8_bit(element_type(from.desc))) return from;
  for (const auto& variant : value.variants)
    if (!is_8_bit(element_type(variant.desc))) return variant;
  // As it lies, but real.
  in_layout(value, retyped(from.desc, compute_type()));
  return value.variants.back();
}

Place Lowering::define(Value& value, const md& desc) {
  if (desc.get_ndims() == 0) return define_plain(value);
  const Place place{add_buffer(BufferKind::kArena, desc.get_size()), 0};
  define_at(value, desc, place);
  return place;
}

Place Lowering::define_plain(Value& value) {
  const Place place{add_buffer(BufferKind::kArena, *checked_size_bytes(value.type, value.shape)), 0};
  define_at(value, plain_desc(value.type, value.shape), place);
  return place;
}

void Lowering::define_at(Value& value, const md& desc, Place place, bool by_next_step) {
  const bool undescribed = desc.get_ndims() == 0;
  const bool packed = undescribed || is_packed(desc, value.shape);
  add_variant(value, {place, desc, packed && (undescribed || element_type(desc) == value.type), packed});
  const auto id = static_cast<ValueId>(&value - values_.data());
  const auto step = static_cast<std::ptrdiff_t>(plan_.steps.size()) - (by_next_step ? 0 : 1);
  plan_.made.push_back(
      {outputs_[id].first, outputs_[id].second, value.type, value.shape, place, desc, step, value.quantization});
}

Place Lowering::scratch(std::size_t size_bytes) { return {add_buffer(BufferKind::kArena, size_bytes), 0}; }

// -- Who reads what
// -----------------------------------------------------------------------------------------------------------

namespace {
std::size_t extent_bytes(const Value& value, const Value::Variant& variant) {
  return variant.desc.get_ndims() ? variant.desc.get_size() : *checked_size_bytes(value.type, value.shape);
}

bool overlap(std::size_t a, std::size_t a_bytes, std::size_t b, std::size_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}
}  // namespace

void Lowering::count_reader(BufferId buffer, int change) {
  const auto by = static_cast<std::size_t>(change);  // Unsigned arithmetic wraps: -1 takes one away.
  tenants_[buffer].read += by;
  tenants_[group(buffer)].group_read += by;
}

void Lowering::add_variant(Value& value, Value::Variant variant) {
  tenants_[variant.place.buffer].values.push_back(static_cast<ValueId>(&value - values_.data()));
  if (value.remaining_uses > 0) count_reader(variant.place.buffer, 1);
  value.variants.push_back(std::move(variant));
}

void Lowering::change_uses(Value& value, int change) {
  const bool was_read = value.remaining_uses > 0;
  value.remaining_uses += change;
  const bool is_read = value.remaining_uses > 0;
  if (was_read == is_read) return;
  for (const auto& variant : value.variants) {
    count_reader(variant.place.buffer, is_read ? 1 : -1);
    if (is_read) tenants_[variant.place.buffer].values.push_back(static_cast<ValueId>(&value - values_.data()));
  }
}

bool Lowering::is_still_read(Place place, std::size_t size_bytes) {
  Tenants& tenants = tenants_[place.buffer];
  if (tenants.read == 0) return false;
  // Looking at more each time would cost the square of their number.
  constexpr std::size_t kMany = 64;
  if (tenants.read > kMany) return true;
  if (tenants.values.size() > kMany)
    std::erase_if(tenants.values, [&](ValueId id) { return values_[id].remaining_uses <= 0; });
  for (const ValueId id : tenants.values) {
    const Value& value = values_[id];
    if (value.remaining_uses <= 0) continue;
    for (const auto& variant : value.variants)
      if (variant.place.buffer == place.buffer &&
          overlap(variant.place.offset, extent_bytes(value, variant), place.offset, size_bytes))
        return true;
  }
  return false;
}

std::vector<Read> Lowering::reads_of(const Value& value) const {
  std::vector<Read> reads;
  for (const auto& variant : value.variants) reads.push_back({variant.place, extent_bytes(value, variant)});
  return reads;
}

bool Lowering::may_overwrite(const Read& over, const std::vector<Read>& others) {
  const BufferId buffer = over.place.buffer;
  if (!options().fuse || plan_.buffers[buffer].kind != BufferKind::kArena) return false;
  const Tenants& first = tenants_[group(buffer)];
  // How buffers of a group will lie to each other is not known yet: whatever is read of another one is in the way.
  if (first.is_foreign || first.group_read > tenants_[buffer].read) return false;
  for (const Read& other : others) {
    if (!other.place || group(other.place.buffer) != group(buffer)) continue;
    if (other.place.buffer != buffer) return false;
    if (!overlap(other.place.offset, other.size_bytes, over.place.offset, over.size_bytes)) continue;
    if (!other.in_step || !(other.place == over.place) || other.size_bytes != over.size_bytes) return false;
  }
  return !is_still_read(over.place, over.size_bytes);
}

Place Lowering::define_over(Value& value, const md& desc, const Read& over, const std::vector<Read>& others) {
  if (!may_overwrite(over, others)) return define(value, desc);
  define_at(value, desc, over.place);
  return over.place;
}

void Lowering::may_share(Place a, Place b) {
  const BufferId from = group(a.buffer), to = group(b.buffer);
  if (from == to) return;
  group_[from] = to;
  tenants_[to].group_read += tenants_[from].group_read;
  tenants_[to].is_foreign |= tenants_[from].is_foreign;
}

void Lowering::request_part(Place part, std::size_t size_bytes, Place whole, std::size_t step) {
  may_share(part, whole);
  requests_.push_back({part, size_bytes, whole, step});
}

}  // namespace tenon::inline v1::engine
