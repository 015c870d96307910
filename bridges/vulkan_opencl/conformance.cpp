// SPDX-License-Identifier: Apache-2.0
// Vulkan and OpenCL on one device, for the conformance suite: memory that both can use.
#include <tenon/bridges/vulkan_opencl/vulkan_opencl.hpp>
#include <tenon/frameworks/vulkan/testing/exported_under_test.hpp>

namespace vulkan_opencl_conformance {

using namespace tenon;

[[maybe_unused]] const bool registered =
    conformance::add(std::make_unique<vulkan_testing::ExportedUnderTest>("vulkan_for_opencl", vulkan_opencl::edges()));

}  // namespace vulkan_opencl_conformance
