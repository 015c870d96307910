// SPDX-License-Identifier: Apache-2.0
// Elements over sockets to other processes.
#pragma once

#include <vector>

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace ipc {

std::vector<KnownElement> elements();

}  // namespace ipc
}  // namespace elements
}  // namespace v1
}  // namespace tenon
