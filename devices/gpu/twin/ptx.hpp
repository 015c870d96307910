// SPDX-License-Identifier: Apache-2.0
// NVIDIA's OpenCL programs as text that CUDA's driver takes.
#pragma once

#include <string>
#include <string_view>

namespace tenon::inline v1::gpu_device {

/// OpenCL's programs read offsets of work-groups and work-items from %envreg0 to %envreg5, and the number of work-groups from %envreg6 to
/// %envreg8. CUDA sets none of them: in a graph they hold anything. The text has 0 and %nctaid instead. @source PTX read on an H200, driver 580.159
/// For compute capability 9.0 and newer, kernels wait at their begin for the kernel before them in a graph, so that their groups may be
/// there when that one ends (abi::GraphEdge::programmatic()).
/// An array of local memory that is named graphs_memory is as large as a launch says (kernels/matrix.cl).
std::string ptx_for_cuda(std::string_view ptx);

/// Whether the kernels of such a text wait so.
bool has_waits(std::string_view ptx);

/// Whether this is PTX, not machine code.
bool is_ptx(std::string_view binary);

}  // namespace tenon::inline v1::gpu_device
