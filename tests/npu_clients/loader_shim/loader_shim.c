// SPDX-License-Identifier: Apache-2.0
// Named libze_loader.so.1 and found first, this library stands in front of a Level Zero loader older than 1.10:
// it exports everything that the loader does (DT_AUXILIARY), and forwards the missing functions below to the driver.
//
// Handles: with one driver and no interception, an old loader returns the driver's own handles, so the driver
// understands them. In any other arrangement these functions return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE.
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t result_t;
enum { kUnsupportedFeature = 0x78000003 };
enum { kApi113 = (1 << 16) | 13 };

// Indices in ze_command_list_dditable_t and ze_command_list_exp_dditable_t; tables only ever grow at their end.
enum { kHostSynchronize = 28, kGetNextCommandId = 2, kUpdateMutableCommands = 3, kTableRoom = 128 };

typedef void (*function_t)(void);
typedef struct {
  function_t entries[kTableRoom];
} table_t;

static table_t g_lists, g_lists_exp;

static int passes_handles_through(const char* drivers) {
  const char* intercept = getenv("ZE_ENABLE_LOADER_INTERCEPT");
  return drivers && *drivers && !strchr(drivers, ',') && !(intercept && strcmp(intercept, "1") == 0);
}

static void fill(void* driver, const char* name, table_t* table) {
  result_t (*get)(uint32_t version, void* table) = NULL;
  void* found = dlsym(driver, name);
  memcpy(&get, &found, sizeof get);  // ISO C has no conversion between the two.
  if (get && get(kApi113, table) != 0) memset(table, 0, sizeof *table);
}

// Runs when this library is loaded, before any call: a driver offers what the newest caller of its tables can reach.
__attribute__((constructor)) static void find_driver(void) {
  const char* path = getenv("ZE_ENABLE_ALT_DRIVERS");
  if (!passes_handles_through(path)) return;
  void* driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);  // Never closed, like the loader's.
  if (!driver) return;
  fill(driver, "zeGetCommandListProcAddrTable", &g_lists);
  fill(driver, "zeGetCommandListExpProcAddrTable", &g_lists_exp);
}

__attribute__((visibility("default"))) result_t zeCommandListHostSynchronize(void* list, uint64_t timeout_ns) {
  result_t (*call)(void*, uint64_t) = (result_t(*)(void*, uint64_t))g_lists.entries[kHostSynchronize];
  return call ? call(list, timeout_ns) : kUnsupportedFeature;
}

__attribute__((visibility("default"))) result_t zeCommandListGetNextCommandIdExp(void* list, const void* description,
                                                                                 uint64_t* id) {
  result_t (*call)(void*, const void*, uint64_t*) =
      (result_t(*)(void*, const void*, uint64_t*))g_lists_exp.entries[kGetNextCommandId];
  return call ? call(list, description, id) : kUnsupportedFeature;
}

__attribute__((visibility("default"))) result_t zeCommandListUpdateMutableCommandsExp(void* list,
                                                                                      const void* description) {
  result_t (*call)(void*, const void*) = (result_t(*)(void*, const void*))g_lists_exp.entries[kUpdateMutableCommands];
  return call ? call(list, description) : kUnsupportedFeature;
}
