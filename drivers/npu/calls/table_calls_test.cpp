// SPDX-License-Identifier: Apache-2.0
// Every call of the extensions' tables with every wrong argument: nulls, handles that are none, are gone or are of another kind, wild numbers, and
// structures of wrong types and chains. The tables' types make the calls, as no package has a header of theirs.
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

#include <tenon/drivers/npu/testing/graph_client.hpp>
#include <tenon/frameworks/level_zero/abi/cancel.hpp>
#include <tenon/frameworks/level_zero/abi/command_queue_npu.hpp>
#include <tenon/frameworks/level_zero/abi/context_npu.hpp>
#include <tenon/frameworks/level_zero/abi/driver_npu.hpp>
#include <tenon/frameworks/level_zero/abi/mutable_list.hpp>

namespace tenon::npu::test {
namespace table_calls_test {

/// A pointer to a type that is declared and nothing else.
template <class T>
concept Handle = std::is_pointer_v<T> && std::is_class_v<std::remove_pointer_t<T>> && !requires {
  sizeof(std::remove_pointer_t<T>);
};
template <class T>
concept Described = std::is_pointer_v<T> && requires(T pointer) {
  pointer->stype;
  pointer->next;
};

/// What an argument may be, one letter for each:
/// h  a handle; H: it may be null.
/// p  a pointer; P: it may be null.
/// i  an index or enumerator: a wild one is refused.
/// n  any number.
using Kinds = std::string_view;

class NpuTableCalls : public NpuGraph {
 protected:
  void SetUp() override {
    NpuGraph::SetUp();
    graph = small();
    queue = make_queue();
    list = make_list();
    pool = make_pool(1);
    event = make_event(pool, 0);
    const auto gone = make_fence(queue);
    ASSERT_EQ(zeFenceDestroy(gone), ZE_RESULT_SUCCESS);
    wrong_handles = {reinterpret_cast<void*>(0x1003), this, zeroed.data(), gone};
    own(driver), own(device), own(context), own(queue), own(list), own(pool), own(event), own(graph);
  }
  void TearDown() override {
    EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
    EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
    NpuGraph::TearDown();
    std::printf("%d calls\n", calls);
  }

  template <class T>
  void own(T handle) {
    own_handles.emplace_back(typeid(T), handle);
  }

  /// Calls `function` with the valid arguments, of which each is wrong in turn.
  template <class... Parameters>
  void vary(const char* name, Kinds kinds, ze_result_t(ZE_APICALL* function)(Parameters...),
            std::type_identity_t<Parameters>... valid) {
    ASSERT_EQ(kinds.size(), sizeof...(Parameters)) << name;
    ASSERT_NE(function, nullptr) << name;
    const std::tuple<Parameters...> arguments{valid...};
    [&]<std::size_t... I>(std::index_sequence<I...>) { (vary_one<I>(name, kinds[I], function, arguments), ...); }
    (std::index_sequence_for<Parameters...>());
  }

  template <std::size_t I, class Function, class... Parameters>
  void vary_one(const char* name, char kind, Function function, std::tuple<Parameters...> arguments) {
    using Argument = std::tuple_element_t<I, std::tuple<Parameters...>>;
    Argument& argument = std::get<I>(arguments);
    const Argument valid = argument;
    const auto answers = [&](const char* what) {
      ++calls;
      const ze_result_t result = std::apply(function, arguments);
      SCOPED_TRACE(std::string(name) + ", argument " + std::to_string(I) + ": " + what);
      return result;
    };
    const auto is_refused = [&](const char* what) {
      EXPECT_NE(answers(what), ZE_RESULT_SUCCESS) << name << ", argument " << I << " is " << what;
    };
    if constexpr (Handle<Argument>) {
      argument = nullptr;
      if (kind == 'h') is_refused("null");
      for (void* wrong : wrong_handles) argument = static_cast<Argument>(wrong), is_refused("no handle");
      for (const auto& [type, other] : own_handles)
        if (type != typeid(Argument)) argument = static_cast<Argument>(other), is_refused("of another kind");
    } else if constexpr (std::is_pointer_v<Argument>) {
      argument = nullptr;
      kind == 'p' ? is_refused("null") : static_cast<void>(answers("null"));
      if constexpr (Described<Argument>) {
        // A copy, whose beginning is wrong; the rest is as it was.
        auto changed = std::make_unique<std::remove_const_t<std::remove_pointer_t<Argument>>>(*valid);
        argument = changed.get();
        changed->stype = static_cast<decltype(changed->stype)>(0x7ffffff0);
        answers("of a wrong type");
        changed->stype = valid->stype;
        Link unknown, circular;
        circular.next = &circular;
        for (Link* link : {&unknown, &circular}) {
          changed->next = link;
          answers("the head of a chain");
        }
      }
    } else {
      for (const std::uint32_t wild : {0x7fffffffu, 0xffffffffu}) {
        argument = static_cast<Argument>(wild);
        kind == 'i' ? is_refused("wild") : static_cast<void>(answers("wild"));
      }
    }
  }

  template <class Table>
  Table* table(const char* extension) {
    void* found = nullptr;
    EXPECT_EQ(zeDriverGetExtensionFunctionAddress(driver, extension, &found), ZE_RESULT_SUCCESS) << extension;
    return static_cast<Table*>(found);
  }

  struct Link {
    std::uint32_t type = 0x7ffffff1;
    const void* next = nullptr;
    std::array<std::byte, 256> rest{};
  };

  abi::GraphHandle graph = nullptr;
  ze_command_queue_handle_t queue = nullptr;
  ze_command_list_handle_t list = nullptr;
  ze_event_pool_handle_t pool = nullptr;
  ze_event_handle_t event = nullptr;
  alignas(64) std::array<std::byte, 4096> zeroed{};
  std::vector<void*> wrong_handles;
  std::vector<std::pair<std::type_index, void*>> own_handles;
  int calls = 0;
};

TEST_F(NpuTableCalls, OfGraphs) {
  const Bytes ir = compiler::in_memory(*compiler::small_model());
  abi::GraphDescriptor descriptor;
  descriptor.format = static_cast<std::uint32_t>(abi::GraphFormat::kNgraphLite);
  descriptor.input = ir.data();
  descriptor.input_size = ir.size();
  abi::GraphDescriptor2 descriptor_2;
  descriptor_2.format = descriptor.format;
  descriptor_2.input = ir.data();
  descriptor_2.input_size = ir.size();
  descriptor_2.flags = abi::kGraphDisableCaching;
  abi::GraphHandle made = nullptr;
  abi::GraphQueryHandle asked = nullptr;
  abi::GraphBuildLogHandle log = nullptr;
  std::size_t size = 0;
  std::uint32_t length = 0;
  const std::uint8_t* view = nullptr;
  std::vector<char> text(1 << 16);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(text.data());
  auto* const memory = allocate_host(4096);
  vary("create", "hhpp", graphs->create, context, device, &descriptor, &made);
  vary("create_2", "hhpp", graphs->create_2, context, device, &descriptor_2, &made);
  vary("create_3", "hhppP", graphs->create_3, context, device, &descriptor_2, &made, &log);
  vary("query_network_create", "hhpp", graphs->query_network_create, context, device, &descriptor, &asked);
  vary("query_network_create_2", "hhpp", graphs->query_network_create_2, context, device, &descriptor_2, &asked);
  ASSERT_EQ(graphs->query_network_create(context, device, &descriptor, &asked), ZE_RESULT_SUCCESS);
  vary("query_network_get_supported_layers", "hpP", graphs->query_network_get_supported_layers, asked, &size,
       text.data());
  EXPECT_EQ(graphs->query_network_destroy(asked), ZE_RESULT_SUCCESS);
  vary("query_network_destroy", "h", graphs->query_network_destroy, asked);
  vary("query_network_get_supported_layers of one that is gone", "hpP", graphs->query_network_get_supported_layers,
       asked, &size, text.data());
  abi::GraphProperties properties;
  abi::GraphProperties2 properties_2;
  abi::GraphProperties3 properties_3;
  vary("get_properties", "hp", graphs->get_properties, graph, &properties);
  vary("get_properties_2", "hp", graphs->get_properties_2, graph, &properties_2);
  vary("get_properties_3", "hp", graphs->get_properties_3, graph, &properties_3);
  const auto argument = std::make_unique<abi::ArgumentProperties>();
  const auto argument_2 = std::make_unique<abi::ArgumentProperties2>();
  const auto argument_3 = std::make_unique<abi::ArgumentProperties3>();
  const auto metadata = std::make_unique<abi::ArgumentMetadata>();
  vary("get_argument_properties", "hip", graphs->get_argument_properties, graph, 0, argument.get());
  vary("get_argument_properties_2", "hip", graphs->get_argument_properties_2, graph, 0, argument_2.get());
  vary("get_argument_properties_3", "hip", graphs->get_argument_properties_3, graph, 0, argument_3.get());
  vary("get_argument_metadata", "hip", graphs->get_argument_metadata, graph, 0, metadata.get());
  vary("set_argument_value", "hiP", graphs->set_argument_value, graph, 0, memory);
  abi::ArgumentTensor tensor;
  tensor.data = memory;
  vary("set_argument_value_2", "hip", graphs->set_argument_value_2, graph, 0, &tensor);
  vary("append_graph_initialize", "hhHiP", graphs->append_graph_initialize, list, graph, nullptr, 0, nullptr);
  vary("append_graph_execute", "hhHHiP", graphs->append_graph_execute, list, graph, nullptr, nullptr, 0, nullptr);
  vary("get_native_binary", "hpP", graphs->get_native_binary, graph, &size, bytes);
  vary("get_native_binary_2", "hpp", graphs->get_native_binary_2, graph, &size, &view);
  vary("build_log_get_string", "HpP", graphs->build_log_get_string, graph, &length, text.data());
  vary("build_log_get_string_2", "hpP", graphs->build_log_get_string_2, nullptr, &length, text.data());
  vary("build_log_destroy", "h", graphs->build_log_destroy, nullptr);
  abi::DeviceGraphProperties of_device;
  abi::DeviceGraphProperties2 of_device_2;
  vary("device_get_graph_properties", "hp", graphs->device_get_graph_properties, device, &of_device);
  vary("device_get_graph_properties_2", "hp", graphs->device_get_graph_properties_2, device, &of_device_2);
  abi::MemoryQuery memory_query;
  vary("query_context_memory", "hip", graphs->query_context_memory, context, abi::MemoryQueryType::kDdr, &memory_query);
  vary("get_supported_options", "hipP", graphs->get_supported_options, device, abi::OptionsType::kCompiler, &size,
       text.data());
  vary("is_option_supported", "hipP", graphs->is_option_supported, device, abi::OptionsType::kCompiler, "NPU_TILES",
       "2");
  vary("graph_initialize", "h", graphs->graph_initialize, graph);
  vary("evict", "h", graphs->evict, graph);
  vary("destroy", "h", graphs->destroy, graph);
  EXPECT_EQ(zeCommandListReset(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, memory), ZE_RESULT_SUCCESS);
  expect_it_computes(graph);
}

TEST_F(NpuTableCalls, OfProfiling) {
  const abi::GraphHandle profiled =
      make_ir(compiler::in_memory(*compiler::small_model()), nullptr, abi::kGraphEnableProfiling).graph;
  ASSERT_NE(profiled, nullptr);
  abi::ProfilingPoolHandle made = nullptr, room = nullptr;
  abi::ProfilingQueryHandle query = nullptr, other = nullptr;
  ASSERT_EQ(profiling->pool_create(profiled, 1, &room), ZE_RESULT_SUCCESS);
  ASSERT_EQ(profiling->query_create(room, 0, &query), ZE_RESULT_SUCCESS);
  std::uint32_t size = 0;
  std::vector<char> text(1 << 16);
  abi::DeviceProfilingProperties of_device;
  vary("pool_create", "hnp", profiling->pool_create, profiled, 1, &made);
  vary("query_create", "hip", profiling->query_create, room, 0, &other);
  vary("query_get_data", "hipP", profiling->query_get_data, query, abi::ProfilingType::kLayer, &size,
       reinterpret_cast<std::uint8_t*>(text.data()));
  vary("device_get_properties", "hp", profiling->device_get_properties, device, &of_device);
  vary("log_get_string", "HpP", profiling->log_get_string, query, &size, text.data());
  EXPECT_EQ(profiling->query_destroy(query), ZE_RESULT_SUCCESS);
  EXPECT_EQ(profiling->pool_destroy(room), ZE_RESULT_SUCCESS);
  vary("query_destroy", "h", profiling->query_destroy, query);
  vary("pool_destroy", "h", profiling->pool_destroy, room);
  EXPECT_EQ(graphs->destroy(profiled), ZE_RESULT_SUCCESS);
}

TEST_F(NpuTableCalls, OfTheSmallerTables) {
  abi::ContextNpuProperties properties;
  abi::DriverNpuExtension wanted;
  void* found = nullptr;
  wanted.name = abi::kGraphExtension;
  wanted.version = abi::kGraphVersion;
  wanted.table = &found;
  vary("set_workload_type", "hi", table<abi::CommandQueueNpuTable>(abi::kCommandQueueNpuExtension)->set_workload_type,
       queue, abi::WorkloadType::kDefault);
  const auto* contexts = table<abi::ContextNpuTable>(abi::kContextNpuExtension);
  vary("set_properties", "hp", contexts->set_properties, context, &properties);
  vary("release_memory", "h", contexts->release_memory, context);
  vary("get_extension", "hp", table<abi::DriverNpuTable>(abi::kDriverNpuExtension)->get_extension, driver, &wanted);
  vary("cancel", "h", table<abi::CancelTable>(abi::kCancelExtension)->cancel, list);
}

TEST_F(NpuTableCalls, OfMutableLists) {
  abi::MutableListDescriptor changeable;
  const ze_command_list_handle_t changed = make_list(&changeable);
  abi::MutableCommandId wanted;
  abi::MutableCommands commands;
  std::uint64_t command = 0;
  vary("get_next_command_id", "hpp", call<abi::CommandListGetNextCommandIdExp>("zeCommandListGetNextCommandIdExp"),
       changed, &wanted, &command);
  vary("update_mutable_commands", "hp",
       call<abi::CommandListUpdateMutableCommandsExp>("zeCommandListUpdateMutableCommandsExp"), changed, &commands);
  vary("update_signal_event", "hnH",
       call<abi::CommandListUpdateMutableCommandSignalEventExp>("zeCommandListUpdateMutableCommandSignalEventExp"),
       changed, 1, event);
  EXPECT_EQ(zeCommandListDestroy(changed), ZE_RESULT_SUCCESS);
}

}  // namespace table_calls_test
}  // namespace tenon::npu::test
