// SPDX-License-Identifier: Apache-2.0
// Every call of the packaged header with every wrong argument that the header documents, with handles that are none, and with structures of
// wrong types and chains. entry_points.py makes the calls from the header.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <level_zero/zes_api.h>
#include <level_zero/zet_api.h>

#include <tenon/drivers/npu/testing/client.hpp>

namespace tenon::npu::test {
namespace entry_points_test {

constexpr std::size_t kRoom = 8192;

struct Link {
  std::uint32_t type = 0x7ffffff1;
  const void* next = nullptr;
  std::byte rest[256] = {};
};

/// Valid arguments and wrong handles.
class Objects {
 public:
  std::map<std::string, void*> handles;  ///< By type.
  bool lacked = false;                   ///< A valid handle was asked for, and there is none.
  void* stale_handle = nullptr;
  void* device_memory = nullptr;

  template <class Handle>
  static std::string type_name() {
    return __PRETTY_FUNCTION__;
  }
  template <class Handle>
  void set(Handle value) {
    handles[type_name<Handle>()] = value;
  }
  /// An address that is no handle, for kinds that an NPU does not have.
  template <class Handle>
  Handle handle() {
    const auto found = handles.find(type_name<Handle>());
    lacked = lacked || found == handles.end();
    return static_cast<Handle>(found == handles.end() ? foreign<Handle>() : found->second);
  }
  template <class Handle>
  Handle misaligned() {
    return reinterpret_cast<Handle>(std::uintptr_t{0x1003});
  }
  template <class Handle>
  Handle foreign() {
    return static_cast<Handle>(static_cast<void*>(&handles));
  }
  template <class Handle>
  Handle zeroed() {
    return reinterpret_cast<Handle>(room<std::byte*>());
  }
  template <class Handle>
  Handle other_kind() {
    void* const own = handle<Handle>();
    for (const auto& [type, other] : handles)
      if (other != own) return static_cast<Handle>(other);
    return nullptr;
  }
  template <class Handle>
  Handle stale() {
    return static_cast<Handle>(stale_handle);
  }
  /// Zeroed memory of the caller's, at each call another one.
  template <class Pointer>
  Pointer room() {
    rooms_.push_back(std::make_unique<Room>());
    return reinterpret_cast<Pointer>(rooms_.back()->bytes);
  }
  template <class Structure>
  Structure* described(int type) {
    static_assert(sizeof(Structure) <= kRoom);
    auto* const made = room<Structure*>();
    std::memcpy(static_cast<void*>(made), &type, sizeof type);
    return made;
  }
  template <class Structure>
  Structure* chained(int type, Link* link) {
    Structure* const made = described<Structure>(type);
    const void* const next = link;
    std::memcpy(reinterpret_cast<std::byte*>(made) + offsetof(Link, next), static_cast<const void*>(&next),
                sizeof next);
    return made;
  }
  Link* unknown_link() { return new (room<Link*>()) Link(); }
  Link* circular_link() {
    Link* const link = unknown_link();
    link->next = link;
    return link;
  }
  void* memory() const { return device_memory; }
  const char* text() const { return "text"; }
  template <class Value>
  Value value() {
    return Value();
  }
  void forget() {
    rooms_.clear();
    lacked = false;
  }

 private:
  struct Room {
    alignas(64) std::byte bytes[kRoom] = {};
  };
  std::vector<std::unique_ptr<Room>> rooms_;
};

constexpr ze_result_t kAnyError = static_cast<ze_result_t>(-1), kAnyResult = static_cast<ze_result_t>(-2);

struct EntryPointCase {
  const char* function;
  const char* what;
  ze_result_t expected;
  bool may_lack;  ///< It is about objects that an NPU does not have: the call may say just that.
  ze_result_t (*call)(Objects&);
};

constexpr EntryPointCase kCases[] = {
#include <entry_points.inc>
};

class NpuEntryPoints : public NpuTest {
 protected:
  void SetUp() override {
    NpuTest::SetUp();
    objects.set(driver);
    objects.set(device);
    objects.set(context);
    queue = make_queue();
    list = make_list();
    fence = make_fence(queue);
    pool = make_pool(4);
    event = make_event(pool, 0);
    const ze_physical_mem_desc_t descriptor = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, nullptr, 0, 4096};
    ASSERT_EQ(zePhysicalMemCreate(context, device, const_cast<ze_physical_mem_desc_t*>(&descriptor), &physical),
              ZE_RESULT_SUCCESS);
    objects.set(queue);
    objects.set(list);
    objects.set(fence);
    objects.set(pool);
    objects.set(event);
    objects.set(physical);
    set_first<zes_engine_handle_t>(zesDeviceEnumEngineGroups);
    set_first<zes_freq_handle_t>(zesDeviceEnumFrequencyDomains);
    set_first<zes_mem_handle_t>(zesDeviceEnumMemoryModules);
    set_first<zes_pwr_handle_t>(zesDeviceEnumPowerDomains);
    std::uint32_t count = 1;
    zet_metric_group_handle_t group = nullptr;
    ASSERT_EQ(zetMetricGroupGet(device, &count, &group), ZE_RESULT_SUCCESS);
    objects.set(group);
    zet_metric_handle_t metric = nullptr;
    ASSERT_EQ(zetMetricGet(group, &count, &metric), ZE_RESULT_SUCCESS);
    objects.set(metric);
    objects.device_memory = allocate_device(1 << 16);
    const auto gone = make_fence(queue);
    EXPECT_EQ(zeFenceDestroy(gone), ZE_RESULT_SUCCESS);
    objects.stale_handle = gone;
  }
  template <class Handle, class Enumerate>
  void set_first(Enumerate enumerate) {
    std::uint32_t count = 1;
    Handle first = nullptr;
    ASSERT_EQ(enumerate(device, &count, &first), ZE_RESULT_SUCCESS);
    objects.set(first);
  }
  void* allocate_device(std::size_t size) {
    const ze_device_mem_alloc_desc_t descriptor = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
    void* data = nullptr;
    EXPECT_EQ(zeMemAllocDevice(context, &descriptor, size, 0, device, &data), ZE_RESULT_SUCCESS);
    return data;
  }
  void TearDown() override {
    objects.forget();
    EXPECT_EQ(zeMemFree(context, objects.device_memory), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zePhysicalMemDestroy(context, physical), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeFenceDestroy(fence), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
    NpuTest::TearDown();
  }
  Objects objects;
  ze_command_queue_handle_t queue = nullptr;
  ze_command_list_handle_t list = nullptr;
  ze_fence_handle_t fence = nullptr;
  ze_event_pool_handle_t pool = nullptr;
  ze_event_handle_t event = nullptr;
  ze_physical_mem_handle_t physical = nullptr;
};

TEST_F(NpuEntryPoints, AnswerEveryWrongArgumentAsTheHeaderSays) {
  EXPECT_GT(std::size(kCases), 1000U);
  for (const EntryPointCase& each : kCases) {
    // Names the last call where one ends the process.
    if (std::getenv("TENON_ENTRY_POINTS")) std::fprintf(stderr, "%s: %s\n", each.function, each.what);
    const ze_result_t result = each.call(objects);
    const bool lacked = objects.lacked;
    objects.forget();
    if (each.expected == kAnyResult) continue;
    // Loaders without zesInit know no system management.
    if (each.may_lack && (result == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE || result == ZE_RESULT_ERROR_UNINITIALIZED))
      continue;
    if (lacked && result == ZE_RESULT_ERROR_INVALID_ARGUMENT) continue;
    if (each.expected == kAnyError) {
      EXPECT_NE(result, ZE_RESULT_SUCCESS) << each.function << ": " << each.what;
    } else {
      EXPECT_EQ(result, each.expected) << each.function << ": " << each.what;
    }
  }
  // The objects are as they were.
  const unsigned char one = 1;
  const auto other = make_list();
  EXPECT_EQ(zeCommandListAppendMemoryFill(other, objects.device_memory, &one, 1, 64, nullptr, 0, nullptr),
            ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListClose(other), ZE_RESULT_SUCCESS);
  ze_command_list_handle_t submitted = other;
  EXPECT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &submitted, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(other), ZE_RESULT_SUCCESS);
}

}  // namespace entry_points_test
}  // namespace tenon::npu::test
