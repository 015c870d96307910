// SPDX-License-Identifier: Apache-2.0
// Queries about a graph, its arguments and the compiler.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include <tenon/drivers/npu/calls/extensions.hpp>
#include <tenon/drivers/npu/compiler/compiler.hpp>
#include <tenon/drivers/npu/objects/settings.hpp>
#include <tenon/drivers/npu/run/graph.hpp>

namespace tenon::npu {
namespace {

struct TypeRow {
  ElementType type;
  abi::ArgumentPrecision precision;
  abi::MetadataType metadata;
};
constexpr TypeRow kTypes[] = {
    {ElementType::kBool, abi::ArgumentPrecision::kBoolean, abi::MetadataType::kBoolean},
    {ElementType::kF64, abi::ArgumentPrecision::kFp64, abi::MetadataType::kF64},
    {ElementType::kF32, abi::ArgumentPrecision::kFp32, abi::MetadataType::kF32},
    {ElementType::kF16, abi::ArgumentPrecision::kFp16, abi::MetadataType::kF16},
    {ElementType::kBf16, abi::ArgumentPrecision::kBf16, abi::MetadataType::kBf16},
    {ElementType::kI64, abi::ArgumentPrecision::kInt64, abi::MetadataType::kI64},
    {ElementType::kI32, abi::ArgumentPrecision::kInt32, abi::MetadataType::kI32},
    {ElementType::kI16, abi::ArgumentPrecision::kInt16, abi::MetadataType::kI16},
    {ElementType::kI8, abi::ArgumentPrecision::kInt8, abi::MetadataType::kI8},
    {ElementType::kI4, abi::ArgumentPrecision::kInt4, abi::MetadataType::kI4},
    {ElementType::kU64, abi::ArgumentPrecision::kUint64, abi::MetadataType::kU64},
    {ElementType::kU32, abi::ArgumentPrecision::kUint32, abi::MetadataType::kU32},
    {ElementType::kU16, abi::ArgumentPrecision::kUint16, abi::MetadataType::kU16},
    {ElementType::kU8, abi::ArgumentPrecision::kUint8, abi::MetadataType::kU8},
    {ElementType::kU4, abi::ArgumentPrecision::kUint4, abi::MetadataType::kU4},
    {ElementType::kU1, abi::ArgumentPrecision::kBin, abi::MetadataType::kU1},
};

abi::ArgumentPrecision precision_of(ElementType type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return row.precision;
  return abi::ArgumentPrecision::kUnknown;
}

abi::MetadataType metadata_type_of(ElementType type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return row.metadata;
  return abi::MetadataType::kUndefined;
}

abi::ArgumentLayout layout_of(std::string_view name) {
  using Layout = abi::ArgumentLayout;
  static constexpr std::pair<std::string_view, Layout> kLayouts[] = {
      {"NCHW", Layout::kNchw}, {"NHWC", Layout::kNhwc}, {"NCDHW", Layout::kNcdhw},     {"NDHWC", Layout::kNdhwc},
      {"OIHW", Layout::kOihw}, {"C", Layout::kC},       {"CHW", Layout::kChw},         {"HW", Layout::kHw},
      {"NC", Layout::kNc},     {"CN", Layout::kCn},     {"BLOCKED", Layout::kBlocked},
  };
  for (const auto& [text, layout] : kLayouts)
    if (text == name) return layout;
  return Layout::kAny;
}

void put(char (&to)[abi::kMaxArgumentName], const std::string& text) {
  std::memset(to, 0, sizeof to);
  std::memcpy(to, text.data(), std::min(text.size(), sizeof to - 1));
}

std::uint32_t put_names(char (&to)[abi::kMaxTensorNames][abi::kMaxArgumentName],
                        const std::vector<std::string>& names) {
  const std::size_t count = std::min(names.size(), std::size(to));
  for (std::size_t i = 0; i < count; ++i) put(to[i], names[i]);
  return static_cast<std::uint32_t>(count);
}

/// Fills the fields that all versions of argument properties share.
template <typename Properties>
void fill(const compiler::Argument& argument, Properties& properties) {
  put(properties.name, argument.name);
  properties.type = argument.is_input ? abi::ArgumentType::kInput : abi::ArgumentType::kOutput;
  const Shape shape = argument.max_shape();
  for (std::size_t i = 0; i < std::size(properties.dims); ++i)
    properties.dims[i] = i < shape.size() ? static_cast<std::uint32_t>(shape[i]) : 1;
  // With build flags, both are what the flags ask for; the model's own type is in the metadata.
  properties.network_precision = precision_of(argument.type);
  properties.network_layout = layout_of(argument.network_layout);
  properties.device_precision = precision_of(argument.type);
  properties.device_layout = layout_of(argument.layout);
}

template <typename Properties>
void fill_2(const compiler::Argument& argument, Properties& properties) {
  fill(argument, properties);
  // Arguments here are real numbers or plain integers. Hardware's driver states a scale for inputs only.
  properties.quantization_reverse_scale = argument.is_input ? 1 : 0;
  properties.quantization_zero_point = 0;
}

constexpr std::uint32_t kChainsSince = abi::version(1, 15);

/// Fills structures that may be chained to argument properties. OpenVINO up to 2025.2 leaves stype and next uninitialised in structures of
/// versions without a chain, so next is read only where the version has one and stype is right. Metadata has none in any version.
template <typename Properties>
ze_result_t fill_chain(const compiler::Argument& argument, const Properties& properties) {
  if (graph_extension_version() < kChainsSince || properties.stype != Properties{}.stype) return ZE_RESULT_SUCCESS;
  return visit_chain(properties.next, [&](std::uint32_t stype, const abi::ChainLink* link) {
    if (stype == static_cast<std::uint32_t>(abi::GraphStructure::kArgumentPropertyStrides))
      const_cast<abi::ArgumentPropertyStrides*>(reinterpret_cast<const abi::ArgumentPropertyStrides*>(link))
          ->supports_dynamic_strides = argument.reads_strides;
    return ZE_RESULT_SUCCESS;
  });
}

template <typename Properties, typename Fill>
ze_result_t of_argument(abi::GraphHandle handle, std::uint32_t index, Properties* properties, Fill fill_in) {
  return guarded([&] {
    Ref<Graph> graph;
    if (const ze_result_t result = acquire(handle, &graph)) return result;
    if (!properties) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    const auto& arguments = graph->object->program().arguments();
    if (index >= arguments.size()) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "no such graph argument");
    fill_in(arguments[index], *properties);
    if constexpr (std::is_same_v<Properties, abi::ArgumentMetadata>)
      return ZE_RESULT_SUCCESS;
    else
      return fill_chain(arguments[index], *properties);
  });
}

template <typename Properties, typename Fill>
ze_result_t of_graph(abi::GraphHandle handle, Properties* properties, Fill fill_in) {
  return guarded([&] {
    Ref<Graph> graph;
    if (const ze_result_t result = acquire(handle, &graph)) return result;
    if (!properties) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    properties->argument_count = static_cast<std::uint32_t>(graph->object->program().arguments().size());
    fill_in(*graph->object);
    return ZE_RESULT_SUCCESS;
  });
}

/// Every graph needs graph_initialize; clients before 1.8 request it in a command list.
constexpr std::uint32_t kInitStage = static_cast<std::uint32_t>(abi::InitStage::kInitialize);

template <typename Properties>
ze_result_t of_device(ze_device_handle_t handle, Properties* properties) {
  Ref<Device> device;
  if (const ze_result_t result = acquire_device(handle, &device)) return result;
  if (!properties) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  properties->extension_version = graph_extension_version();
  properties->compiler_version = {compiler::kCompilerMajor, compiler::kCompilerMinor};
  properties->formats =
      static_cast<std::uint32_t>(abi::GraphFormat::kNative) | static_cast<std::uint32_t>(abi::GraphFormat::kNgraphLite);
  properties->max_opset = compiler::kMaxOpset;
  return ZE_RESULT_SUCCESS;
}

/// Options of the driver itself, not the compiler.
constexpr const char* kDriverOptions[] = {"NO_THROW_ON_UNSUPPORTED_FEATURE"};

bool is_known(abi::OptionsType type) {
  return type == abi::OptionsType::kCompiler || type == abi::OptionsType::kDriver;
}

}  // namespace

namespace graph_calls {

ze_result_t get_properties(abi::GraphHandle handle, abi::GraphProperties* properties) {
  return of_graph(handle, properties, [](const ProgramGraph&) {});
}
ze_result_t get_properties_2(abi::GraphHandle handle, abi::GraphProperties2* properties) {
  return of_graph(handle, properties, [&](const ProgramGraph&) { properties->init_stage = kInitStage; });
}
ze_result_t get_properties_3(abi::GraphHandle handle, abi::GraphProperties3* properties) {
  return of_graph(handle, properties, [&](const ProgramGraph& graph) {
    properties->init_stage = kInitStage;
    properties->flags = graph.property_flags();
    if (graph.program().settings().profiling) properties->flags |= abi::kGraphProfilingEnabled;
  });
}

ze_result_t get_argument_properties(abi::GraphHandle handle, std::uint32_t index, abi::ArgumentProperties* properties) {
  return of_argument(handle, index, properties, [](const auto& argument, auto& to) { fill(argument, to); });
}
ze_result_t get_argument_properties_2(abi::GraphHandle handle, std::uint32_t index,
                                      abi::ArgumentProperties2* properties) {
  return of_argument(handle, index, properties, [](const auto& argument, auto& to) { fill_2(argument, to); });
}
ze_result_t get_argument_properties_3(abi::GraphHandle handle, std::uint32_t index,
                                      abi::ArgumentProperties3* properties) {
  return of_argument(handle, index, properties, [](const compiler::Argument& argument, auto& to) {
    fill_2(argument, to);
    to.dims_count = static_cast<std::uint32_t>(argument.shape.size());
    put(to.debug_friendly_name, argument.friendly_name);
    to.tensor_names_count = put_names(to.tensor_names, argument.tensor_names);
  });
}

ze_result_t get_argument_metadata(abi::GraphHandle handle, std::uint32_t index, abi::ArgumentMetadata* metadata) {
  return of_argument(handle, index, metadata, [](const compiler::Argument& argument, abi::ArgumentMetadata& to) {
    to.type = argument.is_input ? abi::ArgumentType::kInput : abi::ArgumentType::kOutput;
    put(to.friendly_name, argument.friendly_name);
    put(to.input_name, argument.name);
    to.data_type = metadata_type_of(argument.network_type);
    to.shape_size = static_cast<std::uint32_t>(std::min(argument.shape.size(), std::size(to.shape)));
    for (std::size_t i = 0; i < to.shape_size; ++i)
      to.shape[i] = argument.shape[i].is_static() ? static_cast<std::uint64_t>(argument.shape[i].get_length())
                                                  : abi::kDynamicDimension;
    to.tensor_names_count = put_names(to.tensor_names, argument.tensor_names);
  });
}

ze_result_t device_get_graph_properties(ze_device_handle_t device, abi::DeviceGraphProperties* properties) {
  return guarded([&] { return of_device(device, properties); });
}
ze_result_t device_get_graph_properties_2(ze_device_handle_t device, abi::DeviceGraphProperties2* properties) {
  return guarded([&] {
    if (const ze_result_t result = of_device(device, properties)) return result;
    properties->blob_version = {compiler::kBlobFormat, 0, 0};
    properties->runtime_version = {compiler::kCompilerMajor, compiler::kCompilerMinor, 0};
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t get_supported_options(ze_device_handle_t handle, abi::OptionsType type, std::size_t* size, char* text) {
  return guarded([&] {
    Ref<Device> device;
    if (const ze_result_t result = acquire_device(handle, &device)) return result;
    if (!is_known(type)) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    std::string names;
    const auto add = [&](const std::string& name) { names += (names.empty() ? "" : " ") + name; };
    if (type == abi::OptionsType::kCompiler)
      for (const std::string& name : compiler::supported_options()) add(name);
    else
      for (const char* name : kDriverOptions) add(name);
    return give_text(names, size, text);
  });
}

ze_result_t is_option_supported(ze_device_handle_t handle, abi::OptionsType type, const char* option,
                                const char* value) {
  return guarded([&] {
    Ref<Device> device;
    if (const ze_result_t result = acquire_device(handle, &device)) return result;
    if (!is_known(type)) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    if (!option) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    bool is_supported = false;
    if (type == abi::OptionsType::kCompiler)
      is_supported = compiler::is_option_supported(
          option, value ? std::optional<std::string_view>(value) : std::optional<std::string_view>());
    else
      for (const char* name : kDriverOptions) is_supported |= std::strcmp(name, option) == 0;
    return is_supported ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  });
}

ze_result_t query_context_memory(ze_context_handle_t handle, abi::MemoryQueryType type, abi::MemoryQuery* query) {
  return guarded([&] {
    Ref<Context> context;
    if (const ze_result_t result = acquire_context(handle, &context)) return result;
    if (!query) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    switch (type) {
      case abi::MemoryQueryType::kDdr:
        *query = {machine_memory_bytes(), context->memory()->used()};
        return ZE_RESULT_SUCCESS;
      case abi::MemoryQueryType::kDriverCache:
      case abi::MemoryQueryType::kProgramCache:  // The same, as with hardware's driver.
        *query = {compile_cache().limit(), compile_cache().used_bytes()};
        return ZE_RESULT_SUCCESS;
    }
    return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  });
}

}  // namespace graph_calls
}  // namespace tenon::npu
