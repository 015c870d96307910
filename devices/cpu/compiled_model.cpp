// SPDX-License-Identifier: Apache-2.0
// Compiled models and requests of the CPU device.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/core/version.hpp>
#include <tenon/devices/cpu/compiled_model.hpp>
#include <tenon/engine/runtime_model.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/passes/original_names.hpp>
#include <tenon/graph/passes/pass.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::cpu_device {
namespace {

/// Whether all shapes are known, states included: the assigned value must have the shape of the value that is read.
bool is_static(const Model& model) {
  std::map<std::string, const Node*> states;
  for (const auto& node : model.get_ordered_ops()) {
    if (has_strings(*node)) return false;  // Strings are moved by no plan.
    for (std::size_t i = 0; i < node->get_output_size(); ++i)
      if (node->get_output_partial_shape(i).is_dynamic() || node->get_output_element_type(i).is_dynamic()) return false;
    if (std::string_view(node->get_type_name()) == "ReadValue")
      states[node->get_attributes().get_string("variable_id")] = node.get();
  }
  for (const auto& sink : model.get_sinks()) {
    if (std::string_view(sink->get_type_name()) != "Assign") continue;
    const auto state = states.find(sink->get_attributes().get_string("variable_id"));
    if (state != states.end() && sink->get_input_shape(0) != state->second->get_output_shape(0)) return false;
  }
  return true;
}

void check_supported(const Model& model) {
  std::string missing;
  std::size_t count = 0;
  for (const auto& node : model.get_ordered_ops()) {
    if (engine::is_supported(*node)) continue;
    missing += (count++ ? ", " : "") + node->describe();
  }
  if (count) {
    throw Error(Code::kUnimplemented, "CPU: " + std::to_string(count) + " node(s) have no kernel: " + missing +
                                          "; rewrite them with operations of the table (see operations())");
  }
}

}  // namespace

CompiledModel::CompiledModel(const std::shared_ptr<const Model>& model, const Config& config)
    : CompiledModelImpl(Ports::of(*model)),
      config_(config),
      source_(model),
      name_(model->get_friendly_name()),
      variables_(VariableInfo::of(*model)) {
  start_workers();
  if (is_static(*model)) {
    static_plan_ = engine::Plan::compile(model, engine_options());
  } else {
    check_supported(*model);
    // Runs before the partition into stages, so that values passed between them are not rounded either.
    const auto mine = model->clone();
    if (pass::Manager().add(pass::widen_reals()).run(mine)) pass::note_original_nodes(*model, *mine);
    keep_open(mine);
  }
  declare_properties();
}

CompiledModel::CompiledModel(const engine::Blob& blob, const Config& config)
    : CompiledModelImpl(Ports::of(*blob.prepared.model)),
      config_(config),
      name_(blob.name),
      variables_(VariableInfo::of(*blob.prepared.model)) {
  config_.precision = blob.precision;
  start_workers();
  if (blob.kind == engine::Blob::Kind::kWeightless && is_static(*blob.prepared.model)) {
    static_plan_ = engine::Plan::compile(blob.prepared.model, engine_options());
  } else if (blob.kind == engine::Blob::Kind::kPrepared) {
    static_plan_ = engine::restore_plan(blob.prepared, engine_options());
  } else {
    keep_open(blob.prepared.model);
  }
  declare_properties();
}

void CompiledModel::start_workers() {
  // The number is fixed from now on: later reservations do not affect this model.
  config_.threads = config_.total_threads();
  const int streams = std::max(config_.stream_count(), 0), threads = config_.threads_per_stream();
  const std::vector<int> cpus = config_.placement.cpus();
  if (config_.placement.reservation)
    reservation_ = std::make_unique<Reservation>(cpus, static_cast<std::size_t>(config_.threads));
  for (int i = 0; i <= streams; ++i) {
    // Callers of infer() use the first stream's CPUs.
    const int first = i == streams ? 0 : i * threads;
    workers_.push_back(std::make_unique<engine::Workers>(config_.placement.workers(cpus, first, threads)));
  }
}

void CompiledModel::export_model(std::ostream& stream) const { export_blob(stream, false); }

void CompiledModel::export_blob(std::ostream& stream, bool weightless) const {
  engine::Blob blob;
  blob.name = name_;
  blob.precision = config_.compute_type();
  // A weightless export needs the original model to be alive; the runtime's cache exports in time.
  if (const auto source = source_.lock(); source && weightless) {
    blob.kind = engine::Blob::Kind::kWeightless;
    blob.prepared.model = source;
  } else if (static_plan_) {
    blob.kind = engine::Blob::Kind::kPrepared;
    blob.prepared = engine::packed_model_of(*static_plan_);
  } else {
    blob.kind = engine::Blob::Kind::kModel;
    blob.prepared.model = model_;
  }
  engine::write_blob(stream, blob);
}

void CompiledModel::declare_properties() {
  const int streams = std::max(config_.stream_count(), 0);
  table_.add_constant(model_name, name_);
  table_.add_constant(optimal_number_of_infer_requests, static_cast<std::uint32_t>(std::max(streams, 1)));
  table_.add_constant(num_streams, streams::Num(streams));
  table_.add_constant(inference_num_threads, config_.total_threads());
  table_.add_constant(hint::performance_mode, config_.mode);
  table_.add_constant(hint::num_requests, config_.num_requests);
  table_.add_constant(hint::inference_precision, element::Type(config_.compute_type()));
  table_.add_constant(enable_profiling, config_.profiling);
  table_.add_constant(hint::execution_mode, config_.execution_mode);
  table_.add_constant(hint::dynamic_quantization_group_size, config_.rounding_group());
  table_.add_constant(hint::kv_cache_precision, config_.kv_cache_precision());
  table_.add_constant(key_cache_precision, element::Type(config_.key_cache_type()));
  table_.add_constant(value_cache_precision, element::Type(config_.value_cache_type()));
  table_.add_constant(key_cache_group_size, config_.key_group);
  table_.add_constant(value_cache_group_size, config_.value_group);
  table_.add_constant(execution_devices, std::vector<std::string>{"CPU"});
  table_.add_constant(runtime_requirements, cpu_device::requirements());
  config_.placement.describe(table_);
  config_.inert.describe(table_);
}

void CompiledModel::keep_open(std::shared_ptr<const Model> model) {
  model_ = std::move(model);
  store_ = std::make_shared<engine::ModelPlans>(engine_options());
  store_->open(model_);  // The passes run now, not within the first inference.
}

engine::Options CompiledModel::engine_options() const {
  engine::Options options;
  options.threads = config_.threads_per_stream();
  options.profile = config_.profiling;
  options.precision = config_.compute_type();
  options.dynamic_quantization = config_.rounding_group();
  options.key_cache = config_.key_cache_type();
  options.value_cache = config_.value_cache_type();
  options.key_cache_group = config_.key_group;
  options.value_cache_group = config_.value_group;
  return options;
}

std::unique_ptr<InferRequestImpl> CompiledModel::create_request() { return make_request(shared_from_this()); }

std::optional<Refusal> CompiledModel::refuses_input(std::size_t index, const Tensor& tensor) const {
  // The input stage reads the decoder's rows in place; other kernels read packed tensors.
  if (static_plan_ && static_plan_->reads_strided(index) && tensor.is_host_addressable()) return std::nullopt;
  return CompiledModelImpl::refuses_input(index, tensor);
}

std::shared_ptr<RemoteContextImpl> CompiledModel::context() const {
  throw NotImplemented("get_context is not supported by CPU plugin!");
}

std::shared_ptr<const Model> CompiledModel::runtime_model() const {
  const std::lock_guard lock(last_mutex_);
  if (static_plan_) return engine::runtime_model(*static_plan_, last_times_);
  if (last_run_.parts.empty())
    throw Error(Code::kFailedPrecondition,
                "CPU: '" + name_ +
                    "' has shapes that are known only when it runs, and it has not run yet, so "
                    "there are no steps to show (get_runtime_model): infer once, or reshape "
                    "the model to static shapes before compiling it");
  return engine::runtime_model(*model_, last_run_);
}

void CompiledModel::note_times(const std::vector<engine::Execution::Timing>& times) {
  const std::lock_guard lock(last_mutex_);
  last_times_ = times;
}

void CompiledModel::note_run(const engine::Staged& staged) {
  const std::uint64_t number = staged.last_run_number();
  if (!config_.profiling && last_number_.load() == number) return;
  engine::LastRun run = staged.last_run();
  const std::lock_guard lock(last_mutex_);
  std::swap(last_run_, run);  // The previous run is released after the lock.
  last_number_ = number;
}

std::string requirements() {
  std::string text = "tenon=" TENON_VERSION ";isa=";
#if defined(__x86_64__)
  text += __builtin_cpu_supports("avx512bf16") ? "avx512_bf16"
          : __builtin_cpu_supports("avx512f")  ? "avx512"
          : __builtin_cpu_supports("avx2")     ? "avx2"
                                               : "sse4.1";
#else
  text += "generic";
#endif
  return text;
}

}  // namespace tenon::inline v1::cpu_device
