// SPDX-License-Identifier: Apache-2.0
// An OpenCL layer for tests (OPENCL_LAYERS) that presents the devices of a platform as devices of other kinds. TENON_OPENCL_DEVICES has a
// word for each of them, in the platform's order: "cpu", "discrete", "integrated" or "accelerator", and after an "@" the PCI bus that the
// device states with a UUID of the same number, as in "cpu discrete@3". PoCL has as many devices as POCL_DEVICES names.
#include <tenon/frameworks/opencl/testing/layer.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <vector>

namespace {

using layer::answer;
using layer::next;
using layer::table;

constexpr cl_device_info kUuid = 0x106A, kDriverUuid = 0x106B, kLuidValid = 0x106C, kPci = 0x410F;

struct Role {
  std::string kind;
  cl_uint bus = 0;  ///< 0: it states no address.
};

/// Empty for sub-devices, which stay what they are.
Role role_of(cl_device_id device) {
  cl_platform_id platform = nullptr;
  std::array<cl_device_id, 16> all{};
  cl_uint count = 0;
  if (next->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr) != CL_SUCCESS ||
      next->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, static_cast<cl_uint>(all.size()), all.data(), &count) !=
          CL_SUCCESS)
    return {};
  const auto found = std::find(all.begin(), all.begin() + std::min<cl_uint>(count, all.size()), device);
  const char* const roles = std::getenv("TENON_OPENCL_DEVICES");
  std::istringstream words(roles ? roles : "");
  std::string word;
  for (auto at = all.begin(); words >> word; ++at) {
    if (at != found) continue;
    const std::size_t end = word.find('@');
    return {word.substr(0, end), end == word.npos ? 0 : static_cast<cl_uint>(std::stoul(word.substr(end + 1)))};
  }
  return {};
}

cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info key, size_t size, void* value,
                                   size_t* size_ret) {
  const Role role = role_of(device);
  if (!role.kind.empty()) {
    if (key == CL_DEVICE_TYPE) {
      const cl_device_type type = role.kind == "cpu"           ? CL_DEVICE_TYPE_CPU
                                  : role.kind == "accelerator" ? CL_DEVICE_TYPE_ACCELERATOR
                                                               : CL_DEVICE_TYPE_GPU;
      return answer(&type, 1, size, value, size_ret);
    }
    if (key == CL_DEVICE_HOST_UNIFIED_MEMORY) {
      const cl_bool unified = role.kind == "discrete" || role.kind == "accelerator" ? CL_FALSE : CL_TRUE;
      return answer(&unified, 1, size, value, size_ret);
    }
    if (key == CL_DEVICE_NAME) {
      const std::string name = "a " + role.kind + " device" + (role.bus ? " on bus " + std::to_string(role.bus) : "");
      return answer(name.c_str(), name.size() + 1, size, value, size_ret);
    }
  }
  if (role.bus) {
    if (key == CL_DEVICE_EXTENSIONS)
      return layer::answer_extensions(device, " cl_khr_device_uuid cl_khr_pci_bus_info", size, value, size_ret);
    std::array<std::uint8_t, 16> uuid{};
    uuid.back() = static_cast<std::uint8_t>(role.bus);
    const std::array<cl_uint, 4> address{0, role.bus, 0, 0};
    const cl_bool no = CL_FALSE;
    if (key == kUuid || key == kDriverUuid) return answer(uuid.data(), uuid.size(), size, value, size_ret);
    if (key == kPci) return answer(address.data(), address.size(), size, value, size_ret);
    if (key == kLuidValid) return answer(&no, 1, size, value, size_ret);
  }
  return next->clGetDeviceInfo(device, key, size, value, size_ret);
}

}  // namespace

void layer::install() { table.clGetDeviceInfo = get_device_info; }
