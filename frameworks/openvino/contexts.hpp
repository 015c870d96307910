// SPDX-License-Identifier: Apache-2.0
// The OpenVINO contexts of this machine: always its host tensors.
#pragma once

#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/frameworks/openvino/openvino.hpp>

namespace tenon {
inline namespace v1 {
namespace openvino {

/// Remote contexts belong to the user's ov::Core: creating one here would load every plugin.
inline std::vector<Context> contexts() { return {context()}; }

}  // namespace openvino
}  // namespace v1
}  // namespace tenon
