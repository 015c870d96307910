// SPDX-License-Identifier: Apache-2.0
// Creates graphs from an IR (compiler or cache) or a native binary; build logs and support queries.
#include <tenon/drivers/npu/calls/extensions.hpp>
#include <tenon/drivers/npu/compiler/compiler.hpp>
#include <tenon/drivers/npu/objects/settings.hpp>
#include <tenon/drivers/npu/run/graph.hpp>

#include <algorithm>
#include <optional>
#include <string_view>

#include <tenon/core/host.hpp>

namespace tenon::npu {
namespace {

thread_local std::string last_build_log;

/// A graph descriptor of either version.
struct Source {
  std::uint32_t format = 0;
  std::span<const std::uint8_t> input;
  const char* build_flags = nullptr;
  std::uint32_t flags = 0;
  std::optional<std::uint64_t> input_hash;
};

ze_result_t read_source(const abi::GraphDescriptor* descriptor, std::uint32_t flags, Source* source) {
  if (!descriptor) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const ze_result_t visited = visit_chain(descriptor->next, [&](std::uint32_t stype, const abi::ChainLink* link) {
    if (stype == static_cast<std::uint32_t>(abi::GraphStructure::kInputHash))
      source->input_hash = reinterpret_cast<const abi::GraphInputHash*>(link)->hash;
    return ZE_RESULT_SUCCESS;  // Other links are the model's own kernels, which do not change the graph.
  });
  if (visited != ZE_RESULT_SUCCESS) return visited;
  if (!descriptor->input) return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "a graph descriptor has no input");
  if (descriptor->input_size == 0) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "a graph descriptor's input is empty");
  source->format = descriptor->format;
  source->input = {descriptor->input, descriptor->input_size};
  source->build_flags = descriptor->build_flags;
  source->flags = flags;
  constexpr std::uint32_t kKnown = abi::kGraphDisableCaching | abi::kGraphEnableProfiling | abi::kGraphInputPersistent |
                                   abi::kGraphSecureCompile | abi::kGraphOptimizeForDynamicShapes;
  if (flags & ~kKnown) return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "a graph descriptor has unknown flags");
  return ZE_RESULT_SUCCESS;
}

/// The part that both descriptor versions begin with.
const abi::GraphDescriptor* base_of(const abi::GraphDescriptor2* descriptor) {
  return reinterpret_cast<const abi::GraphDescriptor*>(descriptor);
}

/// Refuses InputStage if it is not announced: the driver then emulates one without that operation.
void check_standard(const Source& source) {
  constexpr std::string_view kStage = "type=\"InputStage\"";
  if (is_offered("input_stage") ||
      std::search(source.input.begin(), source.input.end(), kStage.begin(), kStage.end()) == source.input.end())
    return;
  throw Error(Code::kUnimplemented, "NPU: the operation InputStage is of no operation set that this driver knows");
}

compiler::Request request_of(const Source& source, const Device& device) {
  compiler::Request request;
  request.ir = source.input;
  request.build_flags = source.build_flags;
  request.device = device.platform();
  request.input_hash = source.input_hash;
  request.numerics = compiler::numerics_from_environment();
  request.profiling = (source.flags & abi::kGraphEnableProfiling) != 0;
  return request;
}

/// Refuses arguments that the interface cannot describe.
void check_describable(const compiler::Program& program) {
  for (const compiler::Argument& argument : program.arguments()) {
    if (argument.shape.size() > abi::kMaxArgumentDimensions)
      throw Error(Code::kUnimplemented, "NPU: argument '" + argument.name + "' has rank " +
                                            std::to_string(argument.shape.size()) + ", and arguments have at most " +
                                            std::to_string(abi::kMaxArgumentDimensions) + " dimensions");
    // The size check uses the largest shape, which must not overflow.
    const Shape shape = argument.max_shape();
    const bool is_number = checked_size_bytes(argument.type, shape).has_value() &&
                           std::all_of(shape.begin(), shape.end(), [](std::size_t n) { return n <= UINT32_MAX; });
    if (!is_number)
      throw Error(Code::kInvalidArgument,
                  "NPU: argument '" + argument.name + "' " + argument.shape.to_string() + " is too large");
  }
}

struct Made {
  std::shared_ptr<compiler::Program> program;
  std::uint32_t flags = 0;  ///< abi::GraphPropertiesFlag bits.
  std::string log;
};

Made from_ir(const Source& source, const Device& device) {
  check_standard(source);
  const compiler::Request request = request_of(source, device);
  // Secure compilation must not leave the model unencrypted on disk.
  const bool is_cached = !(source.flags & (abi::kGraphDisableCaching | abi::kGraphSecureCompile));
  Made made;
  compiler::Compiled compiled = compiler::compile(request, is_cached ? &compile_cache() : nullptr);
  made.program = std::move(compiled.program);
  made.flags = compiled.from_cache ? abi::kGraphLoadedFromCache : abi::kGraphCompiled;
  made.flags |= abi::kGraphNoStandardAllocation;
  made.log = std::move(compiled.log);
  check_describable(*made.program);
  return made;
}

Made from_binary(const Source& source, const Device& device) {
  Made made;
  Tensor bytes;
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(source.input.data()) % kPageSize == 0;
  if (source.flags & abi::kGraphInputPersistent && !is_aligned) {
    bytes = compiler::own_copy(source.input);  // Kernels read constants in place, which must be aligned.
  } else if (source.flags & abi::kGraphInputPersistent) {
    bytes = Tensor(TensorInfo{ElementType::kU8, Shape{source.input.size()}, {}},
                   HostMemory::borrow(const_cast<std::uint8_t*>(source.input.data()), source.input.size(), true));
  } else {
    bytes = compiler::own_copy(source.input);
    made.flags |= abi::kGraphNoStandardAllocation;
  }
  made.program = std::make_shared<compiler::Program>(bytes);
  made.flags |= abi::kGraphPreCompiled;
  const compiler::Target& target = made.program->settings().target;
  if (target.platform.number != device.platform().number)
    throw Error(Code::kFailedPrecondition, "NPU: the native binary was compiled for platform " +
                                               std::to_string(target.platform.number) + ", and this device is " +
                                               std::to_string(device.platform().number));
  if (target.tiles > device.platform().max_tiles)
    throw Error(Code::kFailedPrecondition, "NPU: the native binary was compiled for " + std::to_string(target.tiles) +
                                               " tiles, and this device has " +
                                               std::to_string(device.platform().max_tiles));
  check_describable(*made.program);
  return made;
}

/// @param log  The compiler's log, on success or failure.
ze_result_t make(const Source& source, const Device& device, Made* made, std::string* log) {
  const bool is_binary = source.format == static_cast<std::uint32_t>(abi::GraphFormat::kNative);
  if (!is_binary && source.format != static_cast<std::uint32_t>(abi::GraphFormat::kNgraphLite))
    return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "a graph's format is neither a native binary nor an IR");
  try {
    *made = is_binary ? from_binary(source, device) : from_ir(source, device);
    *log = made->log;
    return ZE_RESULT_SUCCESS;
  } catch (const Error& error) {
    *log = error.what();
    const ze_result_t result = result_of(error);
    const bool is_about_bytes = is_binary && result != ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    return is_about_bytes ? ZE_RESULT_ERROR_INVALID_NATIVE_BINARY : result;
  }
}

ze_result_t create_graph(ze_context_handle_t context_handle, ze_device_handle_t device_handle, const Source& source,
                         abi::GraphHandle* graph, std::string* log) {
  if (!graph) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  Ref<Context> context;
  Ref<Device> device;
  if (const ze_result_t result = acquire_context(context_handle, &context)) return result;
  if (const ze_result_t result = acquire_device(device_handle, &device)) return result;
  Made made;
  const ze_result_t result = make(source, *device, &made, log);
  last_build_log = *log;
  if (result) return result;
  auto object = std::make_shared<ProgramGraph>(made.program, context, device, made.flags,
                                               (source.flags & abi::kGraphOptimizeForDynamicShapes) != 0);
  Graph* handle = make_object<Graph>(std::move(object), made.log);
  if (!handle) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  *graph = static_cast<abi::GraphHandle>(handle->handle());
  return ZE_RESULT_SUCCESS;
}

ze_result_t create_query(ze_context_handle_t context_handle, ze_device_handle_t device_handle, const Source& source,
                         abi::GraphQueryHandle* query) {
  if (!query) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  Ref<Context> context;
  Ref<Device> device;
  if (const ze_result_t result = acquire_context(context_handle, &context)) return result;
  if (const ze_result_t result = acquire_device(device_handle, &device)) return result;
  if (source.format != static_cast<std::uint32_t>(abi::GraphFormat::kNgraphLite))
    return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "only an IR can be queried");
  check_standard(source);
  std::string layers;
  for (const std::string& name : compiler::supported_layers(request_of(source, *device))) layers += "<" + name + ">";
  GraphQuery* handle = make_object<GraphQuery>(std::move(layers));
  if (!handle) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  *query = static_cast<abi::GraphQueryHandle>(handle->handle());
  return ZE_RESULT_SUCCESS;
}

}  // namespace

namespace graph_calls {

ze_result_t create(ze_context_handle_t context, ze_device_handle_t device, const abi::GraphDescriptor* descriptor,
                   abi::GraphHandle* graph) {
  return guarded([&] {
    Source source;
    if (const ze_result_t result = read_source(descriptor, 0, &source)) return result;
    std::string log;
    return create_graph(context, device, source, graph, &log);
  });
}

ze_result_t create_2(ze_context_handle_t context, ze_device_handle_t device, const abi::GraphDescriptor2* descriptor,
                     abi::GraphHandle* graph) {
  return create_3(context, device, descriptor, graph, nullptr);
}

ze_result_t create_3(ze_context_handle_t context, ze_device_handle_t device, const abi::GraphDescriptor2* descriptor,
                     abi::GraphHandle* graph, abi::GraphBuildLogHandle* build_log) {
  return guarded([&] {
    Source source;
    if (const ze_result_t result = read_source(base_of(descriptor), descriptor ? descriptor->flags : 0, &source))
      return result;
    std::string log;
    const ze_result_t result = create_graph(context, device, source, graph, &log);
    if (!build_log) return result;
    BuildLog* handle = make_object<BuildLog>(std::move(log));
    *build_log = handle ? static_cast<abi::GraphBuildLogHandle>(handle->handle()) : nullptr;
    return result;
  });
}

ze_result_t build_log_get_string(abi::GraphHandle handle, std::uint32_t* size, char* text) {
  return guarded([&] {
    if (!handle) return give_text(last_build_log, size, text);
    Ref<Graph> graph;
    if (const ze_result_t result = acquire(handle, &graph)) return result;
    return give_text(graph->build_log, size, text);
  });
}

ze_result_t build_log_get_string_2(abi::GraphBuildLogHandle handle, std::uint32_t* size, char* text) {
  return guarded([&] {
    Ref<BuildLog> log;
    if (const ze_result_t result = acquire(handle, &log)) return result;
    return give_text(log->text, size, text);
  });
}

ze_result_t build_log_destroy(abi::GraphBuildLogHandle handle) { return destroy_handle(handle, Kind::kBuildLog); }

ze_result_t query_create(ze_context_handle_t context, ze_device_handle_t device, const abi::GraphDescriptor* descriptor,
                         abi::GraphQueryHandle* query) {
  return guarded([&] {
    Source source;
    if (const ze_result_t result = read_source(descriptor, 0, &source)) return result;
    return create_query(context, device, source, query);
  });
}

ze_result_t query_create_2(ze_context_handle_t context, ze_device_handle_t device,
                           const abi::GraphDescriptor2* descriptor, abi::GraphQueryHandle* query) {
  return guarded([&] {
    Source source;
    if (const ze_result_t result = read_source(base_of(descriptor), descriptor ? descriptor->flags : 0, &source))
      return result;
    return create_query(context, device, source, query);
  });
}

ze_result_t query_destroy(abi::GraphQueryHandle handle) { return destroy_handle(handle, Kind::kGraphQuery); }

ze_result_t query_layers(abi::GraphQueryHandle handle, std::size_t* size, char* text) {
  return guarded([&] {
    Ref<GraphQuery> query;
    if (const ze_result_t result = acquire(handle, &query)) return result;
    return give_text(query->layers, size, text);
  });
}

}  // namespace graph_calls
}  // namespace tenon::npu
