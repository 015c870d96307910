// SPDX-License-Identifier: Apache-2.0
// A build without CUDA's framework.
#include <tenon/devices/gpu/twin/twin.hpp>

namespace tenon::inline v1::gpu_device {

std::shared_ptr<Twin> find_twin(const Context&, std::string& why) {
  why = "this build has no framework for CUDA";
  return nullptr;
}

}  // namespace tenon::inline v1::gpu_device
