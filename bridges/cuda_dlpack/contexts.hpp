// SPDX-License-Identifier: Apache-2.0
// What programs that load every framework get of this bridge: DLPack's tensors on CUDA devices (dlpack::find_exchange).
#pragma once

#include <string>
#include <vector>

#include <tenon/bridges/cuda_dlpack/cuda_dlpack.hpp>  // IWYU pragma: export
#include <tenon/core/context.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda_dlpack {

/// Adds the exchange of tensors on CUDA devices to the process. No contexts: CUDA brings them.
std::vector<Context> contexts();

/// Why contexts() is empty, where it is.
inline std::string why_none() { return "it exchanges tensors of CUDA's contexts with other libraries"; }

}  // namespace cuda_dlpack
}  // namespace v1
}  // namespace tenon
