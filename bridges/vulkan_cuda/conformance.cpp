// SPDX-License-Identifier: Apache-2.0
// Vulkan and CUDA on one device, for the conformance suite: memory that both can use.
#include <tenon/bridges/vulkan_cuda/vulkan_cuda.hpp>
#include <tenon/frameworks/vulkan/testing/exported_under_test.hpp>

namespace vulkan_cuda_conformance {

using namespace tenon;

[[maybe_unused]] const bool registered =
    conformance::add(std::make_unique<vulkan_testing::ExportedUnderTest>("vulkan_for_cuda", vulkan_cuda::edges()));

}  // namespace vulkan_cuda_conformance
