// SPDX-License-Identifier: Apache-2.0
// zex*: the driver's cache, and when a context gives memory back. Clients ask for these calls by name.
#include <cstring>
#include <string>

#include <tenon/drivers/npu/calls/tools_calls.hpp>
#include <tenon/drivers/npu/run/graph.hpp>

namespace tenon::npu::calls {

ze_result_t disk_cache_set_size(std::size_t size) {
  return guarded([&] {
    compile_cache().set_limit(size);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t disk_cache_get_size(std::size_t* size) {
  if (!size) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *size = compile_cache().limit();
  return ZE_RESULT_SUCCESS;
}

ze_result_t disk_cache_get_directory(char* path, std::size_t* length) {
  return guarded([&] {
    if (!path || !length) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (!compile_cache().make_folder())
      return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                  "there is no cache: TENON_NPU_CACHE_DIR is empty, or a folder "
                  "that cannot be made or belongs to others");
    const std::string& folder = compile_cache().folder().native();
    if (*length <= folder.size())
      return fail(ZE_RESULT_ERROR_INVALID_SIZE, "the folder's name has " + std::to_string(folder.size()) +
                                                    " bytes, and the buffer " + std::to_string(*length));
    std::memcpy(path, folder.c_str(), folder.size() + 1);
    *length = folder.size();
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t context_set_idle_pruning_timeout(ze_context_handle_t handle, std::uint64_t timeout_ms) {
  Ref<Context> context;
  if (const ze_result_t result = acquire(handle, &context)) return result;
  constexpr std::uint64_t kNsPerMs = 1'000'000;
  context->set_idle_timeout_ns(timeout_ms > UINT64_MAX / kNsPerMs ? UINT64_MAX : timeout_ms * kNsPerMs);
  return ZE_RESULT_SUCCESS;
}

}  // namespace tenon::npu::calls
