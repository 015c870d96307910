// SPDX-License-Identifier: Apache-2.0
// Contexts of OpenVINO on this machine: its host tensors, which are always there.
#pragma once

#include <vector>

#include <tenon/frameworks/openvino/openvino.hpp>

namespace tenon {
inline namespace v1 {
namespace openvino {

/// Remote contexts belong to an ov::Core of the user's: making one here would load every plugin.
inline std::vector<Context> contexts() { return {context()}; }

}  // namespace openvino
}  // namespace v1
}  // namespace tenon
