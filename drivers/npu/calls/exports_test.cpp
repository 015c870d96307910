// SPDX-License-Identifier: Apache-2.0
// The library as a file: its exports, its dependencies, and tables no longer than the requested version.
#include <dlfcn.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

#include <tenon/frameworks/level_zero/abi/driver_npu.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::npu::test {
namespace exports_test {

std::string library_path() {
  const char* path = std::getenv("ZE_ENABLE_ALT_DRIVERS");
  return path ? path : "libze_tenon_npu.so";
}

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return text;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), count);
  ::pclose(pipe);
  return text;
}

TEST(NpuLibrary, ExportsWhatTheLoaderLooksForAndNothingElse) {
  std::istringstream lines(output_of("nm -D --defined-only '" + library_path() + "'"));
  std::size_t count = 0;
  for (std::string address, type, name; lines >> address >> type >> name; ++count) {
    EXPECT_TRUE(name.rfind("zeGet", 0) == 0 || name.rfind("zetGet", 0) == 0 || name.rfind("zesGet", 0) == 0) << name;
    EXPECT_EQ(type, "T") << name;
  }
  EXPECT_GT(count, 60u);
}

TEST(NpuLibrary, NeedsTheCLibrariesOneDnnAndTbbAlone) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer adds its own";
#endif
  const std::set<std::string> allowed = {"libc.so.6",       "libm.so.6",    "libstdc++.so.6", "libgcc_s.so.1",
                                         "libpthread.so.0", "libdl.so.2",   "librt.so.1",     "ld-linux-x86-64.so.2",
                                         "libdnnl.so.3",    "libtbb.so.12", "libimf.so",      "libsvml.so",
                                         "libirng.so",      "libintlc.so.5"};
  std::istringstream lines(output_of("readelf -d '" + library_path() + "'"));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(NEEDED)") == std::string::npos) continue;
    const std::size_t begin = line.find('[') + 1;
    EXPECT_EQ(allowed.count(line.substr(begin, line.find(']') - begin)), 1u) << line;
    ++count;
  }
  EXPECT_GE(count, 4u);
}

class Library {
 public:
  explicit Library(const std::string& path = library_path()) : handle_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  ~Library() {
    if (handle_) ::dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  template <class Function>
  Function find(const char* name) const {
    return handle_ ? reinterpret_cast<Function>(::dlsym(handle_, name)) : nullptr;
  }
  bool is_open() const { return handle_ != nullptr; }

 private:
  void* handle_;
};

using GetTable = ze_result_t (*)(ze_api_version_t, void*);

TEST(NpuLibrary, LoadsWithoutALoader) {
  const Library library;
  ASSERT_TRUE(library.is_open()) << ::dlerror();
  const auto get_global = library.find<GetTable>("zeGetGlobalProcAddrTable");
  const auto get_driver = library.find<GetTable>("zeGetDriverProcAddrTable");
  ASSERT_TRUE(get_global && get_driver);
  ze_global_dditable_t global = {};
  ze_driver_dditable_t calls = {};
  ASSERT_EQ(get_global(ZE_API_VERSION_1_0, &global), ZE_RESULT_SUCCESS);
  ASSERT_EQ(get_driver(ZE_API_VERSION_CURRENT, &calls), ZE_RESULT_SUCCESS);
  ASSERT_EQ(global.pfnInit(ZE_INIT_FLAG_VPU_ONLY), ZE_RESULT_SUCCESS);
  EXPECT_EQ(global.pfnInit(ZE_INIT_FLAG_GPU_ONLY), ZE_RESULT_ERROR_UNINITIALIZED);
  EXPECT_EQ(global.pfnInit(0x100), ZE_RESULT_ERROR_INVALID_ENUMERATION);
  std::uint32_t count = 1;
  ze_driver_handle_t driver = nullptr;
  ASSERT_EQ(calls.pfnGet(&count, &driver), ZE_RESULT_SUCCESS);
  ze_driver_properties_t properties = {};
  ASSERT_EQ(calls.pfnGetProperties(driver, &properties), ZE_RESULT_SUCCESS);
  EXPECT_TRUE(std::equal(std::begin(properties.uuid.id), std::end(properties.uuid.id),
                         std::begin(level_zero::abi::kNpuDriverUuid)));
}

/// The tables behind the handles of a fresh driver: a copy of the file that received no calls before.
/// @param version  the loader's.
void expect_handles_begin_with_tables(std::uint32_t version, const std::vector<const char*>& names) {
  const TemporaryFolder folder;
  const auto copy = folder.path() / "libze_tenon_npu.so";
  std::filesystem::copy_file(library_path(), copy);
  const auto needed = std::filesystem::path(library_path()).parent_path() / "tenon";  // Where it looks for oneDNN.
  std::filesystem::create_directory_symlink(needed, folder.path() / "tenon");
  const Library library(copy.string());
  ASSERT_TRUE(library.is_open()) << ::dlerror();
  const auto asked = static_cast<ze_api_version_t>(version);
  const auto table_of = [&](const char* name) {
    std::array<const void*, 64> places{};
    const auto get = library.find<GetTable>(("zeGet" + std::string(name) + "ProcAddrTable").c_str());
    EXPECT_TRUE(get) << name;
    if (get) {
      EXPECT_EQ(get(asked, places.data()), ZE_RESULT_SUCCESS) << name;
    }
    return places;
  };
  const auto init = reinterpret_cast<ze_pfnInit_t>(const_cast<void*>(table_of("Global")[0]));
  ASSERT_EQ(init(0), ZE_RESULT_SUCCESS);
  const auto get_drivers = reinterpret_cast<ze_pfnDriverGet_t>(const_cast<void*>(table_of("Driver")[0]));
  std::uint32_t count = 1;
  ze_driver_handle_t driver = nullptr;
  ASSERT_EQ(get_drivers(&count, &driver), ZE_RESULT_SUCCESS);
  struct Dispatch {
    std::uint32_t version;
    std::uint8_t is_valid;
    const void* const* tables[34];
  };
  const auto* const pointers = reinterpret_cast<const Dispatch* const*>(driver);
  EXPECT_EQ(pointers[0]->version, static_cast<std::uint32_t>(ZE_MAKE_VERSION(1, 13)));
  EXPECT_EQ(pointers[0]->is_valid, 1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto expected = table_of(names[i]);
    for (std::size_t k = 0; k < expected.size() && expected[k]; ++k)
      EXPECT_EQ(pointers[0]->tables[i][k], expected[k])
          << names[i] << " " << k << " of a loader " << std::hex << version;
  }
  EXPECT_EQ(pointers[3]->is_valid, 0) << "the runtime is not here";
  // Metrics and system management, in the order of zet_dditable_driver_t and zes_dditable_driver_t.
  const std::vector<const char*> tools[] = {
      {"MetricProgrammableExp", "MetricTracerExp", "MetricDecoderExp", "Device", "DeviceExp", "Context", "CommandList",
       "CommandListExp", "Module", "Kernel", "Metric", "MetricExp", "MetricGroup", "MetricGroupExp", "MetricStreamer",
       "MetricQueryPool", "MetricQuery", "TracerExp", "Debug"},
      {"Global",      "Device",      "DeviceExp",   "Driver",
       "DriverExp",   "Overclock",   "Scheduler",   "PerformanceFactor",
       "Power",       "Frequency",   "Engine",      "Standby",
       "Firmware",    "FirmwareExp", "Memory",      "FabricPort",
       "Temperature", "Psu",         "Fan",         "Led",
       "Ras",         "RasExp",      "Diagnostics", "VFManagementExp"}};
  const char* const prefixes[] = {"zetGet", "zesGet"};
  for (std::size_t group = 0; group < 2; ++group) {
    EXPECT_EQ(pointers[group + 1]->is_valid, 1);
    for (std::size_t i = 0; i < tools[group].size(); ++i) {
      const std::string name = prefixes[group] + std::string(tools[group][i]) + "ProcAddrTable";
      std::array<const void*, 64> expected{};
      const auto get = library.find<GetTable>(name.c_str());
      ASSERT_TRUE(get) << name;
      ASSERT_EQ(get(asked, expected.data()), ZE_RESULT_SUCCESS) << name;
      for (std::size_t k = 0; k < expected.size() && expected[k]; ++k)
        EXPECT_EQ(pointers[group + 1]->tables[i][k], expected[k]) << name << " " << k;
    }
  }
}

TEST(NpuLibrary, HandlesBeginWithTheTablesOfTheirCalls) {
  std::vector<const char*> names = {"RTASBuilderExp", "RTASParallelOperationExp",
                                    "Global",         "Driver",
                                    "DriverExp",      "Device",
                                    "DeviceExp",      "Context",
                                    "CommandQueue",   "CommandList",
                                    "CommandListExp", "Image",
                                    "ImageExp",       "Mem",
                                    "MemExp",         "Fence",
                                    "EventPool",      "Event",
                                    "EventExp",       "Module",
                                    "ModuleBuildLog", "Kernel",
                                    "KernelExp",      "Sampler",
                                    "PhysicalMem",    "VirtualMem"};
  expect_handles_begin_with_tables(ZE_MAKE_VERSION(1, 12), names);
  // 1.13 inserted the first form of the ray-tracing builder before each of the two.
  names.insert(names.begin() + 1, "RTASParallelOperation");
  names.insert(names.begin(), "RTASBuilder");
  expect_handles_begin_with_tables(ZE_MAKE_VERSION(1, 13), names);
}

TEST(NpuLibrary, TablesOfOlderVersionsAreNotWrittenBeyondTheirEnd) {
  const Library library;
  const auto get_device = library.find<GetTable>("zeGetDeviceProcAddrTable");
  const auto get_list = library.find<GetTable>("zeGetCommandListProcAddrTable");
  ASSERT_TRUE(get_device && get_list);
  const auto written = [](GetTable get, ze_api_version_t version) {
    std::array<void*, 80> places;
    places.fill(&places);
    EXPECT_EQ(get(version, places.data()), ZE_RESULT_SUCCESS);
    std::size_t count = places.size();
    while (count > 0 && places[count - 1] == &places) --count;
    for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(places[i] != &places && places[i]) << i;
    return count;
  };
  EXPECT_EQ(written(get_device, ZE_API_VERSION_1_0), 14u);
  EXPECT_EQ(written(get_device, ZE_API_VERSION_1_1), 15u);
  EXPECT_EQ(written(get_device, ZE_API_VERSION_1_4), 18u);
  EXPECT_EQ(written(get_device, static_cast<ze_api_version_t>(ZE_MAKE_VERSION(1, 13))), 22u);
  EXPECT_EQ(written(get_list, ZE_API_VERSION_1_4), 28u);
  EXPECT_EQ(written(get_list, static_cast<ze_api_version_t>(ZE_MAKE_VERSION(1, 6))), 29u);
  EXPECT_EQ(written(get_list, static_cast<ze_api_version_t>(ZE_MAKE_VERSION(1, 99))), 36u);
  EXPECT_EQ(get_device(static_cast<ze_api_version_t>(ZE_MAKE_VERSION(2, 0)), nullptr),
            ZE_RESULT_ERROR_UNSUPPORTED_VERSION);
  EXPECT_EQ(get_device(ZE_API_VERSION_1_0, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
}

/// Entries written for the packaged header's version must fit its tables.
template <class Table>
void expect_fits(const Library& library, const char* name) {
  const auto get = library.find<GetTable>(name);
  ASSERT_TRUE(get) << name;
  struct {
    Table table;
    std::array<void*, 64> behind;
  } memory = {};
  void* const mark = &memory;
  memory.behind.fill(mark);
  ASSERT_EQ(get(ZE_API_VERSION_CURRENT, &memory), ZE_RESULT_SUCCESS) << name;
  for (void* place : memory.behind) ASSERT_EQ(place, mark) << name << " is written beyond the end of its table";
}

TEST(NpuLibrary, EveryTableFitsIntoThatOfThePackagedHeader) {
  const Library library;
#define TENON_FITS(prefix, type, name) \
  expect_fits<prefix##_##type##_dditable_t>(library, #prefix "Get" #name "ProcAddrTable")
  TENON_FITS(ze, global, Global);
  TENON_FITS(ze, driver, Driver);
  TENON_FITS(ze, device, Device);
  TENON_FITS(ze, device_exp, DeviceExp);
  TENON_FITS(ze, context, Context);
  TENON_FITS(ze, command_queue, CommandQueue);
  TENON_FITS(ze, command_list, CommandList);
  TENON_FITS(ze, image, Image);
  TENON_FITS(ze, image_exp, ImageExp);
  TENON_FITS(ze, mem, Mem);
  TENON_FITS(ze, fence, Fence);
  TENON_FITS(ze, event_pool, EventPool);
  TENON_FITS(ze, event, Event);
  TENON_FITS(ze, event_exp, EventExp);
  TENON_FITS(ze, module, Module);
  TENON_FITS(ze, module_build_log, ModuleBuildLog);
  TENON_FITS(ze, kernel, Kernel);
  TENON_FITS(ze, kernel_exp, KernelExp);
  TENON_FITS(ze, sampler, Sampler);
  TENON_FITS(ze, physical_mem, PhysicalMem);
  TENON_FITS(ze, virtual_mem, VirtualMem);
  TENON_FITS(ze, fabric_vertex_exp, FabricVertexExp);
  TENON_FITS(ze, fabric_edge_exp, FabricEdgeExp);
  TENON_FITS(zet, device, Device);
  TENON_FITS(zet, context, Context);
  TENON_FITS(zet, command_list, CommandList);
  TENON_FITS(zet, module, Module);
  TENON_FITS(zet, kernel, Kernel);
  TENON_FITS(zet, metric, Metric);
  TENON_FITS(zet, metric_group, MetricGroup);
  TENON_FITS(zet, metric_group_exp, MetricGroupExp);
  TENON_FITS(zet, metric_streamer, MetricStreamer);
  TENON_FITS(zet, metric_query_pool, MetricQueryPool);
  TENON_FITS(zet, metric_query, MetricQuery);
  TENON_FITS(zet, tracer_exp, TracerExp);
  TENON_FITS(zet, debug, Debug);
  TENON_FITS(zes, device, Device);
  TENON_FITS(zes, driver, Driver);
  TENON_FITS(zes, scheduler, Scheduler);
  TENON_FITS(zes, performance_factor, PerformanceFactor);
  TENON_FITS(zes, power, Power);
  TENON_FITS(zes, frequency, Frequency);
  TENON_FITS(zes, engine, Engine);
  TENON_FITS(zes, standby, Standby);
  TENON_FITS(zes, firmware, Firmware);
  TENON_FITS(zes, memory, Memory);
  TENON_FITS(zes, fabric_port, FabricPort);
  TENON_FITS(zes, temperature, Temperature);
  TENON_FITS(zes, psu, Psu);
  TENON_FITS(zes, fan, Fan);
  TENON_FITS(zes, led, Led);
  TENON_FITS(zes, ras, Ras);
  TENON_FITS(zes, diagnostics, Diagnostics);
#undef TENON_FITS
}

}  // namespace exports_test
}  // namespace tenon::npu::test
