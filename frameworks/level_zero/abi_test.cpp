// SPDX-License-Identifier: Apache-2.0
// Compares abi/ with independent headers: the packaged loader's, as far as they go, and the NPU extensions' where
// installed. What no header here has is only checked by the assertions in abi/ itself.
#include <gtest/gtest.h>

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>
#if __has_include(<level_zero/ze_graph_ext.h>)
#include <level_zero/ze_graph_ext.h>
#endif

#include <tenon/frameworks/level_zero/abi/abi.hpp>
#include <tenon/frameworks/level_zero/abi/tables.hpp>

namespace tenon::level_zero::abi {
namespace abi_test {

/// Address where a header's table has the entry that a tail names differently: beyond the packaged struct's 1.4 part.
template <typename Table>
constexpr std::size_t entries() {
  return sizeof(Table) / sizeof(Entry);
}

// Tables of older and newer headers begin with the entries of 1.4, and our tails follow these.
static_assert(entries<ze_global_dditable_t>() >= 1 && entries<ze_driver_dditable_t>() >= 6 &&
              entries<ze_device_dditable_t>() >= 18 && entries<ze_command_queue_dditable_t>() >= 4 &&
              entries<ze_command_list_dditable_t>() >= 28 && entries<ze_mem_dditable_t>() >= 10 &&
              entries<ze_event_pool_dditable_t>() >= 5 && entries<ze_event_dditable_t>() >= 7);

TEST(LevelZeroAbi, TablesHaveWhatTheHeadersVersionSays) {
  const std::uint32_t version = ZE_API_VERSION_CURRENT;
  if (version > abi::version(1, 17)) GTEST_SKIP() << "newer headers than what abi/ was written by";
  EXPECT_EQ(entries<ze_global_dditable_t>(), 1 + entries_since<GlobalTail>(version));
  EXPECT_EQ(entries<ze_driver_dditable_t>(), 6 + entries_since<DriverTail>(version));
  EXPECT_EQ(entries<ze_device_dditable_t>(), 18 + entries_since<DeviceTail>(version));
  EXPECT_EQ(entries<ze_command_queue_dditable_t>(), 4 + entries_since<CommandQueueTail>(version));
  EXPECT_EQ(entries<ze_command_list_dditable_t>(), 28 + entries_since<CommandListTail>(version));
  EXPECT_EQ(entries<ze_mem_dditable_t>(), 10 + entries_since<MemTail>(version));
  EXPECT_EQ(entries<ze_event_pool_dditable_t>(), 5 + entries_since<EventPoolTail>(version));
  EXPECT_EQ(entries<ze_event_dditable_t>(), 7 + entries_since<EventTail>(version));
  EXPECT_EQ(entries<ze_image_dditable_t>(), 4 + entries_since<ImageTail>(version));
  EXPECT_EQ(entries<ze_image_exp_dditable_t>(), 2 + entries_since<ImageExpTail>(version));
  EXPECT_EQ(entries<ze_kernel_exp_dditable_t>(), 2 + entries_since<KernelExpTail>(version));
  EXPECT_EQ(entries<ze_physical_mem_dditable_t>(), 2 + entries_since<PhysicalMemTail>(version));
}

TEST(LevelZeroAbi, TailsBeginBehindTheEntriesOfTheFirstHeader) {
  // A table of the newest version, as a new loader has it; nothing before or after the tail may change.
  Entry table[18 + entries<DeviceTail>() + 1] = {};
  DeviceTail& tail = abi::tail(reinterpret_cast<ze_device_dditable_t*>(table));
  const auto marker = reinterpret_cast<Entry>(std::uintptr_t{0x1234});
  tail.get_counter_based_event_max_value = marker;
  tail.get_root_device = reinterpret_cast<DeviceGetRootDevice>(marker);
  EXPECT_EQ(table[18], marker);
  EXPECT_EQ(table[27], marker);
  EXPECT_EQ(table[17], nullptr);
  EXPECT_EQ(table[28], nullptr);
}

TEST(LevelZeroAbi, GraphTablesGrowWithTheVersion) {
  std::size_t before = 0;
  for (std::uint32_t minor = 0; minor <= 18; ++minor) {
    const std::size_t now = graph_entries(version(1, minor));
    EXPECT_GE(now, before) << "1." << minor;
    before = now;
  }
  EXPECT_EQ(before, entries<GraphTable>());
  EXPECT_EQ(graph_entries(version(1, 40)), entries<GraphTable>()) << "what is newer has at least ours";
  EXPECT_EQ(graph_entries(version(0, 9)), 0u);
}

#ifdef ZE_MUTABLE_COMMAND_LIST_EXP_NAME  // Headers of 1.9 and newer.
TEST(LevelZeroAbi, MutableListsAreThoseOfTheHeader) {
  EXPECT_STREQ(kMutableListExtension, ZE_MUTABLE_COMMAND_LIST_EXP_NAME);
  EXPECT_EQ(kMutableListPropertiesType, ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_LIST_EXP_PROPERTIES);
  EXPECT_EQ(kMutableListDescriptorType, ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_LIST_EXP_DESC);
  EXPECT_EQ(kMutableCommandIdType, ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_ID_EXP_DESC);
  EXPECT_EQ(kMutableCommandsType, ZE_STRUCTURE_TYPE_MUTABLE_COMMANDS_EXP_DESC);
  EXPECT_EQ(kMutableKernelArgumentType, ZE_STRUCTURE_TYPE_MUTABLE_KERNEL_ARGUMENT_EXP_DESC);
  EXPECT_EQ(kMutableSignalEvent, static_cast<std::uint32_t>(ZE_MUTABLE_COMMAND_EXP_FLAG_SIGNAL_EVENT));
  EXPECT_EQ(sizeof(MutableListProperties), sizeof(ze_mutable_command_list_exp_properties_t));
  EXPECT_EQ(sizeof(MutableCommandId), sizeof(ze_mutable_command_id_exp_desc_t));
  EXPECT_EQ(sizeof(MutableKernelArgument), sizeof(ze_mutable_kernel_argument_exp_desc_t));
  EXPECT_EQ(offsetof(MutableKernelArgument, value), offsetof(ze_mutable_kernel_argument_exp_desc_t, pArgValue));
  EXPECT_GE(entries<CommandListExpTable>(), entries<ze_command_list_exp_dditable_t>());
  EXPECT_EQ(offsetof(CommandListExpTable, update_mutable_commands_exp),
            offsetof(ze_command_list_exp_dditable_t, pfnUpdateMutableCommandsExp));
}
#endif

#ifdef ZE_EXTERNAL_SEMAPHORES_EXTENSION_NAME  // 1.12
TEST(LevelZeroAbi, SemaphoresAreThoseOfTheHeader) {
  EXPECT_STREQ(kSemaphoreExtension, ZE_EXTERNAL_SEMAPHORES_EXTENSION_NAME);
  EXPECT_EQ(SemaphoreDescriptor{}.stype, ZE_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_EXT_DESC);
  EXPECT_EQ(SemaphoreFd{}.stype, ZE_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_FD_EXT_DESC);
  EXPECT_EQ(SemaphoreSignal{}.stype, ZE_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_EXT);
  EXPECT_EQ(SemaphoreWait{}.stype, ZE_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_WAIT_PARAMS_EXT);
  EXPECT_EQ(sizeof(SemaphoreFd), sizeof(ze_external_semaphore_fd_ext_desc_t));
}
#endif

#ifdef ZE_EXTERNAL_MEMORY_MAPPING_EXT_NAME  // 1.13
TEST(LevelZeroAbi, SystemMemoryIsThatOfTheHeader) {
  EXPECT_STREQ(kSystemMemoryExtension, ZE_EXTERNAL_MEMORY_MAPPING_EXT_NAME);
  EXPECT_EQ(kSystemMemoryType, ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC);
  EXPECT_EQ(sizeof(ExternalSystemMemory), sizeof(ze_external_memmap_sysmem_ext_desc_t));
}
#endif

#ifdef ZE_GRAPH_EXT_NAME
TEST(LevelZeroAbi, GraphsAreThoseOfTheHeader) {
  EXPECT_STREQ(kGraphExtension, ZE_GRAPH_EXT_NAME);
  EXPECT_STREQ(kProfilingExtension, ZE_PROFILING_DATA_EXT_NAME);
  EXPECT_EQ(sizeof(ArgumentProperties3), sizeof(ze_graph_argument_properties_3_t));
  EXPECT_EQ(sizeof(ArgumentMetadata), sizeof(ze_graph_argument_metadata_t));
  EXPECT_EQ(sizeof(GraphDescriptor2), sizeof(ze_graph_desc_2_t));
  EXPECT_EQ(sizeof(LayerInfo), sizeof(ze_profiling_layer_info));
  EXPECT_EQ(sizeof(TaskInfo), sizeof(ze_profiling_task_info));
  EXPECT_EQ(sizeof(ProfilingTable), sizeof(ze_graph_profiling_dditable_ext_t));
  EXPECT_EQ(offsetof(GraphTable, create_2), offsetof(ze_graph_dditable_ext_t, pfnCreate2));
  EXPECT_EQ(offsetof(GraphTable, get_native_binary_2), offsetof(ze_graph_dditable_ext_t, pfnGetNativeBinary2));
  EXPECT_EQ(static_cast<std::uint32_t>(ArgumentPrecision::kInt64), ZE_GRAPH_ARGUMENT_PRECISION_INT64);
  EXPECT_EQ(static_cast<std::uint32_t>(ArgumentLayout::kCn), ZE_GRAPH_ARGUMENT_LAYOUT_CN);
}
#endif

}  // namespace abi_test
}  // namespace tenon::level_zero::abi
