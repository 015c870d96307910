/* SPDX-License-Identifier: Apache-2.0
   Properties of devices and of compiled models, versions, names of devices. */
#include <string.h>

#include "programs.h"

static void get(const ov_core_t* core, const char* key) {
  char* value = NULL;
  if (ov_core_get_property(core, "CPU", key, &value) == OK)
    say("%s: %s", key, value);
  else
    refused(key, ov_core_get_property(core, "CPU", key, &value), NULL);
  ov_free(value);
}
static void compiled_has(const ov_compiled_model_t* compiled, const char* key) {
  char* value = NULL;
  MUST(ov_compiled_model_get_property(compiled, key, &value));
  say("compiled %s: %s", key, value);
  ov_free(value);
}

void properties(void) {
  ov_core_t* core = NULL;
  ov_model_t* model;
  ov_compiled_model_t* compiled = NULL;
  ov_available_devices_t devices;
  ov_core_version_list_t versions;
  ov_version_t version;
  ov_property_t list[3];
  char* value = NULL;
  size_t i;
  int cpu = 0;
  MUST(ov_core_create(&core));
  MUST(ov_core_get_available_devices(core, &devices));
  for (i = 0; i < devices.size; ++i) cpu += strcmp(devices.devices[i], "CPU") == 0;
  say("CPU: %d", cpu);
  ov_available_devices_free(&devices);
  say("freed: %d", devices.devices == NULL && devices.size == 0);
  MUST(ov_core_get_versions_by_device_name(core, "CPU", &versions));
  say("%d versions, of %s: %d", (int)versions.size, versions.versions[0].device_name,
      strlen(versions.versions[0].version.buildNumber) > 0);
  ov_core_versions_free(&versions);
  MUST(ov_get_openvino_version(&version));
  say("version: %d, described %d", strncmp(version.buildNumber, "2026.4.1", 8), strlen(version.description) > 0);
  ov_version_free(&version);
  say("freed: %d", version.buildNumber == NULL && version.description == NULL);

  MUST(ov_core_set_property(core, "CPU", ov_property_key_hint_performance_mode, "THROUGHPUT"));
  get(core, ov_property_key_hint_performance_mode);
  MUST(ov_core_set_property(core, "CPU", ov_property_key_inference_num_threads, "2"));
  get(core, ov_property_key_inference_num_threads);
  MUST(ov_core_set_property(core, "CPU", ov_property_key_num_streams, "1"));
  get(core, ov_property_key_num_streams);
  MUST(ov_core_set_property(core, "CPU", ov_property_key_enable_profiling, "YES"));
  get(core, ov_property_key_enable_profiling);
  MUST(ov_core_set_property(core, "CPU", ov_property_key_hint_inference_precision, "f32"));
  get(core, ov_property_key_hint_inference_precision);
  MUST(ov_core_set_property(core, "CPU", ov_property_key_hint_execution_mode, "ACCURACY"));
  get(core, ov_property_key_hint_execution_mode);
  MUST(ov_core_set_property(core, NULL, ov_property_key_enable_mmap, "NO"));
  list[0].key = ov_property_key_hint_num_requests;
  list[0].value = "3";
  list[1].key = ov_property_key_hint_performance_mode;
  list[1].value = "LATENCY";
  came_to("an array", ov_core_set_properties(core, "CPU", 2, list));
  get(core, ov_property_key_hint_num_requests);
  get(core, ov_property_key_hint_performance_mode);
  came_to("an empty array", ov_core_set_properties(core, "CPU", 0, list));
  MUST(ov_core_get_property(core, "CPU", ov_property_key_supported_properties, &value));
  say("supported: NUM_STREAMS %d, PERF_COUNT %d", strstr(value, "NUM_STREAMS") != NULL,
      strstr(value, "PERF_COUNT") != NULL);
  ov_free(value);
  value = NULL;
  refused("no such key", ov_core_get_property(core, "CPU", "NO_SUCH_KEY", &value), "NO_SUCH_KEY");
  refused("no such key to set", ov_core_set_property(core, "CPU", "NO_SUCH_KEY", "1"), "NO_SUCH_KEY");
  refused("no such value", ov_core_set_property(core, "CPU", ov_property_key_hint_performance_mode, "SLOW"), NULL);
  refused("no such device", ov_core_get_property(core, "TOASTER", ov_property_key_num_streams, &value), "TOASTER");

  model = small_model(core, "1,3,4,4");
  MUST(ov_core_compile_model(core, model, "CPU", 4, &compiled, ov_property_key_num_streams, "2",
                             ov_property_key_hint_performance_mode, "THROUGHPUT"));
  compiled_has(compiled, ov_property_key_num_streams);
  compiled_has(compiled, ov_property_key_hint_performance_mode);
  compiled_has(compiled, ov_property_key_enable_profiling);
  compiled_has(compiled, ov_property_key_model_name);
  refused("no such key", ov_compiled_model_get_property(compiled, "NO_SUCH_KEY", &value), "NO_SUCH_KEY");
  fails("setting a compiled model's", ov_compiled_model_set_property(compiled, ov_property_key_num_streams, "1"));
  fails("as an array", ov_compiled_model_set_properties(compiled, 1, list));
  ov_compiled_model_free(compiled);
  refused("compiling with no such key", ov_core_compile_model(core, model, "CPU", 2, &compiled, "NO_SUCH_KEY", "1"),
          "NO_SUCH_KEY");
  came_to("an odd number", ov_core_compile_model(core, model, "CPU", 1, &compiled, ov_property_key_num_streams));
  MUST(ov_core_compile_model(core, model, "AUTO:CPU", 0, &compiled));
  ov_compiled_model_free(compiled);
  ov_model_free(model);
  ov_core_free(core);
}
