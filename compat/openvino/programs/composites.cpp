// SPDX-License-Identifier: Apache-2.0
// What can be asked of devices over devices, and of models on them.
#include <algorithm>
#include <string>
#include <vector>

#include <openvino/runtime/auto/properties.hpp>

#include "programs.hpp"

namespace {

/// The values of properties as texts.
template <typename From>
void print_texts(const From& get, std::initializer_list<const char*> names) {
  for (const char* name : names) line(name, '=', get(name).template as<std::string>());
}
void print_listed(const std::vector<ov::PropertyName>& supported, std::initializer_list<const char*> names) {
  for (const std::string name : names) line(name, ' ', std::count(supported.begin(), supported.end(), name));
}

void automatic(const std::string& device) {
  ov::Core core;
  line(device);
  print_known(core.get_property(device, ov::supported_properties),
              {"SUPPORTED_PROPERTIES", "FULL_DEVICE_NAME", "OPTIMIZATION_CAPABILITIES", "MULTI_DEVICE_PRIORITIES",
               "MODEL_PRIORITY", "PERFORMANCE_HINT", "PERFORMANCE_HINT_NUM_REQUESTS", "EXECUTION_MODE_HINT",
               "PERF_COUNT", "LOG_LEVEL", "DEVICE_BIND_BUFFER", "SCHEDULE_POLICY"});
  const auto of_device = [&](const char* name) { return core.get_property(device, name); };
  print_texts(of_device, {"FULL_DEVICE_NAME", "MULTI_DEVICE_PRIORITIES", "MODEL_PRIORITY", "PERFORMANCE_HINT",
                          "PERFORMANCE_HINT_NUM_REQUESTS", "EXECUTION_MODE_HINT", "PERF_COUNT", "LOG_LEVEL",
                          "DEVICE_BIND_BUFFER", "SCHEDULE_POLICY"});
  const auto able = core.get_property(device, ov::device::capabilities);
  line("able ", std::count(able.begin(), able.end(), "FP32"), std::count(able.begin(), able.end(), "INT8"),
       std::count(able.begin(), able.end(), "EXPORT_IMPORT"), ' ', std::is_sorted(able.begin(), able.end()));
  core.set_property(device, {ov::enable_profiling(true), ov::hint::num_requests(2U),
                             ov::hint::execution_mode(ov::hint::ExecutionMode::ACCURACY)});
  print_texts(of_device, {"PERF_COUNT", "PERFORMANCE_HINT_NUM_REQUESTS", "EXECUTION_MODE_HINT"});
  refused("no truth", [&] { core.set_property(device, {{"PERF_COUNT", "PERHAPS"}}); });
  refused("no mode", [&] { core.set_property(device, {{"EXECUTION_MODE_HINT", "FAST"}}); });
  print_texts(of_device, {"PERF_COUNT", "EXECUTION_MODE_HINT"});

  ov::CompiledModel compiled = core.compile_model(small_model(core), device, ov::device::priorities("CPU"));
  print_listed(compiled.get_property(ov::supported_properties),
               {"SUPPORTED_PROPERTIES", "NETWORK_NAME", "EXECUTION_DEVICES", "PERFORMANCE_HINT",
                "OPTIMAL_NUMBER_OF_INFER_REQUESTS", "MULTI_DEVICE_PRIORITIES", "DEVICE_PROPERTIES", "MODEL_PRIORITY",
                "LOADED_FROM_CACHE", "PERF_COUNT"});
  print_texts([&](const char* name) { return compiled.get_property(name); },
              {"NETWORK_NAME", "MULTI_DEVICE_PRIORITIES", "MODEL_PRIORITY", "LOADED_FROM_CACHE", "PERF_COUNT"});
  const auto devices = compiled.get_property("DEVICE_PROPERTIES").as<ov::AnyMap>();
  const auto members = devices.at("CPU").as<ov::AnyMap>();
  line("members ", devices.size(), ' ', members.count("SUPPORTED_PROPERTIES"));
  print_texts([&](const char* name) { return members.at(name); },
              {"PERF_COUNT", "EXECUTION_MODE_HINT", "NETWORK_NAME"});
  ov::InferRequest request = compiled.create_infer_request();
  request.infer();
  const auto profile = request.get_profiling_info();
  line("profiled ", std::any_of(profile.begin(), profile.end(), [](const ov::ProfilingInfo& each) {
         return each.status == ov::ProfilingInfo::Status::EXECUTED;
       }));
}

void in_parts() {
  ov::Core core;
  line("HETERO");
  print_known(core.get_property("HETERO", ov::supported_properties),
              {"SUPPORTED_PROPERTIES", "FULL_DEVICE_NAME", "OPTIMIZATION_CAPABILITIES", "MULTI_DEVICE_PRIORITIES"});
  ov::CompiledModel compiled = core.compile_model(small_model(core), "HETERO:CPU", ov::num_streams(1));
  print_listed(compiled.get_property(ov::supported_properties),
               {"SUPPORTED_PROPERTIES", "NETWORK_NAME", "OPTIMAL_NUMBER_OF_INFER_REQUESTS", "EXECUTION_DEVICES",
                "LOADED_FROM_CACHE", "HETERO_NUMBER_OF_SUBMODELS", "DEVICE_PROPERTIES", "MULTI_DEVICE_PRIORITIES"});
  print_texts([&](const char* name) { return compiled.get_property(name); },
              {"NETWORK_NAME", "EXECUTION_DEVICES", "LOADED_FROM_CACHE", "HETERO_NUMBER_OF_SUBMODELS",
               "MULTI_DEVICE_PRIORITIES"});
  const auto devices = compiled.get_property(ov::device::properties.name()).as<ov::AnyMap>();
  const auto members = devices.at("CPU").as<ov::AnyMap>();
  line("members ", devices.size());
  print_texts([&](const char* name) { return members.at(name); }, {"PERF_COUNT", "NUM_STREAMS"});
}

}  // namespace

void composites() {
  automatic("AUTO");
  automatic("MULTI");
  in_parts();
}
