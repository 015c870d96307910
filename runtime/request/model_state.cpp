// SPDX-License-Identifier: Apache-2.0
// Ports, look-ups and device plans of a compiled model.
#include <tenon/runtime/request/model_state.hpp>

#include <algorithm>

#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon {
inline namespace v1 {

EdgeId copy_in_edge() {
  static const EdgeId id = register_edge("request input->device (packed)");
  return id;
}
EdgeId copy_out_edge() {
  static const EdgeId id = register_edge("device->request output (packed)");
  return id;
}
EdgeId frame_edge() {
  static const EdgeId id = register_edge("frame->input stage");
  return id;
}
EdgeId replan_edge() {
  static const EdgeId id = register_edge("input stage re-plan");
  return id;
}

PortInfo::PortInfo(const Output<const Node>& port)
    : node(port.get_node()),
      friendly_name(node->get_friendly_name()),
      names(port.get_names().begin(), port.get_names().end()),
      type(port.get_element_type()),
      shape(port.get_partial_shape()),
      is_static(shape.is_static()) {
  std::sort(names.begin(), names.end());
  label = names.empty() ? friendly_name : names.front();
  if (is_static) static_shape = shape.to_shape();
}

bool PortInfo::fits(const Shape& actual) const {
  if (is_static) return actual == static_shape;
  if (shape.rank().is_dynamic()) return true;
  if (shape.size() != actual.size()) return false;
  // Extent by extent, because a PartialShape made of `actual` would allocate.
  for (std::size_t axis = 0; axis < actual.size(); ++axis) {
    if (!shape[axis].compatible(Dimension(static_cast<Dimension::value_type>(actual[axis])))) return false;
  }
  return true;
}

Shape PortInfo::least_shape() const {
  Shape least;
  if (shape.rank().is_dynamic()) return Shape{0};
  for (const Dimension& extent : shape)
    least.push_back(extent.is_static() ? static_cast<std::size_t>(extent.get_length()) : 0);
  return least;
}

ModelState::ModelState(std::shared_ptr<SharedState> shared, std::shared_ptr<Device> device, ModelSource source,
                       AnyMap properties, ZeroCopy policy)
    : shared_(std::move(shared)),
      device_(std::move(device)),
      source_(std::move(source)),
      properties_(std::move(properties)),
      policy_(policy),
      ports_(Ports::of(*source_.model)) {
  read_ports();
}

ModelState::ModelState(std::shared_ptr<SharedState> shared, std::shared_ptr<Device> device,
                       std::shared_ptr<CompiledModelImpl> impl, bool from_cache, ModelSource source, AnyMap properties,
                       ZeroCopy policy)
    : shared_(std::move(shared)),
      device_(std::move(device)),
      source_(std::move(source)),
      properties_(std::move(properties)),
      policy_(policy),
      ports_(impl->ports()) {
  read_ports();
  add_main(std::move(impl), from_cache);
}

ModelState::ModelState(std::shared_ptr<SharedState> shared, std::shared_ptr<Device> device,
                       std::shared_ptr<CompiledModelImpl> impl, ZeroCopy policy)
    : shared_(std::move(shared)), device_(std::move(device)), policy_(policy), ports_(impl->ports()) {
  read_ports();
  add_main(std::move(impl), false);
}

void ModelState::add_main(std::shared_ptr<CompiledModelImpl> impl, bool from_cache) {
  auto variant = std::make_shared<InputVariant>();
  variant->impl = std::move(impl);
  variant->from_cache = from_cache;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    variant->first_input.push_back(i);
    variant->input_count.push_back(1);
  }
  variants_.push_back(std::move(variant));
}

const std::shared_ptr<const Model>& ModelState::model() const {
  if (source_.read)
    std::call_once(read_once_, [this] {
      if (!source_.model) source_.model = source_.read();
    });
  return source_.model;
}

void ModelState::read_ports() {
  for (const auto& port : ports_.inputs) inputs_.emplace_back(port);
  for (const auto& port : ports_.outputs) outputs_.emplace_back(port);
  // Inputs win over outputs, tensor names over friendly names: emplace keeps the first.
  const auto add = [this](bool is_input, bool friendly) {
    const auto& ports = is_input ? inputs_ : outputs_;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (friendly)
        by_name_.emplace(ports[i].friendly_name, PortRef{is_input, i});
      else
        for (const std::string& name : ports[i].names) by_name_.emplace(name, PortRef{is_input, i});
    }
  };
  for (const bool friendly : {false, true}) {
    for (const bool is_input : {true, false}) add(is_input, friendly);
  }
}

PortRef ModelState::find(std::string_view name) const {
  if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
  std::string known;
  for (const auto* ports : {&inputs_, &outputs_}) {
    for (const PortInfo& port : *ports) known += (known.empty() ? "" : ", ") + port.label;
  }
  throw AssertFailure("Port for tensor name " + std::string(name) + " was not found. The model has: " + known,
                      Code::kNotFound);
}

PortRef ModelState::find(const Output<const Node>& port) const {
  const Node* node = port.get_node();
  if (!node) throw AssertFailure("Port for an empty Output was not found.", Code::kNotFound);
  for (const bool is_input : {true, false}) {
    const auto& ports = is_input ? inputs_ : outputs_;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (ports[i].node == node) return {is_input, i};
    }
  }
  // A port of the model that was compiled, or of a copy of it: the same kind and name, and one's tensor names include
  // the other's.
  const bool is_parameter = as_type<op::v0::Parameter>(node) != nullptr;
  const bool is_result = as_type<op::v0::Result>(node) != nullptr;
  if (is_parameter || is_result) {
    const auto& names = port.get_names();
    const auto& ports = is_parameter ? inputs_ : outputs_;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (ports[i].friendly_name != node->get_friendly_name()) continue;
      const bool subset = std::all_of(ports[i].names.begin(), ports[i].names.end(),
                                      [&](const auto& name) { return names.count(name) > 0; }) ||
                          std::all_of(names.begin(), names.end(), [&](const auto& name) {
                            return std::binary_search(ports[i].names.begin(), ports[i].names.end(), name);
                          });
      if (subset) return {is_parameter, i};
    }
  }
  throw AssertFailure("Port '" + node->get_friendly_name() + "' was not found: it is no input or output of this model",
                      Code::kNotFound);
}

std::size_t ModelState::check_index(bool is_input, std::size_t index) const {
  const std::size_t count = is_input ? inputs_.size() : outputs_.size();
  if (index < count) return index;
  throw AssertFailure(std::string(is_input ? "Input" : "Output") + " port for index " + std::to_string(index) +
                          " was not found! The model has only " + std::to_string(count) +
                          (is_input ? " inputs." : " outputs."),
                      Code::kNotFound);
}

std::shared_ptr<const InputVariant> ModelState::build(const InputVariant::Key& key) const {
  auto variant = std::make_shared<InputVariant>();
  variant->key = key;
  std::shared_ptr<const Model> model = this->model();
  const bool as_given = std::none_of(key.begin(), key.end(), [](const auto& format) { return format.has_value(); });
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    std::size_t count = 1;
    if (!key.empty() && key[i]) {
      const InputStageOptions options = options_from(*model, *key[i], inputs_[i].label);
      model = with_input_stage(*model, inputs_[i].label, options);
      count = plane_suffixes(key[i]->format).size();
    }
    variant->first_input.push_back(next);
    variant->input_count.push_back(count);
    next += count;
  }
  cache::Compiler compiler(*device_, properties_, source_.cache, source_.context);
  if (compiler.active()) {
    // With an input stage it is another model, named by its content.
    auto outcome = compiler.compile(model, as_given ? source_.origin : cache::Origin{},
                                    as_given ? source_.files : std::vector<cache::FileIdentity>{});
    variant->impl = std::move(outcome.compiled);
    variant->from_cache = outcome.from_cache;
  } else {
    variant->impl = source_.context ? device_->compile_in_context(model, source_.context, properties_)
                                    : device_->compile_model(model, properties_);
  }
  if (!variant->impl) throw Error(Code::kInternal, "device " + device_->name() + " compiled a model to nothing");
  return variant;
}

std::shared_ptr<const InputVariant> ModelState::variant(const InputVariant::Key& key) {
  // Compiles under the lock: two requests that see the same new format must not both compile for it.
  std::lock_guard lock(mutex_);
  for (const auto& variant : variants_) {
    if (variant->key == key) return variant;
  }
  if (!model()) {
    throw Error(Code::kFailedPrecondition,
                "an imported model takes no frames: its input stage would have to be compiled in; use set_tensor, "
                "or compile the model from its source");
  }
  auto built = build(key);
  if (!variants_.empty()) shared_->ledger.book_map(replan_edge(), false);
  variants_.push_back(built);
  return built;
}

std::shared_ptr<const InputVariant> ModelState::main_variant() {
  {
    std::lock_guard lock(mutex_);
    if (!variants_.empty()) return variants_.front();
  }
  return variant({});
}

std::size_t ModelState::variant_count() const {
  std::lock_guard lock(mutex_);
  return variants_.size();
}

FrameGeometry ModelState::frame_geometry(const FrameInfo& info, std::size_t input) const {
  if (!model()) throw Error(Code::kFailedPrecondition, "an imported model takes no frames");
  return make_spec(options_from(*model(), info, inputs_[input].label)).upright;
}

Executor& ModelState::executor(std::size_t streams) {
  std::call_once(executor_once_, [&] { executor_ = std::make_unique<Executor>(streams); });
  executor_->grow(streams);
  return *executor_;
}

}  // namespace v1
}  // namespace tenon
