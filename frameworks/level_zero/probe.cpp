// SPDX-License-Identifier: Apache-2.0
// Compiled and linked at configuration to check that headers and loader have what the framework needs. Drivers are
// looked up at run time.
#include <cstddef>
#include <cstdint>

#include <level_zero/loader/ze_loader.h>
#include <level_zero/ze_api.h>

int main() {
  ze_external_memory_import_fd_t import{};
  import.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD;
  std::uint32_t drivers = 0;
  std::size_t versions = 0;
  return zelLoaderGetVersions(&versions, nullptr) == ZE_RESULT_SUCCESS && zeDriverGet(&drivers, nullptr) ? 1 : 0;
}
