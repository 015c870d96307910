// SPDX-License-Identifier: Apache-2.0
// The driver's graphs, through whichever functions its extension version has.
#include <tenon/devices/npu/graph.hpp>
#include <tenon/devices/npu/model_info.hpp>

#include <algorithm>
#include <cstring>

namespace tenon::inline v1::npu_device {
namespace {

constexpr std::string_view kReadValue = "vpux_ie_read_value_", kAssign = "vpux_ie_assign_", kShape = "vpux_ie_shape_";

ElementType type_of(abi::ArgumentPrecision precision) {
  using P = abi::ArgumentPrecision;
  switch (precision) {
    case P::kFp32:
      return ElementType::kF32;
    case P::kFp16:
      return ElementType::kF16;
    case P::kUint16:
      return ElementType::kU16;
    case P::kUint8:
      return ElementType::kU8;
    case P::kInt32:
      return ElementType::kI32;
    case P::kInt16:
      return ElementType::kI16;
    case P::kInt8:
      return ElementType::kI8;
    case P::kBf16:
      return ElementType::kBf16;
    case P::kUint32:
      return ElementType::kU32;
    case P::kUint4:
      return ElementType::kU4;
    case P::kInt4:
      return ElementType::kI4;
    case P::kBoolean:
      return ElementType::kBool;
    case P::kFp64:
      return ElementType::kF64;
    case P::kUint64:
      return ElementType::kU64;
    case P::kInt64:
      return ElementType::kI64;
    default:
      return ElementType::kUndefined;
  }
}

template <std::size_t N>
std::string text_of(const char (&text)[N]) {
  return std::string(text, ::strnlen(text, N));
}

bool take_prefix(std::string& text, std::string_view prefix) {
  if (text.compare(0, prefix.size(), prefix) != 0) return false;
  text.erase(0, prefix.size());
  return true;
}

/// The driver's log about the last graph that it failed to create.
std::string last_log(const Npu& npu) {
  if (!TENON_NPU_HAS(npu, build_log_get_string)) return {};
  std::uint32_t size = 0;
  if (call(npu.graph->build_log_get_string, abi::GraphHandle{nullptr}, &size, static_cast<char*>(nullptr)) !=
          ZE_RESULT_SUCCESS ||
      size == 0)
    return {};
  std::string text(size, '\0');
  if (call(npu.graph->build_log_get_string, abi::GraphHandle{nullptr}, &size, text.data()) != ZE_RESULT_SUCCESS)
    return {};
  return text.c_str();
}

std::string log_of(const Npu& npu, abi::GraphBuildLogHandle log) {
  std::uint32_t size = 0;
  if (call(npu.graph->build_log_get_string_2, log, &size, static_cast<char*>(nullptr)) != ZE_RESULT_SUCCESS ||
      size == 0)
    return {};
  std::string text(size, '\0');
  if (call(npu.graph->build_log_get_string_2, log, &size, text.data()) != ZE_RESULT_SUCCESS) return {};
  return text.c_str();
}

struct Created {
  ze_result_t result = ZE_RESULT_SUCCESS;
  const char* call = "pfnCreate";
  abi::GraphHandle handle = nullptr;
  std::string log;
};

Created create(const Npu& npu, const abi::GraphDescriptor2& description) {
  Created created;
  if (TENON_NPU_HAS(npu, create_3)) {
    abi::GraphBuildLogHandle log = nullptr;
    created.call = "pfnCreate3";
    created.result = call(npu.graph->create_3, npu.own_context, npu.own_device, &description, &created.handle, &log);
    if (log) {
      const Owned<abi::GraphBuildLogHandle> owner(log, npu.graph->build_log_destroy);
      if (created.result != ZE_RESULT_SUCCESS) created.log = log_of(npu, log);
    }
  } else if (TENON_NPU_HAS(npu, create_2)) {
    created.call = "pfnCreate2";
    created.result = call(npu.graph->create_2, npu.own_context, npu.own_device, &description, &created.handle);
  } else {
    abi::GraphDescriptor old;
    old.format = description.format;
    old.input_size = description.input_size;
    old.input = description.input;
    old.build_flags = description.build_flags;
    created.result = call(npu.graph->create, npu.own_context, npu.own_device, &old, &created.handle);
  }
  if (created.result != ZE_RESULT_SUCCESS && created.log.empty()) created.log = last_log(npu);
  if (created.result == ZE_RESULT_SUCCESS && !created.handle) created.result = ZE_RESULT_ERROR_UNKNOWN;
  return created;
}

[[noreturn]] void refused(const Created& created, const std::string& what) {
  const Code code = static_cast<std::uint32_t>(created.result) == ZE_RESULT_ERROR_INVALID_NATIVE_BINARY
                        ? Code::kDataLoss
                        : level_zero::client::code_of(created.result);
  const std::string words =
      created.log.empty() ? level_zero::client::last_words() : "; the driver says: " + created.log;
  throw Error(code, "NPU: " + what + ": " + result_name(created.result) + words, created.call,
              static_cast<std::int64_t>(created.result));
}

}  // namespace

Handle<ze_command_queue_handle_t> make_queue(const Npu& npu, const QueueOptions& options) {
  ze_command_queue_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  description.ordinal = npu.queue_ordinal;
  description.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  description.priority = options.priority == hint::Priority::LOW    ? ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW
                         : options.priority == hint::Priority::HIGH ? ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH
                                                                    : ZE_COMMAND_QUEUE_PRIORITY_NORMAL;
  abi::CommandQueueNpuDescriptor first;
  abi::CommandQueueNpuDescriptor2 second;
  if (npu.queue_version >= abi::version(1, 1)) {
    second.options =
        (options.turbo ? abi::kCommandQueueTurbo : 0u) | (options.sequential ? abi::kCommandQueueDeviceSync : 0u);
    if (second.options) description.pNext = &second;
  } else if (options.sequential) {
    throw Error(Code::kUnimplemented, "Running inferences sequentially is not supported by the current driver");
  } else if (npu.queue_table && options.turbo) {
    first.turbo = 1;
    description.pNext = &first;
  }
  ze_command_queue_handle_t queue = nullptr;
  check(call(zeCommandQueueCreate, npu.context, npu.device, static_cast<const ze_command_queue_desc_t*>(&description),
             &queue),
        "zeCommandQueueCreate", "making a model's queue");
  return Handle<ze_command_queue_handle_t>(queue);
}

Handle<ze_command_list_handle_t> make_list(const Npu& npu) {
  ze_command_list_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
  description.commandQueueGroupOrdinal = npu.queue_ordinal;
  abi::MutableListDescriptor changes;
  if (npu.is_mutable()) description.pNext = &changes;
  ze_command_list_handle_t list = nullptr;
  check(call(zeCommandListCreate, npu.context, npu.device, static_cast<const ze_command_list_desc_t*>(&description),
             &list),
        "zeCommandListCreate", "making a request's command list");
  return Handle<ze_command_list_handle_t>(list);
}

Handle<ze_fence_handle_t> make_fence(ze_command_queue_handle_t queue) {
  ze_fence_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_FENCE_DESC;
  ze_fence_handle_t fence = nullptr;
  check(call(zeFenceCreate, queue, static_cast<const ze_fence_desc_t*>(&description), &fence), "zeFenceCreate",
        "making a request's fence");
  return Handle<ze_fence_handle_t>(fence);
}

bool wait_and_reset(ze_fence_handle_t fence, const std::function<bool()>& give_up) {
  constexpr const char* kWhat = "waiting for an inference on the NPU";
  // Counting slices avoids reading the clock. At the limit, a wait with a past deadline creates the error.
  const std::chrono::nanoseconds slice = give_up ? std::chrono::nanoseconds(kWaitSlice) : kSubmissionLimit;
  std::chrono::nanoseconds left = kSubmissionLimit;
  for (ze_result_t result = ZE_RESULT_NOT_READY; result != ZE_RESULT_SUCCESS; left -= slice) {
    if (left.count() <= 0)
      level_zero::client::synchronize("zeFenceHostSynchronize", zeFenceHostSynchronize, fence, Clock::now(), kWhat);
    if (give_up && give_up()) return false;
    result = call(zeFenceHostSynchronize, fence, static_cast<std::uint64_t>(slice.count()));
    // The failure was in a thread of the driver; its last error for this thread is about another call.
    if (result != ZE_RESULT_SUCCESS && result != ZE_RESULT_NOT_READY)
      throw Error(level_zero::client::code_of(result), std::string("level_zero: ") + kWhat + ": " + result_name(result),
                  "zeFenceHostSynchronize", static_cast<std::int64_t>(result));
  }
  check(call(zeFenceReset, fence), "zeFenceReset", "making a fence ready for the next inference");
  return true;
}

Graph::Graph(std::shared_ptr<const Npu> npu, abi::GraphHandle handle, Tensor kept)
    : npu_(std::move(npu)), handle_(handle), kept_(std::move(kept)) {
  Probe::handles.fetch_add(1, std::memory_order_relaxed);
}

Graph::~Graph() {
  npu_->graph->destroy(handle_);
  Probe::handles.fetch_sub(1, std::memory_order_relaxed);
}

std::shared_ptr<Graph> Graph::compile(std::shared_ptr<const Npu> npu, const Tensor& ir, const std::string& flags,
                                      std::uint32_t graph_flags, const std::string& model) {
  abi::GraphDescriptor2 description;
  description.format = static_cast<std::uint32_t>(abi::GraphFormat::kNgraphLite);
  description.input_size = ir.size_bytes();
  description.input = static_cast<const std::uint8_t*>(ir.data());
  description.build_flags = flags.c_str();
  description.flags = graph_flags;
  const Created created = create(*npu, description);
  if (created.result != ZE_RESULT_SUCCESS) refused(created, "compiling model '" + model + "'");
  std::shared_ptr<Graph> graph(new Graph(std::move(npu), created.handle, {}));
  graph->read_properties();
  return graph;
}

std::shared_ptr<Graph> Graph::import(std::shared_ptr<const Npu> npu, const Tensor& native) {
  abi::GraphDescriptor2 description;
  description.format = static_cast<std::uint32_t>(abi::GraphFormat::kNative);
  description.input_size = native.size_bytes();
  description.input = static_cast<const std::uint8_t*>(native.data());
  constexpr std::size_t kPage = 4096;
  const bool in_place = npu->at_least(1, 13) && reinterpret_cast<std::uintptr_t>(description.input) % kPage == 0 &&
                        native.size_bytes() % kPage == 0;
  if (in_place) description.flags = abi::kGraphInputPersistent;
  const Created created = create(*npu, description);
  if (created.result != ZE_RESULT_SUCCESS)
    refused(created, "importing a compiled model of " + std::to_string(native.size_bytes()) + " bytes");
  std::shared_ptr<Graph> graph(new Graph(std::move(npu), created.handle, in_place ? native : Tensor()));
  graph->read_properties();
  return graph;
}

void Graph::read_properties() {
  const abi::GraphTable& table = *npu_->graph;
  std::uint32_t count = 0;
  if (TENON_NPU_HAS(*npu_, get_properties_3)) {
    abi::GraphProperties3 properties;
    check(call(table.get_properties_3, handle_, &properties), "pfnGetProperties3", "reading a graph's properties");
    count = properties.argument_count;
    init_stage_ = properties.init_stage;
    flags_ = properties.flags;
    profiled_ = (flags_ & abi::kGraphProfilingEnabled) != 0;
  } else if (TENON_NPU_HAS(*npu_, get_properties_2)) {
    abi::GraphProperties2 properties;
    check(call(table.get_properties_2, handle_, &properties), "pfnGetProperties2", "reading a graph's properties");
    count = properties.argument_count;
    init_stage_ = properties.init_stage;
  } else {
    abi::GraphProperties properties;
    check(call(table.get_properties, handle_, &properties), "pfnGetProperties", "reading a graph's properties");
    count = properties.argument_count;
  }
  for (std::uint32_t i = 0; i < count; ++i) arguments_.push_back(read_argument(i));
}

Argument Graph::read_argument(std::uint32_t index) const {
  const abi::GraphTable& table = *npu_->graph;
  auto properties = std::make_unique<abi::ArgumentProperties3>();
  abi::ArgumentPropertyStrides strides;
  if (TENON_NPU_HAS(*npu_, set_argument_value_2)) properties->next = &strides;
  check(call(table.get_argument_properties_3, handle_, index, properties.get()), "pfnGetArgumentProperties3",
        [&] { return "reading argument " + std::to_string(index) + " of a graph"; });
  Argument argument;
  argument.index = index;
  argument.is_input = properties->type == abi::ArgumentType::kInput;
  argument.name = text_of(properties->name);
  argument.friendly_name = text_of(properties->debug_friendly_name);
  argument.strides = strides.supports_dynamic_strides != 0;
  argument.type = type_of(properties->device_precision);
  if (take_prefix(argument.name, kReadValue) || take_prefix(argument.name, kAssign))
    argument.role = Argument::Role::kState;
  else if (take_prefix(argument.name, kShape))
    argument.role = Argument::Role::kShape;
  const bool is_open_state = take_prefix(argument.name, argument.is_input ? kStateIn : kStateOut);
  if (is_open_state)
    argument.role = argument.role == Argument::Role::kShape ? Argument::Role::kStateShape : Argument::Role::kState;
  const std::size_t names = std::min<std::size_t>(properties->tensor_names_count, abi::kMaxTensorNames);
  for (std::size_t i = 0; i < names; ++i) argument.tensor_names.push_back(text_of(properties->tensor_names[i]));
  const std::size_t rank = std::min<std::size_t>(properties->dims_count, abi::kMaxArgumentDimensions);
  for (std::size_t i = 0; i < rank; ++i) argument.shape.push_back(properties->dims[i]);
  std::vector<Dimension> dimensions;
  for (std::size_t i = 0; i < rank; ++i) dimensions.emplace_back(static_cast<std::int64_t>(argument.shape[i]));
  if (argument.role == Argument::Role::kPort || (is_open_state && argument.role == Argument::Role::kState)) {
    auto metadata = std::make_unique<abi::ArgumentMetadata>();
    if (call(table.get_argument_metadata, handle_, index, metadata.get()) == ZE_RESULT_SUCCESS &&
        metadata->shape_size <= abi::kMaxMetadataDimensions) {
      argument.friendly_name = text_of(metadata->friendly_name);
      const bool fits = metadata->shape_size == rank;
      // Arguments with more dimensions than fit the properties have their extents only here.
      if (!fits && rank == abi::kMaxArgumentDimensions) {
        argument.shape = Shape{};
        dimensions.clear();
      }
      for (std::size_t i = 0; i < metadata->shape_size; ++i) {
        const bool is_dynamic = metadata->shape[i] == abi::kDynamicDimension;
        if (fits && is_dynamic)
          dimensions[i] = Dimension(is_open_state ? 0 : 1, static_cast<std::int64_t>(argument.shape[i]));
        if (!fits && dimensions.size() < metadata->shape_size && !is_dynamic) {
          argument.shape.push_back(static_cast<std::size_t>(metadata->shape[i]));
          dimensions.emplace_back(static_cast<std::int64_t>(metadata->shape[i]));
        }
      }
    }
  }
  argument.model_shape = PartialShape(std::move(dimensions));
  return argument;
}

void Graph::initialize(ze_command_queue_handle_t queue) {
  const std::lock_guard lock(initialize_mutex_);
  if (initialized_) return;
  const abi::GraphTable& table = *npu_->graph;
  if ((init_stage_ & static_cast<std::uint32_t>(abi::InitStage::kInitialize)) != 0 &&
      TENON_NPU_HAS(*npu_, graph_initialize))
    check(call(table.graph_initialize, handle_), "pfnGraphInitialize", "bringing a model to the device");
  if ((init_stage_ & static_cast<std::uint32_t>(abi::InitStage::kCommandList)) != 0) {
    const auto list = make_list(*npu_);
    const auto fence = make_fence(queue);
    check(call(table.append_graph_initialize, driver_side(list.get()), handle_, ze_event_handle_t{nullptr},
               std::uint32_t{0}, static_cast<ze_event_handle_t*>(nullptr)),
          "pfnAppendGraphInitialize", "bringing a model to the device");
    check(call(zeCommandListClose, list.get()), "zeCommandListClose", "bringing a model to the device");
    ze_command_list_handle_t raw = list.get();
    check(call(zeCommandQueueExecuteCommandLists, queue, std::uint32_t{1}, &raw, fence.get()),
          "zeCommandQueueExecuteCommandLists", "bringing a model to the device");
    wait_and_reset(fence.get());
  }
  initialized_ = true;
}

void Graph::set_argument(std::uint32_t index, const void* data, const abi::ArgumentStrides* strides) {
  const auto what = [index] { return "setting argument " + std::to_string(index) + " of a graph"; };
  if (!strides) {
    check(call(npu_->graph->set_argument_value, handle_, index, data), "pfnSetArgumentValue", what);
    return;
  }
  abi::ArgumentStrides copy = *strides;
  copy.next = nullptr;
  abi::ArgumentTensor tensor;
  tensor.next = &copy;
  tensor.data = data;
  check(call(npu_->graph->set_argument_value_2, handle_, index, static_cast<const void*>(&tensor)),
        "pfnSetArgumentValue2", what);
}

std::vector<std::string> supported_layers(const Npu& npu, const Tensor& ir, const std::string& flags) {
  if (!TENON_NPU_HAS(npu, query_network_create))
    throw Error(Code::kUnimplemented, "NPU: the driver can't say which operations it supports (graph extension 1.3)");
  abi::GraphQueryHandle query = nullptr;
  ze_result_t result;
  if (TENON_NPU_HAS(npu, query_network_create_2)) {
    abi::GraphDescriptor2 description;
    description.format = static_cast<std::uint32_t>(abi::GraphFormat::kNgraphLite);
    description.input_size = ir.size_bytes();
    description.input = static_cast<const std::uint8_t*>(ir.data());
    description.build_flags = flags.c_str();
    result = call(npu.graph->query_network_create_2, npu.own_context, npu.own_device,
                  static_cast<const abi::GraphDescriptor2*>(&description), &query);
  } else {
    abi::GraphDescriptor description;
    description.format = static_cast<std::uint32_t>(abi::GraphFormat::kNgraphLite);
    description.input_size = ir.size_bytes();
    description.input = static_cast<const std::uint8_t*>(ir.data());
    description.build_flags = flags.c_str();
    result = call(npu.graph->query_network_create, npu.own_context, npu.own_device,
                  static_cast<const abi::GraphDescriptor*>(&description), &query);
  }
  if (result != ZE_RESULT_SUCCESS)
    refused({result, "pfnQueryNetworkCreate", nullptr, {}}, "asking which operations the driver supports");
  const Owned<abi::GraphQueryHandle> owner(query, npu.graph->query_network_destroy);
  std::size_t size = 0;
  check(call(npu.graph->query_network_get_supported_layers, query, &size, static_cast<char*>(nullptr)),
        "pfnQueryNetworkGetSupportedLayers", "asking which operations the driver supports");
  std::string text(size, '\0');
  if (size)
    check(call(npu.graph->query_network_get_supported_layers, query, &size, text.data()),
          "pfnQueryNetworkGetSupportedLayers", "asking which operations the driver supports");
  // "<first><second>": names in angle brackets.
  std::vector<std::string> names;
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at)) {
    const std::size_t end = text.find('>', at);
    if (end == std::string::npos) break;
    names.push_back(text.substr(at + 1, end - at - 1));
    at = end;
  }
  return names;
}

}  // namespace tenon::inline v1::npu_device
