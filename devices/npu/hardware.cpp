// SPDX-License-Identifier: Apache-2.0
// Finds NPUs through the Level Zero loader.
#include <tenon/core/npu_platforms.hpp>
#include <tenon/devices/npu/hardware.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tenon::inline v1::npu_device {
namespace {

using level_zero::client::extension_table;

[[noreturn]] void not_found(const std::string& why) {
  throw Error(Code::kUnavailable, "Level zero backend is not found! " + why);
}

/// An extension's table: by the versioned driver extension if available, else by name.
template <typename Table>
const Table* table_of(const level_zero::Driver& known, const char* name, std::uint32_t newest) {
  const auto offered = known.extension(name);
  if (!offered) return nullptr;
  const ze_driver_handle_t driver = known.handle;
  void* table = nullptr;
  if (known.has(abi::kDriverNpuExtension)) {
    if (const auto* functions = extension_table<abi::DriverNpuTable>(driver, abi::kDriverNpuExtension)) {
      abi::DriverNpuExtension wanted;
      wanted.name = name;
      wanted.version = std::min(*offered, newest);
      wanted.table = &table;
      if (call(functions->get_extension, driver_side(driver), &wanted) == ZE_RESULT_SUCCESS && table)
        return static_cast<const Table*>(table);
    }
  }
  if (const auto* found = extension_table<Table>(driver, name)) return found;
  // Old drivers use one name per version.
  const std::string versioned = std::string(name) + "_1_" + std::to_string(abi::minor_of(std::min(*offered, newest)));
  return extension_table<Table>(driver, versioned.c_str());
}

/// Finds the calls that change closed lists: in the loader if it knows them, else in the driver by name.
void find_mutable_calls(Npu& npu, const level_zero::Driver& driver) {
  const auto& newer = level_zero::client::newer();
  if (driver.has(abi::kMutableListExtension) && newer.get_next_command_id && newer.update_mutable_commands) {
    npu.next_command_id = newer.get_next_command_id;
    npu.update_commands = newer.update_mutable_commands;
    return;
  }
  const auto ask = [&](auto& function, const char* name) {
    void* address = nullptr;
    if (call(zeDriverGetExtensionFunctionAddress, driver.handle, name, &address) == ZE_RESULT_SUCCESS)
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  ask(npu.next_command_id, "zeCommandListGetNextCommandIdExp");
  ask(npu.update_commands, "zeCommandListUpdateMutableCommandsExp");
  npu.mutable_by_driver = true;
}

void read_device(Npu& npu) {
  npu.properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  check(call(zeDeviceGetProperties, npu.device, &npu.properties), "zeDeviceGetProperties",
        "querying an NPU's properties");
  if (!npu.facts.compute_group) not_found("the NPU " + npu.facts.name + " has no queue group that computes");
  npu.queue_ordinal = *npu.facts.compute_group;
  if (const NpuPlatform* known = find_npu_platform_of(npu.facts.device_id)) {
    npu.platform = std::to_string(known->number);
    return;
  }
  // An unknown platform; its number is its only name.
  char text[16];
  std::snprintf(text, sizeof text, "%X", npu.facts.device_id);
  npu.platform = text;
}

void read_graph_properties(Npu& npu) {
  abi::DeviceGraphProperties graph;
  check(call(npu.graph->device_get_graph_properties, npu.own_device, &graph), "pfnDeviceGetGraphProperties",
        "asking the driver for its compiler");
  npu.compiler = {graph.compiler_version.major, graph.compiler_version.minor};
  npu.max_opset = graph.max_opset;
}

/// Reads the properties that all NPUs of a driver share.
Npu read_driver(const level_zero::Driver& driver) {
  Npu npu;
  const auto graph = driver.extension(abi::kGraphExtension);
  if (!graph) not_found("the driver has no graph extension (ZE_extension_graph)");
  npu.graph_version = std::min(*graph, abi::kGraphVersion);
  if (npu.graph_version < abi::version(1, 2))
    not_found("the driver's graph extension is 1." + std::to_string(abi::minor_of(npu.graph_version)) +
              ", this device needs 1.2 or newer; update the NPU driver");
  npu.graph = table_of<abi::GraphTable>(driver, abi::kGraphExtension, abi::kGraphVersion);
  if (!npu.graph) not_found("the driver announces a graph extension but provides no functions");
  npu.profiling = table_of<abi::ProfilingTable>(driver, abi::kProfilingExtension, abi::kProfilingVersion);
  npu.queue_table =
      table_of<abi::CommandQueueNpuTable>(driver, abi::kCommandQueueNpuExtension, abi::kCommandQueueNpuVersion);
  if (npu.queue_table) npu.queue_version = *driver.extension(abi::kCommandQueueNpuExtension);
  npu.context_table = table_of<abi::ContextNpuTable>(driver, abi::kContextNpuExtension, abi::kContextNpuVersion);
  npu.cancel_table = table_of<abi::CancelTable>(driver, abi::kCancelExtension, abi::kCancelVersion);
  find_mutable_calls(npu, driver);
  return npu;
}

/// Finds the NPUs of one driver; none for drivers of other devices.
void find_in(const std::shared_ptr<const level_zero::Driver>& driver, std::vector<std::shared_ptr<const Npu>>& found) {
  std::vector<level_zero::Device> devices = level_zero::devices(driver);
  devices.erase(std::remove_if(devices.begin(), devices.end(), [](const auto& device) { return !device.is_npu(); }),
                devices.end());
  if (devices.empty()) return;
  Npu common = read_driver(*driver);
  ze_context_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
  check(call(zeContextCreate, driver->handle, static_cast<const ze_context_desc_t*>(&description), &common.context),
        "zeContextCreate", "making the NPU's context");
  common.own_context = driver_side(common.context);
  try {
    for (level_zero::Device& device : devices) {
      auto npu = std::make_shared<Npu>(common);
      npu->facts = std::move(device);
      npu->device = npu->facts.handle;
      npu->own_device = driver_side(npu->device);
      read_device(*npu);
      // Without mutable lists, recording again for other memory is still cheaper than copying.
      npu->imports_system_memory =
          npu->facts.imports_system_memory() && (npu->facts.import_types & abi::kStandardAllocation) != 0;
      npu->waits_for_fences = npu->facts.driver->has(abi::kImplicitFencesExtension);
      read_graph_properties(*npu);
      const auto same = std::count_if(found.begin(), found.end(),
                                      [&](const auto& other) { return other->platform == npu->platform; });
      npu->id = same == 0 ? npu->platform : npu->platform + "." + std::to_string(same);
      found.push_back(std::move(npu));
    }
  } catch (...) {
    zeContextDestroy(common.context);
    throw;
  }
}

log::Level level_of_environment() {
  const char* text = std::getenv("OV_NPU_LOG_LEVEL");
  if (!text || !*text) return log::Level::NO;
  try {
    return Any(std::string(text)).as<log::Level>();
  } catch (const Error&) {
    std::fprintf(stderr, "[NPU] OV_NPU_LOG_LEVEL is \"%s\"; known: LOG_NONE, LOG_ERROR ... LOG_TRACE\n", text);
    return log::Level::NO;
  }
}

}  // namespace

Abilities Npu::abilities() const {
  Abilities abilities;
  abilities.turbo = abilities.workload_type = queue_table != nullptr;
  abilities.sequential = queue_version >= abi::version(1, 1);
  abilities.strides = TENON_NPU_HAS(*this, set_argument_value_2);
  return abilities;
}

bool Npu::takes_option(const std::string& key, const std::string& value) const {
  if (!TENON_NPU_HAS(*this, is_option_supported)) {
    // Compilers too old for queries.
    static constexpr std::string_view kKnown[] = {"NPU_PLATFORM",         "PERFORMANCE_HINT",
                                                  "PERF_COUNT",           "NPU_COMPILATION_MODE_PARAMS",
                                                  "NPU_COMPILATION_MODE", "INFERENCE_PRECISION_HINT",
                                                  "NPU_DMA_ENGINES",      "NPU_TILES",
                                                  "NPU_STEPPING",         "NPU_MAX_TILES",
                                                  "EXECUTION_MODE_HINT",  "NPU_BACKEND_COMPILATION_PARAMS"};
    return std::find(std::begin(kKnown), std::end(kKnown), key) != std::end(kKnown);
  }
  return call(graph->is_option_supported, own_device, abi::OptionsType::kCompiler, key.c_str(),
              value.empty() ? nullptr : value.c_str()) == ZE_RESULT_SUCCESS;
}

abi::MemoryQuery Npu::memory() const {
  abi::MemoryQuery query;
  if (!TENON_NPU_HAS(*this, query_context_memory))
    throw Error(Code::kUnimplemented, "NPU: the driver is too old to report its memory (graph extension 1.5)");
  check(call(graph->query_context_memory, own_context, abi::MemoryQueryType::kDdr, &query), "pfnQueryContextMemory",
        "asking for the device's memory");
  return query;
}

const std::vector<std::shared_ptr<const Npu>>& npus() {
  // Never destroyed: the driver may be unloaded before static objects.
  static std::mutex mutex;
  static auto* all = new std::vector<std::shared_ptr<const Npu>>;
  const std::lock_guard lock(mutex);
  if (!all->empty()) return *all;
  std::vector<std::shared_ptr<const Npu>> found;
  const auto drivers = level_zero::drivers();
  if (drivers.empty())
    not_found(
        "the Level Zero loader finds no driver; install Intel's NPU driver, or point ZE_ENABLE_ALT_DRIVERS at one "
        "(Tenon's in software: tenon npu-env -- PROGRAM)");
  for (const auto& driver : drivers) find_in(driver, found);
  if (found.empty()) not_found("none of the Level Zero drivers here has an NPU (a device of type VPU)");
  *all = std::move(found);
  for (const auto& npu : *all)
    log_line(log::Level::NO, log::Level::INFO,
             std::string("found ") + npu->properties.name + ", NPU." + npu->id + ", graph extension 1." +
                 std::to_string(abi::minor_of(npu->graph_version)));
  return *all;
}

std::shared_ptr<const Npu> npu_of(const std::string& id) {
  const auto& all = npus();
  if (id.empty()) return all.front();
  for (const auto& npu : all)
    if (npu->id == id) return npu;
  std::string known;
  for (const auto& npu : all) known += (known.empty() ? "" : ", ") + npu->id;
  throw Error(Code::kUnavailable, "NPU: no device has the id \"" + id + "\"; present: " + known);
}

void log_line(log::Level wanted, log::Level level, const std::string& text) {
  static const log::Level from_start = level_of_environment();
  if (level > std::max(wanted, from_start)) return;
  static constexpr const char* kNames[] = {"error", "warning", "info", "debug", "trace"};
  std::fprintf(stderr, "[NPU] %s: %s\n", kNames[static_cast<int>(level)], text.c_str());
}

}  // namespace tenon::inline v1::npu_device
