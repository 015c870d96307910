// SPDX-License-Identifier: Apache-2.0
// Compiles: passes and lowering for the requested level, then a self-contained blob.
#include <tenon/drivers/npu/compiler/compiler.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>

#include <pugixml.hpp>

#include <tenon/core/error.hpp>
#include <tenon/drivers/npu/compiler/in_memory_ir.hpp>
#include <tenon/drivers/npu/compiler/precise_layers.hpp>
#include <tenon/drivers/npu/compiler/precision_trial.hpp>
#include <tenon/drivers/npu/compiler/refusals.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>

namespace tenon::npu::compiler {
namespace {

using Clock = std::chrono::steady_clock;

void check_supported(const Model& model) {
  const Refusals& refusals = Refusals::from_environment();
  std::string missing;
  std::size_t count = 0;
  for (const auto& node : model.get_ordered_ops()) {
    const std::string_view type = node->get_type_name();
    const bool is_refused = refusals.refuses(*node);
    if (!is_refused && (type == "ReadValue" || type == "Assign" || engine::is_supported(*node))) continue;
    missing += "\n  " + node->describe() + (is_refused ? " (on purpose: TENON_NPU_REFUSE)" : "");
    ++count;
  }
  if (count)
    throw Error(Code::kUnimplemented, "NPU: " + std::to_string(count) + " node(s) are not supported:" + missing);
}

/// bf16 if requested and native on this CPU. f16 has a longer mantissa, so f16 requests use f32, unless a trial shows
/// that bf16 is exact enough.
ElementType precision_of(const Options& options) {
  if (options.wants_accuracy || options.keeps_f32 || options.precision != Precision::kBf16) return ElementType::kF32;
  return engine::has_native_bf16() ? ElementType::kBf16 : ElementType::kF32;
}

bool leaves_precision_open(const Options& options) {
  return !options.wants_accuracy && !options.keeps_f32 && !options.reference_kernels &&
         (options.precision == Precision::kDefault || options.precision == Precision::kF16);
}

Settings settings_of(const Options& options, const Target& target) {
  Settings settings;
  settings.target = target;
  settings.profiling = options.profiling;
  settings.optimization_level = options.optimization_level;
  settings.precision = precision_of(options);
  settings.reference_kernels = options.reference_kernels;
  settings.fuse = options.optimization_level > 0;
  return settings;
}

/// Time of one execution on zeros, best of a few.
std::chrono::nanoseconds time_of(const std::shared_ptr<const engine::Plan>& plan, engine::Workers& workers) {
  constexpr int kRuns = 4;
  engine::Execution execution(plan);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < plan->inputs().size(); ++i) {
    inputs.emplace_back(plan->inputs()[i].type, plan->inputs()[i].shape);
    std::memset(inputs.back().data(), 0, inputs.back().size_bytes());
    execution.bind_input(i, inputs.back());
  }
  auto best = std::chrono::nanoseconds::max();
  for (int i = 0; i < kRuns; ++i) {
    const auto begin = Clock::now();
    execution.run(workers);
    best = std::min<std::chrono::nanoseconds>(best, Clock::now() - begin);
  }
  return best;
}

/// Level 2 measures plans and keeps the fastest; lower levels use heuristics.
/// @param may_round  The client left the precision open.  @param threads  For compiling; 0: as many as for running.
std::shared_ptr<const engine::Plan> make_plan(const std::shared_ptr<const Model>& model, Settings& settings,
                                              bool may_round, int threads, std::string& log) {
  const auto compiled = [&](const Settings& how) {
    engine::Options options = how.engine_options();
    options.compile_threads = threads;
    return engine::Plan::compile(model, options);
  };
  engine::WorkerOptions trial;
  trial.threads = settings.target.workers();
  trial.active = threads;
  auto plan = compiled(settings);
  if (may_round && is_worth_trying(*model)) {
    Settings rounded = settings;
    rounded.precision = ElementType::kBf16;
    const auto other = compiled(rounded);
    engine::Workers workers(trial);
    const bool agrees = agree_in_bf16(plan, other, workers);
    log += std::string("bf16 was tried: ") + (agrees ? "taken\n" : "too far from f32\n");
    if (agrees) {
      settings = rounded;
      plan = other;
    }
  }
  if (settings.optimization_level < 2 || settings.reference_kernels) return plan;
  engine::Workers workers(trial);
  Settings other = settings;
  other.blocked_layouts = !settings.blocked_layouts;
  const auto second = compiled(other);
  const auto first_time = time_of(plan, workers), second_time = time_of(second, workers);
  log += "level 2: " + std::to_string(first_time.count()) + " ns in blocks, " + std::to_string(second_time.count()) +
         " ns in rows\n";
  if (second_time >= first_time) return plan;
  settings = other;
  return second;
}

void mark_strided(std::vector<Argument>& arguments, const engine::Plan* plan, const Options& options) {
  for (Argument& argument : arguments) {
    if (argument.role != Argument::Role::kPort || argument.shape.is_dynamic()) continue;
    // Strides that no kernel reads in place are packed by the driver, for arguments that the client named.
    argument.reads_strides = argument.is_input && plan && plan->reads_strided(argument.port);
    const auto named = [&](const std::string& name) {
      return name == argument.name || name == argument.friendly_name ||
             std::count(argument.tensor_names.begin(), argument.tensor_names.end(), name) > 0;
    };
    if (bit_width(argument.type) >= 8)
      argument.reads_strides |= std::any_of(options.strided.begin(), options.strided.end(), named);
  }
}

CacheKey key_of(const InMemoryIr& ir, const Request& request, const Target& target) {
  store::ContentHasher hasher;
  const store::ContentHash model =
      request.input_hash ? store::content_hash(&*request.input_hash, sizeof *request.input_hash) : hash_of(ir);
  hasher.add(std::uint64_t{request.input_hash.has_value()});
  hasher.add(&model, sizeof model);
  hasher.add(std::string_view(request.build_flags ? request.build_flags : ""));
  hasher.add(Refusals::from_environment().text());
  hasher.add(std::uint64_t{request.profiling});
  hasher.add(static_cast<std::uint64_t>(request.numerics));
  for (const int number : {static_cast<int>(target.platform.number), target.max_tiles, target.tiles, target.workers()})
    hasher.add(static_cast<std::uint64_t>(number));
  hasher.add(engine::blob_identity());
  hasher.add(std::uint64_t{kCompilerMajor} << 32 | kCompilerMinor);
  return {hasher.result(), model};
}

std::string cache_line(const char* status) {
  return std::string("ZE DynamicCaching cache_status_t: cache_status_t::") + status + "\n";
}

std::string lines(const std::vector<std::string>& warnings) {
  std::string text;
  for (const std::string& warning : warnings) text += "warning: " + warning + "\n";
  return text;
}

/// What LOG_DEBUG adds: what the options came to, and the arguments as clients bind them.
std::string describe_target(const Target& target, const std::vector<Argument>& arguments) {
  std::string text = "platform " + std::to_string(target.platform.number) + ": " + std::to_string(target.tiles) +
                     " of " + std::to_string(target.max_tiles) + " tiles, on " + std::to_string(target.workers()) +
                     " threads; DMA engines: " + std::to_string(target.dma_engines) + "\n";
  for (const Argument& argument : arguments)
    text += std::string(argument.is_input ? "input " : "output ") + argument.name + ": " +
            std::string(name(argument.type)) + argument.shape.to_string() + ", in the model " +
            std::string(name(argument.network_type)) + (argument.layout.empty() ? "" : ", layout " + argument.layout) +
            "\n";
  return text;
}

/// What LOG_TRACE adds: the layers that the plan is made from.
std::string describe_layers(const Model& model) {
  std::string text;
  for (const auto& node : model.get_ordered_ops()) text += "layer " + node->describe() + "\n";
  return text;
}

Tensor build(const InMemoryIr& ir, const BuildFlags& flags, const Target& target, Numerics numerics, std::string& log) {
  std::shared_ptr<Model> model = read_in_memory_ir(ir);
  check_supported(*model);
  log += lines(mark_precise_layers(*model, flags.options.precise_layers));
  Interface interface = make_interface(model, flags);
  std::vector<Argument>& arguments = interface.arguments;
  if (flags.options.log >= LogLevel::kDebug) log += describe_target(target, arguments);
  if (flags.options.log >= LogLevel::kTrace) log += describe_layers(*model);
  Settings settings = settings_of(flags.options, target);
  const Timing timing = timing_of(*model, target);
  if (numerics == Numerics::kF16) {
    round_to_f16(*model);
    settings.precision = ElementType::kF32;
  }
  engine::Blob payload;
  payload.name = model->get_friendly_name();
  payload.precision = settings.precision;
  std::shared_ptr<const engine::Plan> plan;
  if (is_static(*model)) {
    // Rounding errors in a state accumulate over runs.
    const bool has_states = std::any_of(arguments.begin(), arguments.end(), [](const Argument& argument) {
      return argument.role == Argument::Role::kState;
    });
    plan = make_plan(model, settings, leaves_precision_open(flags.options) && !has_states && numerics == Numerics::kF32,
                     std::max(flags.options.compilation_threads, 0), log);
    payload.precision = settings.precision;
    payload.kind = engine::Blob::Kind::kPrepared;
    payload.prepared = engine::packed_model_of(*plan);
    if (flags.options.log >= LogLevel::kInfo) log += describe_plan(*plan, settings);
    for (const std::string& param : flags.options.idle_params)
      if (flags.options.log >= LogLevel::kInfo) log += "without effect here: " + param + "\n";
  } else {
    payload.kind = engine::Blob::Kind::kModel;
    payload.prepared.model = model;
  }
  mark_strided(arguments, plan.get(), flags.options);
  return write_native_blob(settings, interface, timing, payload);
}

BuildFlags flags_of(const Request& request) {
  BuildFlags flags = parse_build_flags(request.build_flags);
  flags.options.profiling |= request.profiling;
  return flags;
}

}  // namespace

Compiled compile(const Request& request, const CompileCache* cache) {
  const BuildFlags flags = flags_of(request);
  const Target target = resolve(flags.options, request.device);
  const InMemoryIr ir = parse_in_memory_ir(request.ir);
  Compiled compiled;
  compiled.log = lines(flags.options.warnings);
  // A plan listed in the log must be compiled, not cached.
  const bool cached = cache && flags.options.log < LogLevel::kInfo;
  const CacheKey key = cached ? key_of(ir, request, target) : CacheKey{};
  if (cached) {
    if (const auto found = cache->find(key)) {
      try {
        compiled.program = std::make_shared<Program>(*found);
        compiled.from_cache = true;
        compiled.log += cache_line("found");
        return compiled;
      } catch (const Error&) {
        cache->remove(key);
      }
    }
  }
  const Tensor bytes = build(ir, flags, target, request.numerics, compiled.log);
  compiled.program = std::make_shared<Program>(bytes);
  if (cached && cache->store(key, bytes)) compiled.log += cache_line("stored");
  return compiled;
}

std::string describe_plan(const engine::Plan& plan, const Settings& settings) {
  std::string text = "platform " + std::to_string(settings.target.platform.number) + ", tiles " +
                     std::to_string(settings.target.tiles) + " of " + std::to_string(settings.target.max_tiles) +
                     ", workers " + std::to_string(settings.target.workers()) + ", optimization level " +
                     std::to_string(settings.optimization_level) + ", " + std::string(name(settings.precision)) +
                     ", steps " + std::to_string(plan.steps().size()) + "\n";
  for (const engine::StepInfo& step : plan.steps()) {
    text += "  " + step.node_type + " '" + step.node_name + "' by " + step.kernel;
    for (const std::string& fused : step.fused) text += " + '" + fused + "'";
    text += "\n";
  }
  return text;
}

std::vector<std::string> supported_layers(const Request& request) {
  flags_of(request);
  const InMemoryIr ir = parse_in_memory_ir(request.ir);
  // The reader refuses a model with any unknown operation, so this looks at the layers in the XML one by one.
  pugi::xml_document document;
  const auto parsed = document.load_buffer(ir.xml.data(), ir.xml.size());
  if (!parsed)
    throw Error(Code::kInvalidArgument, "NPU: the model is not well-formed XML: " + std::string(parsed.description()));
  std::map<std::string, bool> known;
  try {
    for (const auto& node : read_in_memory_ir(ir)->get_ordered_ops()) {
      const std::string_view type = node->get_type_name();
      known[node->get_friendly_name()] = !Refusals::from_environment().refuses(*node) &&
                                         (type == "ReadValue" || type == "Assign" || engine::is_supported(*node));
    }
  } catch (const Error& error) {
    if (error.code() != Code::kUnimplemented) throw;
  }
  std::vector<std::string> names;
  for (pugi::xml_node layer : document.child("net").child("layers").children("layer")) {
    const std::string name = layer.attribute("name").as_string();
    const auto found = known.find(name);
    if (found != known.end()) {
      if (found->second) names.push_back(name);
      continue;
    }
    const std::string_view set = layer.attribute("version").as_string("opset1");
    const std::string type = ir::operation_from_layer(layer.attribute("type").as_string());
    const unsigned opset = set.starts_with("opset") ? static_cast<unsigned>(std::atoi(set.data() + 5)) : 0;
    if (opset > 0 && (find_operation(type, opset) || type == "Identity")) names.push_back(name);
  }
  return names;
}

}  // namespace tenon::npu::compiler
