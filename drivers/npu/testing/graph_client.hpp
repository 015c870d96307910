// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the graph extension: a client that creates graphs of the small model and runs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <tenon/drivers/npu/testing/client.hpp>
#include <tenon/drivers/npu/testing/compiled.hpp>
#include <tenon/frameworks/level_zero/abi/graph_table.hpp>

namespace tenon::npu::test {

namespace abi = level_zero::abi;
using compiler::Bytes;
using ::testing::HasSubstr;

inline constexpr char kStridesForX[] = "--config NPU_ENABLE_STRIDES_FOR=\"x\"";

class NpuGraph : public NpuTest {
 protected:
  void SetUp() override {
    NpuTest::SetUp();
    ASSERT_EQ(zeDriverGetExtensionFunctionAddress(driver, abi::kGraphExtension, reinterpret_cast<void**>(&graphs)),
              ZE_RESULT_SUCCESS);
    ASSERT_EQ(
        zeDriverGetExtensionFunctionAddress(driver, abi::kProfilingExtension, reinterpret_cast<void**>(&profiling)),
        ZE_RESULT_SUCCESS);
  }
  struct Made {
    ze_result_t result;
    abi::GraphHandle graph = nullptr;
    std::string log;
  };
  Made make(const void* data, std::size_t size, abi::GraphFormat format, const char* flags = nullptr,
            std::uint32_t bits = abi::kGraphDisableCaching) {
    abi::GraphDescriptor2 descriptor;
    descriptor.format = static_cast<std::uint32_t>(format);
    descriptor.input = static_cast<const std::uint8_t*>(data);
    descriptor.input_size = size;
    descriptor.build_flags = flags;
    descriptor.flags = bits;
    Made made;
    abi::GraphBuildLogHandle log = nullptr;
    made.result = graphs->create_3(context, device, &descriptor, &made.graph, &log);
    if (log) {
      std::uint32_t length = 0;
      EXPECT_EQ(graphs->build_log_get_string_2(log, &length, nullptr), ZE_RESULT_SUCCESS);
      std::vector<char> text(length);
      EXPECT_EQ(graphs->build_log_get_string_2(log, &length, text.data()), ZE_RESULT_SUCCESS);
      made.log = text.data();
      EXPECT_EQ(graphs->build_log_destroy(log), ZE_RESULT_SUCCESS);
    }
    return made;
  }
  Made make_ir(const Bytes& ir, const char* flags = nullptr, std::uint32_t bits = abi::kGraphDisableCaching) {
    return make(ir.data(), ir.size(), abi::GraphFormat::kNgraphLite, flags, bits);
  }
  abi::GraphHandle small(const char* flags = nullptr) {
    const Made made = make_ir(compiler::in_memory(*compiler::small_model()), flags);
    EXPECT_EQ(made.result, ZE_RESULT_SUCCESS) << made.log;
    return made.graph;
  }
  Bytes binary_of(abi::GraphHandle graph) {
    std::size_t size = 0;
    EXPECT_EQ(graphs->get_native_binary(graph, &size, nullptr), ZE_RESULT_SUCCESS);
    Bytes bytes(size);
    EXPECT_EQ(graphs->get_native_binary(graph, &size, bytes.data()), ZE_RESULT_SUCCESS);
    return bytes;
  }
  ze_result_t execute(abi::GraphHandle graph, abi::ProfilingQueryHandle query = nullptr) {
    ze_command_queue_handle_t queue = make_queue();
    ze_command_list_handle_t list = make_list();
    ze_fence_handle_t fence = make_fence(queue);
    ze_result_t result = graphs->append_graph_execute(list, graph, query, nullptr, 0, nullptr);
    if (result == ZE_RESULT_SUCCESS) result = zeCommandListClose(list);
    if (result == ZE_RESULT_SUCCESS) result = zeCommandQueueExecuteCommandLists(queue, 1, &list, fence);
    if (result == ZE_RESULT_SUCCESS) result = zeFenceHostSynchronize(fence, 20 * kSecond);
    EXPECT_EQ(zeFenceDestroy(fence), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
    return result;
  }
  /// Runs the small model on 0, 1, 2, 3.
  void expect_it_computes(abi::GraphHandle graph) {
    auto* x = static_cast<float*>(allocate_host(16));
    auto* y = static_cast<float*>(allocate_host(16));
    for (int i = 0; i < 4; ++i) x[i] = static_cast<float>(i);
    EXPECT_EQ(graphs->set_argument_value(graph, 0, x), ZE_RESULT_SUCCESS);
    EXPECT_EQ(graphs->set_argument_value(graph, 1, y), ZE_RESULT_SUCCESS);
    EXPECT_EQ(graphs->graph_initialize(graph), ZE_RESULT_SUCCESS);
    EXPECT_EQ(execute(graph), ZE_RESULT_SUCCESS);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(y[i], static_cast<float>(i + 1));
    zeMemFree(context, x);
    zeMemFree(context, y);
  }

  /// Memory in use in the context, in bytes.
  std::uint64_t used() {
    abi::MemoryQuery query;
    EXPECT_EQ(graphs->query_context_memory(context, abi::MemoryQueryType::kDdr, &query), ZE_RESULT_SUCCESS);
    EXPECT_GT(query.total, query.allocated);
    return query.allocated;
  }

  abi::GraphTable* graphs = nullptr;
  abi::ProfilingTable* profiling = nullptr;
};

}  // namespace tenon::npu::test
